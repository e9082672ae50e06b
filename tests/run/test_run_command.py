# SPDX-License-Identifier: BSD-3-Clause
"""`pillion run` with real launchers: sidecars everywhere, what programs say and how they end,
signals, and what is said of it all.
"""

import os
import shlex
import signal
import sys
import time
from pathlib import Path

import limits
import pytest
from heat_runs import PLACEMENTS, RUN, awaited, configuration, going_on, pillion, run_pillion
from pillion.launch import job
from pillion.launch.left_over import PATIENCE, LeftOver, jobs_of
from pillion.launch.plan import Plan
from pillion.launch.slurm import numbered_in
from pillion.report.make import make_report
from pillion.report.run import read_run


def size_for(placement) -> dict:
    """Enough steps; with a separate job so long a run that its sidecars come in time. Its steps are
    long and not many, since on a busy machine ranks wait for each other at every step.
    """
    return {"cells": 64, "steps": 3000} if placement == "separate" else {"cells": 16, "steps": 600}


def started(build, tmp_path, placement, *options, cells=16, steps=300, **environment):
    """The heat example on two simulation ranks."""
    (tmp_path / "pillion.yaml").write_text(configuration(placement, cells))
    program = build / "examples/heat/heat"
    words = ["run", "-n", 2, *options, "pillion.yaml", "--", program, cells, steps]
    return run_pillion(build, *words, cwd=tmp_path, **environment)


@pytest.mark.parametrize("placement", PLACEMENTS)
def test_one_command_starts_it_all(build, tmp_path, placement):
    size = size_for(placement)
    done = started(build, tmp_path, placement, **size)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("heat: discrete=") and done.stdout.count("\n") == 1
    report = read_run(tmp_path / "results")
    assert report.facts["simulation_ranks"] == 2
    assert report.facts["sidecar_ranks"] == (0 if placement == "simulation" else 1)
    said = done.stderr
    assert f"✔ {RUN}  {size['steps'] + 1:,} steps in".replace(",", " ") in said
    assert all(a.name in said for a in report.analyses)
    assert "results/decay/statistics_temperature.csv" in said
    assert "next: pillion report results" in said
    assert [a.publications for a in report.analyses] == [
        size["steps"] // every + 1 for every in (10, 50)
    ]


@pytest.mark.parametrize("placement", ["ranks", "per_node", "separate"])
def test_more_sidecars_than_the_file_says(build, tmp_path, placement):
    done = started(build, tmp_path, placement, "--sidecars", 2, **size_for(placement))
    assert done.returncode == 0, done.stderr
    facts = read_run(tmp_path / "results").facts
    assert (facts["simulation_ranks"], facts["sidecar_ranks"]) == (2, 2)


