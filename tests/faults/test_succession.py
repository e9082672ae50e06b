# SPDX-License-Identifier: BSD-3-Clause
"""Sidecars that are killed while they write a dataset leave it to those who come after them."""

import os
import re
import signal
import subprocess
import time
import uuid

import pytest
from conftest import launcher
from faults import GRID


def steps_of(dataset) -> list[int]:
    found = []
    if dataset.exists() and (line := re.search(r"^time%09d/(.*)$", dataset.read_text(), re.M)):
        for first, last, step in re.findall(r"\((\d+),(\d+),(\d+)\)", line[1]):
            found += range(int(first), int(last) + 1, int(step))
    return found


def wait_for(condition) -> None:
    end = time.monotonic() + 20
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.02)


@pytest.mark.parametrize("seconds", [0.3, 2.5])
def test_steps_on_disk_stay(build, tmp_path, seconds):
    """Killed before anything of the stage was kept, or a while after."""
    if not (build / "stages" / "write.so").exists():
        pytest.skip("the stage write was not built: zlib or LZ4 was not found")
    run = f"succession-{uuid.uuid4().hex}"
    write = "analyses: {a: {stages: [{write: {fields: [density], durable: false, name: grid}}]}}\n"
    (tmp_path / "pillion.yaml").write_text(
        GRID.replace("output: out", f"output: out\nrun: {run}")
        + write
        + "sidecars: {job: separate, when_full: skip, memory: 64 KiB}\n"
    )
    dataset = tmp_path / "out" / "a" / "grid.idx"
    driver = build / "tests" / "faults" / "fault_driver"
    command = [*launcher(), "-n", "2", driver, "pillion.yaml", "100000", "pause=5"]
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL, "cwd": tmp_path}
    simulation = subprocess.Popen([str(word) for word in command], start_new_session=True, **quiet)
    crew = [str(build / "bin" / "pillion-attach"), run, "--wait", "30"]
    crews = []
    try:
        crews.append(subprocess.Popen(crew, **quiet))
        wait_for(lambda: steps_of(dataset))
        time.sleep(seconds)
        crews[0].kill()
        crews[0].wait(timeout=20)
        before = steps_of(dataset)
        crews.append(subprocess.Popen(crew, **quiet))
        wait_for(lambda: (steps_of(dataset) or [0])[-1] > before[-1])
        assert set(before) <= set(steps_of(dataset))
    finally:
        for one in crews:
            one.kill()
            one.wait(timeout=20)
        os.killpg(simulation.pid, signal.SIGKILL)
        simulation.wait(timeout=20)
