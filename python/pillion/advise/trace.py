# SPDX-License-Identifier: BSD-3-Clause
"""Measurements of runs. A trace holds the work of each rank for each publication. It is read from
the lines that ranks write to the file in PILLION_TIMELINE during a short run, or from the timelines
of a finished run. A short run may be stopped at any moment, so the last line may be incomplete.

Numbers from a trace are lists: one entry for each publication, or for each interval between two.
Means over them leave out a part of the largest and the smallest, since a few are far off on a
machine that others use too. A mean must not leave out rare expensive work, such as a product that
is written every tenth time. So if there are enough publications, the numbers are means of ten in a
row.
"""

import json
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from itertools import groupby, pairwise
from operator import attrgetter
from pathlib import Path
from typing import Any

import numpy as np

from pillion.advise.placement import Chain, Chains, Memory, Placement
from pillion.errors import Error
from pillion.report.run import Run, read_run
from pillion.report.timeline import read_events

_END = " (end)"
# Of a rank's file. Analyses rarer than every 500th publication will rarely be seen.
_MOST_BYTES = 4 << 20
_MOST_VISITS = 2000
_LEFT_OUT = 0.2  # of the values at each end
_ROW, _LEAST_ROWS = 10, 3  # publications, and of such rows
_WARM = 4  # so many publications, and the first counts no more
_PARTS = 5  # of a run; each has publications of every kind
Interval = tuple[float, float]
_EACH = "memory_bytes_per_rank"
NOTE = (
    "one run cannot tell how costs depend on the number of ranks: all work is taken to divide "
    "evenly, and sides not to slow each other down; give the configuration and the program for more"
)


@dataclass(frozen=True)
class Span:
    """A stretch of a rank's time, in seconds since 1970 or since the start of the run."""

    name: str
    category: str
    begin: float
    end: float
    step: int
    waited: float = 0.0  # for other ranks

    @property
    def seconds(self) -> float:
        return self.end - self.begin


@dataclass(frozen=True)
class Visit:
    """The work of one rank for the publication of one step, from `begin` to `end`. `stages` holds
    the seconds of each stage that ran here, by analysis; `handing` the seconds of publishing or
    receiving; `stalled` the seconds of waiting for room.
    """

    step: int
    begin: float
    end: float
    stages: Mapping[str, tuple[float, ...]] = field(default_factory=dict)
    handing: float = 0.0
    stalled: float = 0.0

    @property
    def busy(self) -> float:
        return self.end - self.begin - self.stalled


@dataclass(frozen=True, eq=False)
class Trace:
    """Visits of all ranks in order, by rank: of the simulation, and of the sidecars. Traces compare
    by identity, so that results can be cached.
    """

    simulation: list[list[Visit]]
    sidecars: list[list[Visit]]

    def side(self, name: str) -> list[list[Visit]]:
        """`simulation` or `sidecars`."""
        return self.simulation if name == "simulation" else self.sidecars

    @property
    def steps(self) -> list[int]:
        """The steps of the publications that the first simulation rank has made."""
        return [visit.step for visit in self.simulation[0]] if self.simulation else []


def read_trace(folder: Path, ranks: float = math.inf) -> Trace:
    """From the files that ranks are writing to a folder, the first `ranks` of each side; empty
    where there are none yet. Each rank's last visit may not have ended, so it is left out.
    """
    trace = _trace({name: _lines(folder, name, ranks) for name in ("simulation", "sidecar")})
    return Trace(*([v[:-1] for v in ranks] for ranks in (trace.simulation, trace.sidecars)))


def read_timelines(paths: Sequence[Path]) -> Trace:
    """The trace of a run that has ended, as far as its timelines keep single events."""
    ranks: dict[str, dict[int, list[Span]]] = {"simulation": {}, "sidecar": {}}
    for path in paths:
        try:
            for event in read_events(path):
                if event["ph"] == "X" and "events" not in event["args"]:
                    side = ranks["simulation" if event["pid"] == 1 else "sidecar"]
                    side.setdefault(int(event["tid"]), []).append(_span(event))
        except (ValueError, KeyError, TypeError, OverflowError) as error:
            raise Error(f"{path} is not a timeline: {error!r}") from error
    return _trace({name: [side[r] for r in sorted(side)] for name, side in ranks.items()})


