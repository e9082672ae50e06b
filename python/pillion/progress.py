# SPDX-License-Identifier: BSD-3-Clause
"""The progress of runs: the files `progress*.json` of an output folder, and the runs of this node
that write some. docs/products.md describes the files.

The writer of a file may be killed before it can report that: `state_of` detects it.
"""

import os
import socket
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import Enum
from pathlib import Path
from typing import Any

from pillion.errors import Error
from pillion.run_files import AnalysisRecord, known, read_document, record_of

FORMAT = "progress 1"
_SIMULATION = "progress.json"


class State(Enum):
    """The state of the process that wrote a file."""

    RUNNING = "running"
    ENDED = "ended"
    LEFT = "left"  # sidecars that were asked to leave during the run
    FAILED = "failed"
    GONE = "gone"  # it says that it runs, but there is no such process

    @property
    def is_final(self) -> bool:
        return self is not State.RUNNING


@dataclass(frozen=True)
class Work:
    """The work of a rank at present, since a calendar time."""

    analysis: str
    step: int
    since: float


@dataclass(frozen=True)
class Memory:
    """Bytes of publications in flight, on the rank that reports them."""

    budget: int
    in_use: int
    peak: int


@dataclass(frozen=True)
class AnalysisProgress(AnalysisRecord):
    """An analysis as one rank knows it; times are in seconds of the whole run so far."""

    last_step: int | None
    simulation: float
    sidecar: float
    stall: float
    last_lag: float
    mean_lag: float
    longest_lag: float
    products: tuple[str, ...]


@dataclass(frozen=True)
class Progress:
    """The progress that one side of a run reports. Calendar times are seconds since 1970."""

    path: Path
    role: str
    attached_job: str | None
    run: str
    id: str
    said: str
    failure: str | None
    pid: int
    pid_started: int
    pid_namespace: int
    host: str
    started: float
    written: float
    simulation_ranks: int | None
    sidecar_ranks: int | None
    step: int | None
    time: float | None
    time_units: str
    steps_per_second: float | None
    waiting: bool
    working: Work | None
    publications: int
    skipped: int
    behind: int | None
    restarts: int
    memory: Memory | None
    analyses: tuple[AnalysisProgress, ...]
    warnings: tuple[str, ...]
    continues: tuple[str, ...] = ()  # ids of the runs that it continues after restarts


@dataclass(frozen=True)
class Parts:
    """All progress of one run: of its simulation, its sidecars, and its attached jobs."""

    simulation: Progress | None
    sidecars: Progress | None
    attached_jobs: tuple[Progress, ...] = ()

    @property
    def all(self) -> list[Progress]:
        return [p for p in (self.simulation, self.sidecars, *self.attached_jobs) if p is not None]


def read_progress(path: Path) -> Progress:
    """Raises Error if the file is missing or is not what it should be."""
    return read_document(path, "tells no progress", FORMAT, lambda said: _build(path, said))


def _build(path: Path, said: dict[str, Any]) -> Progress:
    memory, working = said["memory"], said["working"]
    return Progress(
        path=path,
        role=str(said["role"]),
        attached_job=known(str, said["attached_job"]),
        run=str(said["run"]),
        id=str(said["id"]),
        said=State(said["state"]).value,
        failure=known(str, said["failure"]),
        pid=int(said["pid"]),
        pid_started=int(said["pid_started"]),
        pid_namespace=int(said["pid_namespace"]),
        host=str(said["host"]),
        started=_seconds(said["started"]),
        written=_seconds(said["written"]),
        simulation_ranks=known(int, said["ranks"]["simulation"]),
        sidecar_ranks=known(int, said["ranks"]["sidecar"]),
        step=known(int, said["step"]),
        time=known(float, said["time"]),
        time_units=str(said["time_units"]),
        steps_per_second=known(float, said["steps_per_second"]),
        waiting=bool(said["waiting"]),
        working=known(_work, working),
        publications=int(said["publications"]),
        skipped=int(said["skipped"]),
        behind=known(int, said["behind"]),
        restarts=int(said["restarts"]),
        memory=Memory(
            int(memory["budget_bytes"]), int(memory["in_use_bytes"]), int(memory["peak_bytes"])
        )
        if memory["budget_bytes"] is not None
        else None,
        analyses=tuple(_analysis(entry) for entry in said["analyses"]),
        warnings=tuple(str(text) for text in said["warnings"]),
        continues=tuple(str(run) for run in said.get("continues", [])),
    )


