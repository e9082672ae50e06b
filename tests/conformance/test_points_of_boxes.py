# SPDX-License-Identifier: BSD-3-Clause
"""Values at points of uniform, rectilinear and curvilinear meshes at every placement, against NumPy
on the whole mesh: each cell gives its volume in equal parts to the points at its corners."""

import itertools
from pathlib import Path

import h5py
import numpy as np
import points_program as program
import pytest
from conftest import read_table
from programs import PLACES, results_of, runner
from vtkhdf_steps import check_run, leaves_of
from vtkmodules.util.numpy_support import vtk_to_numpy
from vtkmodules.vtkIOHDF import vtkHDFReader

HERE = Path(__file__).parent
TEXT = f"""
output: results
SIDECARS
meshes:
  cube: {{kind: uniform, cells: {list(program.CUBE)}, length: [3.5, 6, 1]}}
  plane: {{kind: rectilinear, metric: spherical, radius: 2.0,
    coordinates: {[faces.tolist() for faces in program.FACES]}}}
  ring: {{kind: curvilinear, cells: {list(program.RING)}, coordinates: ring_x}}
fields:
  t: {{mesh: cube, type: float64, centering: point}}
  v: {{mesh: cube, type: float64, components: 3, centering: point}}
  plane_t: {{mesh: plane, type: float64, centering: point}}
  plane_c: {{mesh: plane, type: float64}}
  ring_t: {{mesh: ring, type: float64, centering: point}}
  ring_x: {{mesh: ring, type: float64, components: 2, centering: point}}
analyses:
  cube:
    every: 1 steps
    stages:
      - magnitude: {{field: v, into: speed, at: simulation}}
      - statistics: {{fields: [t, v, speed]}}
      - histogram: {{field: t, bins: 4, range: [-1, 2]}}
      - python: {{call: "STAGES/points.py:gather"}}
  plane:
    every: 1 steps
    stages: [statistics: {{fields: [plane_t, plane_c]}}]
  cells:
    every: 1 steps
    stages: [write_hdf5: {{fields: [plane_c], durable: false}}]
  ring:
    every: 1 steps
    stages: [statistics: {{fields: [ring_t]}}]
"""
FILES = """\
  vtk:
    every: 1 steps
    stages:
      - write_vtkhdf: {fields: [t, v], durable: false}
      - write_vtkhdf: {fields: [t], name: old, old_readers: true, durable: false}
      - write_vtkhdf: {fields: [plane_t, plane_c], durable: false}
      - write_vtkhdf: {fields: [ring_t, ring_x], durable: false}
"""
run = runner("points_program.py")


@pytest.fixture(scope="module", params=PLACES)
def results(request, build, tmp_path_factory):
    folder = tmp_path_factory.mktemp("points")
    run(folder, build, request.param, TEXT + FILES)
    return results_of(folder, program.STEPS)


def of_points(volumes):
    """Each cell gives its volume in equal parts to its corners."""
    out = np.zeros([n + 1 for n in volumes.shape])
    for corner in itertools.product((0, 1), repeat=volumes.ndim):
        at = tuple(slice(c, c + n) for c, n in zip(corner, volumes.shape, strict=True))
        out[at] += volumes / 2**volumes.ndim
    return out


def plane_volumes():
    longitude, latitude = (np.radians(faces) for faces in program.FACES)
    return 4 * np.diff(longitude)[:, None] * np.diff(np.sin(latitude))


def ring_volumes():
    squares = (1 + np.arange(program.RING[0] + 1.0)) ** 2
    return np.repeat((np.diff(squares) * np.sin(0.4) / 2)[:, None], program.RING[1], axis=1)


def check(table, step, values, weights):
    mean = (values * weights).sum() / weights.sum()
    assert table["volume"][step] == pytest.approx(weights.sum(), rel=1e-12)
    assert table["mean"][step] == pytest.approx(mean, rel=1e-11, abs=1e-13)
    spread = np.sqrt((weights * (values - mean) ** 2).sum() / weights.sum())
    assert table["standard_deviation"][step] == pytest.approx(spread, rel=1e-11)
    assert (table["min"][step], table["max"][step]) == (values.min(), values.max())