def _trace(ranks: Mapping[str, list[list[Span]]]) -> Trace:
    return Trace(*([visits(spans) for spans in ranks[name]] for name in ("simulation", "sidecar")))


def _lines(folder: Path, process: str, ranks: float) -> list[list[Span]]:
    out: list[list[Span]] = []
    while len(out) < ranks and (path := folder / f"{process}-{len(out)}.jsonl").exists():
        with path.open(encoding="utf-8") as file:
            lines = file.read(_MOST_BYTES).split("\n")
        out.append([_span(json.loads(line)) for line in lines[:-1]])
    return out


def _span(event: Mapping[str, Any]) -> Span:
    begin = float(event["ts"]) * 1e-6
    end = begin + float(event["dur"]) * 1e-6
    args = event["args"]
    waited = float(args.get("waited", 0.0)) * 1e-6
    return Span(event["name"], event["cat"], begin, end, int(args["step"]), waited)


def visits(spans: Iterable[Span]) -> list[Visit]:
    """One for each step that has spans, other than spans of the end of a run."""
    by_step: dict[int, list[Span]] = {}
    for span in sorted(spans, key=lambda s: (s.begin, -s.end)):
        if not span.name.endswith(_END) and span.category != "checkpoint":
            by_step.setdefault(span.step, []).append(span)
    first = sorted(by_step.items())[:_MOST_VISITS]
    whole = [_visit(step, mine) for step, mine in first]
    return [visit for visit in whole if visit is not None]


def _visit(step: int, spans: list[Span]) -> Visit | None:
    """None if only a stage is there: the rank had not finished the step."""
    outer = [span for span in spans if span.category != "stage"]
    if not outer:
        return None
    begin, end = min(s.begin for s in outer), max(s.end for s in outer)
    stages = {
        span.name: _stage_times(
            span, [s for s in spans if s.category == "stage" and _within(s, span)]
        )
        for span in outer
        if span.category == "analysis"
    }
    stalled = sum(s.seconds for s in outer if s.category == "stall")
    # What lies between spans belongs to what hands publications on.
    waited = sum(s.waited for s in outer if s.category == "analysis")
    handing = end - begin - stalled - waited - sum(sum(times) for times in stages.values())
    return Visit(step, begin, end, stages, max(0.0, handing), stalled)


def _within(inner: Span, outer: Span) -> bool:
    tolerance = 2e-6
    return outer.begin - tolerance <= inner.begin and inner.end <= outer.end + tolerance


def _stage_times(analysis: Span, stages: list[Span]) -> tuple[float, ...]:
    """Seconds of each stage, with what follows it until the next, less those in which it waited for
    other ranks.
    """
    begins = [analysis.begin, *(stage.begin for stage in stages[1:]), analysis.end]
    waits = [stage.waited for stage in stages] if len(stages) > 1 else [analysis.waited]
    return tuple(
        max(0.0, end - begin - waited) for (begin, end), waited in zip(pairwise(begins), waits)
    )


@dataclass(frozen=True)
class ShortRun:
    """The placement of analyses, the work of ranks, the bytes that a simulation rank handed over
    for one publication of each analysis, and why analyses failed and were disabled.
    """

    placement: Placement
    trace: Trace
    bytes: dict[str, float]
    disabled: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Stretch:
    """Between two publications: steps, seconds that the solver took (mean over ranks), and how many
    of these the sidecars were busy, too.
    """

    steps: int
    seconds: float
    shared: float

    @property
    def each(self) -> float:
        return self.seconds / self.steps


def middle(
    values: Sequence[float] | np.ndarray, random: np.random.Generator | None = None
) -> float:
    """The mean of the middle values; with `random`, of as many drawn from them. 0 if none."""
    numbers = np.sort(_means_of_ten(np.asarray(values, dtype=float)))
    if random is not None and len(numbers):
        numbers = np.sort(random.choice(numbers, len(numbers)))
    cut = int(_LEFT_OUT * len(numbers))
    kept = numbers[cut : len(numbers) - cut]
    return float(kept.mean()) if len(kept) else 0.0


