# SPDX-License-Identifier: BSD-3-Clause
"""No wait of the simulation is longer than its deadline, whatever sidecars of its own job do; at
MPI_Finalize late ones get time to finish, and the job ends if they hang."""

import json
import re

import limits
import pytest
from conftest import read_table
from faults import GRID, drive, said

DEADLINE = 0.2
SIDES = {"network": "ranks: 1", "node": "per_node: 1"}
NO_SIDECARS = "memory: 1 MiB"


def analysis(milliseconds: int, side: str, deadline: float = DEADLINE) -> str:
    return (
        GRID
        + f"analyses: {{a: {{stages: [{{trouble: {{milliseconds: {milliseconds}}}}}]}}}}\n"
        + f"sidecars: {{{SIDES.get(side, NO_SIDECARS)}, deadline: {deadline} s}}\n"
    )


def seconds(process, call: str) -> dict[int, tuple[str, float]]:
    """How a timed call ended, and after how long, by rank."""
    found = {}
    for rank, lines in said(process).items():
        for line in lines:
            if match := re.match(rf"{call} (\w+) seconds=([0-9.]+)", line):
                found[rank] = (match[1], float(match[2]))
    return found


def in_time(took: float) -> bool:
    return took < limits.longest(DEADLINE)


@pytest.mark.alone
@pytest.mark.parametrize("side", SIDES)
def test_a_stage_that_hangs_in_the_same_job(build, tmp_path, side):
    process = drive(
        build, tmp_path, analysis(600_000, side), 3, "pillion.yaml", 5, "timed", timeout=60
    )
    checkpoint, close = seconds(process, "checkpoint"), seconds(process, "close")
    assert len(checkpoint) == len(close) == 2, (process.stdout, process.stderr)
    for how, took in checkpoint.values():
        assert how == "failed"
        assert in_time(took)
    for how, took in close.values():
        assert how == "succeeded"
        assert in_time(took)
    assert "did not save their state within the deadline" in process.stdout
    # MPI_Finalize waited for the sidecar, and then ended the job.
    assert process.returncode != 0
    assert "sidecars have not finished" in process.stderr
    report = json.loads((tmp_path / "out" / "report.json").read_text())
    assert any("had not finished when the simulation ended" in text for text in report["warnings"])
    (a,) = report["analyses"]
    assert a["lost"] > 0
    assert a["publications"] + a["lost"] + a["skipped"] + a["dropped"] == 6


@pytest.mark.alone
def test_a_longer_deadline_is_exceeded_by_a_tenth_and_half_a_second(build, tmp_path):
    """With a short one the half second hides how long each wait took."""
    deadline = 2.5
    config = analysis(4000, "node", deadline)
    process = drive(build, tmp_path, config, 3, "pillion.yaml", 1, "timed", timeout=60)
    assert process.returncode == 0, (process.stdout, process.stderr)
    for call in ("checkpoint", "close"):
        took = seconds(process, call)
        assert len(took) == 2, (process.stdout, process.stderr)
        for _, each in took.values():
            assert 0.9 * deadline < each < 1.1 * deadline + 0.5


@pytest.mark.alone
@pytest.mark.parametrize("side", [*SIDES, "none"])
def test_a_slow_disk_delays_close_no_longer_than_the_deadline(build, tmp_path, side):
    """The report is written later, before MPI_Finalize ends."""
    config = analysis(0, side)
    process = drive(
        build, tmp_path, config, 3, "pillion.yaml", 5, "timed",
        timeout=60, more_env={"FAULT_HANG": "report"},
    )  # fmt: skip
    assert process.returncode == 0, (process.stdout, process.stderr)
    close = seconds(process, "close")
    assert len(close) >= 2
    assert all(how == "succeeded" and in_time(took) for how, took in close.values())
    assert "the disk has not taken the run's last files" in process.stderr
    report = json.loads((tmp_path / "out" / "report.json").read_text())
    (a,) = report["analyses"]
    assert a["publications"] == 6
    progress = json.loads((tmp_path / "out" / "progress.json").read_text())
    assert progress["state"] == "ended" and progress["step"] == report["run"]["last_step"]
    assert "\nended: " in (tmp_path / "out" / ".pillion-run").read_text()


