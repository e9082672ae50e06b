# SPDX-License-Identifier: BSD-3-Clause
"""Unstructured and curvilinear meshes, and values at points, from raw files and VTKHDF files:
analyses give what they gave while the run went on, on any number of ranks."""

import os
import re
import shutil
import sys
from pathlib import Path

import h5py
import mixed_cells as mixed
import numpy as np
import pillion
import pytest
from conftest import mpirun, read_table
from replaying import assert_same, replay
from scenes import Placement, Scene
from test_boundary import BOUNDARY, BOUNDARY_TEXT
from test_curvilinear import TEXT as CURVED
from test_curvilinear import run as run_curved
from test_faces import TEXT as FACES
from test_faces import run as run_faces
from test_masks import TEXT as MASKS
from test_masks import run as run_masks
from test_points_of_boxes import TEXT as POINTS
from test_points_of_boxes import run as run_points
from test_spectral import ANALYSES as OF_ELEMENTS
from test_spectral import CATALOGUE as ELEMENTS
from test_spectral import OF_SETS, RAW_SETS, catalogue_of_sets, check_sets, frames, frames_of_sets
from test_unstructured import ANALYSES
from test_unstructured import TEXT as CELLS
from test_unstructured import run as run_cells
from vtkmodules.util.numpy_support import numpy_to_vtk
from vtkmodules.vtkCommonCore import vtkIdList, vtkPoints
from vtkmodules.vtkCommonDataModel import vtkUnstructuredGrid
from vtkmodules.vtkIOHDF import vtkHDFWriter

RAW = "write_raw: {fields: [%s], name: %s, durable: false}"


def without_pictures(text: str) -> str:
    """Without what needs other libraries, and is slow."""
    text = re.sub(r"      - image:\n(?:          .*\n| {19}.*\n)+", "", text)
    return re.sub(r"      - (?:write_\w+|python): .*\n|  cells:\n.*\n.*write_hdf5.*\n", "", text)


def files(analysis: str = "files", write: str = RAW, **stages: str) -> str:
    """An analysis that writes fields to files, by the names of datasets."""
    return f"  {analysis}:\n    every: 1 steps\n    stages:\n" + "".join(
        f"      - {write % (fields, name)}\n" for name, fields in stages.items()
    )


def vtk(more: str = "", **stages: str) -> str:
    return files("vtk", RAW.replace("write_raw", "write_vtkhdf").replace("}", more + "}"), **stages)


LIVE = {
    "cells": (run_cells, CELLS + ANALYSES, files(one="u", other="w") + vtk(cells="u, w"), 7),
    "curved": (
        run_curved,
        CURVED,
        files(ring="ring_u", shell="shell_u") + vtk(ring="ring_u", shell="shell_u"),
        11,
    ),
    "points": (
        run_points,
        POINTS,
        (
            files(cube="t, v", plane="plane_t, plane_c", ring="ring_t")
            + vtk(cube="t, v", plane="plane_t, plane_c", ring="ring_t")
        ),
        9,
    ),
    "faces": (run_faces, FACES, files(grid="u, v, w, ex, ez, c", plane="pu, pv"), 17),
}


MASKED = {
    "sea": "sea_t, wet",
    "cut": "cut_t, part",
    "bar": "bar_t, bar_m, bar_w",
    "ring": "ring_c, ring_p, ring_m, ring_w",
    "strip": "strip_t, strip_p, strip_w",
}
LIVE["masks"] = (
    run_masks,
    MASKS[: MASKS.index("  files:")],
    files(**MASKED) + vtk(**MASKED),
    10,
)


def run_elements(folder: Path, build: Path, place: str, text: str) -> None:
    """Elements that move from rank to rank."""
    placement = {
        "inside": Placement(3, 0, "migrate"),
        "node": Placement(2, 1, "sparse", "node", 1, 0, "wait", "4 MiB"),
    }[place]
    analyses = text[text.index("analyses:") :]
    arguments = ("--elements", 1, "--apart", 0)
    Scene("box", frames(), ELEMENTS, analyses, "trajectory_driver", arguments).run(
        build, folder, placement
    )


ALL_FIELDS = "xyz, velocity, pressure, number, drift"
LIVE["elements"] = (
    run_elements,
    "output: results\nSIDECARS\n" + ELEMENTS + OF_ELEMENTS,
    (
        files(box=ALL_FIELDS)
        + vtk(whole="velocity, pressure, number, drift")
        + vtk(", elements: split", pieces=ALL_FIELDS).replace("vtk:", "pieces:")
        + files("hdf5", RAW.replace("write_raw", "write_hdf5"), box=ALL_FIELDS)
    ).replace("    every: 1 steps\n", ""),
    16,
)


