# SPDX-License-Identifier: BSD-3-Clause
"""Files of each rank, read by NumPy as their index says."""

import itertools
import json
import os
import sys
from functools import cache

import mixed_cells as mixed
import numpy as np
import pillion
import points_program as points
import pytest
from conftest import mpirun, read_table
from datasets import (
    SHAPES,
    in_file_order,
    mesh_scene,
    particle_frames,
    particle_scene,
    read_raw,
    roomy,
)
from placements import cases, check_report, placements
from pool import results_of_case
from scenes import Placement, Scene
from test_points_of_boxes import TEXT as BOXES
from test_points_of_boxes import run as run_boxes
from test_unstructured import run as run_cells
from test_write_faults import watch_disk

STAGE = "write_raw: {fields: [density, velocity, level, ids], durable: false}"
ATOMS = "write_raw: {fields: [id, position, charge, kind], durable: false, at_once: 1}"
PLACEMENTS = {
    "brick": placements(
        ["slabs", "uneven", "many", "empty"], [(3, 0, "uneven"), (5, 0, "many"), (3, 2, "empty")]
    ),
    "sheet": [Placement(2, 1, "many", "node", 1, 0, "wait", "4 MiB")],
}


@cache
def scene_of(name: str) -> Scene:
    return mesh_scene(name, {"a": STAGE})


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


def test_every_value(played):
    scene, results = played
    steps = read_raw(results / "a", "grid.raw.yaml")
    assert list(steps) == [frame.step for frame in scene.frames]
    for frame in scene.frames:
        _, blocks = steps[frame.step]
        seen = np.zeros(SHAPES[scene.name][::-1], int)
        for block in blocks:
            box = tuple(slice(a, b) for a, b in zip(block["lo"], block["hi"], strict=True))[::-1]
            seen[box] += 1
            for field, values in frame.values.items():
                assert block[field].dtype == values.dtype
                wanted = in_file_order(scene.name, values)[box]
                np.testing.assert_array_equal(block[field].reshape(wanted.shape), wanted, field)
        assert (seen == 1).all()
    table = read_table(results / "a" / "write_grid_raw.csv")
    assert (table["bytes"] == sum(v.nbytes for v in scene.frames[0].values.values())).all()


def test_every_particle(build, tmp_path):
    scene = particle_scene({"a": ATOMS})
    results, _ = scene.run(build, tmp_path, Placement(3, 2, "pieces"))
    steps = read_raw(results / "a", "atoms.raw.yaml")
    for frame in particle_frames():
        _, blocks = steps[frame.step]
        found = {
            field: np.concatenate([values[:0], *(block[field] for block in blocks)])
            for field, values in frame.values.items()
        }
        order, wanted = np.argsort(found["id"]), np.argsort(frame["id"])
        for field, values in frame.values.items():
            np.testing.assert_array_equal(found[field][order], values[wanted], field)


CELLS = """
output: results
SIDECARS
meshes: {box: {kind: unstructured, units: m}}
fields:
  u: {mesh: box, type: float64, units: K}
  w: {mesh: box, type: float32, components: 3, centering: point}
analyses: {a: {stages: [write_raw: {fields: [u, w], durable: false}]}}
"""
PLACES = ["inside", "network", "node"]


def rows(values, offsets):
    return [values[a:b].tolist() for a, b in itertools.pairwise(offsets)]


