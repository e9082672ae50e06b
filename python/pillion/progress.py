# SPDX-License-Identifier: BSD-3-Clause
"""The progress of runs: the files `progress*.json` of an output folder. docs/products.md describes
them.

The writer of a file may be killed before it can report that: `pillion.liveness` detects it.
"""

from dataclasses import dataclass
from datetime import UTC, datetime
from enum import Enum
from pathlib import Path
from typing import Any

from pillion.run_files import AnalysisRecord, known, read_document, record_of

FORMAT = "progress 1"
SIMULATION = "progress.json"


class State(Enum):
    """The state of the process that wrote a file."""

    RUNNING = "running"
    ENDED = "ended"
    LEFT = "left"  # sidecars that were asked to leave during the run
    FAILED = "failed"
    GONE = "gone"  # it says that it runs, but it is dead
    SILENT = "silent"  # it says that it runs, and has shown no sign of life yet or for long

    @property
    def is_final(self) -> bool:
        return self not in (State.RUNNING, State.SILENT)


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
class BatchJob:
    """The batch job of a writer; `nodes` in the notation of its system, or None if not known."""

    system: str
    id: str
    nodes: str | None


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
    """The progress that one side of a run reports. Calendar times are seconds since 1970 on the
    clock of its machine, which may differ from that of other sides and of the reader.
    """

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
    boot: str
    batch_job: BatchJob | None
    started: float
    written: float
    changed: float
    heartbeat_seconds: float
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

    @property
    def head(self) -> Progress | None:
        """The part that speaks for the run: the simulation's, if there is one."""
        return next(iter(self.all), None)

    @property
    def seconds(self) -> float:
        """From the start to the last writing, as far as parts have the clock of the head."""
        if self.head is None:
            return 0.0
        own = (p.written for p in self.all if p.host == self.head.host)
        return max(0.0, max(own) - self.head.started)


def read_progress(path: Path, is_listed: bool = False) -> Progress:
    """Raises Error if the file is missing or is not what it should be."""
    return read_document(
        path, "tells no progress", FORMAT, lambda said: _build(path, said), is_listed=is_listed
    )


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
        boot=str(said["boot"]),
        batch_job=known(_batch_job, said["batch_job"]),
        started=_seconds(said["started"]),
        written=_seconds(said["written"]),
        changed=_seconds(said["changed"]),
        heartbeat_seconds=_heartbeat(said["heartbeat_seconds"]),
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


def _heartbeat(said: Any) -> float:
    if not 0 < (seconds := float(said)) < 1e8:
        raise ValueError(f"no heartbeat: {seconds} s")
    return seconds


def _batch_job(said: dict[str, Any]) -> BatchJob:
    return BatchJob(str(said["system"]), str(said["id"]), known(str, said["nodes"]))


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
    found = [read_progress(path, is_listed=True) for path in sorted(folder.glob("progress*.json"))]
    leader = next((p for p in found if p.role == "simulation"), None)
    if leader is None:  # the clocks of two sidecar jobs of different runs may differ
        leader = max(found, key=lambda p: p.started, default=None)
    mine = [p for p in found if leader is not None and p.id == leader.id]
    return Parts(
        simulation=next((p for p in mine if p.role == "simulation"), None),
        sidecars=next((p for p in mine if p.role == "sidecars"), None),
        attached_jobs=tuple(p for p in mine if p.role == "attached_job"),
    )
