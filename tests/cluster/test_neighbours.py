# SPDX-License-Identifier: BSD-3-Clause
"""Jobs that share a node: runs of one name, another user, and little shared memory."""

import os

import limits

pytest_plugins = ["cluster_fixtures"]


def test_two_runs_of_one_name(case):
    """As two windows of a workstation start them; each has sidecars of its own."""
    processes = []
    for member in ("a", "b"):
        case.configure(member, "job: separate", memory="32 MiB")
        text = case.text(f"{member}.yaml").replace(f"output: {member}", f"output: {member}/results")
        case.write(f"{member}.yaml", text)
        out = open(case.folder / f"out-{member}", "w")  # noqa: SIM115
        words = case.run_heat(f"{member}.yaml", 3000, "-n", 1)
        processes.append(case.begin("n0", *words, out=out))
    try:
        assert [limits.wait(process, 90) for process in processes] == [0, 0], case.told()
    finally:
        for process in processes:
            process.kill()
    for member in ("a", "b"):
        case.assert_complete(f"{member}/results")


def test_another_user_on_the_node(case, cluster):
    """He sees no run and cannot attach to it, and his own of the same name is his alone."""
    case.configure("apart", "job: separate")
    os.chmod(case.folder, 0o755)
    job = case.sbatch("-w n0 -n2", case.shell(case.run_heat("apart.yaml", 200000, "-n", 1)))
    case.until(lambda: case.json("apart/progress.json").get("step"), 60, "the run is under way")
    seen = case.on("n0", "pillion", "runs", user="ben")
    assert "apart" not in seen.stdout, seen.stdout
    tried = case.on("n0", "pillion-attach", "apart", "--wait", 0, user="ben")
    assert tried.returncode == 1 and "no run called 'apart'" in tried.stdout, tried.stdout
    assert "on n0" in tried.stdout, tried.stdout
    home = "/home/ben"
    copied = case.on("n0", "cp", f"{case.inside}/apart.yaml", home, user="ben")
    assert copied.returncode == 0, copied.stdout
    words = case.run_heat("apart.yaml", 500, "-n", 1)
    done = cluster.on("n0", *words, folder=home, user="ben", timeout=90)
    assert done.returncode == 0 and " lost" not in done.stdout, done.stdout
    assert case.jobs_of(job), "the first run has ended"


def test_little_shared_memory(case):
    """Containers and some sites have 64 MB in /dev/shm: the message names what is needed."""
    small = ["mount", "-o", "remount,size=64m", "/dev/shm"]
    assert case.on("n0", *small, user="root").returncode == 0
    try:
        case.configure("node", "per_node: 1")
        done = case.on("n0", *case.run_heat("node.yaml", 200, "-n", 1))
        assert done.returncode != 0 and "/dev/shm" in done.stdout, done.stdout
        case.configure("node", "per_node: 1", memory="32 MiB")
        done = case.on("n0", *case.run_heat("node.yaml", 200, "-n", 1))
        assert done.returncode == 0, done.stdout
        case.assert_complete("node")
    finally:
        case.on("n0", "mount", "-o", "remount,size=2g", "/dev/shm", user="root")


def test_a_sidecar_on_a_node_without_the_run(case):
    """It has nothing to do, and waits for the others."""
    case.configure("apart", "job: separate")
    script = f"""\
export PILLION_CONFIGURATION=apart.yaml PILLION_AWAIT_SIDECARS=1
srun --overlap --mem=0 --mpi=pmix -K -w n0 -N1 -n2 {case.cluster.heat} 32 2000 &
srun --overlap --mem=0 --mpi=pmix -K -N2 -n2 --ntasks-per-node=1 pillion-attach apart --wait 60
echo status $?
wait
"""
    said = case.finish("-w n0,n1 -N2 --ntasks-per-node=3", script, timeout=120)
    assert "status 0" in said and "1 sidecar ranks have joined" in said, said
    case.assert_complete("apart")


def test_a_run_that_is_not_there(case):
    """The message lists what runs on which node."""
    words = "srun -n2 -N2 --mpi=pmix pillion-attach nothing --wait 1"
    done = case.salloc("-w n0,n1 -N2 -n2", *words.split())
    assert done.returncode != 0
    assert all(f"on {node}: no run" in done.stdout for node in ("n0", "n1")), done.stdout
