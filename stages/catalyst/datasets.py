# SPDX-License-Identifier: BSD-3-Clause
"""Datasets of VTK made of what the stage `catalyst` sends: a message that describes a mesh and its
fields, and their values as doubles. They are those of all peers, or of one peer alone, which then
are its piece of the whole.
"""

import numpy as np

CORNERS = [(0, 0, 0), (1, 0, 0), (1, 1, 0), (0, 1, 0), (0, 0, 1), (1, 0, 1), (1, 1, 1), (0, 1, 1)]


def make(message, raw):
    kinds = {"uniform": uniform, "particles": particles, "spectral": spectral}
    return kinds[message["kind"]](message, raw)


def whole_extent(message):
    """The points of a mesh of boxes, as VTK counts them; None if the mesh is of another kind."""
    if message["kind"] != "uniform":
        return None
    return [bound for cells in message["cells"] for bound in (0, cells)]


def boxes(message, raw):
    """Yields each box of cells, the part of it without ghost cells, and the values by field as
    [z, y, x, component].
    """
    at = 0
    while at < len(raw):
        lo, hi, inner_lo, inner_hi = raw[at : at + 12].astype(int).reshape(4, 3)
        at += 12
        arrays = []
        for field in message["fields"]:
            shape = (*(hi - lo)[::-1], field["components"])
            size = int(np.prod(shape))
            arrays.append(raw[at : at + size].reshape(shape))
            at += size
        yield (lo, hi), (inner_lo, inner_hi), arrays


def part(box, origin=(0, 0, 0)):
    """The place of a box in an array whose first cell is `origin`."""
    lo, hi = (np.asarray(corner) - origin for corner in box)
    return tuple(slice(a, b) for a, b in zip(lo[::-1], hi[::-1]))


def uniform(message, raw):
    from paraview.vtk import vtkImageData

    if message["whole"]:
        box, ghosts = (np.zeros(3, int), np.array(message["cells"])), None
        arrays = [np.full((*box[1][::-1], f["components"]), np.nan) for f in message["fields"]]
        for place, _, values in boxes(message, raw):
            for array, of_box in zip(arrays, values):
                array[part(place)] = of_box
    else:
        nothing = np.zeros(3, int), np.zeros(3, int)
        empty = [np.zeros((0, f["components"])) for f in message["fields"]]
        box, inner, arrays = next(boxes(message, raw), (nothing, nothing, empty))
        ghosts = np.full((box[1] - box[0])[::-1], duplicate(), np.uint8)
        ghosts[part(inner, box[0])] = 0
    data = vtkImageData()
    lo, hi = (corner.tolist() for corner in box)
    has_cells = all(a < b for a, b in zip(lo, hi))
    data.SetExtent([n for ends in zip(lo, hi) for n in ends] if has_cells else [0, -1] * 3)
    data.SetOrigin(*message["origin"])
    data.SetSpacing(*message["spacing"])
    for field, array in zip(message["fields"], arrays):
        add(data.GetCellData(), field["name"], array.reshape(-1, array.shape[-1]))
    if ghosts is not None:
        add(data.GetCellData(), "vtkGhostType", ghosts.ravel())
    return data


def duplicate():
    from paraview.vtk import vtkDataSetAttributes

    return vtkDataSetAttributes.DUPLICATECELL


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
