# SPDX-License-Identifier: BSD-3-Clause
"""What takes little time on one node takes little on two: ranks of sidecars wait for each other
between nodes, where MPI needs several calls on both sides.
"""

import json
import time

import limits
import pytest

pytest_plugins = ["cluster_fixtures"]

BAD = '''\
"""A stage that is slow, and fails when much waits for it."""
import time

import pillion

calls = 0


@pillion.stage("temperature")
def bad(step):
    global calls
    calls += 1
    time.sleep(0.08)
    if calls >= 8:
        raise RuntimeError("no more")
    return {"x": 1.0}
'''
FINE = (
    "analyses:\n  fine: {every: 10 steps, stages: "
    "[histogram: {field: temperature, range: [290, 310], bins: 400}]}\n"
)
ATTACHED = """\
PILLION_CONFIGURATION=apart.yaml srun --mpi=pmix -N2 -n2 {heat} 32 4000 & s=$!
srun --overlap --mem=0 --mpi=pmix -N2 -n2 pillion-attach --quiet --wait 20 apart &
srun --overlap --mem=0 --mpi=pmix -N2 -n2 pillion-attach --quiet --wait 20 apart fine.yaml & a=$!
wait $s; date +%s.%N >sim; wait $a; date +%s.%N >attached; wait
"""


@pytest.mark.parametrize("nodes", [2, pytest.param(4, marks=pytest.mark.nodes(4))])
def test_a_stage_that_fails_with_a_backlog(case, nodes):
    """Sidecars leave out what a disabled analysis has no use for, on several nodes as on one. What
    counts is the time that the analysis adds, for the simulation is slower on several nodes.
    """
    case.write("bad.py", BAD)
    bad = '  bad: {every: 10 steps, stages: [python: {call: "bad.py:bad"}]}\n'
    case.configure("bad", "per_node: 1", when_full="skip", analyses=bad)
    case.configure("idle", "per_node: 1", when_full="skip", analyses=bad.replace("10", "100000"))
    added = {}
    for spread in (1, nodes):
        words = ["srun", "-Q", "--mpi=pmix", "--overcommit", f"-N{spread}", f"-n{2 * nodes}"]
        took = {}
        for name in ("idle", "bad"):
            given = {
                "PILLION_CONFIGURATION": f"{name}.yaml",
                "PILLION_OVERRIDE": f"sidecars.per_node={nodes // spread}",
            }
            begin = time.monotonic()
            done = case.on("login", *words, case.cluster.heat, 32, 4000, env=given, timeout=100)
            assert done.returncode == 0, done.stdout
            took[name] = time.monotonic() - begin
        added[spread] = took["bad"] - took["idle"]
    print("seconds that it adds, by nodes:", added)
    assert added[nodes] < 1.5 * added[1] + limits.limit(2), added


def test_an_attached_job_ends_with_its_run(case):
    case.configure("apart", "job: separate", when_full="skip")
    case.write("fine.yaml", FINE)
    case.finish("-N2 --ntasks-per-node=3", ATTACHED.format(heat=case.cluster.heat), timeout=300)
    late = float(case.text("attached")) - float(case.text("sim"))
    print(f"{late:.2f} s after the run")
    assert late < limits.limit(2), f"{late:.1f} s after the run\n{case.told()}"


def test_meetings_without_pillion(case):
    """What the test above must not do: pauses of 100 ms, and not of 1 ms, between tests of MPI."""
    source = __file__.replace("test_keeping_up.py", "meetings.c")
    limits.run(["mpicc", "-O1", "-o", case.folder / "meetings", source], timeout=60, check=True)
    words = ["srun", "-Q", "--mpi=pmix", "-N2", "-n2", "./meetings", 50, 1, 40, 2]
    done = case.on("login", *words)
    assert done.returncode == 0 and float(done.stdout.split()[-1]) > 0, done.stdout


def test_publications_between_nodes_beside_bare_messages(case):
    """64 MiB at each step, and the same bytes in one MPI_Send, in one run. What a publication takes
    longer is a copy and an analysis, so it is a few times as long at most.
    """
    bench = case.cluster.build / "bench/bench_progress"
    words = ["srun", "-Q", "--mpi=pmix", "-N2", "-n2", bench, "network", "single", 12, 0.5]
    done = case.on("login", *words)
    assert done.returncode == 0, done.stdout
    seen = json.loads(done.stdout[done.stdout.index("{") :])
    bare, lag = seen["bare_message_seconds"], seen["lag_seconds"]
    print(f"bare message {bare}, publication {lag}")
    assert seen["skipped"] == 0 and lag["mean"] < 4 * bare["mean"], done.stdout
