# SPDX-License-Identifier: BSD-3-Clause
"""That the advisor's model, given only runs of at most 1024 simulated ranks, says what 2048 take
and picks what is fastest there. The oracle is the simulator's own account of the large runs."""

import json
import os
import random
import shutil
import sys
from pathlib import Path

import limits
import pytest
from conftest import seed_of_the_day

STUDY = Path(__file__).parents[2] / "study"


@pytest.fixture(scope="module")
def study():
    sys.path.insert(0, str(STUDY))
    import advise

    yield advise
    sys.path.remove(str(STUDY))


def test_it_is_fed_with_small_runs_only(study):
    small, large = study.lines("probes"), study.lines("intransit", "intransit-512")
    assert max(run["simulation"] + run["analysis"] for run in small) == 1024
    assert all(run["simulation"] + run["analysis"] >= 2048 for run in large)
    assert len(large) == 50


def test_times_at_2048_ranks_are_within_a_fifth(study):
    points = study.compared()
    assert len(points) == 53
    for point in points:
        assert point.predicted == pytest.approx(point.simulated, rel=0.2), point


def test_what_is_picked_is_within_three_per_cent_of_the_fastest(study):
    groups = study.groups(study.compared())
    assert len(groups) == 8
    for which, points in groups.items():
        assert len(points) >= 5
        assert study.lost(points) <= 0.03, which


def test_the_picture_is_drawn(study, tmp_path):
    study.draw(tmp_path)
    assert (tmp_path / "advise-2048.svg").read_text().count("<path") > 40


@pytest.mark.skipif("PILLION_TEST_ALL" not in os.environ, reason="only with PILLION_TEST_ALL=1")
@pytest.mark.skipif(shutil.which("smpicxx") is None, reason="needs SimGrid (libsimgrid-dev)")
def test_a_stored_run_is_what_is_simulated_today(study, tmp_path):
    """One of the small ones, another every day."""
    few = [run for run in study.lines("probes") if run["simulation"] + run["analysis"] <= 256]
    stored = random.Random(seed_of_the_day()).choice(few)
    keys = ("cells", "simulation", "analysis", "every", "steps")
    done = limits.run(
        ["bash", STUDY / "intransit.sh", "one", *(str(stored[key]) for key in keys)],
        env={**os.environ, "BUILD": str(tmp_path / "build"), "OUT": str(tmp_path)},
        check=True,
        capture_output=True,
        text=True,
        timeout=900,
    )
    assert json.loads(done.stdout.splitlines()[-1]) == pytest.approx(stored, rel=0.02)
