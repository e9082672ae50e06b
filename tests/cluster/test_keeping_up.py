# SPDX-License-Identifier: BSD-3-Clause
"""What takes little time on one node takes little on two: ranks of sidecars wait for each other
between nodes, where MPI needs several calls on both sides.
"""

import time

import limits
import pytest

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
    if calls == 8:
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


@pytest.mark.xfail(strict=True, reason="pauses of 0.1 s between nodes")
def test_a_stage_that_fails_with_a_backlog(case):
    """Sidecars leave out what a disabled analysis has no use for."""
    case.write("bad.py", BAD)
    bad = '  bad: {every: 10 steps, stages: [python: {call: "bad.py:bad"}]}\n'
    case.configure("node", "per_node: 1", when_full="skip", analyses=bad)
    took = {}
    for nodes in (1, 2):
        begin = time.monotonic()
        given = {
            "PILLION_CONFIGURATION": "node.yaml",
            "PILLION_OVERRIDE": f"sidecars.per_node={3 - nodes}",
        }
        words = ["srun", "-Q", "--mpi=pmix", "--overcommit", f"-N{nodes}", "-n4"]
        done = case.on("login", *words, case.cluster.heat, 32, 4000, env=given, timeout=250)
        assert done.returncode == 0, done.stdout
        took[nodes] = time.monotonic() - begin
    assert took[2] < 5 * took[1], took


@pytest.mark.xfail(strict=True, reason="pauses of 0.1 s between nodes")
def test_an_attached_job_ends_with_its_run(case):
    case.configure("apart", "job: separate", when_full="skip")
    case.write("fine.yaml", FINE)
    case.finish("-N2 --ntasks-per-node=3", ATTACHED.format(heat=case.cluster.heat), timeout=300)
    late = float(case.text("attached")) - float(case.text("sim"))
    assert late < limits.limit(2), f"{late:.1f} s after the run\n{case.told()}"


def test_meetings_without_pillion(case):
    """What the test above must not do: pauses of 100 ms, and not of 1 ms, between tests of MPI."""
    source = __file__.replace("test_keeping_up.py", "meetings.c")
    limits.run(["mpicc", "-O1", "-o", case.folder / "meetings", source], timeout=60, check=True)
    words = ["srun", "-Q", "--mpi=pmix", "-N2", "-n2", "./meetings", 50, 1, 40, 2]
    done = case.on("login", *words)
    assert done.returncode == 0 and float(done.stdout.split()[-1]) > 0, done.stdout
