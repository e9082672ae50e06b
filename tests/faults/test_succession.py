# SPDX-License-Identifier: BSD-3-Clause
"""Sidecars that are killed while they write a dataset leave it to those who come after them."""

import os
import re
import signal
import subprocess
import time
import uuid

import limits
import pytest
from conftest import launcher
from faults import GRID


def steps_in_idx(text: str) -> list[int]:
    found = []
    if line := re.search(r"^time%09d/(.*)$", text, re.M):
        for first, last, step in re.findall(r"\((\d+),(\d+),(\d+)\)", line[1]):
            found += range(int(first), int(last) + 1, int(step))
    return found


FORMATS = {
    "idx": ("grid.idx", steps_in_idx),
    "raw": ("grid.raw.yaml", lambda text: [int(n) for n in re.findall(r"\{step: (\d+)", text)]),
    "hdf5": ("grid.xmf", lambda text: [int(n) for n in re.findall(r"grid\.(\d{9})\.h5", text)]),
}


def wait_for(condition) -> None:
    limits.until(condition, 20, "what comes before the next job")


@pytest.mark.parametrize("seconds", [0.3, 2.5])
@pytest.mark.parametrize("format", FORMATS)
def test_steps_on_disk_stay(build, tmp_path, format, seconds):
    """Killed before anything of the stage was kept, or a while after."""
    if not (build / "stages" / f"write_{format}.so").exists():
        pytest.skip(f"the stage write_{format} was not built: a library was not found")
    run = f"succession-{uuid.uuid4().hex}"
    stage = f"write_{format}: {{fields: [density], durable: false, name: grid}}"
    write = f"analyses: {{a: {{stages: [{{{stage}}}]}}}}\n"
    (tmp_path / "pillion.yaml").write_text(
        GRID.replace("output: out", f"output: out\nrun: {run}")
        + write
        + "sidecars: {job: separate, when_full: skip, memory: 64 KiB}\n"
    )
    file, steps_in = FORMATS[format]
    dataset = tmp_path / "out" / "a" / file

    def told() -> list[int]:
        return steps_in(dataset.read_text()) if dataset.exists() else []

    driver = build / "tests" / "faults" / "fault_driver"
    command = [*launcher(), "-n", "2", driver, "pillion.yaml", "100000", "pause=5"]
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL, "cwd": tmp_path}
    simulation = subprocess.Popen([str(word) for word in command], start_new_session=True, **quiet)
    sidecar_job = [str(build / "bin" / "pillion-attach"), run, "--wait", "30"]
    sidecar_jobs = []
    try:
        sidecar_jobs.append(subprocess.Popen(sidecar_job, **quiet))
        wait_for(told)
        time.sleep(seconds)
        sidecar_jobs[0].kill()
        limits.wait(sidecar_jobs[0], timeout=20)
        before = told()
        sidecar_jobs.append(subprocess.Popen(sidecar_job, **quiet))
        wait_for(lambda: (told() or [0])[-1] > before[-1])
        assert set(before) <= set(told())
    finally:
        for one in sidecar_jobs:
            one.kill()
            limits.wait(one, timeout=20)
        os.killpg(simulation.pid, signal.SIGKILL)
        limits.wait(simulation, timeout=20)
