# SPDX-License-Identifier: BSD-3-Clause
"""Datasets that the stage `write_vtkhdf` makes, read by VTK value by value, wherever they are
written, on however many ranks."""

import json
import os
import shutil
import sys
from functools import cache

import h5py
import hierarchy
import limits
import mixed_cells as mixed
import numpy as np
import pytest
import test_rectilinear as rectilinear
import test_spectral as spectral
import yaml
from conftest import mpirun, read_table
from datasets import SHAPES, mesh_scene, particle_frames, particle_scene, roomy
from placements import cases, check_report, placements
from pool import results_of_case
from scenes import Placement, Scene
from test_levels import CATALOGUE, HERE, PLACES
from test_unstructured import run as run_mixed
from vtkhdf_steps import check_run
from vtkmodules.util.numpy_support import vtk_to_numpy
from vtkmodules.vtkCommonDataModel import vtkLagrangeHexahedron, vtkPartitionedDataSet
from vtkmodules.vtkFiltersVerdict import vtkCellSizeFilter
from vtkmodules.vtkIOHDF import vtkHDFReader

FIELDS = "fields: [density, velocity, level, ids]"
STAGES = {
    "plain": f"write_vtkhdf: {{{FIELDS}}}",
    "turns": f"write_vtkhdf: {{{FIELDS}, name: packed, at_once: 1, durable: false}}",
    "old": f"write_vtkhdf: {{{FIELDS}, old_readers: true, durable: false}}",
}
PLACEMENTS = {
    "brick": placements(
        ["slabs", "uneven", "many", "empty"],
        [(1, 0, "slabs"), (3, 0, "uneven"), (5, 0, "many"), (2, 3, "empty")],
    ),
    "thin": [Placement(2, 1, "many", "node", 1, 0, "wait", "8 MiB")],
    "sheet": [Placement(2, 2, "many")],
    "line": [Placement(3, 0, "slabs")],
}
PARTICLES = {"plain": "write_vtkhdf: {fields: [id, position, charge, kind], durable: false}"}
PARTICLE_PLACEMENTS = placements(
    ["slabs", "migrate", "sparse", "pieces"],
    [(1, 0, "slabs"), (4, 0, "pieces"), (3, 2, "migrate"), (2, 1, "sparse", "node", 1)],
)


@pytest.fixture(scope="module", autouse=True)
def hdf5(build):
    if "HDF5_WORKS:INTERNAL=1" not in (build / "CMakeCache.txt").read_text():
        pytest.skip("the stage write_vtkhdf was not built")


def file_of(folder, name: str, step: int):
    return folder / f"{name}_vtkhdf" / f"{name}.{step:09}.vtkhdf"


def opened(path):
    reader = vtkHDFReader()
    reader.SetFileName(str(path))
    reader.Update()
    return reader.GetOutputDataObject(0)


def parts_of(path) -> list:
    """The parts of a grid, as VTK reads them."""
    found = opened(path)
    if not isinstance(found, vtkPartitionedDataSet):
        return [found]
    return [found.GetPartition(p) for p in range(found.GetNumberOfPartitions())]


def arrays_of(data) -> dict[str, np.ndarray]:
    names = [data.GetArrayName(n) for n in range(data.GetNumberOfArrays())]
    return {name: vtk_to_numpy(data.GetArray(name)) for name in names}


def joined(parts, which: str) -> dict[str, np.ndarray]:
    """Arrays of all parts behind each other."""
    every = [arrays_of(getattr(part, which)()) for part in parts]
    return {name: np.concatenate([arrays[name] for arrays in every]) for name in every[0]}


def points_of(parts) -> np.ndarray:
    points = [part.GetPoints().GetData() for part in parts if part.GetNumberOfPoints() > 0]
    return np.concatenate([vtk_to_numpy(p) for p in points] or [np.empty((0, 3))])


