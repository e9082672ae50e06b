# SPDX-License-Identifier: BSD-3-Clause
"""Datasets of VTK made of what the stage `catalyst` sends: a message that describes a mesh and its
fields, and their values as doubles. They are those of all peers, or of one peer alone, which then
are its piece of the whole.
"""

import numpy as np

CORNERS = [(0, 0, 0), (1, 0, 0), (1, 1, 0), (0, 1, 0), (0, 0, 1), (1, 0, 1), (1, 1, 1), (0, 1, 1)]


def make(message, raw):
    kinds = {"particles": particles, "spectral": spectral, "unstructured": unstructured}
    return kinds.get(message["kind"], box_of_cells)(message, Reader(raw))


def whole_extent(message):
    """The points of a mesh of boxes, as VTK counts them; None if the mesh is of another kind."""
    if "cells" not in message:
        return None
    return extent_of((np.zeros(3, int), np.array(message["cells"])), message)


class Reader:
    """The values one after the other."""

    def __init__(self, values):
        self.values, self.at = values, 0

    def __bool__(self):
        return self.at < len(self.values)

    def take(self, *shape):
        size = int(np.prod(shape))
        self.at += size
        return self.values[self.at - size : self.at].reshape(shape)

    def integers(self, *shape):
        return self.take(*shape).astype(np.int64)


# Meshes of boxes: a box of cells is one of images, rectilinear grids or structured grids.


def point_count(cells, message):
    """By axis. Structured grids are flat along an axis that the mesh lacks."""
    flat = message["kind"] == "curvilinear"
    return cells + [int(not flat or axis < message["dimensions"]) for axis in range(3)]


def boxes(message, values):
    """Yields each box of cells, the part of it without ghost cells, its points if these have
    coordinates, and the values by field; all as [z, y, x, component].
    """
    while values:
        lo, hi, inner_lo, inner_hi = values.integers(4, 3)
        points = np.zeros((0, 3))
        if message["kind"] == "curvilinear":
            points = values.take(*point_count(hi - lo, message)[::-1], 3)
        fields = [values.take(*(hi - lo)[::-1], f["components"]) for f in message["fields"]]
        yield (lo, hi), (inner_lo, inner_hi), points, fields


def part(box, origin=(0, 0, 0), more=(0, 0, 0)):
    """The place of a box in an array whose first cell is `origin`, with `more` at its end."""
    lo, hi = np.asarray(box[0]) - origin, np.asarray(box[1]) - origin + more
    return tuple(slice(a, b) for a, b in zip(lo[::-1], hi[::-1]))


def joined(message, values):
    """All boxes as one."""
    cells = np.array(message["cells"])
    fields = [np.full((*cells[::-1], f["components"]), np.nan) for f in message["fields"]]
    points = np.full((*point_count(cells, message)[::-1], 3), np.nan)
    for box, _, box_points, box_fields in boxes(message, values):
        for field, of_box in zip(fields, box_fields):
            field[part(box)] = of_box
        if message["kind"] == "curvilinear":
            points[part(box, more=point_count(cells, message) - cells)] = box_points
    return (np.zeros(3, int), cells), points, fields


def extent_of(box, message):
    lo, hi = box
    if np.any(lo >= hi):
        return [0, -1] * 3
    end = lo + point_count(hi - lo, message) - 1
    return np.stack([lo, end], axis=1).ravel().tolist()


def box_of_cells(message, values):
    from paraview.vtk import vtkImageData, vtkRectilinearGrid, vtkStructuredGrid

    ghosts = None
    if message["whole"]:
        box, places, fields = joined(message, values)
    else:
        nothing = np.zeros(3, int), np.zeros(3, int)
        empty = [np.zeros((0, f["components"])) for f in message["fields"]]
        none = nothing, nothing, np.zeros((0, 3)), empty
        box, inner, places, fields = next(boxes(message, values), none)
        ghosts = np.full((box[1] - box[0])[::-1], duplicate(), np.uint8)
        ghosts[part(inner, box[0])] = 0
    extent = extent_of(box, message)
    if message["kind"] == "uniform":
        data = vtkImageData()
        data.SetOrigin(*message["origin"])
        data.SetSpacing(*message["spacing"])
    elif message["kind"] == "rectilinear":
        data = vtkRectilinearGrid()
        axes = [np.array(f)[a : b + 1] for f, a, b in zip(message["faces"], *np.array(box))]
        for name, faces in zip("XYZ", axes):
            getattr(data, f"Set{name}Coordinates")(reals(faces))
    else:
        data = vtkStructuredGrid()
        data.SetPoints(points(places.reshape(-1, 3)))
    data.SetExtent(extent)
    for field, array in zip(message["fields"], fields):
        add(data.GetCellData(), field["name"], array.reshape(-1, array.shape[-1]))
    if ghosts is not None:
        add(data.GetCellData(), "vtkGhostType", ghosts.ravel())
    return data


