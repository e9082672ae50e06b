# SPDX-License-Identifier: BSD-3-Clause
"""That the scale study still builds with SimGrid, and what it says of a small machine."""

import json
import os
import shutil
from pathlib import Path

import limits
import pytest


@pytest.mark.skipif("PILLION_TEST_ALL" not in os.environ, reason="only with PILLION_TEST_ALL=1")
@pytest.mark.skipif(shutil.which("smpicxx") is None, reason="needs SimGrid (libsimgrid-dev)")
def test_a_small_machine(tmp_path):
    limits.run(
        ["bash", Path(__file__).parents[2] / "study" / "run.sh", "small"],
        env={**os.environ, "BUILD": str(tmp_path / "build"), "OUT": str(tmp_path)},
        check=True,
        timeout=300,
    )
    points = [json.loads(line) for line in (tmp_path / "small.jsonl").read_text().splitlines()]
    assert {point["layout"] for point in points} == {"boxes", "blocks"}
    for point in points:
        # 10 components of 128^3 cells go to 24 ranks on one node, whose link carries 4 GB/s.
        assert point["bytes"] == 128**3 * 10 * 8
        assert point["seconds"] > point["fullest_node_bytes"] / 4e9
        assert point["messages"] <= 72 * 24
        assert point["by_box_message_seconds"] > point["fullest_node_bytes"] / 4e9
