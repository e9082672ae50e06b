# SPDX-License-Identifier: BSD-3-Clause
"""Volumes, areas and lengths of cells of all types, as stages compute them, against VTK's."""

import limits
import numpy as np
import pytest

vtk = pytest.importorskip("vtk")

LINEAR = [3, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16]
QUADRATIC = [21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31, 32, 33, 34]
STRIP = [[0, 0, 0], [0, 1, 0], [1, 0, 0], [1, 1, 0], [2, 0, 0]]
STAR = [[0, 0, 0], [2, 0, 0], [2, 1, 0], [1, 1, 0], [1, 2, 0], [0, 2, 0]]


def reference(kind: int) -> np.ndarray:
    """Points of a cell of this type, where VTK's parametric coordinates have them."""
    if kind in (6, 7):
        return np.array(STRIP if kind == 6 else STAR, float)
    cell = vtk.vtkGenericCell.InstantiateCell(kind)
    flat = cell.GetParametricCoords()
    points = np.array(flat[: 3 * cell.GetNumberOfPoints()], float).reshape(-1, 3)
    if kind == 27:  # the parameters of a pyramid are those of a cube, whose edges would be curved
        for p in range(len(points)):
            cell.GetPointIds().SetId(p, p)
        for e in range(cell.GetNumberOfEdges()):
            a, b, middle = (cell.GetEdge(e).GetPointId(i) for i in range(3))
            points[middle] = (points[a] + points[b]) / 2
    return points


def affine(kind: int, rng: np.random.Generator) -> np.ndarray:
    """Such a cell under a map that keeps the sense; planar cells leave their plane. The sides of
    pixels and voxels stay along the axes, as VTK has them."""
    matrix = np.eye(3) + rng.uniform(-0.3, 0.3, (3, 3))
    if kind in (8, 11):
        matrix = np.diag(rng.uniform(0.5, 2, 3))
    return reference(kind) @ matrix.T * rng.uniform(0.1, 10) + rng.uniform(-5, 5, 3)


def sizes_of_vtk(cells) -> np.ndarray:
    """By vtkCellSizeFilter, whatever the dimensions."""
    grid, points = vtk.vtkUnstructuredGrid(), vtk.vtkPoints()
    points.SetDataTypeToDouble()
    for kind, places, faces in cells:
        ids = [points.InsertNextPoint(*p) for p in places]
        if kind == 42:
            listed = vtk.vtkIdList()
            listed.InsertNextId(len(faces))
            for face in faces:
                listed.InsertNextId(len(face))
                for p in face:
                    listed.InsertNextId(ids[p])
            grid.InsertNextCell(kind, listed)
        else:
            grid.InsertNextCell(kind, len(ids), ids)
    grid.SetPoints(points)
    sizes = vtk.vtkCellSizeFilter()
    sizes.SetInputData(grid)
    sizes.Update()
    data = sizes.GetOutput().GetCellData()
    names = ("Length", "Area", "Volume")
    columns = [[data.GetArray(n).GetValue(c) for c in range(len(cells))] for n in names]
    return np.sum(columns, axis=0)


def measured(build, cells) -> np.ndarray:
    """A row of size and centroid for each cell."""
    words = []
    for kind, places, faces in cells:
        words += [kind, len(places)]
        if kind == 42:
            words.append(len(faces))
            for face in faces:
                words += [len(face), *face]
        words += [repr(float(x)) for x in np.ravel(places)]
    done = limits.run(
        [build / "tests/conformance/cell_measures"],
        input=" ".join(map(str, words)),
        capture_output=True,
        text=True,
        timeout=30,
        check=True,
    )
    return np.array([line.split() for line in done.stdout.splitlines()], float)


@pytest.mark.parametrize("kind", LINEAR + QUADRATIC)
def test_affine_cells(build, kind):
    rng = np.random.default_rng(kind)
    cells = [(kind, reference(kind), None)]
    cells += [(kind, affine(kind, rng), None) for _ in range(20)]
    found = measured(build, cells)
    np.testing.assert_allclose(found[:, 0], sizes_of_vtk(cells), rtol=1e-10)


def test_warped_hexahedra(build):
    """Their faces are bilinear here; VTK cuts the cell into tetrahedra, so a mean over the cuts of
    all mirrored numberings comes closer to it than any one does."""
    rng = np.random.default_rng(3)
    cells = [(12, reference(12) + rng.uniform(-0.05, 0.05, (8, 3)), None) for _ in range(50)]
    found = measured(build, cells)
    np.testing.assert_allclose(found[:, 0], sizes_of_vtk(cells), rtol=0.02)


def dodecahedron() -> tuple[np.ndarray, list[list[int]]]:
    """From VTK's own source of platonic solids."""
    source = vtk.vtkPlatonicSolidSource()
    source.SetSolidTypeToDodecahedron()
    source.Update()
    surface = source.GetOutput()
    points = np.array([surface.GetPoint(p) for p in range(surface.GetNumberOfPoints())])
    faces = []
    for f in range(surface.GetNumberOfCells()):
        cell = surface.GetCell(f)
        faces.append([cell.GetPointId(i) for i in range(cell.GetNumberOfPoints())])
    return points, faces


def test_polyhedra(build):
    rng = np.random.default_rng(42)
    points, faces = dodecahedron()
    cells = []
    for _ in range(10):
        matrix = np.eye(3) + rng.uniform(-0.3, 0.3, (3, 3))
        cells.append((42, points @ matrix.T + rng.uniform(-5, 5, 3), faces))
    found = measured(build, cells)
    np.testing.assert_allclose(found[:, 0], sizes_of_vtk(cells), rtol=1e-6)
    np.testing.assert_allclose(found[:, 1:], [c[1].mean(axis=0) for c in cells], atol=1e-5)
    turned = [
        (42, places, [f[::-1] if rng.random() < 0.5 else f for f in faces])
        for _, places, _ in cells
    ]
    np.testing.assert_allclose(measured(build, turned), found, rtol=1e-12, atol=1e-12)