def check_series(folder, name: str, frames) -> None:
    series = json.loads((folder / f"{name}.vtkhdf.series").read_text())
    assert series["file-series-version"] == "1.0"
    assert [of["time"] for of in series["files"]] == [frame.time for frame in frames]
    paths = [folder / of["name"] for of in series["files"]]
    assert paths == [file_of(folder, name, frame.step) for frame in frames]
    assert all(path.is_file() for path in paths)
    assert not list(folder.rglob(".*.part"))
    check_run(folder, name, len(frames))


@cache
def scene_of(name: str) -> Scene:
    return mesh_scene(name, STAGES)


@pytest.fixture(
    scope="module", params=cases({name: roomy(those) for name, those in PLACEMENTS.items()})
)
def played(request, build, tmp_path_factory):
    name, placement = request.param
    _, results = results_of_case(
        request, build, tmp_path_factory, lambda case, _: (scene_of(case[0]), case[1])
    )
    check_report(scene_of(name), placement, results)
    return scene_of(name), results


@pytest.mark.parametrize(("key", "dataset"), [("plain", "grid"), ("turns", "packed")])
def test_images(played, key, dataset):
    scene, results = played
    cells = SHAPES[scene.name]
    check_series(results / key, dataset, scene.frames)
    for frame in scene.frames:
        image = opened(file_of(results / key, dataset, frame.step))
        assert image.GetClassName() == "vtkImageData"
        assert image.GetNumberOfCells() == np.prod(cells)
        assert list(image.GetOrigin())[: len(cells)] == [-1.0 - d for d in range(len(cells))]
        assert list(image.GetSpacing())[: len(cells)] == [0.25] * len(cells)
        found = arrays_of(image.GetCellData())
        assert set(found) == set(frame.values)
        for field, values in frame.values.items():
            assert found[field].dtype == values.dtype
            np.testing.assert_array_equal(found[field], values, field)


def test_images_for_old_readers(played):
    """Values are at points in the middle of the cells."""
    scene, results = played
    cells = SHAPES[scene.name]
    series = json.loads((results / "old" / "grid.hdf.series").read_text())
    assert not (results / "old" / "grid.vtkhdf").exists()
    for frame, of in zip(scene.frames, series["files"], strict=True):
        image = opened(results / "old" / of["name"])
        assert of["name"].endswith(".hdf") and image.GetNumberOfPoints() == np.prod(cells)
        assert list(image.GetOrigin())[: len(cells)] == [-0.875 - d for d in range(len(cells))]
        found = arrays_of(image.GetPointData())
        for field, values in frame.values.items():
            np.testing.assert_array_equal(found[field], values, field)


@pytest.mark.skipif(shutil.which("pvpython") is None, reason="ParaView is not installed")
def test_paraview_opens_files_for_old_readers(played):
    scene, results = played
    script = (
        "import sys\nfrom paraview import simple\n"
        "reader = simple.OpenDataFile(sys.argv[1])\nreader.UpdatePipeline()\n"
        "points = reader.GetDataInformation().GetPointDataInformation()\n"
        "print(points.GetArrayInformation('density').GetComponentRange(0))\n"
    )
    if scene.name != "brick":
        pytest.skip("it takes seconds, and one mesh is enough")
    path = results / "old" / "grid_vtkhdf" / f"grid.{scene.frames[1].step:09}.hdf"
    command = ["timeout", "-k", "5", "60", "xvfb-run", "-a", "pvpython", "-", path]
    # A file, for what is left of a server that hangs would keep a pipe open.
    with open(results / "seen.txt", "w+") as seen:
        limits.run(command, input=script, stdout=seen, text=True, timeout=90, check=True)
    density = scene.frames[1]["density"]
    shown = (results / "seen.txt").read_text().splitlines()[0]
    assert shown == str((float(density.min()), float(density.max())))


