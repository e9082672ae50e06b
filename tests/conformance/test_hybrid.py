# SPDX-License-Identifier: BSD-3-Clause
"""First stages in the simulation, the rest in the node's sidecars: the results are those of all
stages in either place, and only what the first stages leave is moved. And what lies in the
session's memory is not moved at all."""

import json

import numpy as np
import pytest
import test_grids
from conftest import read_table
from scenes import Placement, Scene

CELLS = int(np.prod(test_grids.SHAPES["cube"]))
IN_SIMULATION = Placement(2, 0, "many")
PLACES = [
    Placement(2, 1, "many", "node"),
    Placement(4, 1, "uneven", "node", 2),
    Placement(3, 2, "many", "separate", 2),
    Placement(2, 1, "slabs", "separate", 1, 2),
]


def speeds(first: str, rest: str) -> Scene:
    """Speeds from velocities at the one place, and their distribution at the other."""
    whole = test_grids.scene("cube")
    analyses = f"""
analyses:
  speeds:
    every: 1 steps
    stages:
      - magnitude: {{field: velocity, into: speed, at: {first}}}
      - histogram: {{field: speed, bins: 20, range: [0.5, 2], at: {rest}}}
      - statistics: {{fields: speed, at: {rest}}}
"""
    return Scene("speeds", whole.frames, whole.catalogue, analyses, whole.driver, whole.arguments)


def tables(results) -> dict[str, dict[str, np.ndarray]]:
    paths = sorted((results / "speeds").glob("*.csv"))
    return {path.name: read_table(path).columns for path in paths}


def report(results) -> dict:
    return json.loads((results / "report.json").read_text())


@pytest.fixture(scope="module")
def in_simulation(build, tmp_path_factory):
    folder = tmp_path_factory.mktemp("simulation")
    results, _ = speeds("simulation", "simulation").run(build, folder, IN_SIMULATION)
    return tables(results)


def check_same(found, expected):
    """Counts and values of cells exactly; sums but for the order of additions."""
    assert found.keys() == expected.keys()
    for name, columns in expected.items():
        for column, values in columns.items():
            exact = values.dtype == np.int64 or column in ("min", "max", "lower", "upper", "time")
            np.testing.assert_allclose(
                found[name][column], values, rtol=0 if exact else 1e-13, err_msg=f"{name} {column}"
            )


@pytest.mark.parametrize("place", PLACES, ids=str)
def test_hybrid(place, in_simulation, build, tmp_path):
    moved = {}
    for first in ("simulation", "sidecar"):
        scene = speeds(first, "sidecar")
        results, _ = scene.run(build, tmp_path / first, place)
        check_same(tables(results), in_simulation)
        test_grids.test_a_field_made_by_a_stage_in_the_simulation((scene, results))
        (analysis,) = report(results)["analyses"]
        assert analysis["placement"] == ("hybrid" if first == "simulation" else "sidecar")
        moved[first] = analysis["bytes_moved"]
    assert moved["simulation"] == len(scene.frames) * CELLS * 4, "one float32 per cell"
    assert moved["sidecar"] == len(scene.frames) * CELLS * 12, "three of them"


@pytest.mark.parametrize("through", ["node", "separate"])
def test_memory_of_the_session_is_read_in_place(through, build, tmp_path):
    """Of one publication nothing but its head comes into the memory for copies."""
    peak = {}
    for buffers in (0, 2, 3):
        place = Placement(1, 1, "slabs", through, 1, buffers)
        scene = speeds("sidecar", "sidecar")
        results, _ = scene.run(build, tmp_path / str(buffers), place, last=1)
        peak[buffers] = report(results)["sidecars"]["peak_bytes"]
        (name,) = tables(results).keys() - {"statistics_speed.csv"}
        speed = test_grids.magnitude(scene.frames[0]["velocity"]).astype(np.float32)
        test_grids.check_histogram(read_table(results / "speeds" / name), speed)
    assert peak[0] >= CELLS * 12
    assert max(peak[2], peak[3]) <= peak[0] - CELLS * 12