def check_cells(results, steps, mesh_of=lambda step: step):
    """Against the program's own lists; `mesh_of` is the step whose mesh a step has."""
    found, wanted = read_raw(results / "a", "box.raw.yaml"), mixed.mesh()[1]
    assert list(found) == steps
    for step, (_, blocks) in found.items():
        seen, of = np.zeros(len(wanted), int), mesh_of(step)
        for block in blocks:
            if block["count"] == 0:
                assert block["point_count"] == 0 and block["u"].size == block["w"].size == 0
                continue
            ids, place = block["cells"]["ids"], block["points"]["ids"]
            cells = [wanted[n] for n in ids]
            np.testing.assert_array_equal(
                block["points"]["coordinates"], mixed.positions(of)[place]
            )
            np.testing.assert_array_equal(block["w"].reshape(-1, 3), mixed.at_points(of)[place])
            flags = block["cells"].get("flags", np.zeros(len(ids), np.uint8))
            np.testing.assert_array_equal(
                block["u"][flags == 0], mixed.at_cells(of)[ids[flags == 0]]
            )
            assert (block["u"][flags == 1] == 1e30).all()
            seen += np.bincount(ids[flags == 0], minlength=len(wanted))
            assert block["cells"]["types"].tolist() == [cell.type for cell in cells]
            corners = place[block["cells"]["points"]]
            assert rows(corners, block["cells"]["offsets"]) == [cell.points for cell in cells]
            if "face_points" in block["cells"]:
                faces = place[block["cells"]["face_points"]]
                faces = np.array([*rows(faces, block["cells"]["face_offsets"]), None], object)
                faces = faces[block["cells"]["polyhedron_faces"]]
                faces = rows(faces, block["cells"]["polyhedron_offsets"])
                assert faces == [cell.faces for cell in cells]
            else:
                assert not any(cell.faces for cell in cells)
        assert (seen == 1).all()


def check_mesh(found, mesh, step):
    """One step as `pillion.results` gives it: the blocks are one mesh."""
    cells = [mixed.mesh()[1][n] for n in mesh.cell_ids]
    np.testing.assert_array_equal(mesh.coordinates, mixed.positions(step)[mesh.point_ids])
    assert mesh.types.tolist() == [cell.type for cell in cells]
    corners = mesh.point_ids[mesh.points]
    assert rows(corners, mesh.offsets) == [cell.points for cell in cells]
    faces = rows(mesh.point_ids[mesh.face_points], mesh.face_offsets)
    of_cells = rows(mesh.polyhedron_faces, mesh.polyhedron_offsets)
    assert [[faces[f] for f in of] for of in of_cells] == [cell.faces for cell in cells]
    assert mesh.parents is None and mesh.patches is None
    own = mesh.flags == 0
    assert sorted(mesh.cell_ids[own]) == list(range(len(mixed.mesh()[1])))
    assert found["u"].dims == ("cell",) and found["w"].dims == ("point", "component3")
    np.testing.assert_array_equal(found["u"][own], mixed.at_cells(step)[mesh.cell_ids[own]])
    np.testing.assert_array_equal(found["w"], mixed.at_points(step)[mesh.point_ids])
    assert found["u"].attrs["units"] == "K"


@pytest.mark.parametrize("place", PLACES)
def test_cells_of_every_shape(build, tmp_path, place):
    run_cells(tmp_path, build, place, CELLS)
    check_cells(tmp_path / "results", list(range(mixed.STEPS)))
    results = pillion.results(tmp_path / "results")
    every = results["a/box"]  # whose blocks change
    assert every["u"].dims == every["step"].dims == ("cell",)
    assert every["w"].dims == ("point", "component3") and every["point_step"].dims == ("point",)
    for step in range(mixed.STEPS):
        found, mesh = results.at("a/box", step), results.mesh("a/box", step)
        check_mesh(found, mesh, step)
        np.testing.assert_array_equal(every["u"][every["step"] == step], found["u"])
        np.testing.assert_array_equal(every["w"][every["point_step"] == step], found["w"])
        assert (every["point_time"][every["point_step"] == step] == 0.1 * step).all()
    assert f"cell: {every.sizes['cell']}, point: {every.sizes['point']}" in str(results)
    with pytest.raises(pillion.Error, match="has no step 9"):
        results.mesh("a/box", 9)
    with pytest.raises(pillion.Error, match="has no points and cells"):
        results.mesh("a/write_box_raw", 1)
    table = read_table(tmp_path / "results/a/write_box_raw.csv")
    files = (tmp_path / "results/a/box_raw").glob("*.raw")
    assert table["bytes"].sum() == sum(path.stat().st_size for path in files)


