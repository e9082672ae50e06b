# SPDX-License-Identifier: BSD-3-Clause
"""An attached job that is stopped, whatever it is at, takes no publication from the run's own
analyses. It loses its messages, and when it continues it ends with a reason, and with products of
which every value is right.
"""

import contextlib
import csv
import json
import os
import signal
import subprocess
import uuid

import limits
import pytest
from conftest import launcher
from faults import GRID

CELLS = 1 << 17
STATISTICS = "statistics: {fields: [wave]}"


def rows(folder):
    """Step, least and greatest value of each publication in a table of statistics."""
    (path,) = (path for path in folder.glob("*.csv") if path.name != "seen.csv")
    lines = [line for line in path.read_text().splitlines() if not line.startswith("#")]
    return [
        (int(r["step"]), float(r["min"]), float(r["max"]), int(r["count"]))
        for r in csv.DictReader(lines)
    ]


def wait_for(holds, what: str, seconds: float = 40):
    limits.until(holds, seconds, what)


class Run:
    """A simulation that publishes 1 MiB at every step, a sidecar of a job of its own that analyses
    all of it, and an attached job that takes `milliseconds` for each."""

    def __init__(self, build, folder, when_full: str, milliseconds: int, memory: str = "wave"):
        self.folder = folder
        run = f"stopped-{uuid.uuid4().hex}"
        fields = GRID.replace("output: out", f"output: out\nrun: {run}")
        fields = fields.replace("4]}", f"4]}}, line: {{kind: uniform, cells: [{CELLS}]}}")
        fields = fields.replace("kg}", "kg}, wave: {mesh: line, type: float64}")
        limits = f"memory: 16 MiB, when_full: {when_full}, attached: {{time: 100 %, memory: 4 MiB}}"
        (folder / "pillion.yaml").write_text(
            f"{fields}analyses: {{mine: {{stages: [{STATISTICS}]}}}}\n"
            f"sidecars: {{job: separate, {limits}}}\n"
        )
        trouble = f"trouble: {{field: wave, milliseconds: {milliseconds}}}"
        (folder / "extra.yaml").write_text(
            f"analyses: {{theirs: {{stages: [{trouble}, {STATISTICS}]}}}}\n"
        )
        stages = str(build / "tests" / "faults" / "stages")
        self.env = {**os.environ, "PILLION_STAGE_PATH": stages}
        driver = build / "tests" / "faults" / "fault_driver"
        program = build / "bin" / "pillion-attach"
        configured = [driver, "pillion.yaml", 1000000, f"until-stop-{memory}"]
        self.simulation = self.start([*launcher(), "-n", 1, *configured])
        self.sidecar = self.start([program, run, "--wait", "30"])
        self.attached = self.start([program, run, "extra.yaml", "--wait", "30"])

    def start(self, command):
        return subprocess.Popen(
            [str(word) for word in command], cwd=self.folder, env=self.env, text=True,
            stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
        )  # fmt: skip

    def progress(self, part: str = "") -> dict:
        path = self.folder / "out" / f"progress{part}.json"
        return json.loads(path.read_text()) if path.exists() else {}

    def step(self) -> int:
        return self.progress().get("step") or 0

    def close(self):
        for job in (self.attached, self.sidecar, self.simulation):
            job.kill()
            limits.communicate(job, timeout=20)


@pytest.mark.parametrize("when_full", ["wait", "skip"])
@pytest.mark.parametrize("milliseconds", [0, 300])
def test_a_stopped_attached_job_costs_the_run_nothing(build, tmp_path, when_full, milliseconds):
    run_with_stopped_job(Run(build, tmp_path, when_full, milliseconds), when_full)


def test_memory_that_is_read_in_place_is_taken_back_as_well(build, tmp_path):
    run_with_stopped_job(Run(build, tmp_path, "wait", 300, "lent"), "wait")


def test_copies_of_what_is_lent_have_a_limit(build, tmp_path):
    with contextlib.closing(Run(build, tmp_path, "wait", 200, "lent")) as run:
        wait_for(lambda: run.progress("-extra").get("publications", 0) >= 4, "the job works")
        (tmp_path / "stop").touch()
        for job in (run.simulation, run.sidecar, run.attached):
            assert limits.wait(job, timeout=40) == 0
    report = json.loads((tmp_path / "out" / "report-extra.json").read_text())
    (a,) = report["analyses"]
    assert a["publications"] >= 4 and a["thinned"] > a["publications"], a


def run_with_stopped_job(started: Run, when_full: str):
    tmp_path = started.folder
    with contextlib.closing(started) as run:
        wait_for(
            lambda: run.progress("-extra").get("publications", 0) >= 2, "the attached job works"
        )
        run.attached.send_signal(signal.SIGSTOP)
        stopped = run.step()
        wait_for(lambda: run.step() > stopped + 100, "the run continues")
        run.attached.send_signal(signal.SIGCONT)
        said = limits.communicate(run.attached, timeout=20)[1]
        assert run.attached.returncode == 4, said
        assert "the run took its memory back: this job was stopped or too slow" in said
        (tmp_path / "stop").touch()
        assert limits.wait(run.simulation, timeout=40) == 0
        assert limits.wait(run.sidecar, timeout=40) == 0

    report = json.loads((tmp_path / "out" / "report.json").read_text())
    mine = report["analyses"][0]
    assert (mine["lost"], mine["dropped"], mine["disabled"]) == (0, 0, None)
    own = rows(tmp_path / "out" / "mine")
    steps = [step for step, *_ in own]
    last = report["run"]["last_step"]
    if when_full == "wait":
        assert steps == list(range(last + 1))
    else:  # it is skipped only until the job has lost its messages
        assert len([s for s in steps if s > stopped]) > 0.8 * (last - stopped), steps
    # A row for every publication that it finished, and no value of another one.
    theirs = rows(tmp_path / "out" / "theirs")
    assert len(theirs) >= 2
    for step, least, greatest, count in own + theirs:
        assert (least, greatest, count) == (step, step, CELLS)
    assert theirs[-1][0] < last
    (why,) = [text for text in report["warnings"] if "took its memory back" in text]
    assert "publications of it are lost" in why and "analysis 'theirs'" in why
    own_words = json.loads((tmp_path / "out" / "report-extra.json").read_text())
    assert any("took its memory back" in text for text in own_words["warnings"])
