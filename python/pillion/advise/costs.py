# SPDX-License-Identifier: BSD-3-Clause
"""Costs of steps, stages and handing over on any number of ranks, from short runs. Runs with all
analyses in the simulation give the seconds of steps and stages. Runs with sidecars give the seconds
of stages there, the cost of handing over on both sides, and how much the sides slow each other
down.

- A step of the solver, and an analysis, on r ranks: the measurement on r ranks, or else the curve
  through all measurements. A stage has its part of its analysis, which is more regular than the
  stages are.
- Stages in sidecars: their seconds in the run with the same cut and the nearest number of sidecars.
  These are scaled by the ratio of the stages' seconds on the two numbers of ranks.
- Handing over: as in the same run, per rank in proportion to the rank's part of the data.
- Sharing: how much longer the solver's steps, and the sidecars' work, take while the other side is
  busy. If ranks outnumber cores, that is the ratio of ranks to cores, times the slowdown measured
  in a run with that many ranks per core.

The curve is a power law, seconds(r) = c r^p with -1 <= p <= 1, fitted to logarithms by least
squares. Work that divides has p = -1, work that each rank does by itself p = 0, and work that grows
with the ranks a positive p. Measurements count in proportion to the square of their ranks:
predictions are for more ranks, where the part that does not divide shows. Forms with more terms
follow the measurements more closely and err more beyond them. If ranks do not divide a mesh well,
seconds are irregular by a tenth, which such forms take for a trend. Pure.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from pillion.advise.placement import Chain, Placement
from pillion.advise.trace import (
    ShortRun,
    drawn,
    fastest,
    hand_over_seconds,
    middle,
    share_handed_over,
    shared_work,
    stage_seconds,
    stretches,
    together,
)

IRREGULAR = 0.1  # relative; for each factor of two from ranks that were measured
_LEAST_SHARED = 0.1  # of the time, or sharing cannot be seen
_MOST = 4.0  # times slower than by itself


@dataclass(frozen=True)
class Curve:
    """`deviation` is by how much, relatively, it misses what was measured."""

    scale: float
    power: float
    deviation: float

    def __call__(self, ranks: float) -> float:
        return float(self.scale * ranks**self.power)


NOTHING = Curve(0.0, 0.0, 0.0)


@dataclass(frozen=True)
class Measured:
    """Seconds by number of ranks, and the curve through them."""

    known: Mapping[int, float]
    curve: Curve

    def __call__(self, ranks: int) -> float:
        return self.known.get(ranks) or self.curve(ranks)

    def uncertainty(self, ranks: int) -> float:
        """Relative; none where it was measured."""
        if not self.known or ranks in self.known:
            return 0.0
        doublings = min(abs(math.log2(ranks / number)) for number in self.known)
        return math.hypot(self.curve.deviation, IRREGULAR * doublings)


def measured(samples: Mapping[int, float]) -> Measured:
    """From means by number of ranks; means of 0 are left out."""
    known = {ranks: seconds for ranks, seconds in samples.items() if seconds > 0}
    return Measured(known, fit(known))


def fit(samples: Mapping[int, float]) -> Curve:
    """Through seconds by number of ranks. A lone measurement is taken for work that divides."""
    if not samples:
        return NOTHING
    ranks = np.array(sorted(samples), dtype=float)
    x, y = np.log(ranks), np.log([samples[int(r)] for r in ranks])
    if len(ranks) == 1:
        return Curve(float(np.exp(y[0] + x[0])), -1.0, 0.0)
    weights = (ranks / ranks[-1]) ** 2
    mean_x, mean_y = np.average(x, weights=weights), np.average(y, weights=weights)
    slope = np.sum(weights * (x - mean_x) * (y - mean_y)) / np.sum(weights * (x - mean_x) ** 2)
    power = float(min(1.0, max(-1.0, slope)))
    left = y - mean_y - power * (x - mean_x)
    deviation = math.sqrt(np.average(left**2, weights=weights))
    return Curve(float(np.exp(mean_y - power * mean_x)), power, deviation)


@dataclass(frozen=True)
class Sharing:
    """How many times as long each side takes while the other is busy, too."""

    simulation: float = 1.0
    sidecars: float = 1.0


@dataclass(frozen=True)
class Crossing:
    """One chain cut at one place, as measured in a run with `ranks`. Per publication that crosses
    the cut: seconds of its stages in sidecars, seconds of handing over on both sides, and bytes of
    a simulation rank. `share` is the fraction of publications that cross, as stages before the cut
    may withhold some.
    """

    ranks: tuple[int, int]
    working: float
    publishing: float
    receiving: float
    bytes: float
    share: float = 1.0


@dataclass(frozen=True)
class Work:
    """The cost of an analysis on N ranks of one side, and of its stages."""

    whole: Measured
    stages: tuple[Measured, ...]

    def part(self, begin: int, end: int, ranks: int) -> float:
        """Seconds a publication of some stages."""
        seconds = [stage(ranks) for stage in self.stages]
        total = sum(seconds)
        return self.whole(ranks) * sum(seconds[begin:end]) / total if total > 0 else 0.0


@dataclass(frozen=True)
class Costs:
    """All that a prediction needs; `works` and `crossings` go by chain, the latter also by cut.
    `rates` are publications a step, `seen` the ranks of runs with sidecars.
    """

    cores: int
    step: Measured
    works: list[Work]
    crossings: list[dict[int, list[Crossing]]]
    rates: list[float]
    seen: list[tuple[int, int]] = field(default_factory=list)
    beside: Sharing = field(default_factory=Sharing)
    crowded: Sharing = field(default_factory=Sharing)  # times the ratio of ranks to cores

    def sharing(self, placement: Placement) -> Sharing:
        ranks = placement.ranks
        if ranks <= self.cores:
            return self.beside
        on_cores = max(placement.simulation, self.cores), max(placement.sidecars, self.cores)
        return Sharing(
            max(1.0, self.crowded.simulation * ranks / on_cores[0]),
            max(1.0, self.crowded.sidecars * ranks / on_cores[1]),
        )

    def crossing(self, chain: int, cut: int, sidecars: int) -> Crossing | None:
        """The measurements of a cut with the nearest number of sidecars; None without any."""
        known = self.crossings[chain].get(cut, [])
        return min(known, key=lambda c: abs(math.log(c.ranks[1] / sidecars)), default=None)

    def inside(self, chain: int, cut: int, ranks: int) -> float:
        """Seconds per publication of the stages before a cut, on `ranks` simulation ranks."""
        return self._part(chain, 0, cut, ranks)

    def steps(self, ranks: int) -> float:
        """Seconds a step of the solver."""
        return self.step(self._with_cores(ranks, self.step))

    def _with_cores(self, ranks: int, work: Measured) -> int:
        """Ranks beyond the cores make nothing faster, unless they were seen to."""
        return ranks if ranks in work.known else min(ranks, self.cores)

    def _part(self, chain: int, begin: int, end: int, ranks: int) -> float:
        work = self.works[chain]
        return work.part(begin, end, self._with_cores(ranks, work.whole))

    def publishing(self, chain: int, cut: int, placement: Placement) -> float:
        crossing = self.crossing(chain, cut, placement.sidecars)
        if crossing is None:
            return 0.0
        return crossing.share * crossing.publishing * crossing.ranks[0] / placement.simulation

    def beyond(self, chain: int, cut: int, ranks: int) -> float:
        """Seconds per publication of receiving and the stages behind a cut, on `ranks` sidecars."""
        end = len(self.works[chain].stages)
        here, crossing = self._part(chain, cut, end, ranks), self.crossing(chain, cut, ranks)
        if crossing is None:
            return here
        there = self._part(chain, cut, end, crossing.ranks[1])
        working = crossing.working * here / there if there > 0 else crossing.working
        return crossing.share * (working + crossing.receiving * crossing.ranks[1] / ranks)

    def share(self, chain: int, cut: int, sidecars: int) -> float:
        """The part of the publications that cross."""
        crossing = self.crossing(chain, cut, sidecars)
        return 1.0 if crossing is None else crossing.share

    def uncertainty(self, placement: Placement) -> tuple[float, float]:
        """Relative, of both sides' seconds: none where a run was on the same ranks, and more for
        each factor of two from there.
        """
        if not placement.sidecars:
            return self.step.uncertainty(placement.simulation), 0.0
        # What a larger simulation does to the way to the sidecars has not been seen either.
        far = min(
            (
                abs(math.log2(placement.sidecars / sidecars))
                + max(0.0, math.log2(placement.simulation / simulation))
                for simulation, sidecars in self.seen
            ),
            default=0.0,
        )
        return self.step.uncertainty(placement.simulation), IRREGULAR * far


def costs_of(
    short_runs: Sequence[ShortRun],
    chains: Sequence[Chain],
    cores: int,
    random: np.random.Generator | None = None,
) -> Costs:
    """The costs that short runs show. At least one of them had all analyses in the simulation. The
    fastest run of each placement counts. With `random`, any run of each placement counts, with
    numbers drawn from the measured ones.
    """
    short_runs = fastest(short_runs) if random is None else drawn(short_runs, random)

    def mean(values: Sequence[float] | np.ndarray) -> float:
        return middle(values, random)

    plain = [t for t in short_runs if not t.placement.sidecars] or list(short_runs)
    step = measured(_by_ranks(plain, lambda short_run: mean(_steps(short_run))))
    # On crowded cores both sides are slower, so that costs are taken from there only if they must.
    ample = [t for t in short_runs if t.placement.ranks <= cores]
    beside = ample if any(t.placement.sidecars for t in ample) else short_runs
    found = Costs(
        cores=cores,
        step=step,
        works=[_work_of(short_runs, n, chain, mean) for n, chain in enumerate(chains)],
        crossings=[_crossings(beside, n, chain, mean) for n, chain in enumerate(chains)],
        rates=[_rate(short_runs, chain) for chain in chains],
        seen=[
            (t.placement.simulation, t.placement.sidecars)
            for t in short_runs
            if t.placement.sidecars
        ],
        beside=_sharing(ample, step),
    )
    return replace(found, crowded=_crowding(short_runs, found, chains))


def _steps(short_run: ShortRun) -> list[float]:
    return [stretch.each for stretch in stretches(short_run.trace)]


def _by_ranks(
    short_runs: Sequence[ShortRun], value: Callable[[ShortRun], float]
) -> dict[int, float]:
    """Means over runs by their simulation ranks; nothing that is 0."""
    found: dict[int, list[float]] = {}
    for short_run in short_runs:
        if (seconds := value(short_run)) > 0:
            found.setdefault(short_run.placement.simulation, []).append(seconds)
    return {ranks: float(np.mean(values)) for ranks, values in found.items()}


def _work_of(
    short_runs: Sequence[ShortRun], number: int, chain: Chain, mean: Callable[[np.ndarray], float]
) -> Work:
    plain = [short_run for short_run in short_runs if not short_run.placement.sidecars]
    if not plain:
        return _divided(short_runs[0], number, chain, mean)

    def seconds(stage: int | None = None) -> Callable[[ShortRun], float]:
        def of(short_run: ShortRun) -> float:
            return _each(stage_seconds(short_run.trace, "simulation", chain.name), mean, stage)

        return of

    stages = (measured(_by_ranks(plain, seconds(n))) for n in range(len(chain.stages)))
    return Work(measured(_by_ranks(plain, seconds())), tuple(stages))


def _each(
    kinds: Sequence[np.ndarray], mean: Callable[[np.ndarray], float], stage: int | None = None
) -> float:
    """Seconds a publication, of one stage or of all. Each kind has a mean of its own, from which
    nothing is left out because it is rare.
    """
    total = sum(len(rows) for rows in kinds)
    reached = [rows for rows in kinds if stage is None or stage < rows.shape[1]]
    return sum(
        len(rows) / total * mean(rows.sum(axis=1) if stage is None else rows[:, stage])
        for rows in reached
    )


def _divided(
    short_run: ShortRun, number: int, chain: Chain, mean: Callable[[np.ndarray], float]
) -> Work:
    """The work of an analysis from a run in which each side had some of the stages, on its own
    number of ranks. The result is as if all stages divided evenly. If the analysis moved, the side
    with most of its publications counts: all stages ran there.
    """
    where, trace = short_run.placement, short_run.trace
    seconds = [0.0] * len(chain.stages)
    cut = where.cuts[number]
    ranks = {"simulation": where.simulation, "sidecars": where.sidecars}
    found = {side: stage_seconds(trace, side, chain.name) for side in ranks}
    reached = {s: max((rows.shape[1] for rows in of), default=0) for s, of in found.items()}
    if reached["simulation"] > cut or reached["sidecars"] > len(seconds) - cut:
        parts = [(max(found, key=lambda side: sum(map(len, found[side]))), 0, 1.0)]
    else:
        came = share_handed_over(trace, chain.name)
        parts = [("simulation", 0, 1.0), ("sidecars", cut, came)]
    for side, first, came in parts:
        for stage in range(reached[side]):
            seconds[first + stage] = came * _each(found[side], mean, stage) * ranks[side]
    return Work(measured({1: sum(seconds)}), tuple(measured({1: each}) for each in seconds))


def _rate(short_runs: Sequence[ShortRun], chain: Chain) -> float:
    """Publications a step: as the configuration has it, or as they were seen."""
    if chain.every is not None:
        return 1.0 / chain.every
    seen = steps = 0
    for short_run in short_runs:
        sides = [side[0] for side in (short_run.trace.simulation, short_run.trace.sidecars) if side]
        # The last publication may not have come to its end.
        seen += max(sum(chain.name in visit.stages for visit in side[:-1]) for side in sides)
        steps += sides[0][-1].step - sides[0][0].step
    return seen / steps if steps else 0.0


def _crossings(
    short_runs: Sequence[ShortRun],
    number: int,
    chain: Chain,
    mean: Callable[[np.ndarray], float],
) -> dict[int, list[Crossing]]:
    """By cut, and for each number of ranks."""
    found: dict[int, dict[tuple[int, int], list[Crossing]]] = {}
    for short_run in short_runs:
        cut = short_run.placement.cuts[number]
        if short_run.placement.sidecars and cut < len(chain.stages):
            crossing = _crossing(short_run, chain, mean)
            if crossing is not None:
                found.setdefault(cut, {}).setdefault(crossing.ranks, []).append(crossing)
    return {cut: [_mean(c) for c in by_ranks.values()] for cut, by_ranks in found.items()}


def _crossing(
    short_run: ShortRun, chain: Chain, mean: Callable[[np.ndarray], float]
) -> Crossing | None:
    trace, ranks = short_run.trace, (short_run.placement.simulation, short_run.placement.sidecars)
    kinds = stage_seconds(trace, "sidecars", chain.name)
    if not kinds:
        return None
    publishing = mean(hand_over_seconds(trace, "simulation", chain.name))
    receiving = mean(hand_over_seconds(trace, "sidecars", chain.name))
    moved = short_run.bytes.get(chain.name, 0.0)
    share = share_handed_over(trace, chain.name)
    return Crossing(ranks, _each(kinds, mean), publishing, receiving, moved, share)


def _mean(those: Sequence[Crossing]) -> Crossing:
    """The mean of runs on the same ranks."""

    def of(name: str) -> float:
        return float(np.mean([getattr(c, name) for c in those]))

    names = ("working", "publishing", "receiving", "bytes", "share")
    return Crossing(those[0].ranks, *map(of, names))


def _sharing(short_runs: Sequence[ShortRun], step: Measured) -> Sharing:
    """The slowdown of steps by busy sidecars. The slowdown of sidecars is already in their measured
    seconds.
    """
    shared = total = alone = 0.0
    for short_run in short_runs:
        if short_run.placement.sidecars:
            for stretch in stretches(short_run.trace):
                shared += stretch.shared
                total += stretch.seconds
                alone += stretch.steps * step(short_run.placement.simulation)
    return Sharing(_slower(shared, total, alone), 1.0)


def _slower(shared: float, total: float, alone: float) -> float:
    """How many times as long work took in the shared part of some time, if in all of it work was
    done that takes `alone` by itself.
    """
    if total <= 0 or shared < _LEAST_SHARED * total:
        return 1.0
    done = alone - (total - shared)
    return min(_MOST, max(1.0, shared / done)) if done > 0 else _MOST


def _crowding(short_runs: Sequence[ShortRun], costs: Costs, chains: Sequence[Chain]) -> Sharing:
    """By how much sides on crowded cores are slower than their part of the cores explains."""
    crowds = [t for t in short_runs if t.placement.sidecars and t.placement.ranks > costs.cores]
    if not crowds:
        return Sharing()
    seen = _sharing(crowds, costs.step).simulation
    total = shared = alone = 0.0
    for short_run in crowds:
        worked, together = shared_work(short_run.trace)
        total, shared = total + worked, shared + together
        alone += _work(short_run, costs, chains)
    expected = costs.sharing(crowds[0].placement)
    there = _slower(shared, total, alone)
    return Sharing(seen / expected.simulation, there / expected.sidecars)


def _work(short_run: ShortRun, costs: Costs, chains: Sequence[Chain]) -> float:
    """Seconds that the sidecars' work in a run would take by itself."""
    out = 0.0
    for group in together(short_run.trace.sidecars):
        for number, chain in enumerate(chains):
            if chain.name in group[0].stages:
                cut = short_run.placement.cuts[number]
                sidecars = short_run.placement.sidecars
                out += costs.beyond(number, cut, sidecars) / costs.share(number, cut, sidecars)
    return out
