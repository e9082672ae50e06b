# SPDX-License-Identifier: BSD-3-Clause
"""A user's Catalyst script as ParaView runs it, on the dataset of each publication."""

from pillion_catalyst import datasets


class Pipeline:
    """Every rank of ParaView makes the same ones in the same order."""

    def __init__(self, script, channel):
        from paraview.catalyst import bridge

        with open(script) as file:
            text = file.read()
        compile(text, script, "exec")
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
            raise RuntimeError("ParaView could not run the script; what it said stands above")

    def finalize(self):
        """Further calls do nothing."""
        if not self.is_final:
            self.is_final = True
            self.processor.Finalize()


def start_another(bridge):
    """A processor for a further script: ParaView itself has been started."""
    from paraview.modules.vtkPVCatalyst import vtkCPProcessor

    bridge.coprocessor = vtkCPProcessor()
    if not bridge.coprocessor.Initialize():
        raise RuntimeError("ParaView could not start a processor for a further script")