def duplicate():
    from paraview.vtk import vtkDataSetAttributes

    return vtkDataSetAttributes.DUPLICATECELL


# Meshes whose items lie in lists.


def item_values(message, values):
    """By field: [item, value] of particles or elements."""
    parts = [[np.zeros((0, f["values"]))] for f in message["fields"]]
    while values:
        (count,) = values.integers(1)
        for field, of_field in zip(message["fields"], parts):
            of_field.append(values.take(count, field["values"]))
    return [np.concatenate(p) for p in parts]


def particles(message, values):
    from paraview.vtk import vtkCellArray, vtkPolyData

    arrays = item_values(message, values)
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


def spectral(message, values):
    from paraview.vtk import VTK_HEXAHEDRON, VTK_QUAD, vtkCellArray, vtkUnstructuredGrid

    n, axes = message["order"] + 1, message["dimensions"]
    arrays = item_values(message, values)
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


def unstructured(message, values):
    pieces = []
    while values or not pieces:
        pieces.append(grid(message, values))
    if len(pieces) == 1:
        return pieces[0]
    from paraview.vtk import vtkAppendFilter

    # Peers that share a point each have it, with the same coordinates.
    append = vtkAppendFilter()
    append.MergePointsOn()
    for piece in pieces:
        append.AddInputData(piece)
    append.Update()
    return append.GetOutput()


def grid(message, values):
    """The next block of cells, with their flags; one without cells behind the last."""
    from paraview.vtk import vtkCellArray, vtkUnstructuredGrid

    cell_count, count, ids, face_ids = values.integers(4) if values else (0, 0, 0, 0)
    types = values.take(cell_count).astype(np.uint8)
    flags = values.take(cell_count).astype(np.uint8)
    cells = vtkCellArray()
    offsets = values.integers(cell_count + 1) if values else np.zeros(1)
    cells.SetData(integers(offsets), integers(values.take(ids)))
    begins = integers(values.take(cell_count if face_ids else 0))
    faces = integers(values.take(face_ids))
    data = vtkUnstructuredGrid()
    data.SetPoints(points(values.take(count, 3)))
    if face_ids:
        data.SetCells(bytes_of(types), cells, begins, faces)
    else:
        data.SetCells(bytes_of(types), cells)
    for field in message["fields"]:
        attributes = data.GetPointData() if field["at_points"] else data.GetCellData()
        size = count if field["at_points"] else cell_count
        add(attributes, field["name"], values.take(size, field["components"]))
    add(data.GetCellData(), "vtkGhostType", flags)
    if message["whole"]:
        data.RemoveGhostCells()  # copies of other blocks' cells
    return data


# Arrays of VTK.


def points(array):
    from paraview.vtk import vtkPoints

    out = vtkPoints()
    out.SetData(reals(array))
    return out


def reals(array):
    from paraview.vtk.util.numpy_support import numpy_to_vtk

    return numpy_to_vtk(np.ascontiguousarray(array), deep=True)


def bytes_of(array):
    from paraview.vtk import VTK_UNSIGNED_CHAR
    from paraview.vtk.util.numpy_support import numpy_to_vtk

    return numpy_to_vtk(np.ascontiguousarray(array), deep=True, array_type=VTK_UNSIGNED_CHAR)


def integers(array):
    from paraview.vtk.util.numpy_support import numpy_to_vtkIdTypeArray

    return numpy_to_vtkIdTypeArray(np.ascontiguousarray(array, np.int64), deep=True)


def add(attributes, name, array):
    values = reals(array)
    values.SetName(name)
    attributes.AddArray(values)
