# SPDX-License-Identifier: BSD-3-Clause
"""Where stages run and how data are divided, for tests that must not depend on it. Every day a part
of a few that differ in everything, and for some scenes one more, both drawn by the day; with
PILLION_TEST_ALL=1 every number of ranks with every division."""

import itertools
import json
import os
import random

import pytest
from conftest import seed_of_the_day
from scenes import Placement, Scene

EVERYTHING = os.environ.get("PILLION_TEST_ALL", "") not in ("", "0")

# Sidecars, how they are reached, pretended nodes, buffers.
BY_NODE = [
    *((1, "node", 1, 0), (2, "node", 1, 2), (1, "node", 2, 3), (2, "node", 2, 0)),
    *((1, "separate", 1, 3), (2, "separate", 1, 0), (2, "separate", 2, 2)),
    *((0, "network", 1, 2), (2, "network", 1, 3)),
]


PART = 0.6  # of a long list is enough for a day
SHORT = 5
DRAWN = 0.25  # of the scenes that have a further placement today


def placements(
    decompositions: list[str], everyday: list[tuple], spill: str | None = None
) -> list[Placement]:
    """With `spill`, the memory of placements that spill: more than a publication needs, and less
    than all of them need.
    """
    by_node = BY_NODE + [(1, "separate", 2, 0, "spill", spill)] * (spill is not None)
    network = itertools.product((1, 2, 3, 4), (0, 1, 2, 3), decompositions)
    node = itertools.product((2, 3), by_node, decompositions)
    every = [Placement(*p) for p in network] + [
        Placement(ranks, sidecars, division, *rest) for ranks, (sidecars, *rest), division in node
    ]
    few = [Placement(*p) for p in everyday]
    if EVERYTHING:
        return every + [p for p in few if p not in every]
    others = [p for p in every if p not in few]
    dice = random.Random(f"{seed_of_the_day()} {decompositions} {everyday}")
    drawn = dice.sample(few, min(len(few), max(SHORT, round(PART * len(few)))))
    return [p for p in few if p in drawn] + [dice.choice(others)] * (dice.random() < DRAWN)


def cases(scenes: dict[str, list[Placement]]) -> list:
    """Parameters of a fixture: a scene's name and a placement."""
    return [
        pytest.param((name, p), id=f"{name}-{p}") for name, those in scenes.items() for p in those
    ]


def check_report(scene: Scene, placement: Placement, results) -> None:
    """It ran where it was to run, and nothing was left out on the way."""
    report = json.loads((results / "report.json").read_text())
    assert report["run"]["simulation_ranks"] == placement.simulation
    sidecars = report["sidecars"]
    if placement.sidecars > 0:
        assert sidecars["transport"] == ("node" if placement.by_node else "network")
        assert sidecars["job"] == ("separate" if placement.through == "separate" else "same")
        of_all = placement.nodes if placement.through == "node" else 1
        assert sidecars["ranks"] == placement.sidecars * of_all
    for analysis in report["analyses"]:
        assert analysis["publications"] == len(scene.frames), analysis
        gaps = {k: analysis[k] for k in ("skipped", "coarsened", "dropped", "lost")}
        assert set(gaps.values()) == {0} and analysis["disabled"] is None, analysis
        assert placement.when_full != "spill" or analysis["spilled"] > 0, analysis
