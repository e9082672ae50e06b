# SPDX-License-Identifier: BSD-3-Clause
"""Attached jobs come and go as long as a run lasts, and what one that dies had not written is
counted."""

import contextlib
import json
import os
import signal
import subprocess
import uuid

import limits
from conftest import launcher, read_table
from faults import GRID

# fault_driver shares that, too.
LINE = "line: {kind: uniform, cells: [131072]}"
WITH_WAVE = GRID.replace("4]}", f"4]}}, {LINE}").replace(
    "kg}", "kg}, wave: {mesh: line, type: float64}"
)


class Run:
    """A simulation without analyses of its own, to which jobs attach."""

    def __init__(self, build, folder):
        self.folder = folder
        self.program = str(build / "bin" / "pillion-attach")
        self.run = f"again-{uuid.uuid4().hex}"
        (folder / "pillion.yaml").write_text(
            WITH_WAVE.replace("output: out", f"output: out\nrun: {self.run}")
            + "analyses: {}\nsidecars: {job: separate, attached: {time: 100 %}}\n"
        )
        driver = build / "tests" / "faults" / "fault_driver"
        words = [*launcher(), "-n", 1, driver, "pillion.yaml", 1000000, "until-stop-wave"]
        self.jobs = [self.start([str(word) for word in words])]

    def start(self, words):
        return subprocess.Popen(
            words, cwd=self.folder, text=True, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE
        )

    def attach(self, name: str, analyses: list[str]):
        """A job with these analyses, once it has worked on some publications."""
        stage = "{stages: [{statistics: {fields: [density]}}]}"
        lines = "".join(f"  {analysis}: {stage}\n" for analysis in analyses)
        (self.folder / f"{name}.yaml").write_text(f"analyses:\n{lines}")
        job = self.start([self.program, self.run, f"{name}.yaml", "--wait", "30"])
        self.jobs.append(job)
        limits.until(
            lambda: job.poll() is not None or self.worked(name, job.pid) > 12, 40, f"{name} works"
        )
        assert job.poll() is None, limits.communicate(job, timeout=20)[1]
        return job

    def worked(self, name: str, pid: int) -> int:
        path = self.folder / "out" / f"progress-{name}.json"
        said = json.loads(path.read_text()) if path.exists() else {"pid": 0}
        return min(a["publications"] for a in said["analyses"]) if said["pid"] == pid else 0

    def end(self) -> dict:
        (self.folder / "stop").touch()
        for job in self.jobs:
            said = limits.communicate(job, timeout=40)[1]
            assert job.returncode in (0, -signal.SIGKILL), said
        return json.loads((self.folder / "out" / "report.json").read_text())

    def close(self):
        for job in self.jobs:
            job.kill()
            limits.communicate(job, timeout=20)


def test_numbers_of_analyses_are_used_again(build, tmp_path):
    """There are 256 of them, and 360 analyses. While one job stays, others come before and after
    it."""
    with contextlib.closing(Run(build, tmp_path)) as run:
        stays = None
        for turn in range(4):
            names = [f"n{turn % 2}_{i}" for i in range(90)]
            job = run.attach(f"many{turn}", names)
            if turn == 0:
                stays = run.attach("stays", ["lasting"])
            job.terminate()
            assert limits.wait(job, timeout=40) == 0
        assert stays.poll() is None
        report = run.end()
    by_name: dict[str, int] = {}
    for analysis in report["analyses"]:
        by_name[analysis["name"]] = by_name.get(analysis["name"], 0) + analysis["publications"]
    assert len(by_name) == 2 * 90 + 1
    assert min(by_name.values()) > 2 * 10
    assert len(report["analyses"]) <= 3 * 90 + 1
    assert not any("turned away" in text for text in report["warnings"])
    lasting = json.loads((tmp_path / "out" / "report-stays.json").read_text())["analyses"]
    assert [(a["name"], a["lost"]) for a in lasting] == [("lasting", 0)]


def test_what_a_killed_job_had_not_written_is_lost(build, tmp_path):
    with contextlib.closing(Run(build, tmp_path)) as run:
        job = run.attach("extra", ["theirs"])
        os.kill(job.pid, signal.SIGKILL)
        limits.wait(job, timeout=20)
        # Another one notices that the slot is free, and so has the run.
        run.attach("next", ["others"])
        report = run.end()
    accounts = {a["name"]: a for a in report["analyses"]}
    (table,) = (tmp_path / "out" / "theirs").glob("*.csv")
    rows = len(read_table(table).columns["step"])
    assert accounts["theirs"]["publications"] == rows
    assert accounts["theirs"]["lost"] > 0
    assert accounts["others"]["lost"] == 0
    assert any("ended after step" in text for text in report["remarks"])


def test_a_job_that_dies_just_before_the_end_is_counted_too(build, tmp_path):
    with contextlib.closing(Run(build, tmp_path)) as run:
        job = run.attach("extra", ["theirs"])
        os.kill(job.pid, signal.SIGKILL)
        limits.wait(job, timeout=20)
        report = run.end()
    (account,) = report["analyses"]
    (table,) = (tmp_path / "out" / "theirs").glob("*.csv")
    assert account["publications"] == len(read_table(table).columns["step"])
    assert account["lost"] > 0
