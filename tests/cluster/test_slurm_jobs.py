# SPDX-License-Identifier: BSD-3-Clause
"""`pillion run` in allocations of all kinds: without any option it starts what was asked for, on
the nodes, cores and groups of the allocation, with the products of one node.
"""

import shutil

import pytest
from products_alike import assert_same_products

pytest_plugins = ["cluster_fixtures"]

PLACEMENTS = {"node": "per_node: 1", "net": "ranks: 2", "insitu": ""}
LAUNCHERS = ("srun", "mpirun")


def test_no_option_is_needed(case):
    """MpiDefault is none, as Slurm has it if a site changes nothing."""
    case.configure("node", "per_node: 1")
    words = case.run_heat("node.yaml", 200, "-n", 4)
    done = case.salloc("-N2 --ntasks-per-node=3", *words)
    assert done.returncode == 0, done.stdout
    case.assert_complete("node")


@pytest.fixture
def on_one_node(case):
    """Products of each placement on one node, in folders one-PLACEMENT."""
    for name, sidecars in PLACEMENTS.items():
        case.configure(name, sidecars)
        done = case.on("n0", *case.run_heat(f"{name}.yaml", 200, "-n", 4))
        assert done.returncode == 0, done.stdout
        shutil.move(case.folder / name, case.folder / f"one-{name}")
    return case


def test_products_are_the_same_on_two_nodes(on_one_node):
    case = on_one_node
    for launcher in LAUNCHERS:
        for name in PLACEMENTS:
            words = case.run_heat(f"{name}.yaml", 200, "-n", 4, "--launcher", launcher)
            done = case.salloc("-N2 --ntasks-per-node=3", *words)
            assert done.returncode == 0, f"{name} by {launcher}: {done.stdout}"
            assert assert_same_products(case.folder / f"one-{name}", case.folder / name) > 2
            shutil.rmtree(case.folder / name)


def test_a_heterogeneous_allocation_is_used_whole(case):
    """Sidecars are on the second group, as the last ranks are."""
    case.configure("net", "ranks: 1")
    words = case.run_heat("net.yaml", 200, "--dry-run")
    done = case.salloc("-N1 -n2 : -N1 -n1", *words)
    assert done.stdout.count(" : ") == 1, done.stdout
    done = case.salloc("-N1 -n2 : -N1 -n1", *case.run_heat("net.yaml", 200))
    assert done.returncode == 0, done.stdout
    case.assert_complete("net")
    run = case.json("net/report.json")["run"]
    assert (run["simulation_ranks"], run["sidecar_ranks"]) == (2, 1)


def test_srun_that_does_not_end_after_its_steps(case):
    """srun of Slurm 22.05 does so now and then with the steps of a heterogeneous job."""
    case.configure("net", "ranks: 1")
    case.write("srun", '#!/bin/sh\n/usr/bin/srun "$@"\ncase "$*" in *heat*) sleep 1000;; esac\n')
    (case.folder / "srun").chmod(0o755)
    words = case.run_heat("net.yaml", 200, "--launcher", "./srun")
    done = case.salloc("-N1 -n2 : -N1 -n1", *words)
    assert done.returncode == 0 and "did not end after its steps" in done.stdout, done.stdout
    case.assert_complete("net")


def test_a_heterogeneous_batch_job_with_a_program_for_sidecars(case):
    case.configure("net", "ranks: 2")
    words = case.run_heat("net.yaml", 200, "--sidecar-program", "pillion-sidecar")
    script = f"#SBATCH -N1 -n3\n#SBATCH hetjob\n#SBATCH -N1 -n1\n{case.shell(words)}"
    said = case.finish("", script)
    case.assert_complete("net")
    run = case.json("net/report.json")["run"]
    assert (run["simulation_ranks"], run["sidecar_ranks"]) == (2, 2), said


def test_separate_sidecars_of_a_heterogeneous_job(case):
    """They are in both groups, where the simulation is."""
    case.configure("apart", "job: separate")
    done = case.salloc("-N1 -n3 : -N1 -n2", *case.run_heat("apart.yaml", 500))
    assert done.returncode == 0, done.stdout
    case.assert_complete("apart")
    run = case.json("apart/report.json")["run"]
    assert (run["simulation_ranks"], run["sidecar_ranks"]) == (3, 2)