@pytest.fixture(scope="module")
def live(request, build, tmp_path_factory):
    name, place = request.param
    run, text, raw, least = LIVE[name]
    folder = tmp_path_factory.mktemp(name)
    text = without_pictures(text)
    run(folder, build, place, text=text + raw)
    return folder / "results", text, least


# What a run has written does not depend on its placement, so each is replayed elsewhere once.
INSIDE = pytest.mark.parametrize("live", [(name, "inside") for name in LIVE], indirect=True)
NODE = pytest.mark.parametrize("live", [(name, "node") for name in LIVE], indirect=True)


def check_again(live, build, folder: Path, stored: str, ranks: int, sidecars: str) -> None:
    results, text, least = live
    text = text.replace("SIDECARS", f"sidecars: {sidecars}").replace("results", "again")
    if sidecars == "{}":
        text = text.replace(", at: simulation", "").replace(", at: sidecar", "")
    (folder / "c.yaml").write_text(text)
    replay(build, folder, ranks, results / stored, "c.yaml")
    written = ("files", "vtk", "pieces", "hdf5")
    tables = sorted(path for path in results.rglob("*.csv") if path.parent.name not in written)
    assert len(tables) >= least
    for path in tables:
        has_blocks = stored == "files" or path.parent.name not in ("cube", "plane")
        assert_same(path, folder / "again" / path.relative_to(results), counts=has_blocks)


@INSIDE
def test_replayed_with_sidecars(live, build, tmp_path):
    check_again(live, build, tmp_path, "files", 5, "{ranks: 2}")


@NODE
def test_replayed_on_one_rank(live, build, tmp_path):
    check_again(live, build, tmp_path, "files", 1, "{}")


@NODE
def test_replayed_from_hdf5(live, build, tmp_path):
    for stored, sidecars in (("vtk", "{ranks: 1}"), ("pieces", "{}"), ("hdf5", "{}")):
        if (live[0] / stored).exists():
            (tmp_path / stored).mkdir()
            check_again(live, build, tmp_path / stored, stored, 3, sidecars)


def test_a_first_step_with_nothing_due(build, tmp_path):
    """A session looks at points and cells before the first step, due or not."""
    for run, text, raw in (
        (run_curved, CURVED, files(ring="ring_u, ring_x", other="shell_u")),
        (run_cells, CELLS + ANALYSES, files(box="u, w")),
    ):
        text = without_pictures(text)
        folder = tmp_path / run.__module__
        folder.mkdir()
        run(folder, build, "inside", text=text + raw)
        text = text.replace("SIDECARS", "").replace("every: 1 steps", "every: 2 steps")
        text = re.sub(", at: (simulation|sidecar)", "", text.replace("results", "again"))
        (folder / "c.yaml").write_text(text)
        done = replay(build, folder, 2, "--steps", "1,2", "results/files", "c.yaml")
        assert "2 steps, 1 to 2; 1 were due" in done.stdout
        tables = sorted((folder / "again").rglob("histogram*.csv"))
        assert tables
        for path in tables:
            found = read_table(path)
            live = read_table(folder / "results" / path.relative_to(folder / "again"))
            np.testing.assert_array_equal(found["count"], live["count"])
            np.testing.assert_allclose(found["volume"], live["volume"], rtol=1e-12)


def same_meshes(one, other) -> None:
    for name in one.__dataclass_fields__:
        np.testing.assert_array_equal(getattr(one, name), getattr(other, name), name)


def test_written_again(build, tmp_path):
    """What is replayed is the boundary that was shared, with the cells that it bounds."""
    raw = BOUNDARY_TEXT.replace("write_vtkhdf", "write_raw")
    (tmp_path / "run.yaml").write_text(raw)
    (tmp_path / "program.py").write_text(BOUNDARY)
    env = os.environ | {"PYTHONPATH": str(build / "python")}
    mpirun(2, sys.executable, "program.py", env=env, cwd=tmp_path)
    (tmp_path / "c.yaml").write_text(raw.replace("output: results", "output: again"))
    replay(build, tmp_path, 2, "results/a", "c.yaml")
    found = pillion.results(tmp_path / "again")
    mesh, stress = found.mesh("a/skin", 0), found.at("a/skin", 0)["stress"]
    assert mesh.types.tolist() == [9, 5, 9, 5] and mesh.offsets.tolist() == [0, 4, 7, 11, 14]
    assert mesh.points[7:].tolist() == [5, 6, 7, 8, 6, 9, 7]
    assert mesh.coordinates[9].tolist() == [5, 0.5, 1]
    assert mesh.parents.tolist() == [7, 8, 8, 9] and mesh.patches.tolist() == [1, 0, 1, 0]
    assert mesh.patch_names == ("inlet", "wall") and mesh.flags is None and mesh.cell_ids is None
    assert stress.values.tolist() == [1.5, 2.5, 2.5, 3.5]
    same_meshes(pillion.results(tmp_path / "results").mesh("a/skin", 0), mesh)
    turned = raw.replace("output: results", "output: other").replace("inlet, wall", "wall, inlet")
    (tmp_path / "c.yaml").write_text(turned)
    done = replay(build, tmp_path, 1, "results/a", "c.yaml", check=False)
    assert done.returncode == 1
    assert "lists the patches inlet, wall, but mesh 'skin' has wall, inlet" in done.stderr


