# SPDX-License-Identifier: BSD-3-Clause
"""Runs as the login node sees them, which is another host than theirs."""

import pytest


@pytest.mark.xfail(strict=True, reason="files of other hosts are trusted")
def test_a_run_that_was_killed_is_dead(case):
    case.configure("node", "per_node: 1")
    words = case.shell(case.run_heat("node.yaml", 200000, "-n", 2))
    job = case.sbatch("-N2 --ntasks-per-node=2 --mem=2000", words)
    case.until(lambda: case.json("node/progress.json").get("step"), 60, "the run is under way")
    case.on("login", "scancel", "-s", "KILL", job)
    case.on("login", "scancel", job)
    case.cluster.await_idle()

    def status() -> int:
        return case.on("login", "pillion", "watch", "--once", "node").returncode

    case.until(lambda: status() == 1, 20, "the status of watch --once is 1")