@pytest.mark.parametrize(
    "options",
    [
        "-N2 --exclusive",
        "-N2 --ntasks-per-node=2 --mem=900",
        "-N2 --ntasks-per-node=2 --mem-per-cpu=400",
        "-n4",
        "-N2 -n4 -c2",
    ],
)
@pytest.mark.parametrize("launcher", LAUNCHERS)
def test_batch_jobs_of_all_kinds(case, options, launcher):
    """Sidecars are among the tasks, or the cores if no tasks are named; the rest simulates."""
    case.configure("node", "per_node: 1", memory="64 MiB")
    words = case.shell(case.run_heat("node.yaml", 200, "--launcher", launcher))
    said = case.finish(options, words)
    case.assert_complete("node")
    run = case.json("node/report.json")["run"]
    tasks = {"-N2 --exclusive": 8, "-N2 -n4 -c2": 4}.get(options, 4)
    assert run["simulation_ranks"] + run["sidecar_ranks"] == tasks, said


def test_a_node_without_a_rank_that_simulates(case):
    """`salloc -N3 -n6` gives 4, 1 and 1 tasks: the command says so before it starts anything."""
    nodes = min(3, case.cluster.nodes)
    case.configure("node", "per_node: 1")
    done = case.salloc(f"-N{nodes} -n{nodes + 3}", *case.run_heat("node.yaml", 200))
    assert done.returncode == 1, done.stdout
    assert "leaves none of them for the simulation" in done.stdout, done.stdout
    assert "srun" not in done.stdout


def test_cores_are_the_allocations(case):
    """And not of the login node, where salloc starts its command."""
    case.configure("net", "ranks: 2")
    words = case.run_heat("net.yaml", 200, "--dry-run")
    done = case.salloc("-N2 --ntasks-per-node=3", *words)
    assert "srun" in done.stdout and "overcommit" not in done.stdout, done.stdout


def test_memory_above_the_limit_of_the_job_is_refused(case):
    """Memory of the node would be enough; the job's control group would be killed."""
    case.configure("node", "per_node: 1", memory="512 MiB")
    words = case.shell(case.run_heat("node.yaml", 200, "-n", 1))
    said = case.finish("-w n0 -n2 --mem=300", words)
    assert "are needed for" in said, said


def test_commands_know_the_allocation(case):
    """And not the login node, where salloc starts them."""
    case.configure("node", "per_node: 1", memory="900 MiB")
    options = "-N2 --ntasks-per-node=3 --mem=800 --time=30"
    doctor = case.salloc(options, "pillion", "doctor").stdout
    assert "2 nodes (n0, n1), 6 cores, 6 tasks" in doctor, doctor
    assert "memory of the job: 800 MiB" in doctor, doctor
    assert "time left: 0:29:" in doctor or "time left: 0:30:" in doctor, doctor
    assert "`pillion run` uses srun --mpi=pmix" in doctor, doctor
    plan = case.salloc(options, "pillion", "plan", "--per-node", 1, "--write", "files").stdout
    assert "2 nodes of 3 cores" in plan and "2 sidecars" in plan, plan
    assert {"n0", "n1"} <= set(case.text("files/hosts-of-ranks").split()), case.told()
    check = case.salloc(options, "pillion", "check", "node.yaml").stdout
    assert "is 900 MiB, and a node of Slurm job" in check and "has 800 MiB" in check, check


def test_the_memory_of_a_batch_job(case):
    """The limit of the control group, as a command in the job finds it."""
    said = case.finish("-w n0 -n2 --mem=300", "pillion doctor")
    assert "300 MiB, the limit of this control group" in said, said


def test_a_batch_script_is_written_and_runs(case):
    case.configure("node", "per_node: 1")
    words = case.run_heat("node.yaml", 200, "-n", 4, "--nodes", 2, "--time", "0:10")
    written = case.on("login", *words[:2], "--write", "run.sh", *words[2:])
    assert "sbatch run.sh" in written.stdout, written.stdout
    done = case.on("login", "sbatch", "--wait", "run.sh", timeout=90)
    assert done.returncode == 0, done.stdout + case.told()
    case.assert_complete("node")
    run = case.json("node/report.json")["run"]
    assert (run["simulation_ranks"], run["sidecar_ranks"]) == (4, 2)
