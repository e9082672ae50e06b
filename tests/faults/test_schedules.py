# SPDX-License-Identifier: BSD-3-Clause
"""Schedules and conditions as a run sees them. Cells hold the number of the step, and time is a
tenth of it, so what was due can be told from the steps that the stage saw."""

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