@pytest.mark.alone
@pytest.mark.parametrize("side", SIDES)
def test_sidecars_that_are_late_finish_their_work(build, tmp_path, side):
    process = drive(build, tmp_path, analysis(300, side), 3, "pillion.yaml", 5, "timed", timeout=60)
    assert process.returncode == 0, (process.stdout, process.stderr)
    close = seconds(process, "close")
    assert len(close) == 2
    assert all(in_time(took) for _, took in close.values())
    seen = read_table(tmp_path / "out" / "a" / "seen.csv")
    assert list(seen.columns["step"]) == list(range(6))
    report = json.loads((tmp_path / "out" / "report.json").read_text())
    assert report["analyses"][0]["lost"] > 0


@pytest.mark.alone
@pytest.mark.parametrize("side", SIDES)
def test_sidecars_that_hang_while_they_write_their_timelines(build, tmp_path, side):
    """They have answered the end of the run, and would join the report."""
    process = drive(
        build, tmp_path, analysis(0, side), 3, "pillion.yaml", 5, "timed",
        timeout=60, more_env={"FAULT_HANG": "timeline"},
    )  # fmt: skip
    close = seconds(process, "close")
    assert len(close) == 2, (process.stdout, process.stderr)
    assert all(how == "succeeded" and in_time(took) for how, took in close.values()), close
    assert process.returncode != 0
    assert "sidecars have not finished" in process.stderr
    report = json.loads((tmp_path / "out" / "report.json").read_text())
    assert any("did not come to their own end" in text for text in report["warnings"])
    (a,) = report["analyses"]
    assert (a["publications"], a["lost"]) == (6, 0)
    assert (tmp_path / "out" / "a" / "seen.csv").exists()


@pytest.mark.alone
def test_a_sidecar_that_fails_and_hangs_before_it_has_told_all(build, tmp_path):
    """It has told one of the two simulation ranks; the other learns it from that one."""
    config = GRID.replace("4]}", "4]}, store: {kind: uniform, cells: [8388608]}")
    config = config.replace("kg}", "kg}, ballast: {mesh: store, type: float64}")
    config += f"""
analyses:
  hungry: {{stages: [{{trouble: {{fail_at: 1, how: starve}}}}]}}
  large: {{when: step > 5, stages: [{{histogram: {{field: ballast, range: [0, 2], bins: 2}}}}]}}
sidecars: {{ranks: 1, when_full: wait, deadline: {DEADLINE} s}}
"""
    process = drive(
        build, tmp_path, config, 3, "pillion.yaml", 200, "ballast-timed",
        timeout=60, more_env={"FAULT_HANG": "notice"},
    )  # fmt: skip
    close = seconds(process, "close")
    assert len(close) == 2, (process.stdout, process.stderr)
    assert all(how == "succeeded" and in_time(took) for how, took in close.values()), close
    assert process.returncode != 0
    assert "sidecars have not finished" in process.stderr
    report = json.loads((tmp_path / "out" / "report.json").read_text())
    for analysis in report["analyses"]:
        assert "the sidecars ended early" in analysis["disabled"]


@pytest.mark.alone
def test_a_disk_that_hangs_delays_no_step(build, tmp_path):
    """Every write of what is spilled takes two seconds: no step, checkpoint or end waits longer
    than its deadline for that."""
    config = analysis(50, "node")[:-2]
    config += ", memory: 16 KiB, when_full: spill, spill: {folder: .}}\n"
    process = drive(
        build, tmp_path, config, 3, "pillion.yaml", 60, "timed",
        timeout=60, more_env={"FAULT_HANG": "disk"},
    )  # fmt: skip
    ends = [*seconds(process, "checkpoint").values(), *seconds(process, "close").values()]
    assert len(ends) == 4, (process.stdout, process.stderr)
    assert all(in_time(took) for _, took in ends), ends
    longest = [float(match) for match in re.findall(r"longest=([0-9.]+)", process.stdout)]
    assert len(longest) == 2 and in_time(max(longest)), process.stdout
    report = json.loads((tmp_path / "out" / "report.json").read_text())
    (a,) = report["analyses"]
    assert a["spilled"] > 0
    assert a["publications"] + a["lost"] + a["skipped"] + a["dropped"] == 61, a
    # What was on its way to the disk at the end is lost, and sidecars finish the rest.
    assert process.returncode == 0
    seen = read_table(tmp_path / "out" / "a" / "seen.csv")
    assert len(seen.columns["step"]) == a["publications"] > 0
    assert seen.head["lost"] >= a["spilled"]