def _means_of_ten(values: np.ndarray) -> np.ndarray:
    """Means of values in a row, or the values if there are few."""
    count = len(values) // _ROW
    if count < _LEAST_ROWS:
        return values
    return np.asarray(values[: count * _ROW].reshape(count, _ROW).mean(axis=1))


def together(ranks: Sequence[Sequence[Visit]]) -> list[list[Visit]]:
    """Visits of all ranks by publication. A publication that some rank has not finished is left
    out, and so is the first, in which plans are made and files opened.
    """
    if not ranks:
        return []
    number = min(len(visits) for visits in ranks)
    first = 1 if number >= _WARM else 0
    return [[visits[p] for visits in ranks] for p in range(first, number)]


@cache
def stretches(trace: Trace) -> list[Stretch]:
    groups = together(trace.simulation)
    busy = _busy(trace.sidecars)
    out = []
    for before, after in pairwise(groups):
        steps = after[0].step - before[0].step
        seconds = np.mean([b.begin - a.end for a, b in zip(before, after)])
        shared = overlap((before[0].end, after[0].begin), busy)
        out.append(Stretch(steps, float(seconds), shared))
    return out


@cache
def stage_seconds(trace: Trace, side: str, analysis: str) -> list[np.ndarray]:
    """Publications by stages of this analysis on one side; the most over ranks, as the others wait
    for it. A stage may withhold publications from later stages: publications that reached the same
    stage are one array. One that ranks recorded up to different stages, as at the end of a short
    run, is left out.
    """
    rows = [
        np.max([visit.stages[analysis] for visit in group], axis=0)
        for group in together(trace.side(side))
        if all(analysis in visit.stages for visit in group)
        and len({len(visit.stages[analysis]) for visit in group}) == 1
    ]
    lengths = sorted({len(row) for row in rows})
    return [np.array([row for row in rows if len(row) == length]) for length in lengths]


@cache
def share_handed_over(trace: Trace, analysis: str) -> float:
    """The part of the simulation's publications that came to the sidecars; all, where nothing in
    the simulation could withhold them.
    """
    if not (trace.simulation and trace.sidecars):
        return 1.0
    seen = [visit.step for visit in trace.simulation[0] if analysis in visit.stages]
    came = [visit.step for visit in trace.sidecars[0] if analysis in visit.stages]
    came = [step for step in came if seen and step <= seen[-1]]
    if not came:
        return 1.0
    # From one that came to the last, if there are two.
    begin = came[0] if len(came) > 1 else -math.inf
    offered = sum(begin < step <= came[-1] for step in seen)
    # A rank that was slow to write may know of none of them.
    return max(1, len(came) - 1) / offered if offered > 0 else 1.0


@cache
def hand_over_seconds(trace: Trace, side: str, analysis: str) -> np.ndarray:
    """Seconds of handing over on one side, for each publication to the sidecars. Each analysis that
    is due has an equal part of them.
    """
    first = trace.sidecars[0] if trace.sidecars else []
    due = {visit.step: list(visit.stages) for visit in first}
    rows = []
    for group in together(trace.side(side)):
        mine = due.get(group[0].step, [])
        if analysis in mine:
            rows.append(np.mean([visit.handing for visit in group]) / len(mine))
    return np.array(rows)


@cache
def shared_work(trace: Trace) -> tuple[float, float]:
    """Seconds that sidecars worked, and how many of them the simulation worked, too."""
    groups = together(trace.sidecars)
    if not groups or not trace.simulation:
        return 0.0, 0.0
    first = trace.simulation[0]
    waits = [(v.end - v.stalled, v.end) for v in first if v.stalled > 0]
    worked = [(group[0].begin, group[0].end) for group in groups]
    total = sum(end - begin for begin, end in worked)
    alone = sum(overlap(interval, waits) for interval in worked)
    alone += sum(max(0.0, end - max(begin, first[-1].end)) for begin, end in worked)
    return total, max(0.0, total - alone)


