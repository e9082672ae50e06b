# SPDX-License-Identifier: BSD-3-Clause
"""Ends that come from outside: signals, time limits, sidecars that die, nodes that fail, cables."""

import os
from contextlib import nullcontext

import pytest

pytest_plugins = ["cluster_fixtures"]

only_all = pytest.mark.skipif(
    "PILLION_TEST_ALL" not in os.environ, reason="takes minutes; PILLION_TEST_ALL=1 runs it"
)

RESTART = (
    ', deadline: 5 s, restart: 3, launch: "srun --overlap --mem=0 --mpi=pmix -N2 -n2'
    ' pillion-attach {run} > launch.log 2>&1"'
)


def test_one_of_two_sidecars_is_killed(case):
    """Successors come on both nodes, whether or not the launcher ends the other one."""
    case.configure("apart", "job: separate", when_full="skip", more=RESTART)
    words = case.shell(case.run_heat("apart.yaml", 10**7, "-n", 2))
    job = case.sbatch("-w n0,n1 -N2 --ntasks-per-node=2 --mem=2000", words)
    progress = "apart/progress-sidecars.json"
    case.until(lambda: case.json(progress).get("publications", 0) > 5, 60, "sidecars work")
    case.on("n0", "bash", "-c", "kill -9 $(pgrep -u ana pillion-attach)")
    case.until(lambda: "have joined" in case.text("launch.log"), 60, "successors have joined")
    before = case.json(progress).get("publications", 0)
    case.until(lambda: case.json(progress).get("publications", 0) > before + 5, 60, "they work")
    case.on("login", "scancel", job)
    case.cluster.await_idle()
    assert case.text("launch.log").count("have joined") == 1, case.told()


def test_the_end_of_a_batch_job(case):
    """SIGTERM to all processes, as at the time limit: what is complete in memory is finished."""
    case.configure("apart", "job: separate")
    words = case.shell(case.run_heat("apart.yaml", 200000, "-n", 2))
    job = case.sbatch("-N2 --ntasks-per-node=2 --mem=2000", words)
    case.until(lambda: (case.json("apart/progress.json").get("behind") or 0) > 50, 60, "a backlog")
    case.on("login", "scancel", job)
    case.cluster.await_idle()
    report = case.json("apart/report.json")
    assert report and "provisional" not in report["run"], case.told()
    assert case.counts("apart")["lost"] == 0
    assert not list((case.folder / "apart").glob(".sidecars-*"))


@pytest.mark.nodes(3)
@pytest.mark.parametrize("seconds", [8, pytest.param(60, marks=only_all)])
def test_a_sidecar_without_its_cable(case, seconds):
    """The node of the sidecar is cut off for some time, and the simulation continues."""
    with case.cluster.patient(300) if seconds > 10 else nullcontext():
        cut_off(case, seconds)


def cut_off(case, seconds):
    steps = 7500 * seconds
    case.configure("net", "ranks: 1", when_full="skip")
    words = case.shell(case.run_heat("net.yaml", steps))
    case.sbatch("-w n0,n1,n2 -N3 --ntasks-per-node=1", words)

    def step() -> int:
        return case.json("net/progress.json").get("step") or 0

    case.until(lambda: step() > 100, 60, "the run is under way")
    case.cluster.unplug("n2")
    cut = step()
    case.until(lambda: step() > cut, 30, "the run continues without the sidecar")
    case.on("n0", "sleep", seconds, timeout=seconds + 60)
    later = step()
    case.until(lambda: step() > later, 30, f"the run continues after {seconds} s")
    case.cluster.plug("n2")
    case.cluster.await_idle(120 + seconds)
    assert case.json("net/report.json")["run"]["last_step"] == steps
