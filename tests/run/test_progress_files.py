# SPDX-License-Identifier: BSD-3-Clause
"""Files that say how a run is doing, while the heat example runs with its sidecars everywhere."""

import json
import os
import signal

import limits
import pytest
from conftest import mpirun
from heat_runs import (
    EXTRA,
    IN_JOB,
    PLACEMENTS,
    RUN,
    awaited,
    configuration,
    going_on,
    heat,
    run_pillion,
)
from pillion.liveness import find_runs, state_of
from pillion.progress import State, read_parts, read_progress
from pillion.report.run import read_run

LONG = 2_000_000  # steps that no test waits for


@pytest.mark.parametrize("placement", PLACEMENTS)
def test_a_run_says_how_it_is_doing(build, tmp_path, placement):
    (tmp_path / "pillion.yaml").write_text(configuration(placement))
    results = tmp_path / "results"
    ranks = 2 + IN_JOB[placement]
    attach = [build / "bin/pillion-attach", RUN, "--wait", "30", "--quiet"]
    command = heat(build, ranks, 12000)
    if placement == "separate":
        words = " ".join(map(str, attach))
        command = ["bash", "-c", f'"$@" & {words}; wait', "bash", *command]
    with going_on(*command, cwd=tmp_path) as process:
        first = awaited(results / "progress.json", lambda p: (p.step or 0) > 0)
        assert first.said == "running" and state_of(first) is State.RUNNING
        assert first.run == RUN and find_runs(RUN) == [results]
        later = awaited(results / "progress.json", lambda p: p.step > first.step)
        assert later.time > first.time and later.written > first.written
        assert later.steps_per_second is None or later.steps_per_second > 0
        if placement != "simulation":
            theirs = awaited(results / "progress-sidecars.json", lambda p: p.publications > 0)
            assert theirs.id == first.id and theirs.pid != first.pid
        _, errors = limits.communicate(process, timeout=60)
        assert process.returncode == 0, errors
    parts = read_parts(results)
    report = read_run(results)
    check_simulation(parts.simulation, report, placement)
    if placement == "simulation":
        assert parts.sidecars is None
    else:
        check_sidecars(parts.sidecars, report)
    assert parts.attached_jobs == ()
    assert find_runs(RUN) == []


def check_simulation(progress, report, placement):
    assert (progress.said, progress.failure) == ("ended", None)
    assert (progress.step, progress.publications) == (12000, report.facts["publications"])
    assert progress.simulation_ranks == 2
    assert progress.sidecar_ranks == (None if placement == "separate" else IN_JOB[placement])
    assert not progress.waiting and progress.working is None
    for mine, final in zip(progress.analyses, report.analyses, strict=True):
        assert (mine.name, mine.placement, mine.every) == (final.name, final.placement, final.every)
        assert (mine.publications, mine.skipped) == (final.publications, 0)
        assert mine.last_step == 12000
    if placement == "simulation":
        assert progress.memory is None and progress.behind is None
        check_products(progress, report)
    else:
        assert progress.memory.budget == 32 << 20 and progress.behind == 0
        assert 0 < progress.memory.peak <= progress.memory.budget
        assert all(a.bytes_moved > 0 for a in progress.analyses)


def check_sidecars(progress, report):
    assert (progress.role, progress.said, progress.step) == ("sidecars", "ended", 12000)
    assert progress.sidecar_ranks == 1 and progress.simulation_ranks == 2
    for mine, final in zip(progress.analyses, report.analyses, strict=True):
        assert mine.publications == final.publications and mine.last_step == 12000
        assert mine.mean_lag == pytest.approx(final.lag.mean)
        assert mine.sidecar == pytest.approx(final.sidecar.mean)
        assert 0 < mine.last_lag <= mine.longest_lag
    check_products(progress, report)


def check_products(progress, report):
    said = {path for analysis in progress.analyses for path in analysis.products}
    assert said == {product.path for product in report.products}
    assert all((report.folder / path).is_file() for path in said)


def test_a_attached_job_says_how_it_is_doing(build, tmp_path):
    (tmp_path / "pillion.yaml").write_text(configuration("per_node"))
    (tmp_path / "extra.yaml").write_text(EXTRA)
    results = tmp_path / "results"
    with going_on(*heat(build, 3, LONG), cwd=tmp_path):
        run = awaited(results / "progress.json", lambda p: (p.step or 0) > 0)
        (tmp_path / "endless.yaml").write_text("analyses: &a {x: *a}\n")
        wrong = [build / "bin/pillion-attach", run.id, "endless.yaml"]
        refused = limits.run(wrong, cwd=tmp_path, capture_output=True, text=True, timeout=30)
        assert refused.returncode == 1 and "endless.yaml:1: an alias refers" in refused.stderr
        attach = (build / "bin/pillion-attach", run.id, "extra.yaml")
        with going_on(*attach, cwd=tmp_path) as attached_job:
            theirs = awaited(results / "progress-extra.json", lambda p: p.publications > 2)
            assert (theirs.role, theirs.attached_job, theirs.id) == (
                "attached_job",
                "extra",
                run.id,
            )
            assert [a.name for a in theirs.analyses] == ["extra"]
            ours = awaited(results / "progress.json", lambda p: len(p.analyses) == 3)
            assert ours.analyses[2].name == "extra"
            shown = run_pillion(build, "watch", "--once", "results", cwd=tmp_path)
            assert "extra" in shown.stdout and "attached job extra running" in shown.stdout
            attached_job.send_signal(signal.SIGTERM)
            limits.communicate(attached_job, timeout=30)
        left = read_progress(results / "progress-extra.json")
        assert left.said == "left" and left.analyses[0].publications > 2