def overlap(one: Interval, others: Sequence[Interval]) -> float:
    """Seconds of an interval that lie in others, which do not overlap."""
    return sum(max(0.0, min(one[1], end) - max(one[0], begin)) for begin, end in others)


def fastest(short_runs: Sequence[ShortRun]) -> list[ShortRun]:
    """The run with the shortest steps of each placement: the program was not what made the others
    slower.
    """
    return [min(those, key=_pace) for those in by_placement(short_runs)]


def drawn(short_runs: Sequence[ShortRun], random: np.random.Generator) -> list[ShortRun]:
    """One of the runs of each placement, at random."""
    return [those[random.integers(len(those))] for those in by_placement(short_runs)]


def by_placement(short_runs: Sequence[ShortRun]) -> list[list[ShortRun]]:
    ordered = sorted(short_runs, key=attrgetter("placement"))
    return [list(those) for _, those in groupby(ordered, attrgetter("placement"))]


def _pace(short_run: ShortRun) -> float:
    return seconds_a_step(short_run.trace) or math.inf


def _busy(sidecars: Sequence[Sequence[Visit]]) -> list[Interval]:
    return [(visit.begin, visit.end) for visit in (sidecars[0] if sidecars else [])]


def seconds_a_step(trace: Trace) -> float:
    """Seconds a step in the run itself, on the slower side: the median over some parts of the run,
    which are equal, as publications are not. 0 if too little was measured.
    """
    found = 0.0
    for ranks in (trace.simulation, trace.sidecars):
        visits = [group[0] for group in together(ranks)]
        each = max(1, (len(visits) - 1) // _PARTS)
        marks = visits[::each][: _PARTS + 1]
        paces = [(b.end - a.end) / (b.step - a.step) for a, b in pairwise(marks)]
        found = max(found, float(np.median(paces)) if paces else 0.0)
    return found


def read_finished_run(folder: Path) -> tuple[ShortRun, Chains, str, Memory]:
    """The run, its configuration, how its sidecars were reached, and their memory. Raises Error if
    the folder has no report, or its timeline no publications.
    """
    run = read_run(folder)
    chains = Chains(run.configuration, str(folder / "report.json"))
    cuts = tuple(_cut_of(run, chain) for chain in chains.all)
    ranks = int(run.facts["simulation_ranks"]), int(run.facts["sidecar_ranks"])
    trace = read_timelines(run.timeline_files().paths)
    if len(trace.steps) < 2:
        raise Error(f"the timeline in {folder} holds too few publications to advise on")
    kind = "ranks" if run.sidecars["transport"] == "network" else "per_node"
    kind = "separate" if run.sidecars["job"] == "separate" else kind
    return ShortRun(Placement(*ranks, cuts), trace, _bytes_of(run)), chains, kind, _memory_of(run)


def _cut_of(run: Run, chain: Chain) -> int:
    """The cut of the chain in this run, whose options may override the file."""
    found = next((a for a in run.analyses if a.name == chain.name), None)
    if found is None or found.placement == "hybrid":
        return chain.cut
    moved = found.placement == "auto" and found.there > found.here
    if found.placement == "simulation" or (found.placement == "auto" and not moved):
        return len(chain.stages)
    return chain.movable if moved else 0


def _memory_of(run: Run) -> Memory:
    """As the run had it, whatever parameters were set to."""
    budget, each = (float(run.sidecars.get(k) or 0) for k in ("memory_bytes", _EACH))
    if not (budget and each):
        return Memory()
    nodes = max(1, round(int(run.facts["simulation_ranks"]) * each / budget))
    return Memory(budget, nodes, str(run.sidecars["when_full"]))


def _bytes_of(run: Run) -> dict[str, float]:
    ranks = max(1, int(run.facts["simulation_ranks"]))
    return {a.name: a.bytes_moved / a.publications / ranks for a in run.analyses if a.publications}
