# SPDX-License-Identifier: BSD-3-Clause
"""Runs as the login node sees them, which is another host than theirs: who is alive, whatever the
clocks of the two, and the way to a run on its nodes.
"""

import limits
import pytest
from slurm_cluster import TOP

pytest_plugins = ["cluster_fixtures"]

# What Python sees of a run: whether it has ended, and how it is in a few words.
LOOK = "import pillion; r = pillion.results('node'); print(r.has_ended, repr(r).splitlines()[0])"
# The live view, in a terminal on which nothing is typed.
LIVE = """\
import os, pty, sys
words = "stty cols 100 rows 40; TERM=xterm exec pillion watch node"
sys.exit(os.waitstatus_to_exitcode(pty.spawn(["sh", "-c", words])))
"""
EXTRA = "analyses: {more: {every: 10 steps, stages: [statistics: {fields: [temperature]}]}}\n"
STEPS = 2_000_000  # which no test waits for


@pytest.fixture
def under_way(case):
    """Starts a run on n0 and n1 whose programs have another calendar; returns its job."""

    def start(ahead: int, heartbeat: float = 2) -> str:
        library = case.folder / "other_clock.so"
        words = ["cc", "-shared", "-fPIC", "-o", library, TOP / "tests/cluster/other_clock.c"]
        limits.run([*words, "-ldl"], timeout=60, check=True)
        preload = f"export LD_PRELOAD={case.inside}/other_clock.so AHEAD={ahead}"
        case.write("on_time", f'#!/bin/sh\n{preload}\nexec "$@"\n')
        (case.folder / "on_time").chmod(0o755)
        case.configure("node", "per_node: 1", when_full="skip")
        run = ["./on_time", case.cluster.heat, "32", STEPS]
        words = ["srun", "--mpi=pmix", "-n4", *run]
        job = case.sbatch(
            "-w n0,n1 -N2 --ntasks-per-node=2 --mem=2000",
            case.shell(words),
            env={"PILLION_CONFIGURATION": "node.yaml", "PILLION_PROGRESS": heartbeat / 4},
        )
        case.until(lambda: case.json("node/progress.json").get("step"), 60, "the run is under way")
        return job

    return start


def looks(case) -> dict[str, str]:
    """What each of the commands says on the login node."""
    said = {}
    watched = case.on("login", "pillion", "watch", "--once", "node", timeout=90)
    said["watch"] = f"{watched.returncode} {watched.stdout}"
    said["runs"] = case.on("login", "pillion", "runs", timeout=90).stdout
    said["results"] = case.on(
        "login",
        case.cluster.python,
        "-c",
        LOOK,
        timeout=90,
        env={"PYTHONPATH": case.cluster.build / "python"},
    ).stdout
    reported = case.on("login", "pillion", "report", "node", timeout=90)
    assert reported.returncode == 0, reported.stdout
    said["report"] = case.text("node/report.html")
    return said


@pytest.mark.parametrize("ahead", [-3600, 7200])
def test_alive_is_alive_and_dead_is_dead(case, under_way, ahead):
    job = under_way(ahead, heartbeat=0.2)
    alive = looks(case)
    assert alive["watch"].startswith("0 ") and "● running" in alive["watch"], alive["watch"]
    assert "no step for" not in alive["watch"] and ":00:" not in alive["watch"], alive["watch"]
    assert alive["runs"].startswith("no run is active on node login\n"), alive["runs"]
    assert f"node n0, Slurm job {job} on n[0-1], writes to node" in alive["runs"], alive["runs"]
    assert alive["results"].startswith("False Results in node: "), alive["results"]
    assert "the run is active, step " in alive["results"], alive["results"]
    assert "before this run" not in alive["results"], alive["results"]
    assert "the run is active; these are its results and costs so far" in alive["report"]
    with (case.folder / "view").open("w") as out:
        live = case.begin("login", case.cluster.python, "-c", LIVE, out=out)
    case.until(lambda: "● running" in case.text("view"), 60, "the live view shows the run")
    case.on("login", "scancel", "--signal=KILL", "--full", job)
    case.cluster.await_idle()
    assert limits.wait(live, 60) == 1 and "● gone" in case.text("view"), case.text("view")[-2000:]
    dead = looks(case)
    assert dead["watch"].startswith("1 ") and "● gone" in dead["watch"], dead["watch"]
    assert "writes to node, no sign of life\n" in dead["runs"], dead["runs"]
    assert "attach" not in dead["runs"], dead["runs"]
    assert dead["results"].startswith("True ") and "without a word" in dead["results"], dead
    assert "the run ended without closing its session" in dead["report"]