def _seconds(said: Any) -> float:
    """A calendar time: one that has a date."""
    datetime.fromtimestamp(float(said), UTC)
    return float(said)


def _work(said: dict[str, Any]) -> Work:
    return Work(str(said["analysis"]), int(said["step"]), float(said["since"]))


def _analysis(said: dict[str, Any]) -> AnalysisProgress:
    seconds, lag = said["seconds"], said["lag_seconds"]
    return AnalysisProgress(
        **record_of(said),
        last_step=known(int, said["last_step"]),
        simulation=float(seconds["simulation"]),
        sidecar=float(seconds["sidecar"]),
        stall=float(seconds["stall"]),
        last_lag=float(lag["last"]),
        mean_lag=float(lag["mean"]),
        longest_lag=float(lag["max"]),
        products=tuple(str(path) for path in said["products"]),
    )


def read_parts(folder: Path) -> Parts:
    """The progress of the run that writes, or wrote last, in this output folder.

    Files of earlier runs in the same folder are ignored. Raises Error if a file is broken.
    """
    found = [read_progress(path) for path in sorted(folder.glob("progress*.json"))]
    leader = next((p for p in found if p.role == "simulation"), None)
    if leader is None:
        leader = max(found, key=lambda p: p.started, default=None)
    mine = [p for p in found if leader is not None and p.id == leader.id]
    return Parts(
        simulation=next((p for p in mine if p.role == "simulation"), None),
        sidecars=next((p for p in mine if p.role == "sidecars"), None),
        attached_jobs=tuple(p for p in mine if p.role == "attached_job"),
    )


def process_start(pid: int) -> int | None:
    """When a process started, in clock ticks since boot; None if it does not live.

    Raises OSError if that cannot be learned: `/proc` may hide processes of other users.
    """
    try:
        text = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace")
    except OSError:
        try:
            os.kill(pid, 0)
        except (ProcessLookupError, OverflowError):
            return None
        except OSError:
            pass
        raise
    after_name = text.rpartition(")")[2].split()
    return None if not after_name or after_name[0] in "ZX" else int(after_name[19])


def pid_namespace() -> int:
    """Which numbers processes have for this one: containers may have their own. 0 if unknown."""
    try:
        return os.stat("/proc/self/ns/pid").st_ino
    except OSError:
        return 0


def state_of(progress: Progress) -> State:
    """The state of the writer. A process on another node, or in a container with process numbers of
    its own, cannot be checked from here, so its file is trusted.
    """
    said = State(progress.said)
    here = (socket.gethostname(), pid_namespace())
    if said is not State.RUNNING or (progress.host, progress.pid_namespace) != here:
        return said
    try:
        started = process_start(progress.pid)
    except OSError:
        return said
    same = started == progress.pid_started or (started is not None and progress.pid_started < 0)
    return State.RUNNING if same else State.GONE


def find_runs(name: str | None = None) -> list[Path]:
    """Output folders of runs on this node, of all or of the ones with that name or id.

    The rank that writes progress holds the folder open, so no list can be out of date.
    """
    found = {folder for folder, progress in _written() if name in (None, progress.run, progress.id)}
    return sorted(found)


def _written() -> Iterator[tuple[Path, Progress]]:
    for process in Path("/proc").iterdir():
        if process.name.isdigit():
            for folder in _folders_held_by(process):
                try:
                    progress = read_progress(folder / _SIMULATION)
                except Error:
                    continue
                if progress.pid == int(process.name) and state_of(progress) is State.RUNNING:
                    yield folder, progress


def _folders_held_by(process: Path) -> Iterator[Path]:
    try:
        links = list((process / "fd").iterdir())
    except OSError:  # of another user, or it has just ended
        return
    for link in links:
        try:
            target = os.readlink(link)
        except OSError:
            continue
        if target.startswith("/") and (Path(target) / _SIMULATION).is_file():
            yield Path(target)
