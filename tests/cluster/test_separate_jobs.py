# SPDX-License-Identifier: BSD-3-Clause
"""`pillion run` with `job: separate`: sidecars of a job of their own come and serve the run, or the
command fails.
"""

import limits
import pytest

pytest_plugins = ["cluster_fixtures"]

MEMORY_FIRST = """\
pillion run -n 2 --dry-run apart.yaml -- {heat} 32 2000 >lines
sed -i 's/ &$/ \\& sleep 1/' lines
timeout {limit:.0f} bash lines
"""


@pytest.fixture
def apart(case):
    case.configure("apart", "job: separate")
    return case


def test_options_of_the_launcher_are_for_both_jobs(apart):
    words = apart.run_heat("apart.yaml", 3000, "-n", 4, "--launcher-option=--mpi=pmix")
    done = apart.salloc("-N2 --ntasks-per-node=3", *words, timeout=120)
    assert done.returncode == 0, done.stdout
    apart.assert_complete("apart")


def test_a_step_that_takes_all_memory_leaves_room_for_the_other(apart):
    """With --mem-per-cpu, if the simulation's step comes first."""
    apart.write("job.sh", MEMORY_FIRST.format(heat=apart.cluster.heat, limit=limits.limit(60)))
    done = apart.salloc("-N2 --ntasks-per-node=2 --mem-per-cpu=600", "bash", "job.sh", timeout=90)
    assert "Unable to create step" not in done.stdout, done.stdout
    apart.assert_complete("apart")


@pytest.mark.parametrize("memory", ["", " --mem=1500", " --mem-per-cpu=500"])
def test_two_mpirun_in_a_batch_job(apart, memory):
    words = apart.shell(apart.run_heat("apart.yaml", 3000, "--launcher", "mpirun"))
    apart.finish(f"-N2 --ntasks-per-node=2{memory}", words, timeout=150)
    apart.assert_complete("apart")


def test_a_run_that_ends_before_its_sidecars_come(apart):
    words = apart.run_heat("apart.yaml", 200, "-n", 4)
    done = apart.salloc("-N2 --ntasks-per-node=3", *words, timeout=90)
    assert done.returncode == 0, done.stdout
    apart.assert_complete("apart")


def test_members_of_a_job_array_on_one_node(case):
    """Each in a folder of its own, and each with sidecars of its own: all are called `results`."""
    case.configure("apart", "job: separate")
    text = case.text("apart.yaml").replace("output: apart", "output: $id/results")
    case.write("apart.yaml", text)
    words = case.run_heat("apart.yaml", 3000, "-n", 1, "--set", "id=ID")
    script = case.shell(words).replace("id=ID", "id=$SLURM_ARRAY_TASK_ID")
    case.sbatch("-w n0 -n1 --array=1-3", script)
    case.cluster.await_idle(120)
    for member in (1, 2, 3):
        case.assert_complete(f"{member}/results")


def test_strict_fails_if_all_publications_are_lost(apart):
    words = apart.run_heat("apart.yaml", 200, "-n", 1, "--sidecars", 0, "--strict")
    done = apart.on("n0", *words, timeout=90)
    assert done.returncode == 3, done.stdout


def test_sidecars_without_work_end_well(case):
    """All stages are in the simulation."""
    analyses = (
        "  decay: {every: 10 steps, stages: "
        "[statistics: {fields: [temperature], at: simulation}]}\n"
    )
    case.configure("apart", "job: separate", analyses=analyses)
    for _ in range(3):
        done = case.on("n0", *case.run_heat("apart.yaml", 3000, "-n", 2))
        assert done.returncode == 0 and "was freed" not in done.stdout, done.stdout
