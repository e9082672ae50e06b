# SPDX-License-Identifier: BSD-3-Clause
"""Files of each rank, read by NumPy as their index says."""

from functools import cache

import numpy as np
import pytest
from conftest import read_table
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
