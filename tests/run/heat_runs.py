# SPDX-License-Identifier: BSD-3-Clause
"""Runs of the heat example for the tests of what is seen of a run while it goes on, with sidecars
wherever they can be.
"""

import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import limits
from conftest import PACKAGE, launcher
from pillion.progress import Progress, read_progress

ROOT = Path(__file__).resolve().parents[2]
EXAMPLE = (ROOT / "examples/heat/pillion.yaml").read_text(encoding="utf-8")
SIDECARS = "{ranks: 1, memory: 64 MiB, when_full: wait}"
assert SIDECARS in EXAMPLE

PLACEMENTS = {
    "simulation": "{ranks: 0}",
    "ranks": SIDECARS,
    "per_node": "{per_node: 1, memory: 64 MiB, when_full: wait}",
    "separate": "{job: separate, memory: 64 MiB, when_full: wait, deadline: 30}",
}
IN_JOB = {"simulation": 0, "ranks": 1, "per_node": 1, "separate": 0}

EXTRA = """\
analyses:
  extra:
    every: 20 steps
    stages: [statistics: {fields: [temperature]}]
"""


RUN = f"heat{os.getpid()}"  # so that nobody else's sidecars come


def configuration(placement: str, cells: int = 16) -> str:
    text = f"run: {RUN}\n{EXAMPLE}"
    text = text.replace(SIDECARS, PLACEMENTS[placement]).replace("n: 32", f"n: {cells}")
    return text.replace("at: sidecar", "at: simulation") if placement == "simulation" else text


def pillion(build: Path, *words, **environment) -> tuple[list[str], dict[str, str]]:
    """The command and its environment."""
    paths = os.pathsep.join([str(PACKAGE), os.environ.get("PYTHONPATH", "")])
    told = {"PILLION_BIN": str(build / "bin"), "PYTHONPATH": paths, **environment}
    return [sys.executable, "-m", "pillion", *map(str, words)], {**os.environ, **told}


def run_pillion(build: Path, *words, cwd=None, timeout=90, **environment):
    command, told = pillion(build, *words, **environment)
    return limits.run(
        command, env=told, cwd=cwd, capture_output=True, text=True, timeout=timeout,
        stdin=subprocess.DEVNULL,
    )  # fmt: skip


@contextmanager
def going_on(*command, cwd: Path, **environment) -> Iterator["subprocess.Popen[str]"]:
    """A process that is ended with all that it has started, whatever happens."""
    process = subprocess.Popen(
        [str(word) for word in command],
        cwd=cwd,
        env={**os.environ, "PILLION_PROGRESS": "0.05", **environment},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    try:
        yield process
    finally:
        if process.poll() is None:
            process.terminate()
            try:
                limits.wait(process, 10)
            except subprocess.TimeoutExpired:
                os.killpg(process.pid, signal.SIGKILL)
                limits.wait(process, timeout=60)


def heat(build: Path, ranks: int, steps: int, cells: int = 16) -> list[str]:
    program = build / "examples/heat/heat"
    return [*launcher(), "-n", str(ranks), str(program), str(cells), str(steps)]


def awaited(path: Path, holds: Callable[[Progress], bool], timeout: float = 90) -> Progress:
    """What a file says as soon as something holds of it."""
    last = None

    def is_there() -> bool:
        nonlocal last
        if path.exists():
            last = read_progress(path)
        return last is not None and holds(last)

    limits.until(is_there, timeout, lambda: f"{path} says: {last}")
    return last