def test_parameters_and_another_file(build, tmp_path):
    text = configuration("per_node", 32).replace("output: results", "output: $where")
    (tmp_path / "other.yaml").write_text(text.replace("{n: 32}", "{n: 32, where: x}"))
    words = ["run", "other.yaml", "-n", 1, "--set", "n=16", "--set", "where=there", "--"]
    done = run_pillion(build, *words, build / "examples/heat/heat", 16, 100, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "there/decay/statistics_temperature.csv" in done.stderr
    assert read_run(tmp_path / "there").facts["steps"] == 101


def test_sidecars_of_a_program_of_their_own(build, tmp_path):
    done = started(build, tmp_path, "ranks", "--sidecar-program", "pillion-sidecar")
    assert done.returncode == 0, done.stderr
    facts = read_run(tmp_path / "results").facts
    assert (facts["simulation_ranks"], facts["sidecar_ranks"]) == (2, 1)


def test_several_programs(build, tmp_path):
    (tmp_path / "pillion.yaml").write_text(configuration("ranks"))
    heat = [build / "examples/heat/heat", 16, 100]
    words = ["run", "-n", 1, "pillion.yaml", "--", *heat, ":", "-n", 2, *heat]
    done = run_pillion(build, *words, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    facts = read_run(tmp_path / "results").facts
    assert (facts["simulation_ranks"], facts["sidecar_ranks"]) == (3, 1)


@pytest.mark.parametrize("placement", ["per_node", "separate"])
def test_what_a_dry_run_prints_can_be_given_to_a_shell(build, tmp_path, placement):
    size = size_for(placement)
    words = ["--set", f"n={size['cells']}", "--dry-run"]
    done = started(build, tmp_path, placement, *words, **size)
    assert done.returncode == 0 and not (tmp_path / "results").exists()
    shell = limits.run(
        ["bash", "-c", done.stdout], cwd=tmp_path, capture_output=True, text=True, timeout=90
    )
    assert shell.returncode == 0 and "heat: discrete=" in shell.stdout, shell.stderr
    facts = read_run(tmp_path / "results").facts
    assert (facts["simulation_ranks"], facts["sidecar_ranks"]) == (2, 1)


def test_a_refused_configuration_starts_nothing(build, tmp_path):
    if not (build / "bin/pillion-check").exists():
        pytest.skip("there is no pillion-check in this build")
    (tmp_path / "pillion.yaml").write_text(configuration("ranks").replace("every", "evry"))
    words = ["pillion.yaml", "--", "touch", tmp_path / "started"]
    done = run_pillion(build, "run", *words, cwd=tmp_path)
    assert done.returncode == 1 and "did you mean 'every'" in done.stderr
    assert "nothing was started" in done.stderr and not (tmp_path / "started").exists()
    done = run_pillion(build, "run", "--no-check", *words, cwd=tmp_path)
    assert done.returncode == 0 and (tmp_path / "started").exists()
    assert "opened no Pillion session" in done.stderr


def test_the_status_is_the_programs(build, tmp_path):
    (tmp_path / "pillion.yaml").write_text(configuration("simulation"))
    for status in (0, 3, 77):
        words = ["run", "pillion.yaml", "--", "sh", "-c", f"exit {status}"]
        assert run_pillion(build, *words, cwd=tmp_path).returncode == status


def test_a_program_that_fails_at_once_does_not_wait_for_its_sidecars(build, tmp_path):
    """They look for its run, for a minute unless they are asked to leave."""
    (tmp_path / "pillion.yaml").write_text(configuration("separate"))
    begin = time.monotonic()
    done = run_pillion(build, "run", "pillion.yaml", "--", "/bin/false", cwd=tmp_path)
    assert done.returncode == 1, done.stderr
    assert time.monotonic() - begin < limits.limit(30), done.stderr


@pytest.mark.parametrize("lost", ["sidecars that fail", "no sidecars"])
def test_sidecars_that_do_not_come_are_a_failure(build, tmp_path, lost):
    """The run itself has ended well."""
    given = {"PILLION_BIN": str(tmp_path)}
    attach = tmp_path / "pillion-attach"
    attach.write_text("#!/bin/sh\nexit 1\n")
    attach.chmod(0o755)
    options = ["--sidecars", 0] if lost == "no sidecars" else []
    (tmp_path / "pillion.yaml").write_text(
        configuration("separate").replace("deadline: 30", "deadline: 1")
    )
    program = build / "examples/heat/heat"
    words = ["run", "-n", 1, *options, "pillion.yaml", "--", program, 16, 50]
    done = run_pillion(build, *words, cwd=tmp_path, **given)
    assert done.returncode == (0 if lost == "no sidecars" else 3), done.stderr
    assert "✔" not in done.stderr and "lost" in done.stderr


def test_wrong_use(build, tmp_path):
    (tmp_path / "pillion.yaml").write_text(configuration("simulation"))
    cases = [
        (["pillion.yaml"], 1, "which program"),
        (["pillion.yaml", "--"], 1, "which program"),
        (["absent.yaml", "--", "true"], 1, "absent.yaml"),
        (["-n", "0", "pillion.yaml", "--", "true"], 2, "at least one"),
        (["pillion.yaml", "-n", "none", "--", "true"], 2, "'none'"),
        (["--set", "n", "pillion.yaml", "--", "true"], 1, "NAME=VALUE"),
        (["--launcher", "no-launcher", "pillion.yaml", "--", "true"], 1, "no-launcher"),
        ([build / "examples/heat/heat", "32"], 1, "is a program, where the configuration"),
        (["--write", "job.sh", "pillion.yaml", "--", "true"], 1, "needs -n"),
        (["-n", "1", "--write", "no/a.sh", "pillion.yaml", "--", "true"], 1, "no/a.sh: No such"),
    ]
    for words, status, why in cases:
        done = run_pillion(build, "run", *words, cwd=tmp_path)
        assert (done.returncode, done.stdout) == (status, ""), done.stderr
        assert why in done.stderr


def test_a_batch_script_that_its_user_has_changed_stays(build, tmp_path):
    (tmp_path / "pillion.yaml").write_text(configuration("ranks"))
    words = ["run", "-n", 1, "--write", "job.sh", "pillion.yaml", "--", "true"]
    for _ in range(2):
        done = run_pillion(build, *words, cwd=tmp_path)
        assert done.returncode == 0 and "job.sh: 1 node of 2 tasks" in done.stdout, done.stderr
    script = tmp_path / "job.sh"
    script.write_text(changed := script.read_text().replace("exec", "module load mpi\nexec"))
    done = run_pillion(build, *words, cwd=tmp_path)
    assert done.returncode == 1 and "job.sh is there already, and differs" in done.stderr
    assert script.read_text() == changed


def test_a_program_that_goes_elsewhere_is_found(build, tmp_path):
    (tmp_path / "pillion.yaml").write_text(configuration("simulation"))
    (tmp_path / "sub").mkdir()
    heat = shlex.quote(str(build / "examples/heat/heat"))
    words = ["run", "-n", 1, tmp_path / "pillion.yaml", "--"]
    done = run_pillion(build, *words, "sh", "-c", f"cd sub; exec {heat} 16 100000", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "sub/results/decay/statistics_temperature.csv" in done.stderr


def test_a_crash_is_told(build, tmp_path):
    (tmp_path / "pillion.yaml").write_text(configuration("per_node"))
    command, told = pillion(build, "run", "-n", 2, "pillion.yaml", "--")
    heat = build / "examples/heat/heat"
    with going_on(*command, heat, 16, 10**8, cwd=tmp_path, **told) as process:
        run = awaited(tmp_path / "results/progress.json", lambda p: p.publications > 3)
        os.kill(run.pid, signal.SIGSEGV)
        errors = " ".join(limits.communicate(process, timeout=60)[1].split())
    assert process.returncode == 139
    assert "ended with status 139 (SIGSEGV) at step" in errors
    assert "did not close its session" in errors and "results/progress.json" in errors
    assert "next: pillion watch --once results" in errors and "pillion report results" in errors
    # The page shows what was there when it was killed.
    made = make_report(tmp_path / "results")
    page = made.path.read_text()
    assert made.problems == []
    assert "this run has no report yet" in page and "killed, crashed" in page
    assert "Statistics of temperature" in page


@pytest.mark.parametrize("fails", [True, False])
def test_strict_runs_fail_with_a_disabled_analysis(build, tmp_path, fails):
    """The disk refuses what one analysis writes; without that the status is the program's."""
    (tmp_path / "results").mkdir()
    if fails:
        (tmp_path / "results/decay").write_text("no folder")
    done = started(build, tmp_path, "simulation", "--strict", steps=20)
    assert done.returncode == (3 if fails else 0), done.stderr
    assert ("--strict: analysis decay was disabled" in done.stderr) == fails


def alive(session: int) -> list[str]:
    """Processes that run in a session."""
    found = []
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = stat.read_text().rpartition(")")[2].split()
        except OSError:
            continue
        if int(fields[3]) == session and fields[0] != "Z":
            found.append(stat.parent.name)
    return found


@pytest.mark.parametrize("placement", ["per_node", "separate"])
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_signals_reach_the_ranks_and_it_waits(build, tmp_path, placement, number):
    (tmp_path / "pillion.yaml").write_text(configuration(placement))
    command, told = pillion(build, "run", "-n", 1, "pillion.yaml", "--")
    heat = build / "examples/heat/heat"
    with going_on(*command, heat, 16, 10**8, cwd=tmp_path, **told) as process:
        run = awaited(tmp_path / "results/progress.json", lambda p: p.publications > 3)
        if placement == "separate":
            awaited(tmp_path / "results/progress-sidecars.json", lambda p: p.publications > 3)
        session = os.getsid(run.pid)
        assert session != process.pid
        process.send_signal(number)
        _, errors = limits.communicate(process, timeout=60)
    assert process.returncode == 128 + number, errors
    assert f"was asked to stop by {number.name}" in errors
    assert alive(session) == []
    if placement == "separate":  # they have finished all that was published, and say so
        report = read_run(tmp_path / "results")
        assert any("gone without having closed" in text for text in report.warnings)


def test_sidecars_that_have_nothing_to_do(build, tmp_path):
    """A job of their own ends at once, with status 0, and says why."""
    text = configuration("separate").replace("at: sidecar", "at: simulation")
    (tmp_path / "pillion.yaml").write_text(text)
    command, told = pillion(build, "run", "-n", 1, "pillion.yaml", "--")
    heat = build / "examples/heat/heat"
    with going_on(*command, heat, 16, 10**8, cwd=tmp_path, **told) as process:
        awaited(tmp_path / "results/progress.json", lambda p: p.publications > 3)
        attached = run_pillion(build, "attach", RUN, cwd=tmp_path)
        process.send_signal(signal.SIGTERM)
        _, errors = limits.communicate(process, timeout=60)
    assert attached.returncode == 0, attached.stderr
    assert "no stages for sidecars" in attached.stderr
    assert "was freed" not in errors


SAVING = """\
import signal, sys, time
import numpy as np, pillion

asked = []
if "deaf" not in sys.argv:
    signal.signal(signal.SIGUSR1, lambda *_: asked.append(1))
with pillion.open("pillion.yaml") as session:
    field = np.zeros((16, 16, 16))
    session.share("temperature", field)
    step = 0
    while not asked:
        step += 1
        session.step(step, 1e-3 * step)
        time.sleep(0.001)
    session.checkpoint("saved")
"""


def test_a_notice_reaches_a_program_that_handles_it(build, tmp_path):
    """It saves a checkpoint and ends, and its sidecars write the whole report."""
    (tmp_path / "pillion.yaml").write_text(configuration("separate"))
    (tmp_path / "saving.py").write_text(SAVING)
    command, told = pillion(build, "run", "-n", 1, "pillion.yaml", "--", sys.executable)
    with going_on(*command, "saving.py", cwd=tmp_path, **told) as process:
        awaited(tmp_path / "results/progress-sidecars.json", lambda p: p.publications > 3)
        process.send_signal(signal.SIGUSR1)
        _, errors = limits.communicate(process, timeout=60)
    assert process.returncode == 0, errors
    assert (tmp_path / "saved").is_dir()
    report = read_run(tmp_path / "results")
    assert all(analysis.lost == 0 for analysis in report.analyses)
    assert not report.warnings


def test_a_notice_does_not_end_a_program_that_does_not_handle_it(build, tmp_path):
    (tmp_path / "pillion.yaml").write_text(configuration("per_node"))
    (tmp_path / "saving.py").write_text(SAVING)
    command, told = pillion(build, "run", "-n", 1, "pillion.yaml", "--", sys.executable)
    with going_on(*command, "saving.py", "deaf", cwd=tmp_path, **told) as process:
        before = awaited(tmp_path / "results/progress.json", lambda p: p.publications > 3)
        process.send_signal(signal.SIGUSR1)
        awaited(
            tmp_path / "results/progress.json", lambda p: p.publications > before.publications + 5
        )
        process.send_signal(signal.SIGTERM)
        _, errors = limits.communicate(process, timeout=60)
    assert "SIGUSR1 is not forwarded" in errors


class Asked:
    """Knows nothing of a run, but how often it was asked for a line."""

    times = 0

    def line(self, live: bool) -> str:
        self.times += 1
        return f"line {self.times}"

    def look(self) -> None: ...

    def has_sidecars(self) -> bool:
        return False

    def catches(self, number: int) -> bool:
        return False


def test_lines_come_now_and_then_where_there_is_no_terminal(monkeypatch, capfd):
    monkeypatch.setattr(job, "_PLAIN_EVERY", 0.2)
    asking = Asked()
    plan = Plan((sys.executable, "-c", "print('mine'); import time; time.sleep(1)"), None, {}, 1, 0)
    begin = time.monotonic()
    assert job.Job(plan, asking).run() == 0
    took = time.monotonic() - begin
    assert took >= 1
    out, errors = capfd.readouterr()
    assert out == "mine\n"
    assert errors.splitlines() == [f"line {i + 1}" for i in range(asking.times)]
    assert 2 <= asking.times <= took / 0.2 + 2


def test_what_is_in_the_environment_is_handed_on(capfd):
    plan = Plan(("sh", "-c", "echo $PILLION_SET; exit 9"), None, {"PILLION_SET": "a=b"}, 1, 0)
    assert job.Job(plan, Asked()).run() == 9
    assert capfd.readouterr().out == "a=b\n"
    assert job.Job(Plan(("sh", "-c", "kill -9 $$"), None, {}, 1, 0), Asked()).run() == 137


def test_a_launcher_that_does_not_end_after_its_steps(capfd):
    """It ignores SIGTERM, as srun may do, and its child holds the output."""
    plan = Plan(("sh", "-c", "trap '' TERM; echo mine; sleep 60 & wait"), None, {}, 1, 0)
    begin = time.monotonic()
    asked = iter([False, False, True])
    assert job.Job(plan, Asked(), lambda: next(asked)).run() == 0
    assert time.monotonic() - begin < limits.limit(10)
    out, errors = capfd.readouterr()
    assert out == "mine\n"
    assert "sh did not end after its steps" in errors


def test_when_a_launcher_is_left_over():
    """After its run, and once Slurm says that it has no step; no answer says nothing."""
    now, ended, steps = [0.0], [False], [()]
    left_over = LeftOver(lambda: ended[0], lambda: steps[0], lambda: now[0])

    def seen(seconds: float) -> list[bool]:
        found = []
        for _ in range(int(seconds)):
            now[0] += 1
            found.append(left_over())
        return found

    assert not any(seen(60))
    ended[0] = True
    assert not any(seen(PATIENCE - 1)) and any(seen(PATIENCE))
    for steps[0] in (("7.0",), None):
        assert not any(seen(60))
    steps[0], ended[0] = (), False
    assert not any(seen(60))


def test_steps_and_jobs_of_an_allocation():
    assert numbered_in("38.batch\n38.extern\n38.interactive\n38.0\n39.12\n") == ("38.0", "39.12")
    assert numbered_in("") == ()
    groups = {"SLURM_JOB_ID_HET_GROUP_0": "38", "SLURM_JOB_ID_HET_GROUP_1": "39"}
    assert jobs_of({"SLURM_JOB_ID": "38", "HOME": "/", **groups}) == ("38", "39")
    assert jobs_of({"HOME": "/"}) == ()
