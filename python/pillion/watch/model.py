# SPDX-License-Identifier: BSD-3-Clause
"""The state of a run for display, combined from the progress files of its sides. Pure.

The simulation counts the publications that it made and left out, sidecars the ones that they
analysed, and an attached job its own analyses. Each number is taken from the side that counts it.
"""

from collections.abc import Callable
from dataclasses import dataclass

from pillion.progress import AnalysisProgress, Memory, Parts, Progress, State
from pillion.run_files import failure_of

SILENT_AFTER = 10.0  # seconds without news that are worth a word


@dataclass(frozen=True)
class Row:
    """One analysis."""

    name: str
    attached_job: str
    placement: str
    every: str
    step: int | None  # the last that was worked on
    publications: int
    skipped: int
    coarsened: int
    spilled: int
    lost: int  # dropped ones, too
    lag: float | None
    mean_lag: float | None
    stall: float
    simulation: float
    sidecar: float
    bytes_moved: int
    disabled: str | None
    has_left: bool  # its attached job did, which is no failure
    busy: float | None  # seconds that the work at hand has taken so far
    products: tuple[str, ...]

    @property
    def left_out(self) -> int:
        return self.skipped + self.lost


@dataclass(frozen=True)
class Side:
    """Sidecars or an attached job: who they are and how they stand."""

    name: str
    state: State
    ranks: int | None
    failure: str | None


@dataclass(frozen=True)
class View:
    """A run at one moment."""

    run: str
    host: str
    pid: int
    state: State
    failure: str | None
    step: int | None
    time: float | None
    time_units: str
    steps_per_second: float | None
    simulation_ranks: int | None
    sidecar_ranks: int | None
    started: float
    elapsed: float
    silent: float  # seconds without news, or without a sign of life; 0 where that says nothing
    waiting: bool
    publications: int
    skipped: int
    behind: int | None
    restarts: int
    memory: Memory | None
    rows: tuple[Row, ...]
    sides: tuple[Side, ...]
    warnings: tuple[str, ...]

    @property
    def is_over(self) -> bool:
        return self.state.is_final and all(side.state.is_final for side in self.sides)


def make_view(
    parts: Parts, state_of: Callable[[Progress], State], time_of: Callable[[Progress], float]
) -> View | None:
    """None without any progress file. `time_of` is the present time on the clock of a writer."""
    head = parts.head
    if head is None:
        return None
    state, now = state_of(head), time_of(head)
    others = [p for p in parts.all if p is not head]
    sides = tuple(_side(p, state_of(p)) for p in others)
    over = state.is_final and all(side.state.is_final for side in sides)
    return View(
        run=head.run,
        host=head.host,
        pid=head.pid,
        state=state,
        failure=head.failure,
        step=head.step,
        time=head.time,
        time_units=head.time_units,
        steps_per_second=head.steps_per_second if state is State.RUNNING else None,
        simulation_ranks=head.simulation_ranks,
        sidecar_ranks=_sidecar_ranks(head, parts.sidecars),
        started=head.started,
        elapsed=parts.seconds if over else max(0.0, now - head.started),
        silent=_silence(head, state, now),
        waiting=head.waiting and state is State.RUNNING,
        publications=head.publications,
        skipped=head.skipped,
        behind=_behind(head, parts.sidecars),
        restarts=head.restarts,
        memory=head.memory,
        rows=_rows(parts, time_of),
        sides=sides,
        warnings=_warnings(parts),
    )


def _silence(head: Progress, state: State, now: float) -> float:
    """Seconds without news while the writer lives, or without a sign of life."""
    if state is State.RUNNING:
        return max(0.0, now - head.changed)
    return max(0.0, now - head.written) if state is State.SILENT else 0.0


def _side(progress: Progress, state: State) -> Side:
    name = (
        f"attached job {progress.attached_job}" if progress.role == "attached_job" else "sidecars"
    )
    return Side(name, state, progress.sidecar_ranks, progress.failure)


def _sidecar_ranks(head: Progress, sidecars: Progress | None) -> int | None:
    """The number of sidecar ranks; sidecars of a separate job report it themselves."""
    return head.sidecar_ranks if sidecars is None else sidecars.sidecar_ranks


def _behind(head: Progress, sidecars: Progress | None) -> int | None:
    """As it was at the last publication, or less if sidecars have caught up since."""
    if head.behind is None or sidecars is None:
        return head.behind
    theirs = {a.name: a for a in sidecars.analyses}
    published = [a for a in head.analyses if a.name in theirs and a.placement != "simulation"]
    left = [max(0, a.publications - _over(theirs[a.name])) for a in published]
    return min(head.behind, max(left, default=head.behind))


def _over(analysis: AnalysisProgress) -> int:
    return analysis.publications + analysis.dropped + analysis.lost


def _rows(parts: Parts, time_of: Callable[[Progress], float]) -> tuple[Row, ...]:
    here = {a.name: a for a in parts.simulation.analyses} if parts.simulation else {}
    there: dict[str, tuple[AnalysisProgress, Progress]] = {}
    for progress in (parts.sidecars, *parts.attached_jobs):
        for analysis in progress.analyses if progress else ():
            if here.get(analysis.name, analysis).placement != "simulation":
                there[analysis.name] = (analysis, progress)  # type: ignore[assignment]
    names = [*here, *(name for name in there if name not in here)]
    return tuple(
        _row(name, here.get(name), there.get(name), _busy(name, parts, time_of)) for name in names
    )


def _row(
    name: str,
    here: AnalysisProgress | None,
    there: tuple[AnalysisProgress, Progress] | None,
    busy: float | None,
) -> Row:
    theirs, whose = there if there else (None, None)
    published = here or theirs
    worked = theirs or here
    assert published is not None and worked is not None
    has_lag = theirs is not None and theirs.publications > 0
    ended = (theirs.disabled if theirs else None) or published.disabled
    # Before sidecars have reported, nothing that was published has been analysed.
    unreported = theirs is None and published.placement != "simulation"
    return Row(
        name=name,
        attached_job=(whose.attached_job or "") if whose else "",
        placement=published.placement,
        every=f"when {published.when}" if published.when else published.every,
        step=None if unreported else worked.last_step,
        publications=0 if unreported else worked.publications,
        skipped=published.skipped,
        coarsened=published.coarsened,
        spilled=published.spilled,
        lost=max(a.lost + a.dropped for a in (published, worked)),
        lag=theirs.last_lag if theirs and has_lag else None,
        mean_lag=theirs.mean_lag if theirs and has_lag else None,
        stall=published.stall,
        simulation=here.simulation if here else 0.0,
        sidecar=theirs.sidecar if theirs else 0.0,
        bytes_moved=published.bytes_moved,
        disabled=failure_of(ended),
        has_left=ended is not None and failure_of(ended) is None,
        busy=busy,
        products=worked.products or published.products,
    )


def _busy(name: str, parts: Parts, time_of: Callable[[Progress], float]) -> float | None:
    spent = [
        max(0.0, time_of(p) - p.working.since)
        for p in parts.all
        if p.working and p.working.analysis == name
    ]
    return max(spent, default=None)


def _warnings(parts: Parts) -> tuple[str, ...]:
    seen: dict[str, None] = {}
    for progress in parts.all:
        seen.update(dict.fromkeys(progress.warnings))
    return tuple(seen)
