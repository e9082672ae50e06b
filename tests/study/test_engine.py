# SPDX-License-Identifier: BSD-3-Clause
"""That the whole engine runs on simulated ranks, and that no phase costs a rank more messages than
16 ranks explain. The counts are exact: the simulation is the same every time."""

import json
import os
import shutil
from pathlib import Path

import limits
import pytest

STUDY = Path(__file__).parents[2] / "study"
PHASES = ["open", "first step", "3 publications", "checkpoint", "close", "restart"]

pytestmark = [
    pytest.mark.skipif("PILLION_TEST_ALL" not in os.environ, reason="only with PILLION_TEST_ALL=1"),
    pytest.mark.skipif(shutil.which("smpirun") is None, reason="needs SimGrid (libsimgrid-dev)"),
]


@pytest.fixture(scope="module")
def phases(tmp_path_factory):
    folder = tmp_path_factory.mktemp("engine")
    build = os.environ.get("PILLION_STUDY_BUILD", str(folder / "build"))
    limits.run(
        ["bash", STUDY / "engine.sh", "small"],
        env={**os.environ, "BUILD": build, "OUT": str(folder)},
        check=True,
        timeout=900,
    )
    lines = (folder / "engine-small.jsonl").read_text().splitlines()
    return {phase["phase"]: phase for phase in map(json.loads, lines)}


def test_a_run_ends_and_restarts(phases):
    assert list(phases) == PHASES
    for phase in phases.values():
        assert (phase["ranks"], phase["sidecars"]) == (16, 2)
        # Nothing waits for a pause of a second or for a deadline.
        assert 0 < phase["seconds"] <= phase["finished_seconds"] < 0.1


def test_a_collective_takes_each_rank_few_messages(phases):
    # Log2 of 16 rounds, in each of which a rank sends and receives; the root of a tree as many. A
    # checkpoint has besides these a message to the sidecars and one back for each of 7 ranks.
    checkpoint = phases["checkpoint"]
    assert checkpoint["messages"] <= checkpoint["collectives"] * 2 * 4 + 2 * 7