@pytest.mark.parametrize("how", ["still:3", "again:3"])
def test_cells_that_stay_are_written_once(build, tmp_path, how):
    run_cells(tmp_path, build, "network", CELLS, how)
    check_cells(tmp_path / "results", [0, 1, 2], lambda step: 0)
    found = pillion.results(tmp_path / "results")["a/box"]
    assert found["u"].dims == ("step", "cell")
    assert found["w"].dims == ("step", "point", "component3")
    stored = sorted((tmp_path / "results/a/box_raw").glob("*.mesh.raw"))
    assert [path.name[:13] for path in stored] == ["box.000000000"] * 2
    indices = (tmp_path / "results/a/box_raw").glob("*.mesh.yaml")
    assert [path.name for path in indices] == ["box.000000000.mesh.yaml"]


RENUMBERED = """
import numpy as np
import pillion

with pillion.open("run.yaml") as session:
    for step, ids in enumerate([[0, 1, 2], [0, 1, 2], [5, 6, 7]]):
        session.share_points("box", np.eye(3), ids=np.array(ids))
        session.share_cells("box", [0, 1, 2], types=5)
        session.share("u", np.ones(1))
        session.step(step, 0.1 * step)
"""


def test_ids_that_change_while_points_stay(build, tmp_path):
    text = CELLS.replace("kind: unstructured", "kind: unstructured, dimensions: 2")
    text = text.replace("[u, w]", "[u]").replace("SIDECARS", "")
    (tmp_path / "run.yaml").write_text(text)
    (tmp_path / "program.py").write_text(RENUMBERED)
    env = os.environ | {"PYTHONPATH": str(build / "python")}
    mpirun(1, sys.executable, "program.py", env=env, cwd=tmp_path)
    steps = read_raw(tmp_path / "results/a", "box.raw.yaml")
    found = [steps[step][1][0] for step in range(3)]
    assert [block["points"]["ids"].tolist() for block in found] == [[0, 1, 2], [0, 1, 2], [5, 6, 7]]
    files = [block["points"]["file"][8:21] for block in found]
    assert files == ["box.000000000", "box.000000000", "box.000000002"]
    assert all("000000000" in block["cells"]["file"] for block in found)


def test_steps_after_a_checkpoint_have_their_cells(build, tmp_path):
    """They are written again, and no step refers to files of steps that were taken back."""
    for place, how in (("inside", "until:2"), ("inside", "from:2"), ("one", "from:2")):
        run_cells(tmp_path, build, place, CELLS, how)
    check_cells(tmp_path / "results", [0, 1, 2, 3])
    folder = tmp_path / "results/a/box_raw"
    assert "mesh: box_raw/box.000000003.mesh.yaml" in (folder / "box.000000003.yaml").read_text()
    text = (folder / "box.000000003.mesh.yaml").read_text()
    assert "box.000000003.000000.mesh.raw" in text and "box.000000001" not in text


def test_no_room_for_points_and_cells(build, tmp_path, monkeypatch):
    """The values of a step fit on the disk; no step is listed, and the rest of the run goes on."""
    watch_disk(build, monkeypatch)
    monkeypatch.setenv("WATCHED_ROOM", "8000")
    text = CELLS[: CELLS.index("analyses:")] + (
        "analyses:\n  a: {disable_after: 1, "
        "stages: [write_raw: {fields: [u, w], durable: false}]}\n"
        "  b: {stages: [statistics: {fields: [u]}]}\n"
    )
    run_cells(tmp_path, build, "inside", text)
    a, b = json.loads((tmp_path / "results/report.json").read_text())["analyses"]
    assert "mesh.raw.part: No space left on device" in a["disabled"], a["disabled"]
    assert b["disabled"] is None and b["publications"] == mixed.STEPS
    left = [path.name for path in (tmp_path / "results/a").rglob("*")]
    assert not [name for name in left if name.endswith((".part", ".yaml"))], left


POINTS = """
  raw:
    stages:
      - write_raw: {fields: [t, v], durable: false}
      - write_raw: {fields: [plane_t, plane_c], durable: false}
      - write_raw: {fields: [ring_t], durable: false}
"""