@pytest.mark.parametrize("placement", ["simulation", "per_node"])
def test_a_killed_simulation_is_gone(build, tmp_path, placement):
    (tmp_path / "pillion.yaml").write_text(configuration(placement))
    results = tmp_path / "results"
    ranks = 2 + IN_JOB[placement]
    with going_on(*heat(build, ranks, LONG), cwd=tmp_path) as process:
        run = awaited(results / "progress.json", lambda p: p.publications > 3)
        os.kill(run.pid, signal.SIGKILL)
        limits.communicate(process, timeout=30)
    last = read_progress(results / "progress.json")
    assert last.said == "running" and state_of(last) is State.GONE
    shown = run_pillion(build, "watch", "--once", "results", cwd=tmp_path)
    assert shown.returncode == 1 and "● gone" in shown.stdout
    assert results not in find_runs()


def test_separate_sidecars_that_are_killed_are_gone_and_others_take_their_file(build, tmp_path):
    (tmp_path / "pillion.yaml").write_text(configuration("separate"))
    path = tmp_path / "results/progress-sidecars.json"
    with going_on(*heat(build, 2, LONG), cwd=tmp_path):
        run = awaited(tmp_path / "results/progress.json", lambda p: (p.step or 0) > 0)
        attach = (build / "bin/pillion-attach", run.id)
        with going_on(*attach, cwd=tmp_path) as sidecars:
            before = awaited(path, lambda p: p.publications > 3)
            sidecars.kill()
            limits.communicate(sidecars, timeout=60)
        assert before.pid == sidecars.pid
        assert state_of(before) is State.GONE
        shown = run_pillion(build, "watch", "--once", "results", cwd=tmp_path)
        assert shown.returncode == 0 and "sidecars gone" in shown.stdout
        with going_on(*attach, cwd=tmp_path) as sidecars:
            awaited(path, lambda p: p.pid == sidecars.pid and p.publications > 3)
            # A second sidecar job finds the place taken, and must not say anything there.
            second = run_pillion(build, "attach", run.id, cwd=tmp_path)
            assert second.returncode == 1 and "has its sidecars already" in second.stderr
            assert read_progress(path).pid == sidecars.pid
            sidecars.send_signal(signal.SIGTERM)
            limits.communicate(sidecars, timeout=30)
        assert read_progress(path).said == "left"


def test_a_stalled_simulation_says_so(build, tmp_path):
    text = configuration("separate", 32).replace("64 MiB", "1 MiB")
    (tmp_path / "pillion.yaml").write_text(text)
    with going_on(*heat(build, 2, LONG, 32), cwd=tmp_path):
        run = awaited(tmp_path / "results/progress.json", lambda p: p.waiting)
        assert run.behind > 0 and run.memory.in_use > run.memory.budget // 2
        shown = run_pillion(build, "watch", "--once", "results", cwd=tmp_path)
        assert "waiting for sidecars" in shown.stdout


def test_it_can_be_switched_off(build, tmp_path):
    (tmp_path / "pillion.yaml").write_text(configuration("per_node"))
    program = build / "examples/heat/heat"
    mpirun(3, program, 16, 200, cwd=tmp_path, env={"PILLION_PROGRESS": "0"})
    assert (tmp_path / "results/report.json").exists()
    assert list((tmp_path / "results").glob("progress*")) == []


def test_where_it_cannot_be_written_the_run_goes_on(build, tmp_path):
    (tmp_path / "pillion.yaml").write_text(configuration("per_node"))
    for name in ("progress.json", "progress-sidecars.json"):
        (tmp_path / "results" / name / "in the way").mkdir(parents=True)
    done = mpirun(
        3, build / "examples/heat/heat", 16, 3000, cwd=tmp_path, env={"PILLION_PROGRESS": "0.01"}
    )
    assert done.stderr.count("progress cannot be shown") == 2  # once by each side
    warnings = json.loads((tmp_path / "results/report.json").read_text())["warnings"]
    assert sum("progress cannot be shown" in text for text in warnings) == 2


def test_a_run_that_does_not_open_says_nothing(build, tmp_path):
    (tmp_path / "pillion.yaml").write_text(configuration("simulation").replace("every", "evry"))
    done = mpirun(2, build / "examples/heat/heat", 16, 200, cwd=tmp_path, check=False)
    assert done.returncode != 0 and "did you mean 'every'" in done.stderr
    assert not (tmp_path / "results/progress.json").exists()
