# SPDX-License-Identifier: BSD-3-Clause
"""What a short run has measured, as lists of numbers: one entry for each publication, or for each
stretch between two. Means over them leave a part of the largest and the smallest out, for on a
machine that others use, too, a few are far off. What takes long every now and then, as a product
that is written every tenth time, must not be left out: where there are enough of them, these are
means of ten in a row. Pure.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cache
from itertools import groupby, pairwise
from operator import attrgetter

import numpy as np

from pillion.advise.placement import Placement
from pillion.advise.trails import Trail, Visit

_LEFT_OUT = 0.2  # of the values at each end
_ROW, _LEAST_ROWS = 10, 3  # publications, and of such rows
_WARM = 4  # so many publications, and the first counts no more
_PARTS = 5  # of a run, in each of which publications of every kind lie

Interval = tuple[float, float]


@dataclass(frozen=True)
class Trial:
    """A short run: where analyses ran, what ranks did, bytes that a simulation rank handed over for
    one publication of each analysis, and why analyses were disabled that failed.
    """

    placement: Placement
    trail: Trail
    bytes: dict[str, float]
    disabled: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Stretch:
    """Between two publications: steps, seconds that the solver took (mean over ranks), and those
    of them in which sidecars were busy, too.
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
    """The mean of those in the middle; with `random`, of as many drawn from them. 0 of nothing."""
    numbers = np.sort(_rows(np.asarray(values, dtype=float)))
    if random is not None and len(numbers):
        numbers = np.sort(random.choice(numbers, len(numbers)))
    cut = int(_LEFT_OUT * len(numbers))
    kept = numbers[cut : len(numbers) - cut]
    return float(kept.mean()) if len(kept) else 0.0


def _rows(values: np.ndarray) -> np.ndarray:
    """Means of values in a row, or the values if there are few."""
    count = len(values) // _ROW
    if count < _LEAST_ROWS:
        return values
    return np.asarray(values[: count * _ROW].reshape(count, _ROW).mean(axis=1))


def together(ranks: Sequence[Sequence[Visit]]) -> list[list[Visit]]:
    """Visits of all ranks by publication; those that some rank has not been through are left out,
    and so is the first, in which plans are made and files opened.
    """
    if not ranks:
        return []
    number = min(len(visits) for visits in ranks)
    first = 1 if number >= _WARM else 0
    return [[visits[p] for visits in ranks] for p in range(first, number)]


@cache
def stretches(trail: Trail) -> list[Stretch]:
    groups = together(trail.simulation)
    busy = _busy(trail.sidecars)
    out = []
    for before, after in pairwise(groups):
        steps = after[0].step - before[0].step
        seconds = np.mean([b.begin - a.end for a, b in zip(before, after)])
        shared = overlap((before[0].end, after[0].begin), busy)
        out.append(Stretch(steps, float(seconds), shared))
    return out


@cache
def stage_seconds(trail: Trail, side: str, analysis: str) -> list[np.ndarray]:
    """Publications by stages of this analysis on one side; means over ranks. A stage may withhold
    publications from those after it: those that came as far as each other are an array.
    """
    rows = [
        np.mean([visit.stages[analysis] for visit in group], axis=0)
        for group in together(trail.side(side))
        if all(analysis in visit.stages for visit in group)
    ]
    lengths = sorted({len(row) for row in rows})
    return [np.array([row for row in rows if len(row) == length]) for length in lengths]


@cache
def share_handed_over(trail: Trail, analysis: str) -> float:
    """The part of the simulation's publications that came to the sidecars; all, where nothing in
    the simulation could withhold them.
    """
    if not (trail.simulation and trail.sidecars):
        return 1.0
    seen = [visit.step for visit in trail.simulation[0] if analysis in visit.stages]
    came = [visit.step for visit in trail.sidecars[0] if analysis in visit.stages]
    came = [step for step in came if seen and step <= seen[-1]]
    if not came:
        return 1.0
    # From one that came to the last, if there are two.
    begin = came[0] if len(came) > 1 else -math.inf
    return max(1, len(came) - 1) / sum(begin < step <= came[-1] for step in seen)


@cache
def hand_over_seconds(trail: Trail, side: str, analysis: str) -> np.ndarray:
    """By publication to the sidecars: what handing it on took on one side, of which each analysis
    that is due has an equal part.
    """
    first = trail.sidecars[0] if trail.sidecars else []
    due = {visit.step: list(visit.stages) for visit in first}
    rows = []
    for group in together(trail.side(side)):
        mine = due.get(group[0].step, [])
        if analysis in mine:
            rows.append(np.mean([visit.handing for visit in group]) / len(mine))
    return np.array(rows)


@cache
def shared_work(trail: Trail) -> tuple[float, float]:
    """Seconds that sidecars worked, and those of them in which the simulation did, too."""
    groups = together(trail.sidecars)
    if not groups or not trail.simulation:
        return 0.0, 0.0
    first = trail.simulation[0]
    waits = [(v.end - v.stalled, v.end) for v in first if v.stalled > 0]
    worked = [(group[0].begin, group[0].end) for group in groups]
    total = sum(end - begin for begin, end in worked)
    alone = sum(overlap(interval, waits) for interval in worked)
    alone += sum(max(0.0, end - max(begin, first[-1].end)) for begin, end in worked)
    return total, max(0.0, total - alone)


def overlap(one: Interval, others: Sequence[Interval]) -> float:
    """Seconds of an interval that lie in others, which do not overlap."""
    return sum(max(0.0, min(one[1], end) - max(one[0], begin)) for begin, end in others)


def fastest(trials: Sequence[Trial]) -> list[Trial]:
    """Of runs of the same placement the one whose steps took least: what made the others slower was
    not the program.
    """
    return [min(those, key=_pace) for those in by_placement(trials)]


def drawn(trials: Sequence[Trial], random: np.random.Generator) -> list[Trial]:
    """Of runs of the same placement any one."""
    return [those[random.integers(len(those))] for those in by_placement(trials)]


def by_placement(trials: Sequence[Trial]) -> list[list[Trial]]:
    ordered = sorted(trials, key=attrgetter("placement"))
    return [list(those) for _, those in groupby(ordered, attrgetter("placement"))]


def _pace(trial: Trial) -> float:
    return seconds_a_step(trial.trail) or math.inf


def _busy(sidecars: Sequence[Sequence[Visit]]) -> list[Interval]:
    return [(visit.begin, visit.end) for visit in (sidecars[0] if sidecars else [])]


def seconds_a_step(trail: Trail) -> float:
    """What a step took in the run itself, of the slower side: the median of some parts of the run,
    which are alike, as publications are not. 0 if too little was measured.
    """
    found = 0.0
    for ranks in (trail.simulation, trail.sidecars):
        visits = [group[0] for group in together(ranks)]
        each = max(1, (len(visits) - 1) // _PARTS)
        marks = visits[::each][: _PARTS + 1]
        paces = [(b.end - a.end) / (b.step - a.step) for a, b in pairwise(marks)]
        found = max(found, float(np.median(paces)) if paces else 0.0)
    return found
