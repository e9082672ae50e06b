# SPDX-License-Identifier: BSD-3-Clause
"""Runs on other nodes, by their output folders on a shared file system, and the way to them."""

import shutil
import subprocess
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from pillion.errors import Error
from pillion.launch.allocation import host_names
from pillion.liveness import Observer, machine_of, observer, this_machine
from pillion.progress import SIMULATION, Progress, State, read_progress

MOST_FOLDERS = 2000
DEPTH = 2  # such as ID/results of an ensemble
_LONGEST_LOOK = 10.0  # seconds
_LOOK_EVERY = 0.2
_PATIENCE_FOR_SLURM = 5.0
# A step beside those of the run, which ends if one of its processes dies.
_STEP = ("--overlap", "--mem=0", "--kill-on-bad-exit=1")


@dataclass(frozen=True)
class Elsewhere:
    """A run on another node, and whether it has shown a sign of life."""

    folder: Path
    progress: Progress
    state: State


def runs_elsewhere(
    folder: Path,
    observer: Observer = observer,
    clock: Callable[[], float] = time.monotonic,
    sleep: Callable[[float], None] = time.sleep,
) -> list[Elsewhere]:
    """Runs of other nodes that say that they are active, in `folder` and the folders in it. Looks
    for two heartbeats at most.
    """
    paths = [path for path, said in _claims(folder) if machine_of(said) != this_machine()]
    begin = clock()
    while True:
        seen = [(path, said) for path in paths if (said := _read(path)) is not None]
        states = [observer.state_of(said) for _, said in seen]
        patience = max((2 * said.heartbeat_seconds + 1 for _, said in seen), default=0.0)
        if State.SILENT not in states or clock() - begin > min(patience, _LONGEST_LOOK):
            break
        sleep(_LOOK_EVERY)
    return [
        Elsewhere(path.parent, said, state)
        for (path, said), state in zip(seen, states, strict=True)
        if not state.is_final
    ]


def _claims(folder: Path) -> Iterator[tuple[Path, Progress]]:
    for inner in _folders(folder):
        path = inner / SIMULATION
        if path.is_file() and (said := _read(path)) is not None and said.said == "running":
            yield path, said


def _read(path: Path) -> Progress | None:
    try:
        return read_progress(path, is_listed=True)
    except Error:
        return None


def _folders(folder: Path) -> Iterator[Path]:
    """The folder and those in it, level by level."""
    level, left = [folder], MOST_FOLDERS
    for depth in range(DEPTH + 1):
        yield from level
        if depth == DEPTH:
            return
        below = []
        for outer in level:
            try:
                inner = sorted(path for path in outer.iterdir() if path.is_dir())
            except OSError:
                continue
            below += [path for path in inner if not path.name.startswith(".")]
        level = below[:left]
        left -= len(level)


def description(run: Elsewhere) -> str:
    """A line for people."""
    said, job = run.progress, run.progress.batch_job
    where = f"node {said.host}"
    if job is not None:
        nodes = f" on {job.nodes}" if job.nodes else ""
        where += f", {'Slurm' if job.system == 'slurm' else 'batch'} job {job.id}{nodes}"
    sign = "" if run.state is State.RUNNING else ", no sign of life"
    return f"{said.run} (id {said.id}): {where}, writes to {run.folder}{sign}"


def way_to(run: Elsewhere, mpi: str = "") -> str:
    """The command that attaches to it, as far as its batch system is known. `mpi` is what srun must
    name for MPI, or "" for nothing.
    """
    job = run.progress.batch_job
    if job is not None and job.system == "slurm":
        nodes = _count_of(job.nodes)
        words = ["srun", *([f"--mpi={mpi}"] if mpi else []), f"--jobid={job.id}"]
        words += [*_STEP, f"-N{nodes}", f"-n{nodes}"]
        return " ".join([*words, "pillion", "attach", run.progress.id])
    return (
        f"on node {run.progress.host} and the others of the run: pillion attach {run.progress.id}"
    )


def _count_of(nodes: str | None) -> str:
    try:
        return str(len(host_names(nodes))) if nodes else "NODES"
    except Error:  # what a file says need not be a list of nodes
        return "NODES"


def slurm_jobs() -> list[str]:
    """A line for each running job of this user: its number, nodes and name; none without Slurm."""
    if shutil.which("squeue") is None:
        return []
    try:
        done = subprocess.run(
            ["squeue", "--me", "--noheader", "--states=RUNNING", "--format=job %A on %N: %j"],
            capture_output=True,
            text=True,
            timeout=_PATIENCE_FOR_SLURM,
        )
    except (OSError, subprocess.TimeoutExpired):
        return []
    return done.stdout.split("\n")[:-1] if done.returncode == 0 else []