def test_it_says_where_it_comes_from(played):
    scene, results = played
    with h5py.File(file_of(results / "plain", "grid", 1)) as file:
        origin = yaml.safe_load(file.attrs["origin"])
        assert (file.attrs["step"], file.attrs["time"]) == (1, scene.frames[1].time)
        assert file["VTKHDF/CellData/velocity"].attrs["units"] == "m/s"
    assert (origin["analysis"], origin["stage"], origin["step"]) == ("plain", "write_vtkhdf", 1)
    table = read_table(results / "plain" / "write_grid_vtkhdf.csv")
    of_fields = sum(values.nbytes for values in scene.frames[0].values.values())
    assert table["step"].tolist() == [0, 1] and (table["bytes"] == of_fields).all()


@pytest.fixture(scope="module", params=roomy(PARTICLE_PLACEMENTS), ids=str)
def atoms(request, build, tmp_path_factory):
    scene = particle_scene(PARTICLES)
    _, results = results_of_case(request, build, tmp_path_factory, lambda place, _: (scene, place))
    check_report(scene, request.param, results)
    return results / "plain"


def test_particles(atoms):
    check_series(atoms, "atoms", particle_frames())
    for frame in particle_frames():
        parts = parts_of(file_of(atoms, "atoms", frame.step))
        assert {part.GetClassName() for part in parts} == {"vtkUnstructuredGrid"}
        assert sum(part.GetNumberOfCells() for part in parts) == frame.count
        types = {part.GetCellType(c) for part in parts for c in range(part.GetNumberOfCells())}
        assert types <= {1}
        found = joined(parts, "GetPointData") | {"position": points_of(parts)}
        assert set(found) == set(frame.values)
        order, wanted = np.argsort(found["id"]), np.argsort(frame["id"])
        for field, values in frame.values.items():
            assert found[field].dtype == values.dtype
            np.testing.assert_array_equal(found[field][order], values[wanted], field)


@pytest.fixture(scope="module", params=["inside", "node"])
def live(request, build, tmp_path_factory):
    folder = tmp_path_factory.mktemp("live")
    ranks, more, sidecars = PLACES[request.param]
    stages = """
  levels:
    stages:
      - write_vtkhdf: {fields: [density, velocity], durable: false}
      - write_vtkhdf: {fields: [heat], durable: false}
  fine:
    every: 3 steps
    stages: [write_vtkhdf: {fields: [density, velocity], durable: false}]
"""
    head = f"output: results\nsidecars: {sidecars or '{}'}\n"
    (folder / "run.yaml").write_text(head + CATALOGUE + "analyses:" + stages)
    env = os.environ | {"PYTHONPATH": f"{build / 'python'}:{HERE}"}
    mpirun(ranks + more, sys.executable, HERE / "hierarchy_program.py", env=env, cwd=folder)
    return folder / "results" / "levels"


def test_all_levels_in_one_file(live):
    """All steps of `fine` have all levels; those of `levels` have not, which VTK cannot read."""
    check_run(live.parent / "fine", "grid", 2)
    check_run(live, "ocean", hierarchy.STEPS)
    assert not (live / "grid.vtkhdf").exists()


def boxes_of(grid, level: int):
    for n in range(grid.GetNumberOfBlocks(level)):
        image = grid.GetDataSetAsCartesianGrid(level, n)
        corners = [0] * 6
        grid.GetAMRBox(level, n).Serialize(corners)
        spans = zip(corners[:3], corners[3:], strict=True)
        yield image, tuple(slice(lo, hi + 1) for lo, hi in spans)