def test_a_node_without_power_takes_its_run_along(case, under_way):
    under_way(0)
    case.cluster.kill("n0")
    watched = case.on("login", "pillion", "watch", "--once", "node", timeout=90)
    assert watched.returncode == 1 and "● gone" in watched.stdout, watched.stdout


def test_a_suspended_run_is_neither(case, under_way):
    """Its files do not change, and its lock is held; it is alive again when it continues."""
    under_way(0, heartbeat=0.2)
    for node in ("n0", "n1"):
        case.on(node, "pkill", "-STOP", "-u", "ana", "heat")
    watched = case.on("login", "pillion", "watch", "--once", "node", timeout=90)
    assert watched.returncode == 1 and "● silent" in watched.stdout, watched.stdout
    for node in ("n0", "n1"):
        case.on(node, "pkill", "-CONT", "-u", "ana", "heat")
    watched = case.on("login", "pillion", "watch", "--once", "node", timeout=90)
    assert watched.returncode == 0 and "● running" in watched.stdout, watched.stdout


@pytest.mark.parametrize("ahead", [-3600, 3600])
def test_pillion_run_follows_a_run_with_another_clock(case, under_way, ahead):
    """Started on the login node by salloc: it knows the run by its id, with a report or not."""
    job = under_way(ahead)  # writes the configuration and ./on_time
    case.on("login", "scancel", "--signal=KILL", "--full", job)
    case.cluster.await_idle()
    words = ["pillion", "run", "-n", 2, "node.yaml", "--", "./on_time"]
    heat = [case.cluster.heat, 32]
    how = {"SLURM_MPI_TYPE": "pmix"}
    done = case.salloc("-N1 -n3", *words, *heat, 400, env=how)
    assert done.returncode == 0 and "✔ node  401 steps" in done.stdout, done.stdout
    killed = ["timeout", "--signal=KILL", 4, *heat, STEPS]
    done = case.salloc("-N1 -n3", *words, *killed, env=how)
    assert done.returncode != 0 and "did not close its session" in done.stdout, done.stdout


def test_the_way_to_a_run(case, under_way):
    """From the login node, a run that cannot be attached to there is found, with the command."""
    job = under_way(0)
    case.write("more.yaml", EXTRA)
    refused = case.on("login", "pillion", "attach", "--wait", "0", "node", "more.yaml", timeout=90)
    assert refused.returncode == 1, refused.stdout
    assert "no run called 'node' is active" in refused.stdout, refused.stdout
    assert "on login: no run" in refused.stdout, refused.stdout
    assert "`pillion runs` prints the command" in refused.stdout, refused.stdout
    assert f"Slurm job {job} on n[0-1]" in refused.stdout, refused.stdout
    listed = case.on("login", "pillion", "runs", timeout=90)
    command = listed.stdout.splitlines()[-1].split()
    assert command[:2] == ["srun", "--mpi=pmix"], listed.stdout
    attached = case.begin("login", *command, "more.yaml")
    progress = "node/progress-more.json"
    case.until(lambda: case.json(progress).get("publications", 0) > 2, 60, "the job works")
    assert case.json(progress)["ranks"]["sidecar"] == 2, "one on each node of the run"
    attached.terminate()
    limits.wait(attached, 60)


@pytest.mark.nodes(4)
def test_a_job_on_wrong_nodes_names_the_right_ones(case, under_way):
    """One of its ranks is beside the run, and one is not."""
    under_way(0)
    case.write("more.yaml", EXTRA)
    words = "srun --mpi=pmix -w n1,n3 -N2 -n2 pillion-attach --wait 2 node more.yaml"
    done = case.on("login", *words.split(), timeout=90)
    assert done.returncode != 0, done.stdout
    assert "of n[0-1]" in done.stdout and "here" not in done.stdout, done.stdout
