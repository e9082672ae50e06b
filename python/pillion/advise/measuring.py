# SPDX-License-Identifier: BSD-3-Clause
"""Costs from short runs. Those with everything in the simulation say what steps and stages take;
those with sidecars what stages take there, what handing over takes on both sides, and how much the
sides slow each other down. Pure.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np

from pillion.advise import samples
from pillion.advise.chains import Chain
from pillion.advise.costs import Costs, Crossing, Work
from pillion.advise.pipeline import Sharing
from pillion.advise.samples import Trial, middle
from pillion.advise.scaling import Measured, measured

_LEAST_SHARED = 0.1  # of the time, or sharing cannot be seen
_MOST = 4.0  # times slower than by itself


def costs_of(
    trials: Sequence[Trial],
    chains: Sequence[Chain],
    cores: int,
    random: np.random.Generator | None = None,
) -> Costs:
    """From short runs, at least one of which had all in the simulation: from the fastest of those
    that are alike. With `random`, from any of these, and from numbers drawn from those that were
    measured.
    """
    trials = samples.fastest(trials) if random is None else samples.drawn(trials, random)

    def mean(values: Sequence[float] | np.ndarray) -> float:
        return middle(values, random)

    plain = [t for t in trials if not t.placement.sidecars] or list(trials)
    step = measured(_by_ranks(plain, lambda trial: mean(_steps(trial))))
    # On crowded cores both sides are slower, so that costs are taken from there only if they must.
    ample = [t for t in trials if t.placement.ranks <= cores]
    beside = ample if any(t.placement.sidecars for t in ample) else trials
    found = Costs(
        cores=cores,
        step=step,
        works=[_work_of(trials, n, chain, mean) for n, chain in enumerate(chains)],
        crossings=[_crossings(beside, n, chain, mean) for n, chain in enumerate(chains)],
        rates=[_rate(trials, chain) for chain in chains],
        seen=[
            (t.placement.simulation, t.placement.sidecars) for t in trials if t.placement.sidecars
        ],
        beside=_sharing(ample, step),
    )
    return replace(found, crowded=_crowding(trials, found, chains))


def _steps(trial: Trial) -> list[float]:
    return [stretch.each for stretch in samples.stretches(trial.trail)]


def _by_ranks(trials: Sequence[Trial], value: Callable[[Trial], float]) -> dict[int, float]:
    """Means over runs by their simulation ranks; nothing that is 0."""
    found: dict[int, list[float]] = {}
    for trial in trials:
        if (seconds := value(trial)) > 0:
            found.setdefault(trial.placement.simulation, []).append(seconds)
    return {ranks: float(np.mean(values)) for ranks, values in found.items()}


def _work_of(
    trials: Sequence[Trial], number: int, chain: Chain, mean: Callable[[np.ndarray], float]
) -> Work:
    plain = [trial for trial in trials if not trial.placement.sidecars]
    if not plain:
        return _divided(trials[0], number, chain, mean)

    def seconds(stage: int | None = None) -> Callable[[Trial], float]:
        def of(trial: Trial) -> float:
            return _each(samples.stage_seconds(trial.trail, "simulation", chain.name), mean, stage)

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


def _divided(trial: Trial, number: int, chain: Chain, mean: Callable[[np.ndarray], float]) -> Work:
    """Of a run in which each side had some of the stages, on its own number of ranks: as if all of
    them divided evenly.
    """
    where, trail = trial.placement, trial.trail
    seconds = [0.0] * len(chain.stages)
    cut = where.cuts[number]
    for ranks, side, first in (
        (where.simulation, "simulation", 0),
        (where.sidecars, "sidecars", cut),
    ):
        found = samples.stage_seconds(trail, side, chain.name)
        came = samples.share_handed_over(trail, chain.name) if side == "sidecars" else 1.0
        for stage in range(max((rows.shape[1] for rows in found), default=0)):
            seconds[first + stage] = came * _each(found, mean, stage) * ranks
    return Work(measured({1: sum(seconds)}), tuple(measured({1: each}) for each in seconds))


def _rate(trials: Sequence[Trial], chain: Chain) -> float:
    """Publications a step: as the configuration has it, or as they were seen."""
    if chain.every is not None:
        return 1.0 / chain.every
    seen = steps = 0
    for trial in trials:
        sides = [side[0] for side in (trial.trail.simulation, trial.trail.sidecars) if side]
        # The last publication may not have come to its end.
        seen += max(sum(chain.name in visit.stages for visit in side[:-1]) for side in sides)
        steps += sides[0][-1].step - sides[0][0].step
    return seen / steps if steps else 0.0


def _crossings(
    trials: Sequence[Trial],
    number: int,
    chain: Chain,
    mean: Callable[[np.ndarray], float],
) -> dict[int, list[Crossing]]:
    """By cut, and for each number of ranks."""
    found: dict[int, dict[tuple[int, int], list[Crossing]]] = {}
    for trial in trials:
        cut = trial.placement.cuts[number]
        if trial.placement.sidecars and cut < len(chain.stages):
            crossing = _crossing(trial, chain, mean)
            if crossing is not None:
                found.setdefault(cut, {}).setdefault(crossing.ranks, []).append(crossing)
    return {cut: [_mean(c) for c in by_ranks.values()] for cut, by_ranks in found.items()}


def _crossing(trial: Trial, chain: Chain, mean: Callable[[np.ndarray], float]) -> Crossing | None:
    trail, ranks = trial.trail, (trial.placement.simulation, trial.placement.sidecars)
    kinds = samples.stage_seconds(trail, "sidecars", chain.name)
    if not kinds:
        return None
    publishing = mean(samples.hand_over_seconds(trail, "simulation", chain.name))
    receiving = mean(samples.hand_over_seconds(trail, "sidecars", chain.name))
    moved = trial.bytes.get(chain.name, 0.0)
    share = samples.share_handed_over(trail, chain.name)
    return Crossing(ranks, _each(kinds, mean), publishing, receiving, moved, share)


def _mean(those: Sequence[Crossing]) -> Crossing:
    """Of runs on the same ranks."""

    def of(name: str) -> float:
        return float(np.mean([getattr(c, name) for c in those]))

    names = ("working", "publishing", "receiving", "bytes", "share")
    return Crossing(those[0].ranks, *map(of, names))


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
                sidecars = trial.placement.sidecars
                out += costs.beyond(number, cut, sidecars) / costs.share(number, cut, sidecars)
    return out
