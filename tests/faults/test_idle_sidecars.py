# SPDX-License-Identifier: BSD-3-Clause
"""On a node, sidecars sleep while nothing comes, and are awake soon when something does."""

import statistics
import time
from pathlib import Path

import limits
import pytest
from conftest import read_table
from steady import steady_run

pytestmark = pytest.mark.alone
SECONDS = 3


def wake_ups(pid: int) -> int:
    """How often the threads of a process have slept."""
    count = 0
    for path in Path(f"/proc/{pid}/task").glob("*/status"):
        for line in path.read_text().splitlines():
            if line.startswith("voluntary_ctxt_switches:"):
                count += int(line.split()[1])
    return count


def ticks(pid: int) -> int:
    """Of 10 ms, that a process has used a core for."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return int(fields[11]) + int(fields[12])


def joined(run, folder: Path, sidecars: int) -> list[int]:
    """The processes of the sidecars, when they have had two publications."""
    shown = (folder / "out").glob
    limits.until(
        lambda: len(run.sidecar_processes()) == sidecars and list(shown("progress*")), 30, "joining"
    )
    time.sleep(2.5)
    return run.sidecar_processes()


@pytest.mark.parametrize("sidecars", [1, 2])
@pytest.mark.parametrize("side", ["node", "separate"])
def test_idle_sidecars_sleep(build, tmp_path, side, sidecars):
    """With a publication a second they wake up less than 50 times, and take no time to speak of."""
    options = {"ranks": 2, "sidecars": sidecars, "steps": 10, "pause": 1000}
    with steady_run(build, tmp_path, side, **options) as run:
        processes = joined(run, tmp_path, sidecars)
        before = [(wake_ups(pid), ticks(pid)) for pid in processes]
        time.sleep(SECONDS)
        after = [(wake_ups(pid), ticks(pid)) for pid in processes]
        used = [(b[0] - a[0], b[1] - a[1]) for a, b in zip(before, after, strict=True)]
    print(side, sidecars, "wake-ups and ticks in", SECONDS, "s:", used)
    assert all(woken < 50 * SECONDS for woken, _ in used), used
    assert all(busy <= 5 * SECONDS for _, busy in used), used


@pytest.mark.parametrize("side", ["node", "separate"])
def test_a_sleeping_sidecar_is_awake_soon(build, tmp_path, side):
    """Half of the publications reach the stage within 0.3 ms of the step's begin, or longer where
    processes start slowly. It is 0.12 ms; one that only looks by itself every 0.1 s takes 50 ms.
    """
    options = {"ranks": 1, "sidecars": 1, "steps": 101, "pause": 20}
    with steady_run(build, tmp_path, side, **options) as run:
        assert limits.wait(run.simulation, timeout=60) == 0
        if run.sidecars is not None:
            assert limits.wait(run.sidecars, timeout=30) == 0
    delays = read_table(tmp_path / "out/a/steady.csv")["delay"]
    assert len(delays) > 90
    print(side, "first byte after", statistics.median(delays))
    assert statistics.median(delays) < min(20e-3, limits.limit(300e-6))
