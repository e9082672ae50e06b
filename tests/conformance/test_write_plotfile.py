# SPDX-License-Identifier: BSD-3-Clause
"""Plotfiles as VTK, yt and a reader after AMReX's sources read them: boxes, values, extremes."""

from functools import cache

import numpy as np
import pytest
from conftest import read_table
from datasets import SHAPES, in_file_order, mesh_scene, particle_scene, roomy
from placements import EVERYTHING, cases, check_report, placements
from plotfile_oracles import read_level, vtk_levels
from pool import results_of_case
from scenes import Placement, Scene

STAGES = {
    "both": "write_plotfile: {fields: [density, velocity], durable: false}",
    "single": "write_plotfile: {fields: [velocity], name: wind, at_once: 1}",
}
PLACEMENTS = {
    "brick": placements(
        ["slabs", "uneven", "many", "empty"], [(3, 0, "uneven"), (5, 0, "many"), (3, 2, "empty")]
    ),
    "sheet": [Placement(2, 1, "many", "node", 1, 0, "wait", "4 MiB")],
    "line": [Placement(2, 0, "many")],
}


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


def arrays_of(scene: Scene, frame) -> dict[str, np.ndarray]:
    density, velocity = (in_file_order(scene.name, frame[f]) for f in ("density", "velocity"))
    return {"density": density, **{f"velocity_{c}": velocity[..., c] for c in range(3)}}


def test_every_value(played):
    scene, results = played
    axes = len(SHAPES[scene.name])
    for frame in scene.frames:
        arrays = arrays_of(scene, frame)
        for path, kind in (("both/grid", "f8"), ("single/wind", "f4")):
            folder = results / f"{path}_plotfiles" / f"plt{frame.step:09}"
            names = list(arrays)[0 if kind == "f8" else 1 :]
            assert (folder / "Header").read_text().splitlines()[2 : 2 + len(names)] == names
            seen = np.zeros(SHAPES[scene.name][::-1], int)
            for box in read_level(folder, 0, axes):
                at = tuple(slice(a, b) for a, b in zip(box["lo"], box["hi"], strict=True))[::-1]
                seen[at] += 1
                wanted = np.array([arrays[name][at] for name in names])
                assert box["values"].dtype == kind
                np.testing.assert_array_equal(box["values"], wanted)
                within = wanted.reshape(len(names), -1)
                np.testing.assert_array_equal(box["extremes"], [within.min(1), within.max(1)])
            assert (seen == 1).all()
    table = read_table(results / "single" / "write_wind_plotfile.csv")
    assert list(table["step"]) == [frame.step for frame in scene.frames]
    assert (table["bytes"] > scene.frames[0]["velocity"].nbytes).all()


def test_places_of_boxes(played):
    """As VTK's reader finds them."""
    scene, results = played
    if scene.name == "line":
        pytest.skip("VTK has no levels in one dimension")
    cells, frame = SHAPES[scene.name], scene.frames[-1]
    arrays = arrays_of(scene, frame)
    folder = results / "both/grid_plotfiles" / f"plt{frame.step:09}"
    for name in ("density", "velocity_1"):
        (level,) = vtk_levels(folder, name)
        seen = np.full([*cells, 1, 1][2::-1], np.nan)
        for corner, values in level:
            # Cells are a quarter wide, and the mesh begins at -1, -2, -3.
            lo = [round((corner[d] + 1 + d) * 4) if d < len(cells) else 0 for d in range(3)]
            shape = values.shape[::-1]
            at = tuple(slice(a, a + n) for a, n in zip(lo, shape, strict=True))[::-1]
            assert np.isnan(seen[at]).all()
            seen[at] = values
        np.testing.assert_array_equal(seen.reshape(arrays[name].shape), arrays[name])


def test_list_of_steps(played):
    _, results = played
    lines = (results / "both/grid.visit").read_text().splitlines()
    listed = [results / "both" / line for line in lines if not line.startswith("#")]
    assert [path.parent.name for path in listed] == ["plt000000000", "plt000000001"]
    assert all(path.is_file() for path in listed)
    assert not list((results / "both/grid_plotfiles").glob(".plt*"))


@pytest.mark.skipif(not EVERYTHING, reason="yt is large: only with PILLION_TEST_ALL")
def test_as_yt_reads_it(played):
    import yt

    yt.set_log_level(40)
    scene, results = played
    cells = [*SHAPES[scene.name], 1, 1][:3]
    for frame in scene.frames:
        found = yt.load(str(results / "both/grid_plotfiles" / f"plt{frame.step:09}"))
        assert list(found.domain_dimensions) == cells and found.current_time == frame.time
        whole = found.covering_grid(0, found.domain_left_edge, cells)
        for name, values in arrays_of(scene, frame).items():
            wanted = values.T.reshape(cells)
            np.testing.assert_array_equal(whole["boxlib", name].v, wanted)


def test_refused(build, tmp_path):
    for fields, message in {
        "density, ids": "field 'ids' holds integers, and plotfiles hold reals only",
        "density, density": "field 'density' is listed twice",
    }.items():
        scene = mesh_scene("brick", {"a": f"write_plotfile: {{fields: [{fields}]}}"}, frames=1)
        _, done = scene.run(build, tmp_path, Placement(1, 0, "slabs"), fails=True)
        assert message in done.stderr
    scene = particle_scene({"a": "write_plotfile: {fields: [charge]}"})
    _, done = scene.run(build, tmp_path, Placement(1, 0, "slabs"), fails=True)
    assert "'atoms' is not a Cartesian mesh of equal cells" in done.stderr