def check_points(results, makers):
    """Whole fields, put together from blocks that share points."""
    for mesh, cells in {"cube": points.CUBE, "plane": points.PLANE, "ring": points.RING}.items():
        found, axes = results[f"raw/{mesh}"], len(cells)
        for field in makers.keys() & set(found):
            at_points = field != "plane_c"
            dims = ("point_z", "point_y", "point_x") if at_points else ("z", "y", "x")
            assert found[field].dims[1 : axes + 1] == dims[-axes:]
            for step in range(points.STEPS):
                wanted = makers[field]([0] * axes, cells, step)
                wanted = wanted.transpose(*range(axes)[::-1], *range(axes, wanted.ndim))
                np.testing.assert_array_equal(found[field].sel(step=step), wanted, field)
    cube, plane, ring = (results[f"raw/{mesh}"] for mesh in ("cube", "plane", "ring"))
    np.testing.assert_allclose(cube["point_x"], np.linspace(0, 3.5, 8), rtol=1e-14)
    assert "x" not in cube.coords
    np.testing.assert_array_equal(plane["point_y"], points.FACES[1])
    np.testing.assert_allclose(plane["x"], (points.FACES[0][1:] + points.FACES[0][:-1]) / 2)
    assert plane["point_x"].attrs["units"] == plane["x"].attrs["units"] == "degrees"
    wanted = points.ring_points([0, 0], points.RING).transpose(1, 0, 2)
    assert ring["ring_x"].dims == ("step", "point_y", "point_x", "component2")
    np.testing.assert_array_equal(ring["ring_x"].sel(step=2), wanted)
    np.testing.assert_array_equal(results.mesh("raw/ring", 0).coordinates, wanted)
    part = ring["ring_t"].isel(step=1, point_y=slice(2, 9, 3), point_x=[4, 0])
    np.testing.assert_array_equal(part, ring["ring_t"].values[1, 2:9:3][:, [4, 0]])
    with pytest.raises(pillion.Error, match=r"mesh 'cube' in .* has no points of its own"):
        results.mesh("raw/cube", 0)


@pytest.mark.parametrize("place", PLACES)
def test_values_at_points_of_boxes(build, tmp_path, place):
    text = BOXES[: BOXES.index("analyses:")] + "analyses:" + POINTS
    run_boxes(tmp_path, build, place, text)
    makers = {
        "t": points.values,
        "v": points.vectors,
        "plane_t": points.values,
        "plane_c": lambda lo, hi, step: points.values(lo, hi, step, more=0),
        "ring_t": points.values,
    }
    for mesh, cells in {"cube": points.CUBE, "plane": points.PLANE, "ring": points.RING}.items():
        steps = read_raw(tmp_path / "results/raw", f"{mesh}.raw.yaml")
        assert list(steps) == list(range(points.STEPS))
        for step, (_, blocks) in steps.items():
            seen = np.zeros(cells, int)
            for block in blocks:
                lo, hi = block["lo"], block["hi"]
                seen[tuple(slice(a, b) for a, b in zip(lo, hi, strict=True))] += 1
                for field in makers.keys() & block.keys():
                    wanted = makers[field](lo, hi, step)
                    axes = len(cells)
                    wanted = wanted.transpose(*range(axes)[::-1], *range(axes, wanted.ndim))
                    np.testing.assert_array_equal(block[field].reshape(wanted.shape), wanted, field)
                if mesh == "ring":
                    wanted = points.ring_points(lo, hi).transpose(1, 0, 2)
                    np.testing.assert_array_equal(block["points"]["coordinates"], wanted)
            assert (seen == 1).all()
    check_points(pillion.results(tmp_path / "results"), makers)
    stored = sorted((tmp_path / "results/raw/ring_raw").glob("*.mesh.raw"))
    # Points stay where they are, but ranks have other boxes from step 2 on.
    assert {path.name[5:14] for path in stored} == {"000000000", "000000002"}
