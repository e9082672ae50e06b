# SPDX-License-Identifier: BSD-3-Clause
"""A run that stops at a checkpoint and is resumed elsewhere gives the results of one that was never
interrupted: with other numbers of ranks on both sides, from sidecars to the simulation and back,
through the network, through the node's memory, and with sidecars of a job of their own."""

import numpy as np
import pytest
import test_particles
from conftest import read_table
from placements import EVERYTHING
from scenes import Placement, Scene

STOP = 8  # frames before the checkpoint: between two time origins

# Before the checkpoint, and after it.
CHANGES = [
    (Placement(2, 1, "slabs"), Placement(3, 2, "migrate")),
    (Placement(1, 0, "slabs"), Placement(2, 3, "pieces")),
    (Placement(3, 2, "pieces"), Placement(4, 0, "sparse")),
    (Placement(4, 0, "migrate"), Placement(1, 0, "slabs")),
    (Placement(2, 1, "migrate", "node"), Placement(3, 1, "pieces", "separate")),
    (Placement(2, 2, "slabs", "separate", 2, 2), Placement(2, 1, "migrate", "node", 2)),
]
if EVERYTHING:
    CHANGES += [
        (Placement(4, 3, "migrate"), Placement(1, 1, "slabs")),
        (Placement(1, 3, "slabs"), Placement(4, 1, "migrate")),
        (Placement(2, 2, "migrate"), Placement(2, 2, "migrate")),
        (Placement(3, 1, "pieces", "separate"), Placement(2, 0, "slabs")),
        (Placement(2, 3, "sparse"), Placement(4, 2, "migrate", "separate", 2, 3)),
        (Placement(3, 0, "slabs"), Placement(2, 2, "pieces", "node", 1, 2)),
    ]

TABLES = [
    "structure/rdf",
    "between_molecules/rdf",
    "motion/msd",
    "motion/vacf",
    "motion_first/msd",
    "motion_first/vacf",
    "motion_of_molecules/msd",
    "motion_of_molecules/vacf",
    "values/statistics_velocity",
    "values/statistics_mass",
]


@pytest.fixture(scope="module")
def whole(build, tmp_path_factory):
    """Results of the runs that nobody interrupted, by scene."""
    found = {}

    def results(scene: Scene):
        if scene.name not in found:
            folder = tmp_path_factory.mktemp("whole")
            found[scene.name], _ = scene.run(build, folder, Placement(2, 0, "slabs"))
        return found[scene.name]

    return results


def same(found, expected):
    """Integers exactly; reals but for the order of additions."""
    assert list(found.columns) == list(expected.columns)
    for name, column in expected.columns.items():
        if column.dtype == np.int64:
            np.testing.assert_array_equal(found[name], column, err_msg=name)
        else:
            scale = np.nanmax(np.abs(column), initial=0)
            np.testing.assert_allclose(
                found[name], column, rtol=1e-12, atol=1e-14 * scale, err_msg=name
            )


@pytest.mark.parametrize("change", CHANGES, ids=lambda c: f"{c[0]}-to-{c[1]}")
@pytest.mark.parametrize("name", ["tilted", "vanishing"] if EVERYTHING else ["vanishing"])
def test_resumed_run(name, change, whole, build, tmp_path):
    scene = test_particles.scene(name)
    state = tmp_path / "state"
    scene.run(build, tmp_path / "first", change[0], last=STOP, checkpoint=state)
    results, _ = scene.run(build, tmp_path / "second", change[1], first=STOP, restart=state)
    for table in TABLES:
        path = f"{table}.csv"
        same(read_table(results / path), read_table(whole(scene) / path))


def test_resumed_with_other_parameters(build, tmp_path):
    """Sums over other species would mean nothing; that is said before the first step."""
    scene = test_particles.scene("periodic")
    state = tmp_path / "state"
    place = Placement(2, 0, "slabs")
    scene.run(build, tmp_path / "first", place, last=STOP, checkpoint=state)
    other = Scene(
        scene.name,
        scene.frames,
        scene.catalogue,
        scene.analyses.replace("O: [2]", "O: [1]"),
        scene.driver,
    )
    _, done = other.run(build, tmp_path / "second", place, first=STOP, restart=state, fails=True)
    assert "saved with other parameters" in done.stderr
