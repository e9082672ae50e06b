# SPDX-License-Identifier: BSD-3-Clause
"""A simulation that ends before its separate sidecars. If they are known to be on their way it
waits for them, and loses nothing. If they are killed later, readers complete the report."""

import json
import os
import signal
import subprocess
import sys
import uuid

import limits
import pytest
from conftest import read_table
from pillion.report.run import read_run

CONFIGURATION = """
output: out
run: RUN
sidecars: {job: separate, memory: 1 MiB, deadline: DEADLINE}
meshes: {line: {kind: uniform, cells: [4]}}
fields: {height: {mesh: line, type: float64}}
analyses: {waves: {products_every: 2, stages: [statistics: {fields: [height]}]}}
"""
PROGRAM = """
import pathlib, sys, time
import numpy as np, pillion
with pillion.open("run.yaml") as session:
    session.share("height", np.arange(4.0))
    for step in range(5):
        if step == int(sys.argv[1]):
            while session.progress.behind > 0 or not pathlib.Path("meet").exists():
                time.sleep(0.01)
                if session.progress.behind == 0:
                    pathlib.Path("here").touch()
        session.step(step, 0.1 * step)
"""


def start(build, folder, deadline: str, meet_at: int, **more: str):
    """The name of a run, its simulation, and its environment."""
    run = f"late-{uuid.uuid4().hex}"
    text = CONFIGURATION.replace("RUN", run).replace("DEADLINE", deadline)
    (folder / "run.yaml").write_text(text)
    env = os.environ | {"PYTHONPATH": str(build / "python"), "PILLION_PROGRESS": "0.05"} | more
    words = [sys.executable, "-c", PROGRAM, str(meet_at)]
    return run, subprocess.Popen(words, cwd=folder, env=env), env


def end(*processes) -> None:
    for process in processes:
        if process is not None and process.poll() is None:
            process.kill()
            limits.wait(process, 10)


def waits_for_sidecars(progress) -> bool:
    if not progress.exists():
        return False
    now = json.loads(progress.read_text())
    return now["waiting"] and now["publications"] == 5


@pytest.mark.parametrize("awaited", [True, False])
def test_a_short_run_waits_for_sidecars_that_are_on_their_way(awaited, build, tmp_path):
    more = {"PILLION_AWAIT_SIDECARS": "1"} if awaited else {}
    run, simulation, env = start(build, tmp_path, "60 s", -1, **more)
    sidecars = None
    try:
        if awaited:
            progress = tmp_path / "out/progress.json"
            limits.until(
                lambda: waits_for_sidecars(progress) or simulation.poll() is not None,
                60,
                "the simulation waits",
            )
            assert simulation.poll() is None, "the simulation did not wait"
            attach = [build / "bin/pillion-attach", run, "--wait", "30"]
            sidecars = subprocess.Popen(attach, cwd=tmp_path, env=env)
            assert limits.wait(sidecars, 60) == 0
        assert limits.wait(simulation, 60) == 0
    finally:
        end(simulation, sidecars)
    report = json.loads((tmp_path / "out/report.json").read_text())
    (waves,) = report["analyses"]
    done = 5 if awaited else 0
    assert (waves["publications"], waves["lost"]) == (done, 5 - done)
    assert "provisional" not in report["run"]


def start_with_sidecars(build, folder):
    """A simulation and its sidecars, which have finished three of five publications. The table has
    two of them; the simulation waits for the file `meet`.
    """
    run, simulation, env = start(build, folder, "0.5 s", 3)
    sidecars = subprocess.Popen(
        [build / "bin/pillion-attach", run, "--wait", "30"], cwd=folder, env=env
    )
    try:
        limits.until((folder / "here").exists, 60, "sidecars finish three publications")
    except BaseException:
        end(simulation, sidecars)
        raise
    return simulation, sidecars


def test_a_report_that_killed_sidecars_left_is_completed(build, tmp_path):
    """They are stopped before the simulation ends, and killed later."""
    simulation, sidecars = start_with_sidecars(build, tmp_path)
    try:
        sidecars.send_signal(signal.SIGSTOP)
        (tmp_path / "meet").touch()
        assert limits.wait(simulation, 60) == 0
        report = json.loads((tmp_path / "out/report.json").read_text())
        assert report["run"]["provisional"] is True
        run_now = read_run(tmp_path / "out")
        assert any("still at work" in text for text in run_now.warnings)
    finally:
        end(simulation, sidecars)
    assert len(read_table(tmp_path / "out/waves/statistics_height.csv")) == 2
    (waves,) = read_run(tmp_path / "out").analyses
    assert (waves.publications, waves.lost) == (2, 3)


def test_heads_agree_with_the_report_if_no_sidecars_are_left(build, tmp_path):
    simulation, sidecars = start_with_sidecars(build, tmp_path)
    try:
        end(sidecars)
        (tmp_path / "meet").touch()
        assert limits.wait(simulation, 60) == 0
    finally:
        end(simulation, sidecars)
    (waves,) = read_run(tmp_path / "out").analyses
    assert (waves.publications, waves.lost) == (2, 3)
    table = read_table(tmp_path / "out/waves/statistics_height.csv")
    assert len(table) == 2
    assert (table.head["publications"], table.head["lost"]) == (2, 3)
