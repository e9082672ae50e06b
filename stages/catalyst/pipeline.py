# SPDX-License-Identifier: BSD-3-Clause
"""A user's Catalyst script as ParaView runs it, on the dataset of each publication."""

import ast

from pillion_catalyst import datasets


class Pipeline:
    """Every rank of ParaView makes the same ones in the same order."""

    def __init__(self, script, channel):
        from paraview.catalyst import bridge

        with open(script, encoding="utf-8") as file:
            text = file.read()
        expect_source(ast.parse(text, script), channel)
        if bridge.coprocessor is None:
            bridge.initialize()
        else:
            start_another(bridge)
        self.processor = bridge.coprocessor
        self.channel = channel
        self.is_final = False
        # ParaView would take one without its remark about the version for one of the first.
        bridge.add_pipeline(script, 1 if "def DoCoProcessing" in text else 2)

    def execute(self, message, raw):
        from paraview.modules.vtkPVCatalyst import vtkCPDataDescription

        data = datasets.make(message, raw)
        description = vtkCPDataDescription()
        description.AddInput(self.channel)
        description.SetTimeData(message["time"], message["step"])
        if not self.processor.RequestDataDescription(description):
            return
        wanted = description.GetInputDescriptionByName(self.channel)
        wanted.SetGrid(data)
        extent = datasets.whole_extent(message)
        if extent is not None:
            wanted.SetWholeExtent(extent)
        if not self.processor.CoProcess(description):
            raise RuntimeError("ParaView could not run it; its reason is in the job's output")

    def finalize(self):
        """Further calls do nothing."""
        if not self.is_final:
            self.is_final = True
            self.processor.Finalize()


def expect_source(script, channel):
    """Raises RuntimeError if a parsed script names what it makes, and nothing like the channel.
    ParaView would run it without data.
    """
    calls = [node for node in ast.walk(script) if isinstance(node, ast.Call)]
    names = [word.value for call in calls for word in call.keywords if word.arg == SOURCE_NAME]
    texts = {node.value for node in ast.walk(script) if isinstance(node, ast.Constant)}
    if names and channel not in texts:
        found = ", ".join(ast.unparse(name) for name in names)
        raise RuntimeError(
            f"it has no source '{channel}', which is the `channel` of the stage; the script has "
            f"{found}"
        )


SOURCE_NAME = "registrationName"


def start_another(bridge):
    """A processor for a further script: ParaView itself has been started."""
    from paraview.modules.vtkPVCatalyst import vtkCPProcessor

    bridge.coprocessor = vtkCPProcessor()
    if not bridge.coprocessor.Initialize():
        raise RuntimeError("ParaView could not start a processor for a further script")