def cut(folder: Path) -> None:
    path = min(folder.glob("one_raw/*.mesh.raw"))
    path.write_bytes(path.read_bytes()[:-8])


def remove(folder: Path) -> None:
    min(folder.glob("one_raw/*.mesh.raw")).unlink()


def other_format(folder: Path) -> None:
    shutil.rmtree(folder / "one_raw")
    (folder / "one.raw.yaml").unlink()
    for step in range(4):
        np.save(folder / f"u.{step:09}.npy", np.zeros(9))


def other_blocks(folder: Path) -> None:
    """As if one dataset came from a run on another number of ranks."""
    for path in folder.glob("other_raw/other.*.yaml"):
        path.write_text(re.sub(r"id: (\d+)", "id: 1\\1", path.read_text()))


def nothing(folder: Path) -> None:
    pass


WRONG = {  # by message: the mistake in files, and one in the configuration
    "it is cut short: it has": (cut, "", ""),
    "No such file": (remove, "", ""),
    "has other blocks of mesh 'box' than": (other_blocks, "", ""),
    "cannot be field 'u' on the unstructured mesh 'box', which can be": (other_format, "", ""),
    "has values at points, but field 'w' is declared at": (nothing, ", centering: point", ""),
    "of kind unstructured, but mesh 'box' is of kind uniform": (
        nothing,
        "kind: unstructured",
        "kind: uniform, cells: [2, 2], length: [1, 1]",
    ),
}


def test_vtkhdf_written_again(build, tmp_path):
    """Points, cells, ids and flags are those that raw files of the same run have."""
    text = CELLS + "analyses:\n" + files(box="u, w")
    run_cells(tmp_path, build, "inside", text=text + vtk(box="w, u"))
    text = text.replace("SIDECARS", "").replace("output: results", "output: again")
    (tmp_path / "c.yaml").write_text(text)
    replay(build, tmp_path, 2, "results/vtk", "c.yaml")
    one, other = (pillion.results(tmp_path / name) for name in ("results", "again"))
    for step in range(mixed.STEPS):
        mesh = other.mesh("files/box", step)
        assert mesh.polyhedron_faces is not None and mesh.flags.any()
        same_meshes(one.mesh("files/box", step), mesh)
        values, like = other.at("files/box", step), one.at("files/box", step)
        assert float(values["time"]) == float(like["time"])
        for name in ("u", "w"):
            np.testing.assert_array_equal(values[name], like[name])


FOREIGN = """
output: results
meshes: {box: {kind: unstructured, units: m}}
fields: {u: {mesh: box, type: float64}, w: {mesh: box, type: float64, centering: point}}
analyses: {a: {stages: [statistics: {fields: [u, w]}, write_raw: {fields: [u, w]}]}}
"""


