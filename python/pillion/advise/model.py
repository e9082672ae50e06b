# SPDX-License-Identifier: BSD-3-Clause
"""A model of the seconds a step for any placement. With everything in the simulation, they are the
solver's step plus the analyses' seconds per step. With sidecars, they follow from a pipeline of two
sides: the simulation makes one publication after the other, and the sidecars process each in order.
Up to `room` publications may wait or be in process; then the simulation waits for the sidecars.
While both are busy, each may be slower than alone, since they share cores or the memory's
bandwidth. The model follows the two from event to event, which is exact. Pure.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from pillion.advise.costs import Costs, Sharing
from pillion.advise.placement import Memory, Placement

_PERIODS = 12  # that are followed; the last two count
_LEAST, _MOST = 4, 40  # publications in a period


@dataclass(frozen=True)
class Schedule:
    """Instants, in seconds from the start: when the simulation had made each publication, and when
    the sidecars had finished it.
    """

    made: list[float]
    finished: list[float]

    @property
    def end(self) -> float:
        return max(self.made[-1], self.finished[-1])


def schedule(
    making: Sequence[float], working: Sequence[float], room: int, sharing: Sharing
) -> Schedule:
    """`making` and `working` are seconds that each publication takes the one and the other side by
    itself; `room` is at least 1.
    """
    made: list[float] = []
    finished: list[float] = []
    now, total = 0.0, len(making)
    left_to_make, left_to_work = making[0], 0.0
    while len(finished) < total:
        # A publication for which there is no room waits to be made.
        makes = len(made) < total and (left_to_make > 0 or len(made) - len(finished) < room)
        works = len(made) > len(finished)
        both = makes and works and left_to_make > 0 and left_to_work > 0
        slow_making = sharing.simulation if both else 1.0
        slow_working = sharing.sidecars if both else 1.0
        waits = [left_to_make * slow_making] if makes else []
        waits += [left_to_work * slow_working] if works else []
        passed = min(waits)
        now += passed
        if makes:
            left_to_make = _less(left_to_make, passed / slow_making)
        if works:
            left_to_work = _less(left_to_work, passed / slow_working)
        if works and left_to_work == 0:
            finished.append(now)
            left_to_work = working[len(finished)] if len(finished) < total else 0.0
        if makes and left_to_make == 0 and len(made) - len(finished) < room:
            made.append(now)
            left_to_make = making[len(made)] if len(made) < total else 0.0
            if len(made) == len(finished) + 1:
                left_to_work = working[len(finished)]
    return Schedule(made, finished)


def _less(left: float, done: float) -> float:
    rest = left - done
    return rest if rest > 1e-12 * left else 0.0


def balance(making: float, working: float, sharing: Sharing) -> float:
    """Seconds between identical publications in the long run: the slower side's seconds, with its
    slowdown while the faster side is busy.
    """
    slow_making, slow_working = making * sharing.simulation, working * sharing.sidecars
    if slow_making >= slow_working:  # sidecars finish first, then the simulation works alone
        return slow_working + making - slow_working / sharing.simulation
    return slow_making + working - slow_making / sharing.sidecars


@dataclass(frozen=True)
class Load:
    """The seconds of publications on each side by itself, one after the other, and the steps that
    lie before each.
    """

    making: list[float]
    working: list[float]
    steps: list[int]

    @property
    def means(self) -> tuple[float, float]:
        """Seconds a step of both sides."""
        steps = sum(self.steps)
        return sum(self.making) / steps, sum(self.working) / steps


@dataclass(frozen=True)
class Outcome:
    """Seconds a step, in the end; seconds a step that each side needs by itself; and the share of
    publications for which there is no room.
    """

    seconds: float
    simulation: float
    sidecars: float
    left_out: float = 0.0


def outcome(costs: Costs, placement: Placement, memory: Memory) -> Outcome:
    """The outcome of a run so long that its start, its end and the filling of memory are minor."""
    period = _period(costs)
    load = load_of(costs, placement, _PERIODS * period, period=period)
    making, working = load.means
    if not placement.sidecars or working == 0:
        return Outcome(making, making, working)
    sharing = costs.sharing(placement)
    slow_making, slow_working = making * sharing.simulation, working * sharing.sidecars
    if not memory.waits and slow_working > slow_making:
        return Outcome(slow_making, making, working, 1 - slow_making / slow_working)
    count = len(load.steps)
    # As full as memory is in the end, so that this comes soon.
    room = min(room_of(costs, placement, memory, load), count // _PERIODS + 1)
    done = schedule(load.making, load.working, room, sharing)
    begin, last = count - 2 * (count // _PERIODS) - 1, count - 1
    steps = sum(load.steps[begin + 1 :])
    simulation = (done.made[last] - done.made[begin]) / steps
    sidecars = (done.finished[last - room] - done.finished[begin - room]) / steps
    return Outcome(max(simulation, sidecars), making, working)


def seconds_of(costs: Costs, placement: Placement, memory: Memory, steps: int) -> float:
    """Seconds of a whole run of `steps` steps, until everything is analysed. It starts when the
    simulation has made its first publication, for which plans are made and files opened.
    """
    load = load_of(costs, placement, steps, from_start=True)
    if not placement.sidecars:
        return sum(load.making[1:])
    room = room_of(costs, placement, memory, load)
    done = schedule(load.making, load.working, room, costs.sharing(placement))
    after_last = (steps - sum(load.steps)) * costs.steps(placement.simulation)
    return done.end - done.made[0] + after_last


def expected(found: Outcome, uncertain: tuple[float, float]) -> float:
    """The mean seconds a step if the seconds of both sides have the relative errors `uncertain`. If
    two sides are nearly equal, either may turn out to be the slower. This is the mean of the larger
    of two normal variables (C. E. Clark, Operations Research 9, 1961), scaled to `found`.
    """
    means = found.simulation, found.sidecars
    deviation = math.hypot(*(mean * off for mean, off in zip(means, uncertain)))
    if deviation == 0:
        return found.seconds
    apart = (means[0] - means[1]) / deviation
    below = (1 + math.erf(apart / math.sqrt(2))) / 2
    density = math.exp(-apart * apart / 2) / math.sqrt(2 * math.pi)
    larger = means[0] * below + means[1] * (1 - below) + deviation * density
    return found.seconds * larger / max(means)


def roughly(costs: Costs, placement: Placement) -> float:
    """Seconds a step as `outcome` has them where room is ample; takes microseconds."""
    making, working = 0.0, 0.0
    for number, rate in enumerate(costs.rates):
        here, there = _publication(costs, placement, number)
        making, working = making + rate * here, working + rate * there
    making += costs.steps(placement.simulation)
    return balance(making, working, costs.sharing(placement)) if working else making


def load_of(
    costs: Costs,
    placement: Placement,
    steps: int,
    from_start: bool = False,
    period: int | None = None,
) -> Load:
    """The publications of `steps` steps. `from_start` also counts the one of the first step, before
    which the solver has done nothing. With a `period`, rare analyses, which are not due equally
    often in every period, are spread evenly over all publications.
    """
    due: dict[int, tuple[float, float]] = {}
    rare = 0.0, 0.0  # seconds a step
    for number, every in enumerate(_intervals(costs)):
        if every is None:
            continue
        here, there = _publication(costs, placement, number)
        if period is not None and period % every:
            rare = rare[0] + here / every, rare[1] + there / every
            continue
        for step in range(0 if from_start else every, steps + 1, every):
            making, working = due.get(step, (0.0, 0.0))
            due[step] = making + here, working + there
    at = sorted(due) or [steps]
    before = [step - last for step, last in zip(at, [0, *at])]
    each = costs.steps(placement.simulation) + rare[0]
    sides = [due.get(step, (0.0, 0.0)) for step in at]
    made = [side[0] + number * each for side, number in zip(sides, before)]
    return Load(made, [side[1] + number * rare[1] for side, number in zip(sides, before)], before)


def room_of(costs: Costs, placement: Placement, memory: Memory, load: Load) -> int:
    """How many publications the memory holds; at least the one that sidecars work on."""
    largest = 0.0
    for number, cut in enumerate(placement.cuts):
        crossing = costs.crossing(number, cut, placement.sidecars)
        if crossing is not None:
            bytes_ = crossing.share * crossing.bytes
            largest += bytes_ * crossing.ranks[0] / placement.simulation
    ranks = -(-placement.simulation // memory.nodes)
    room = memory.budget / ranks / largest if largest else len(load.steps)
    return max(1, min(int(room), len(load.steps)))


def _publication(costs: Costs, placement: Placement, number: int) -> tuple[float, float]:
    """Seconds that a publication of one analysis takes on both sides."""
    cut = placement.cuts[number]
    here = costs.inside(number, cut, placement.simulation)
    if cut == len(costs.works[number].stages):
        return here, 0.0
    there = costs.beyond(number, cut, placement.sidecars)
    return here + costs.publishing(number, cut, placement), there


def _intervals(costs: Costs) -> list[int | None]:
    return [max(1, round(1 / rate)) if rate > 0 else None for rate in costs.rates]


def _period(costs: Costs) -> int:
    """Steps after which publications repeat; a few publications lie within. Analyses that are too
    rare, or too irregular relative to the others, are not counted: too many steps would have to be
    followed.
    """
    every = sorted(interval for interval in _intervals(costs) if interval is not None)
    if not every:
        return 1
    repeated = every[0]
    for interval in every[1:]:
        both = math.lcm(repeated, interval)
        repeated = both if both <= every[0] * _MOST else repeated
    return repeated * -(-_LEAST * every[0] // repeated)
