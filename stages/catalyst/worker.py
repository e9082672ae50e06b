# SPDX-License-Identifier: BSD-3-Clause
"""ParaView's side of the stage `catalyst`, run by ParaView's own Python in a separate process. It
makes a dataset of each message, and runs the user's Catalyst script on it. Messages are
lines of JSON, as are answers. It ends when the sender has closed its pipe.

    python3 -c … FD_OF_MESSAGES FD_OF_ANSWERS SCRIPT CHANNEL [Xvfb]
"""

import ctypes
import json
import os
import select
import signal
import subprocess
import sys
import threading
import time
import traceback

import numpy as np

CORNERS = [(0, 0, 0), (1, 0, 0), (1, 1, 0), (0, 1, 0), (0, 0, 1), (1, 0, 1), (1, 1, 1), (0, 1, 1)]


def cell_values(message, raw):
    """By field: [z, y, x, component] of a uniform mesh, of the boxes that peers have sent."""
    cells = message["cells"]
    arrays = [np.full((*cells[::-1], f["components"]), np.nan) for f in message["fields"]]
    at = 0
    while at < len(raw):
        lo, hi = raw[at : at + 3].astype(int), raw[at + 3 : at + 6].astype(int)
        at += 6
        part = tuple(slice(a, b) for a, b in zip(lo[::-1], hi[::-1]))
        for array in arrays:
            size = array[part].size
            array[part] = raw[at : at + size].reshape(array[part].shape)
            at += size
    return arrays


def item_values(message, raw):
    """By field: [item, value] of particles or elements."""
    parts = [[] for _ in message["fields"]]
    at = 0
    while at < len(raw):
        count = int(raw[at])
        at += 1
        for field, part in zip(message["fields"], parts):
            size = count * field["values"]
            part.append(raw[at : at + size].reshape(count, field["values"]))
            at += size
    return [
        np.concatenate(p) if p else np.zeros((0, f["values"]))
        for p, f in zip(parts, message["fields"])
    ]


def uniform(message, raw):
    from paraview.vtk import vtkImageData

    data = vtkImageData()
    data.SetDimensions(*[n + 1 for n in message["cells"]])
    data.SetOrigin(*message["origin"])
    data.SetSpacing(*message["spacing"])
    for field, array in zip(message["fields"], cell_values(message, raw)):
        add(data.GetCellData(), field["name"], array.reshape(-1, array.shape[-1]))
    return data


def particles(message, raw):
    from paraview.vtk import vtkCellArray, vtkPolyData

    arrays = item_values(message, raw)
    place = [f["name"] for f in message["fields"]].index(message["position"])
    count = len(arrays[place])
    data = vtkPolyData()
    data.SetPoints(points(arrays[place]))
    vertices = vtkCellArray()
    vertices.SetData(integers(np.arange(count + 1)), integers(np.arange(count)))
    data.SetVerts(vertices)
    for field, array in zip(message["fields"], arrays):
        add(data.GetPointData(), field["name"], array)
    return data


def spectral(message, raw):
    from paraview.vtk import VTK_HEXAHEDRON, VTK_QUAD, vtkCellArray, vtkUnstructuredGrid

    n, axes = message["order"] + 1, message["dimensions"]
    arrays = item_values(message, raw)
    names = [f["name"] for f in message["fields"]]
    place = arrays[names.index(message["coordinates"])]
    data = vtkUnstructuredGrid()
    places = at_points(place, n**axes)
    data.SetPoints(points(np.pad(places, [(0, 0), (0, 3 - places.shape[1])])))
    first = np.indices((n - 1,) * axes).reshape(axes, -1, order="F")
    strides = n ** np.arange(axes)
    corners = np.stack([strides @ (first.T + c[:axes]).T for c in CORNERS[: 2**axes]], axis=-1)
    ids = corners[None] + n**axes * np.arange(len(place))[:, None, None]
    cells = vtkCellArray()
    cells.SetData(integers(np.arange(0, ids.size + 1, 2**axes)), integers(ids.ravel()))
    data.SetCells(VTK_HEXAHEDRON if axes == 3 else VTK_QUAD, cells)
    for field, array in zip(message["fields"], arrays):
        if field["at_points"]:
            add(data.GetPointData(), field["name"], at_points(array, n**axes))
        else:
            add(data.GetCellData(), field["name"], np.repeat(array, (n - 1) ** axes, axis=0))
    return data