def test_a_file_of_vtk(build, tmp_path):
    """Tetrahedra and a polyhedron, as VTK writes them, compressed."""
    grid, ids = vtkUnstructuredGrid(), vtkPoints()
    rng = np.random.default_rng(6)
    corners = np.array([[x, y, z] for z in (0, 1) for y in (0, 1) for x in (0, 1)], float)
    for point in corners:
        ids.InsertNextPoint(*point)
    grid.SetPoints(ids)
    # A prism of half the cube as a polyhedron, and the other half as three tetrahedra.
    prism = [(0, 1, 3), (4, 5, 7), (0, 1, 5, 4), (1, 3, 7, 5), (3, 0, 4, 7)]
    faces = vtkIdList()
    for number in (len(prism), *(n for face in prism for n in (len(face), *face))):
        faces.InsertNextId(number)
    grid.InsertNextCell(42, faces)
    for tetrahedron in ((0, 3, 2, 6), (0, 3, 6, 7), (0, 7, 6, 4)):
        grid.InsertNextCell(10, 4, list(tetrahedron))
    u, w = rng.normal(size=4), rng.normal(size=8).astype(np.float32)
    for data, name, values in ((grid.GetCellData(), "u", u), (grid.GetPointData(), "w", w)):
        array = numpy_to_vtk(values, deep=True)
        array.SetName(name)
        data.AddArray(array)
    writer = vtkHDFWriter()
    writer.SetInputData(grid)
    writer.SetFileName(str(tmp_path / "mesh_7.vtkhdf"))
    writer.SetCompressionLevel(3)
    writer.Write()
    (tmp_path / "c.yaml").write_text(FOREIGN)
    replay(build, tmp_path, 1, "--time-per-step", "0.5", "mesh_7.vtkhdf", "c.yaml")
    found = pillion.results(tmp_path / "results")
    mesh, values = found.mesh("a/box", 7), found.at("a/box", 7)
    assert float(values["time"]) == 3.5 and mesh.types.tolist() == [42, 10, 10, 10]
    np.testing.assert_array_equal(mesh.coordinates, corners)
    np.testing.assert_array_equal(values["u"], u)
    np.testing.assert_array_equal(values["w"], w.astype(float))
    table = read_table(tmp_path / "results/a/statistics_u.csv")
    assert table["mean"][0] == pytest.approx(u[0] / 2 + u[1:].sum() / 6, rel=1e-12)
    for name, message in (
        ("NumberOfCells", "it lacks or garbles a part of its format"),
        ("Offsets", "it lacks or garbles a part of its format"),
        ("PointData/w", "'w', which analyses use, is missing at step 7"),
    ):
        path = tmp_path / f"without_{Path(name).name}_7.vtkhdf"
        shutil.copy(tmp_path / "mesh_7.vtkhdf", path)
        with h5py.File(path, "a") as file:
            del file["VTKHDF"][name]
        done = replay(build, tmp_path, 1, "--output", "other", path.name, "c.yaml", check=False)
        assert done.returncode == 1 and message in done.stderr, done.stderr


def test_fields_at_other_points_of_elements(build, tmp_path):
    text = "analyses:\n  files:\n    stages:\n" + RAW_SETS
    made = Scene(
        "sets",
        frames_of_sets(),
        catalogue_of_sets(),
        text,
        "trajectory_driver",
        ("--elements", 1, "--apart", 0),
    )
    results, _ = made.run(build, tmp_path, Placement(2, 0, "pieces"))
    text = f"output: again\n{catalogue_of_sets()}analyses:{OF_SETS}"
    (tmp_path / "c.yaml").write_text(text)
    replay(build, tmp_path, 2, results / "files", "c.yaml")
    check_sets(tmp_path / "again/sets")
    (tmp_path / "c.yaml").write_text(text.replace('"points": 3', '"points": 4'))
    done = replay(build, tmp_path, 1, results / "files", "c.yaml", check=False)
    assert done.returncode == 1
    assert "has values of shape [3, 3, 3] in each element, but field 'inner'" in done.stderr


def test_elements_of_another_order(build, tmp_path):
    run_elements(tmp_path, build, "inside", "analyses:\n" + files(box="velocity"))
    text = ELEMENTS.replace("order: 3", "order: 2") + "analyses: {a: {stages: [statistics: "
    (tmp_path / "c.yaml").write_text("output: again" + text + "{fields: [velocity]}]}}")
    done = replay(build, tmp_path, 1, "results/files", "c.yaml", check=False)
    assert done.returncode == 1 and "'xyz', which analyses use, is missing" in done.stderr
    (tmp_path / "c.yaml").write_text(
        ("output: again" + text).replace(", coordinates: xyz", "") + "{fields: [velocity]}]}}"
    )
    done = replay(build, tmp_path, 1, "results/files", "c.yaml", check=False)
    assert done.returncode == 1
    assert "has values of shape [3, 4, 4, 4] in each element, but field 'velocity'" in done.stderr


def test_refused(build, tmp_path):
    run_cells(tmp_path, build, "inside", CELLS + "analyses:\n" + files(one="u", other="w"))
    for number, (message, (make, old, new)) in enumerate(WRONG.items()):
        folder = tmp_path / str(number)
        shutil.copytree(tmp_path / "results/files", folder / "files")
        make(folder / "files")
        text = CELLS.replace("SIDECARS", "").replace(old, new) if old else CELLS
        text = (
            text.replace("SIDECARS", "") + "analyses: {a: {stages: [statistics: {fields: [u, w]}]}}"
        )
        (folder / "c.yaml").write_text(text)
        done = replay(build, folder, 1, "files", "c.yaml", check=False)
        assert done.returncode == 1 and message in done.stderr, (message, done.stderr)