def test_points_weigh_what_cells_give_them(results):
    cube = of_points(np.full(program.CUBE, 3.5 * 6 / np.prod(program.CUBE)))
    ring, plane = of_points(ring_volumes()), of_points(plane_volumes())
    tables = {
        name: read_table(results / f"{analysis}/statistics_{name}.csv")
        for analysis, name in [("cube", "t"), ("cube", "speed"), ("plane", "plane_t"),
                               ("plane", "plane_c"), ("ring", "ring_t")]
    }  # fmt: skip
    for step in range(program.STEPS):
        at = program.values([0] * 3, program.CUBE, step)
        speed = np.sqrt((program.vectors([0] * 3, program.CUBE, step) ** 2).sum(axis=-1))
        check(tables["t"], step, at, cube)
        check(tables["speed"], step, speed, cube)
        check(tables["plane_t"], step, program.values([0] * 2, program.PLANE, step), plane)
        check(tables["ring_t"], step, program.values([0] * 2, program.RING, step), ring)
        cells = program.values([0] * 2, program.PLANE, step, more=0)
        check(tables["plane_c"], step, cells, plane_volumes())
        bins = read_table(results / f"cube/histogram_t.{step:09}.csv")
        found, _ = np.histogram(at.ravel(), 4, (-1, 2), weights=cube.ravel())
        np.testing.assert_allclose(bins["volume"], found, rtol=1e-12)


def test_cells_of_the_same_mesh_go_in_a_layout(results):
    for step in range(program.STEPS):
        with h5py.File(next(results.glob(f"cells/**/*.{step:09}.h5"))) as file:
            found = file["plane_c"][...]
        wanted = program.values([0] * 2, program.PLANE, step, more=0)
        np.testing.assert_array_equal(found, wanted.T)


def test_python_sees_one_more_point_than_cells(results):
    table = read_table(results / "cube/gather.csv")
    for step in range(program.STEPS):
        t = program.values([0] * 3, program.CUBE, step)
        assert table["sum"][step] == pytest.approx(t.sum(), rel=1e-12)
        assert table["speed"][step] == pytest.approx(
            (program.vectors([0] * 3, program.CUBE, step) ** 2).sum(), rel=1e-12
        )


def grid_at(path: Path):
    reader = vtkHDFReader()
    reader.SetFileName(str(path))
    reader.Update()
    return reader.GetOutput()


def test_vtk_reads_values_at_points(results):
    for name in ("cube", "plane", "ring"):
        check_run(results / "vtk", name, program.STEPS)
    for step in range(program.STEPS):
        cube, plane, ring = (
            grid_at(results / f"vtk/{name}_vtkhdf/{name}.{step:09}.vtkhdf")
            for name in ("cube", "plane", "ring")
        )
        old = grid_at(results / f"vtk/old_vtkhdf/old.{step:09}.hdf")
        assert cube.GetDimensions() == old.GetDimensions() == (8, 7, 6)
        assert cube.GetBounds() == old.GetBounds() == (0, 3.5, 0, 6, 0, 1)
        t = program.values([0] * 3, program.CUBE, step)
        for found in (cube, old):
            array = vtk_to_numpy(found.GetPointData().GetArray("t"))
            np.testing.assert_array_equal(array, t.ravel("F"))
        v = program.vectors([0] * 3, program.CUBE, step)
        array = vtk_to_numpy(cube.GetPointData().GetArray("v"))
        np.testing.assert_array_equal(array, v.reshape(-1, 3, order="F"))
        for data, name, more in (
            (plane.GetPointData(), "plane_t", 1),
            (plane.GetCellData(), "plane_c", 0),
        ):
            wanted = program.values([0] * 2, program.PLANE, step, more)
            np.testing.assert_array_equal(vtk_to_numpy(data.GetArray(name)), wanted.ravel("F"))
        values = program.values([0] * 2, program.RING, step)
        for part in leaves_of(ring):
            x, y, _ = vtk_to_numpy(part.GetPoints().GetData()).T
            i = np.rint(np.hypot(x, y) - 1).astype(int)
            j = np.rint(np.arctan2(y, x) % (2 * np.pi) / 0.4).astype(int)
            found = vtk_to_numpy(part.GetPointData().GetArray("ring_t"))
            np.testing.assert_array_equal(found, values[i, j])


@pytest.mark.parametrize(
    "stage, message",
    [
        ("slice: {field: t}", "field 't' has values at points of the uniform mesh 'cube'; stage"),
        (
            "image: {draw: [slice: {field: t}]}",
            "field 't' has values at points of the uniform mesh",
        ),
        (
            "write_vtkhdf: {fields: [plane_t], old_readers: true}",
            "ParaView 5.10 and 5.11 read no rectilinear meshes",
        ),
        (
            "write_vtkhdf: {fields: [t, c], old_readers: true}",
            "old readers take values at points and values in cells from files of their own",
        ),
        ("write_hdf5: {fields: [t]}", "field 't' has values at points of the uniform mesh"),
    ],
)
def test_stages_of_cells_refuse_points(build, tmp_path, stage, message):
    text = TEXT.replace("  t: {", "  c: {mesh: cube, type: float64}\n  t: {")
    text = text.split("analyses:")[0] + f"analyses: {{a: {{every: 1 steps, stages: [{stage}]}}}}\n"
    assert message in run(tmp_path, build, "one", text, check=False)
