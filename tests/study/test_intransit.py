# SPDX-License-Identifier: BSD-3-Clause
"""That the study of analyses in transit still builds with SimGrid, and that a small machine obeys
what must hold whatever the kernels cost."""

import json
import os
import shutil
from pathlib import Path

import limits
import pytest

STUDY = Path(__file__).parents[2] / "study"


@pytest.mark.skipif("PILLION_TEST_ALL" not in os.environ, reason="only with PILLION_TEST_ALL=1")
@pytest.mark.skipif(shutil.which("smpicxx") is None, reason="needs SimGrid (libsimgrid-dev)")
def test_a_small_machine(tmp_path):
    limits.run(
        ["bash", STUDY / "intransit.sh", "small"],
        env={**os.environ, "BUILD": str(tmp_path / "build"), "OUT": str(tmp_path)},
        check=True,
        timeout=300,
    )
    lines = (tmp_path / "intransit-small.jsonl").read_text().splitlines()
    synchronous, beside = (json.loads(line) for line in lines)
    assert (synchronous["analysis"], beside["analysis"]) == (0, 24)
    for point in (synchronous, beside):
        steps, analysis = 5 * point["step_seconds"], point["analysis_seconds"]
        parts = point["carrying_seconds"] + point["halos_seconds"] + point["spectrum_seconds"]
        assert parts == pytest.approx(analysis, rel=0.05)
        # Four publications; the first is analysed after the first steps.
        last = point["first_finished"] + 3 * point["period_seconds"]
        assert point["seconds"] == pytest.approx(last, rel=0.01)
        assert point["first_finished"] > steps + analysis
        if point is synchronous:
            # What fills the boxes before a publication comes on top.
            assert steps + analysis < point["period_seconds"] < 1.1 * (steps + analysis)
        else:
            assert max(steps, analysis) < point["period_seconds"] < steps + analysis
