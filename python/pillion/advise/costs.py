# SPDX-License-Identifier: BSD-3-Clause
"""What steps, stages and handing over cost on any number of ranks, from what short runs measured.

- A step of the solver, and each stage, on r ranks: what was measured on r ranks, or else the
  curve through what was (scaling). Runs with everything in the simulation tell both.
- What the same stages take in sidecars: as the curve says, times what they took there, in a run
  with the same cut, over what the curve says of that run.
- Handing over: in the same run, per rank in proportion to a rank's part of the data.
- Sharing: how much longer the solver's steps, and the sidecars' work, take while the other side is
  busy. Where ranks outnumber cores that is the ratio of ranks to those that have cores, times what
  a run on such a crowd has shown.

Pure.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from pillion.advise import samples
from pillion.advise.chains import Chain
from pillion.advise.pipeline import Sharing
from pillion.advise.placement import Placement
from pillion.advise.samples import Trial, middle
from pillion.advise.scaling import NOTHING, Curve, fit

_LEAST_SHARED = 0.1  # of the time, or sharing cannot be seen
_MOST = 4.0  # times slower than by itself


@dataclass(frozen=True)
class Measured:
    """Seconds by number of ranks, and the curve through them."""

    known: Mapping[int, float]
    curve: Curve

    def __call__(self, ranks: int) -> float:
        return self.known.get(ranks) or self.curve(ranks)


@dataclass(frozen=True)
class Crossing:
    """One chain cut at one place, as a run with `ranks` measured it: seconds a publication of its
    stages in sidecars and of handing over on both sides, and bytes of a simulation rank.
    """

    ranks: tuple[int, int]
    working: float
    publishing: float
    receiving: float
    bytes: float


@dataclass(frozen=True)
class Costs:
    """All that a prediction needs. `stages` and `crossings` go by chain; the first list has a curve
    for each stage, the second maps cuts. `rates` are publications a step.
    """

    cores: int
    step: Measured
    stages: list[list[Measured]]
    crossings: list[dict[int, Crossing]]
    rates: list[float]
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

    def inside(self, chain: int, cut: int, ranks: int) -> float:
        """Seconds a publication of the stages before a cut, on so many simulation ranks."""
        return sum(stage(ranks) for stage in self.stages[chain][:cut])

    def publishing(self, chain: int, cut: int, ranks: int) -> float:
        crossing = self.crossings[chain].get(cut)
        return crossing.publishing * crossing.ranks[0] / ranks if crossing else 0.0

    def beyond(self, chain: int, cut: int, ranks: int) -> float:
        """The same of those behind a cut, and of receiving, on so many sidecars."""
        crossing, behind = self.crossings[chain].get(cut), self.stages[chain][cut:]
        if crossing is None:
            return sum(stage(ranks) for stage in behind)
        there = sum(stage(crossing.ranks[1]) for stage in behind)
        here = sum(stage(ranks) for stage in behind)
        working = crossing.working * here / there if there > 0 else crossing.working
        return working + crossing.receiving * crossing.ranks[1] / ranks


def costs_of(
    trials: Sequence[Trial],
    chains: Sequence[Chain],
    cores: int,
    random: np.random.Generator | None = None,
) -> Costs:
    """From short runs, at least one of which had all in the simulation. With `random`, from numbers
    drawn from those that were measured.
    """

    def mean(values: Sequence[float] | np.ndarray) -> float:
        return middle(values, random)

    step = _through(_by_ranks(trials, lambda trial: mean(_steps(trial))))
    found = Costs(
        cores=cores,
        step=step,
        stages=[_stages(trials, chain, mean) for chain in chains],
        crossings=[_crossings(trials, n, chain, cores, mean) for n, chain in enumerate(chains)],
        rates=[_rate(trials, chain) for chain in chains],
        beside=_sharing([t for t in trials if t.placement.ranks <= cores], step),
    )
    return replace(found, crowded=_crowding(trials, found, chains))


def _steps(trial: Trial) -> list[float]:
    return [stretch.each for stretch in samples.stretches(trial.trail)]


def _by_ranks(trials: Sequence[Trial], value: Callable[[Trial], float]) -> dict[int, float]:
    """Means over runs with everything in the simulation, by their ranks; nothing that is 0."""
    found: dict[int, list[float]] = {}
    for trial in trials:
        if not trial.placement.sidecars and (seconds := value(trial)) > 0:
            found.setdefault(trial.placement.simulation, []).append(seconds)
    return {ranks: float(np.mean(values)) for ranks, values in found.items()}


def _through(known: Mapping[int, float]) -> Measured:
    return Measured(known, fit(known) if known else NOTHING)


def _stages(
    trials: Sequence[Trial], chain: Chain, mean: Callable[[np.ndarray], float]
) -> list[Measured]:
    def seconds(number: int) -> Callable[[Trial], float]:
        def of(trial: Trial) -> float:
            rows = samples.stage_seconds(trial.trail.simulation, chain.name)
            return mean(rows[:, number]) if rows.size and number < rows.shape[1] else 0.0

        return of

    return [_through(_by_ranks(trials, seconds(number))) for number in range(len(chain.stages))]


def _rate(trials: Sequence[Trial], chain: Chain) -> float:
    """Publications a step: as the configuration has it, or as they were seen."""
    if chain.every is not None:
        return 1.0 / chain.every
    seen = steps = 0
    for trial in trials:
        visits = trial.trail.simulation[0] if trial.trail.simulation else []
        if visits and not trial.placement.sidecars:
            seen += sum(chain.name in visit.stages for visit in visits[:-1])
            steps += visits[-1].step - visits[0].step
    return seen / steps if steps else 0.0


def _crossings(
    trials: Sequence[Trial],
    number: int,
    chain: Chain,
    cores: int,
    mean: Callable[[np.ndarray], float],
) -> dict[int, Crossing]:
    """By cut. Runs on crowded cores are left out, for in these both sides are slower."""
    found: dict[int, list[Crossing]] = {}
    for trial in trials:
        cut = trial.placement.cuts[number]
        if trial.placement.sidecars and cut < len(chain.stages) and trial.placement.ranks <= cores:
            crossing = _crossing(trial, chain, mean)
            if crossing is not None:
                found.setdefault(cut, []).append(crossing)
    return {cut: _mean(those) for cut, those in found.items()}


def _crossing(trial: Trial, chain: Chain, mean: Callable[[np.ndarray], float]) -> Crossing | None:
    trail, ranks = trial.trail, (trial.placement.simulation, trial.placement.sidecars)
    rows = samples.stage_seconds(trail.sidecars, chain.name)
    if not len(rows):
        return None
    due = samples.due_on(trail.sidecars)
    publishing = mean(samples.hand_over_seconds(trail.simulation, due, chain.name))
    receiving = mean(samples.hand_over_seconds(trail.sidecars, due, chain.name))
    moved = trial.bytes.get(chain.name, 0.0)
    return Crossing(ranks, mean(rows.sum(axis=1)), publishing, receiving, moved)


def _mean(those: Sequence[Crossing]) -> Crossing:
    """Of runs with the same cut, those on the ranks that most of them were on."""
    ranks = max((c.ranks for c in those), key=[c.ranks for c in those].count)
    alike = [c for c in those if c.ranks == ranks]

    def of(name: str) -> float:
        return float(np.mean([getattr(c, name) for c in alike]))

    return Crossing(ranks, of("working"), of("publishing"), of("receiving"), of("bytes"))


def _sharing(trials: Sequence[Trial], step: Measured) -> Sharing:
    """What steps lose to busy sidecars; what those lose is in what they were seen to take."""
    shared = total = alone = 0.0
    for trial in trials:
        if trial.placement.sidecars:
            for stretch in samples.stretches(trial.trail):
                shared += stretch.shared
                total += stretch.seconds
                alone += stretch.steps * step(trial.placement.simulation)
    return Sharing(_slower(shared, total, alone), 1.0)


def _slower(shared: float, total: float, alone: float) -> float:
    """How many times as long work took in the shared part of some time, if in all of it work was
    done that takes `alone` by itself.
    """
    if total <= 0 or shared < _LEAST_SHARED * total:
        return 1.0
    done = alone - (total - shared)
    return min(_MOST, max(1.0, shared / done)) if done > 0 else _MOST


def _crowding(trials: Sequence[Trial], costs: Costs, chains: Sequence[Chain]) -> Sharing:
    """By how much sides on crowded cores are slower than their part of the cores explains."""
    crowds = [t for t in trials if t.placement.sidecars and t.placement.ranks > costs.cores]
    if not crowds:
        return Sharing()
    seen = _sharing(crowds, costs.step).simulation
    total = shared = alone = 0.0
    for trial in crowds:
        worked, together = samples.shared_work(trial.trail)
        total, shared = total + worked, shared + together
        alone += _work(trial, costs, chains)
    expected = costs.sharing(crowds[0].placement)
    there = _slower(shared, total, alone)
    return Sharing(seen / expected.simulation, there / expected.sidecars)


def _work(trial: Trial, costs: Costs, chains: Sequence[Chain]) -> float:
    """Seconds that the sidecars' work in a run would take by itself."""
    out = 0.0
    for group in samples.together(trial.trail.sidecars):
        for number, chain in enumerate(chains):
            if chain.name in group[0].stages:
                cut = trial.placement.cuts[number]
                out += costs.beyond(number, cut, trial.placement.sidecars)
    return out
