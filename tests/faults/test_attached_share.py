# SPDX-License-Identifier: BSD-3-Clause
"""An attached job costs the simulation no more than the share of its time that the owner allows."""

import json
import os
import re
import subprocess
import time
import uuid

import limits
import pytest
from conftest import launcher
from faults import GRID

ANALYSES = "\n".join(
    f"  c{i}: {{when: max(ballast) > {10 + i}, stages: [{{trouble: {{field: ballast}}}}]}}"
    for i in range(4)
)


def attach_to_run(
    build, folder, attached: str, seconds: float, analyses=ANALYSES, own="{}", memory="200 MiB"
):
    """The process of the attached job, which by default asks for four conditions that never hold on
    64 MiB at every step, and its report, after that many seconds. With analyses of its own the run
    has sidecars, too."""
    run = f"share-{uuid.uuid4().hex}"
    fields = GRID.replace("output: out", f"output: out\nrun: {run}")
    fields = fields.replace("4]}", "4]}, long: {kind: uniform, cells: [8388608]}")
    more = ", ballast: {mesh: long, type: float64}, other: {mesh: long, type: float64}"
    fields = fields.replace("kg}", "kg}" + more)
    (folder / "pillion.yaml").write_text(
        fields
        + f"analyses: {own}\n"
        + f"sidecars: {{job: separate, memory: {memory}, attached: {attached}}}\n"
    )
    (folder / "extra.yaml").write_text(f"analyses:\n{analyses}\n")
    driver = build / "tests" / "faults" / "fault_driver"
    command = [*launcher(), "-n", "1", driver, "pillion.yaml", "1000000", "until-stop-two"]
    stages = str(build / "tests" / "faults" / "stages")
    quiet = {
        "stdout": subprocess.DEVNULL,
        "cwd": folder,
        "env": {**os.environ, "PILLION_STAGE_PATH": stages},
    }
    simulation = subprocess.Popen(
        [str(word) for word in command], stderr=subprocess.DEVNULL, **quiet
    )
    program = str(build / "bin" / "pillion-attach")
    jobs = [simulation]
    if own != "{}":
        jobs.append(
            subprocess.Popen([program, run, "--wait", "30"], stderr=subprocess.DEVNULL, **quiet)
        )
    attach = subprocess.Popen(
        [program, run, "extra.yaml", "--wait", "30"],
        stderr=subprocess.PIPE,
        text=True,
        **quiet,
    )
    try:
        shown = (folder / "out").glob
        limits.until(
            lambda: attach.poll() is not None or list(shown("progress-extra*")), 30, "it attaches"
        )
        time.sleep(seconds if attach.poll() is None else 0)
        (folder / "stop").touch()
        said = limits.communicate(attach, timeout=30)[1]
        assert [limits.wait(job, timeout=30) for job in jobs] == [0] * len(jobs)
    finally:
        for process in (attach, *jobs):
            process.kill()
            limits.wait(process, timeout=20)
    path = folder / "out" / "report-extra.json"
    return attach, said, json.loads(path.read_text()) if path.exists() else None


@pytest.mark.alone
@pytest.mark.parametrize("share", [1, 100])
def test_conditions_take_no_more_than_the_share(build, tmp_path, share):
    _, said, report = attach_to_run(build, tmp_path, f"{{time: {share} %}}", 3)
    assert report is not None, said
    thinned = [a["thinned"] for a in report["analyses"]]
    cost = sum(a["seconds"]["simulation"]["max"] for a in report["analyses"])
    assert cost > 0
    if share == 100:
        assert thinned == [0] * 4
        return
    # What is checked at a time is one pass over the field, for all four conditions; two of them may
    # be under way when the share is used up.
    checks = report["run"]["steps"] - min(thinned)
    assert min(thinned) > 0
    slack = 3 * cost / max(1, checks - 1) + limits.limit(0.05)
    assert cost <= 0.01 * report["run"]["seconds"] + slack
    assert any("more than their share of 1 %" in text for text in report["remarks"])


def test_publications_take_no_more_than_the_memory(build, tmp_path):
    """The job works for 100 ms on each publication of 64 MiB. Half of the memory has room for two,
    and what the owner allows for one."""
    slow = "  slow: {stages: [{trouble: {field: ballast, milliseconds: 100}}]}"
    attached = "{time: 100 %, memory: 70 MiB}"
    _, said, report = attach_to_run(build, tmp_path, attached, 2, slow, memory="300 MiB")
    assert report is not None, said
    (a,) = report["analyses"]
    assert a["publications"] > 1 and a["thinned"] > 0
    assert any("or of 70.0 MiB for their publications" in text for text in report["remarks"])
    whole = json.loads((tmp_path / "out" / "report.json").read_text())
    assert whole["sidecars"]["peak_bytes"] < 96 << 20


def test_attached_jobs_leave_room_for_the_largest_publication_of_the_run(build, tmp_path):
    """The run publishes 64 MiB and has memory for 100 MiB, of which half would be for the job's
    64 MiB: together they never fit."""
    one = "{stages: [{histogram: {field: FIELD, range: [0, 2], bins: 2}}]}"
    attach_to_run(
        build, tmp_path, "{time: 100 %}", 3, f"  theirs: {one.replace('FIELD', 'ballast')}",
        own=f"{{mine: {one.replace('FIELD', 'other')}}}", memory="100 MiB",
    )  # fmt: skip
    report = json.loads((tmp_path / "out" / "report.json").read_text())
    steps = [
        int(re.search(r"(\d+)\.csv", p.name)[1]) for p in (tmp_path / "out/mine").glob("*.csv")
    ]
    last = report["run"]["last_step"]
    assert max(steps) > 0.9 * last, (sorted(steps)[-5:], last)


def test_a_run_that_refuses_attached_jobs(build, tmp_path):
    attach, said, report = attach_to_run(build, tmp_path, "no", 0)
    assert attach.returncode == 1
    assert "refuses attached jobs: its configuration says 'sidecars: {attached: no}'" in said
    assert report is None