def covered_cells(step: int, level: int) -> np.ndarray:
    covered = np.zeros(hierarchy.shape_of(level), bool)
    for box in hierarchy.boxes(step):
        if box.level == level + 1:
            sides = zip(box.lo, box.hi, hierarchy.RATIOS[level], strict=True)
            covered[tuple(slice(a // r, b // r) for a, b, r in sides)] = True
    return covered


def turned(values: np.ndarray, like: np.ndarray) -> np.ndarray:
    """Values of a box as [x, y, z]."""
    return np.swapaxes(values.reshape(*like.shape[2::-1], *like.shape[3:]), 0, 2)


def test_levels(live):
    for step in range(hierarchy.STEPS):
        grid = opened(file_of(live, "grid", step))
        assert grid.GetClassName() == "vtkOverlappingAMR"
        boxes = hierarchy.boxes(step)
        assert grid.GetNumberOfLevels() == 1 + max(box.level for box in boxes)
        for level in range(grid.GetNumberOfLevels()):
            corners = []
            for image, at in boxes_of(grid, level):
                corners.append(tuple((s.start, s.stop) for s in at))
                found = arrays_of(image.GetCellData())
                for field in ("density", "velocity"):
                    wanted = hierarchy.values(field, step, level)[at]
                    np.testing.assert_array_equal(turned(found[field], wanted), wanted)
                # VTK knows one ratio for all axes of a level, and sets flags by it.
                if level == 0:
                    covered = covered_cells(step, level)[at]
                    flags = turned(found["vtkGhostType"], covered)
                    np.testing.assert_array_equal(flags & 8 > 0, covered)
            wanted = [tuple(zip(b.lo, b.hi, strict=True)) for b in boxes if b.level == level]
            assert sorted(corners) == sorted(wanted)


def test_flags_of_levels(live):
    """As they are in the file."""
    for step in range(hierarchy.STEPS):
        with h5py.File(file_of(live, "grid", step)) as file:
            for level in range(sum(name.startswith("Level") for name in file["VTKHDF"])):
                group, first = file[f"VTKHDF/Level{level}"], 0
                flags = group["CellData/vtkGhostType"][...]
                for box in group["AMRBox"][...].reshape(-1, 3, 2).tolist():
                    at = tuple(slice(lo, hi + 1) for lo, hi in box)
                    covered = covered_cells(step, level)[at]
                    of_box = flags[first : first + covered.size]
                    np.testing.assert_array_equal(turned(of_box, covered), covered * 8)
                    first += covered.size
                assert first == len(flags)


def test_missing_cells(live):
    for step in range(hierarchy.STEPS):
        grid = opened(file_of(live, "ocean", step))
        boxes, found = hierarchy.ocean(step), list(boxes_of(grid, 0))
        corners = [tuple((s.start, s.stop) for s in at[:2]) for _, at in found]
        assert sorted(corners) == sorted(tuple(zip(b.lo, b.hi, strict=True)) for b in boxes)
        for image, at in found:
            wanted = hierarchy.heat(step)[at[:2]]
            values = arrays_of(image.GetCellData())["heat"].reshape(wanted.shape[::-1]).T
            np.testing.assert_array_equal(values, wanted)


RECTILINEAR = """
  a:
    every: 1 steps
    stages:
      - write_vtkhdf: {fields: [u, v], durable: false}
"""


def stretched(name: str) -> Scene:
    text = f"meshes:\n  grid: {rectilinear.mesh_text(name, 1)}\n"
    text += "fields:\n  u: {mesh: grid, type: float64}\n"
    text += "  v: {mesh: grid, type: float32, components: 2, units: K}\n"
    arguments = ("--cells", ",".join(map(str, rectilinear.CELLS[name])))
    return Scene(
        name,
        rectilinear.frames(name),
        text,
        "analyses:" + RECTILINEAR,
        "grid_driver",
        arguments,
    )


STRETCHED = [Placement(1, 0, "slabs"), Placement(3, 0, "uneven"), Placement(2, 2, "many")]


@pytest.fixture(scope="module", params=cases({"pipe": STRETCHED, "globe": STRETCHED[1:2]}))
def curved(request, build, tmp_path_factory):
    name, _ = request.param
    _, results = results_of_case(
        request, build, tmp_path_factory, lambda case, _: (stretched(case[0]), case[1])
    )
    return name, results / "a"


def test_rectilinear(curved):
    """Axes are the mesh's own: a cylinder's radius, azimuth and height."""
    name, results = curved
    check_run(results, "grid", len(rectilinear.frames(name)))
    for frame in rectilinear.frames(name):
        grid = opened(file_of(results, "grid", frame.step))
        found = arrays_of(grid.GetCellData())
        for field in ("u", "v"):
            np.testing.assert_array_equal(found[field], frame[field], field)
        if name == "pipe":
            assert grid.GetClassName() == "vtkRectilinearGrid"
            of_axes = (grid.GetXCoordinates(), grid.GetYCoordinates(), grid.GetZCoordinates())
            for at, wanted in zip(of_axes, rectilinear.faces(name), strict=True):
                np.testing.assert_array_equal(vtk_to_numpy(at), wanted)
        else:
            assert grid.GetClassName() == "vtkImageData"
            bounds = [of for x in rectilinear.faces(name) for of in (x[0], x[-1])]
            np.testing.assert_allclose(grid.GetBounds()[:4], bounds, rtol=1e-14)


SPECTRAL = """
analyses:
  a:
    stages:
      - write_vtkhdf: {fields: [velocity, pressure, number, drift], durable: false}
      - write_vtkhdf: {fields: [xyz, pressure, number], elements: split, name: split,
                       durable: false}
"""


@cache
def elements() -> Scene:
    arguments = ("--elements", 1)
    return Scene(
        "spectral", spectral.frames(), spectral.CATALOGUE, SPECTRAL, "trajectory_driver", arguments
    )


@pytest.fixture(
    scope="module",
    params=cases(
        {
            "spectral": roomy(
                [
                    *(Placement(1, 0, "slabs"), Placement(4, 0, "sparse")),
                    *(Placement(3, 2, "pieces"), Placement(2, 1, "migrate", "node")),
                ]
            )
        }
    ),
)
def spectra(request, build, tmp_path_factory):
    _, results = results_of_case(
        request, build, tmp_path_factory, lambda case, _: (elements(), case[1])
    )
    return results / "a"


def volume_of(parts) -> float:
    total = 0.0
    for part in parts:
        sizes = vtkCellSizeFilter()
        sizes.SetInputData(part)
        sizes.Update()
        total += arrays_of(sizes.GetOutput().GetCellData())["Volume"].sum()
    return total


def test_elements(spectra):
    n = spectral.N
    check_run(spectra, "box", len(spectral.frames()))
    for frame in spectral.frames():
        wanted = {name: spectral.shaped(frame, name) for name in frame.values}
        row_of = {number: row for row, number in enumerate(wanted["number"].tolist())}
        parts = parts_of(file_of(spectra, "box", frame.step))
        seen = set()
        for part in parts:
            points, cells = arrays_of(part.GetPointData()), arrays_of(part.GetCellData())
            where = vtk_to_numpy(part.GetPoints().GetData())
            for c in range(part.GetNumberOfCells()):
                number = int(cells["number"][c])
                seen.add(number)
                row = row_of[number]
                np.testing.assert_array_equal(cells["drift"][c], wanted["drift"][row])
                assert part.GetCellType(c) == 72
                ids = part.GetCell(c).GetPointIds()
                for k, j, i in np.ndindex(n, n, n):
                    # Where VTK itself has the node.
                    node = vtkLagrangeHexahedron.PointIndexFromIJK(i, j, k, (n - 1,) * 3)
                    point = ids.GetId(node)
                    np.testing.assert_array_equal(where[point], wanted["xyz"][row, :, k, j, i])
                    np.testing.assert_array_equal(
                        points["velocity"][point], wanted["velocity"][row, :, k, j, i]
                    )
                    assert points["pressure"][point] == wanted["pressure"][row, k, j, i]
        assert seen == set(row_of)


def test_split_elements(spectra):
    frame = spectral.frames()[-1]
    wanted = {name: spectral.shaped(frame, name) for name in frame.values}
    order = spectral.ORDER
    parts = parts_of(file_of(spectra, "split", frame.step))
    numbers, counts = np.unique(joined(parts, "GetCellData")["number"], return_counts=True)
    assert set(numbers) == set(wanted["number"].tolist()) and (counts == order**3).all()
    # Each cell is the right way round, and all of them fill the unit cube.
    assert volume_of(parts) == pytest.approx(1, rel=1e-2)
    found = points_of(parts), joined(parts, "GetPointData")["pressure"]
    together = np.column_stack([found[0], found[1]])
    expected = np.column_stack(
        [np.moveaxis(wanted["xyz"], 1, -1).reshape(-1, 3), wanted["pressure"].ravel()]
    )
    for rows in (together, expected):
        rows[:] = rows[np.lexsort(rows.T)]
    np.testing.assert_array_equal(together, expected)


MIXED = """
output: results
SIDECARS
meshes: {box: {kind: unstructured, units: m}}
fields:
  u: {mesh: box, type: float64, units: K}
  w: {mesh: box, type: float32, components: 3, centering: point}
analyses:
  a:
    every: 1 steps
    stages:
      - write_vtkhdf: {fields: [u, w], durable: false}
"""


@pytest.fixture(scope="module", params=["one", "inside", "network", "node"])
def cells(request, build, tmp_path_factory):
    folder = tmp_path_factory.mktemp("cells")
    run_mixed(folder, build, request.param, MIXED)
    return folder / "results" / "a"


def test_cells_of_every_shape(cells):
    check_run(cells, "box", mixed.STEPS)
    wanted = mixed.mesh()[1]
    for step in range(mixed.STEPS):
        parts = parts_of(file_of(cells, "box", step))
        assert {part.GetClassName() for part in parts} == {"vtkUnstructuredGrid"}
        seen = np.zeros(len(wanted), int)
        copies = 0
        for part in parts:
            sizes = vtkCellSizeFilter()
            sizes.SetInputData(part)
            sizes.Update()
            volumes = arrays_of(sizes.GetOutput().GetCellData())["Volume"]
            found = arrays_of(part.GetCellData())
            for c, number in enumerate(found["GlobalCellIds"].tolist()):
                assert part.GetCellType(c) == wanted[number].type
                if found["vtkGhostType"][c] == 1:
                    copies += 1
                    continue
                seen[number] += 1
                assert found["u"][c] == mixed.at_cells(step)[number]
                # Of wedges the filter gives the volume with the other sign.
                assert abs(volumes[c]) == pytest.approx(mixed.volumes(step)[number], rel=1e-6)
                assert part.GetCell(c).GetNumberOfFaces() == {10: 4, 13: 5, 14: 5}.get(
                    wanted[number].type, 6
                )
            points = arrays_of(part.GetPointData())
            ids = points["GlobalPointIds"]
            assert part.GetCellData().GetGlobalIds() and part.GetPointData().GetGlobalIds()
            np.testing.assert_array_equal(points["w"], mixed.at_points(step)[ids])
            np.testing.assert_array_equal(
                vtk_to_numpy(part.GetPoints().GetData()), mixed.positions(step)[ids]
            )
        assert (seen == 1).all() and copies > 0


def test_refused(build, tmp_path):
    for stage, message in {
        "fields: [density, density]": "field 'density' is listed twice",
        "fields: [density], elements: split": "`elements` goes with spectral meshes",
        "fields: [density], position: velocity": "`position` goes with particles",
    }.items():
        scene = mesh_scene("brick", {"a": f"write_vtkhdf: {{{stage}}}"}, frames=1)
        _, done = scene.run(build, tmp_path, Placement(1, 0, "slabs"), fails=True)
        assert message in done.stderr
    scene = particle_scene({"a": "write_vtkhdf: {fields: [charge], position: charge}"})
    _, done = scene.run(build, tmp_path, Placement(1, 0, "slabs"), fails=True)
    assert "'charge' cannot be where the points of mesh 'atoms' are" in done.stderr