def at_points(array, size):
    """[point, component] of [element, component and point], with `size` points of an element."""
    return np.moveaxis(array.reshape(len(array), -1, size), 1, -1).reshape(len(array) * size, -1)


def points(array):
    from paraview.vtk import vtkPoints
    from paraview.vtk.util.numpy_support import numpy_to_vtk

    out = vtkPoints()
    out.SetData(numpy_to_vtk(np.ascontiguousarray(array), deep=True))
    return out


def integers(array):
    from paraview.vtk.util.numpy_support import numpy_to_vtkIdTypeArray

    return numpy_to_vtkIdTypeArray(np.ascontiguousarray(array, np.int64), deep=True)


def add(attributes, name, array):
    from paraview.vtk.util.numpy_support import numpy_to_vtk

    values = numpy_to_vtk(np.ascontiguousarray(array), deep=True)
    values.SetName(name)
    attributes.AddArray(values)


def open_display(program):
    """Starts a display in memory, with a free number, which ends with this process. No other
    user can draw on it or read it.
    """
    kind, cookie = b"MIT-MAGIC-COOKIE-1", os.urandom(16)
    key = os.memfd_create("pillion-display", 0)
    # For any host and display (Xau's FamilyWild): two empty texts, the kind, and the cookie.
    for part in (b"\xff\xff", b"\0\0", b"\0\0", b"\0\x12" + kind, b"\0\x10" + cookie):
        os.write(key, part)
    path = f"/proc/{os.getpid()}/fd/{key}"
    told, tell = os.pipe()
    # Without -noreset it starts again when its last client leaves, and ParaView, which opens and
    # closes displays to see what they can do, may knock just then.
    words = ["-screen", "0", "1280x1024x24", "-noreset", "-nolisten", "tcp", "-auth", path]
    subprocess.Popen(
        [program, "-displayfd", str(tell), *words],
        pass_fds=[tell],
        preexec_fn=end_with_parent,
    )
    os.close(tell)
    with os.fdopen(told) as file:
        number = file.readline().strip()
    if not number:
        raise RuntimeError(f"{program} has ended; what it said stands above")
    os.environ.update(DISPLAY=f":{number}", XAUTHORITY=path)


def end_with_sender(messages):
    """Waits for the end of the sender, then kills a script that still runs, with its children."""
    gone = select.poll()
    gone.register(messages, 0)
    gone.poll()
    time.sleep(10)
    os.killpg(0, signal.SIGKILL)


def end_with_parent():
    set_signal_of_parents_death = 1
    ctypes.CDLL(None).prctl(set_signal_of_parents_death, signal.SIGTERM)


def execute(processor, message, channel):
    from paraview.modules.vtkPVCatalyst import vtkCPDataDescription

    raw = np.fromfile(message["file"])
    data = {"uniform": uniform, "particles": particles, "spectral": spectral}[message["kind"]](
        message, raw
    )
    description = vtkCPDataDescription()
    description.AddInput(channel)
    description.SetTimeData(message["time"], message["step"])
    if not processor.RequestDataDescription(description):
        return
    wanted = description.GetInputDescriptionByName(channel)
    wanted.SetGrid(data)
    if message["kind"] == "uniform":
        wanted.SetWholeExtent(data.GetExtent())
    if not processor.CoProcess(description):
        raise RuntimeError("ParaView could not run the script; what it said stands above")


def main():
    messages, answers = os.fdopen(int(sys.argv[1])), os.fdopen(int(sys.argv[2]), "w")
    script, channel = sys.argv[3:5]

    def answer(error=""):
        answers.write(json.dumps(error) + "\n")
        answers.flush()

    try:
        if len(sys.argv) > 5:
            open_display(sys.argv[5])
        threading.Thread(target=end_with_sender, args=[messages.fileno()], daemon=True).start()
        with open(script) as file:
            text = file.read()
        compile(text, script, "exec")
        from paraview.catalyst import bridge

        bridge.initialize()
        # ParaView would take one without its remark about the version for one of the first.
        bridge.add_pipeline(script, 1 if "def DoCoProcessing" in text else 2)
        answer()
    except BaseException as error:
        answer(f"{type(error).__name__}: {error}")
        raise
    for line in messages:
        try:
            execute(bridge.coprocessor, json.loads(line), channel)
            answer()
        except BaseException as error:
            traceback.print_exc()
            answer(f"{type(error).__name__}: {error}")
    bridge.finalize()


main()
