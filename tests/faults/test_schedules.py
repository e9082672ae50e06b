# SPDX-License-Identifier: BSD-3-Clause
"""Schedules and conditions as a run sees them. Cells hold the number of the step, and time is a
tenth of it, so what was due can be told from the steps that the stage saw."""

import json

import pytest
from conftest import read_table
from faults import GRID, drive


def steps_seen(build, folder, schedule, sidecars, steps=40):
    config = GRID + f"analyses: {{a: {{{schedule}, stages: [{{trouble: {{}}}}]}}}}\n"
    config += f"sidecars: {{ranks: {sidecars}}}\n"
    process = drive(build, folder, config, 2 + sidecars, "pillion.yaml", steps)
    assert process.returncode == 0, (process.stdout, process.stderr)
    return list(read_table(folder / "out" / "a" / "seen.csv").columns["step"])


@pytest.mark.parametrize("sidecars", [0, 1])
class TestSchedules:
    def test_steps(self, build, tmp_path, sidecars):
        assert steps_seen(build, tmp_path, "every: 7 steps", sidecars) == [0, 7, 14, 21, 28, 35]

    def test_time(self, build, tmp_path, sidecars):
        seen = steps_seen(build, tmp_path, "every: 0.75 time", sidecars)
        assert seen == [0, 8, 15, 23, 30, 38]

    def test_condition_speaks_of_the_check_before(self, build, tmp_path, sidecars):
        seen = steps_seen(build, tmp_path, "when: max(density) > 35", sidecars)
        assert seen == [37, 38, 39, 40]

    def test_condition_is_checked_on_schedule(self, build, tmp_path, sidecars):
        seen = steps_seen(build, tmp_path, "every: 5 steps, when: mean(density) >= 20", sidecars)
        assert seen == [25, 30, 35, 40]

    def test_condition_on_step_and_time(self, build, tmp_path, sidecars):
        seen = steps_seen(build, tmp_path, "when: step > 10 and time < 1.3", sidecars)
        assert seen == [11, 12]


def rows(build, folder, sidecars, counts, restart=""):
    """Steps and times of the run's table, and its report, for a program that counts as it likes."""
    config = GRID + f"sidecars: {{ranks: {sidecars}, when_full: wait}}\n{restart}"
    config += "analyses: {a: {every: 5 steps, stages: [{statistics: {fields: [density]}}]}}\n"
    done = drive(build, folder, config, 2 + sidecars, "pillion.yaml", 0, f"counts={counts}")
    assert done.returncode == 0, (done.stdout, done.stderr)
    table = read_table(folder / "out/a/statistics_density.csv")
    assert table["mean"] == pytest.approx(table["time"])
    report = json.loads((folder / "out/report.json").read_text())
    return table["step"].tolist(), table["time"].tolist(), report


@pytest.mark.parametrize("sidecars", [0, 1])
class TestCountersThatGoBack:
    """Products number the steps on; what is due is what the program's own numbers say."""

    def test_within_a_run(self, build, tmp_path, sidecars):
        steps, times, report = rows(build, tmp_path, sidecars, "0:23:0,0:12:0")
        assert steps == [0, 5, 10, 15, 20, 25, 30, 35]
        assert times == pytest.approx([0, 0.5, 1, 1.5, 2, 0, 0.5, 1])
        assert report["run"]["steps"] == 37 and report["warnings"] == []
        (remark,) = report["remarks"]
        assert "after step 23" in remark and "step n is step n + 25 of this run" in remark

    def test_after_a_restart(self, build, tmp_path, sidecars):
        """As Nek5000: its steps begin with 0 again, its time goes on."""
        rows(build, tmp_path, sidecars, "0:23:0")
        restart = "restart: checkpoint\n"
        steps, times, report = rows(build, tmp_path, sidecars, "0:12:2.3", restart)
        assert steps == [0, 5, 10, 15, 20, 25, 30, 35]
        assert times == pytest.approx([step / 10 for step in steps])
        assert any("step n is step n + 23 of this run" in text for text in report["remarks"])
        # And again, with what was added before.
        steps, times, _ = rows(build, tmp_path, sidecars, "0:11:3.5", restart)
        assert steps == [0, 5, 10, 15, 20, 25, 30, 35, 40, 45]
        assert times == pytest.approx([step / 10 for step in steps])

    def test_nothing_new_after_a_restart(self, build, tmp_path, sidecars):
        rows(build, tmp_path, sidecars, "0:20:0")
        steps, _, report = rows(build, tmp_path, sidecars, "10:19:1.0", "restart: checkpoint\n")
        assert steps == [0, 5, 10, 15, 20]
        assert any("none of the 10 steps" in text for text in report["warnings"])
