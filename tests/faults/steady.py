# SPDX-License-Identifier: BSD-3-Clause
"""Runs of steady_driver, which publishes a few numbers again and again, with sidecars in the same
job or in one of their own."""

import os
import subprocess
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import limits
from conftest import launcher

SIDES = {"network": "ranks: {n}", "node": "per_node: {n}", "separate": "job: separate"}
CONFIGURATION = """
output: out
run: {run}
meshes: {{grid: {{kind: uniform, cells: [{columns}, 8]}}}}
fields: {{began: {{mesh: grid, type: float64}}}}
analyses: {{a: {{stages: [{{steady: {{early: {early}, late: {late}}}}}]}}}}
sidecars: {{{side}, memory: 1 MiB, when_full: wait, deadline: 60 s}}
"""


@dataclass
class Run:
    folder: Path
    simulation: subprocess.Popen
    sidecars: subprocess.Popen | None  # of a job of their own

    def sidecar_processes(self) -> list[int]:
        """As far as they have started. In the same job they are the ranks that do not simulate."""
        job = self.sidecars or self.simulation
        program = "pillion-attach" if self.sidecars else "steady_driver"
        simulating = {int(path.read_text() or 0) for path in self.folder.glob("simulation-*")}
        found = [pid for pid in processes_below(job.pid) if name_of(pid) == program]
        return [pid for pid in found if pid not in simulating]


def name_of(pid: int) -> str:
    try:
        return Path(Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")[0].decode()).name
    except OSError:
        return ""


def processes_below(pid: int) -> list[int]:
    """The process and all that it has started."""
    found = [pid]
    for parent in found:
        for path in Path(f"/proc/{parent}/task").glob("*/children"):
            found += map(int, path.read_text().split())
    return found


def early(steps: int) -> int:
    """When memory is measured first: buffers of the timeline are full by then."""
    return min(steps, max(steps // 10, 8000))


@contextmanager
def steady_run(
    build: Path, folder: Path, side: str, *, ranks: int, sidecars: int, steps: int, pause: int,
    columns: int = 8, more: tuple[str, ...] = (),
) -> Iterator[Run]:  # fmt: skip
    """Under way; a caller waits for its end."""
    run = f"steady-{uuid.uuid4().hex}"
    head = SIDES[side].format(n=sidecars)
    (folder / "pillion.yaml").write_text(
        CONFIGURATION.format(
            run=run, side=head, columns=columns * ranks, early=early(steps), late=steps
        )
    )
    driver = build / "tests/faults/steady_driver"
    environment = {**os.environ, "PILLION_STAGE_PATH": str(build / "tests/faults/stages")}

    def start(count: int, *command) -> subprocess.Popen:
        words = [*launcher(), "-n", count, *command]
        return subprocess.Popen(
            [str(word) for word in words],
            cwd=folder,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            text=True,
        )

    is_separate = side == "separate"
    simulation = start(
        ranks + (0 if is_separate else sidecars),
        driver, "pillion.yaml", steps, pause, columns, *more,
    )  # fmt: skip
    attach = (build / "bin/pillion-attach", run, "--wait", 30)
    others = start(sidecars, *attach) if is_separate else None
    try:
        yield Run(folder, simulation, others)
    finally:
        for process in (simulation, others):
            if process is not None:
                process.kill()
                limits.wait(process, timeout=20)
