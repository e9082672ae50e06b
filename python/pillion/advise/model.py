# SPDX-License-Identifier: BSD-3-Clause
"""What a step takes wherever analyses run. With everything in the simulation it is the solver's
step and, per step, what analyses take there. With sidecars it is what a pipeline of two sides takes
(pipeline): the simulation makes publications, sidecars work on them. Pure.
"""

from dataclasses import dataclass
from math import lcm

from pillion.advise.costs import Costs
from pillion.advise.memory import Memory
from pillion.advise.pipeline import balance, schedule
from pillion.advise.placement import Placement

_MOST = 200  # publications that are followed from one to the next
_AGAIN = 3  # times that publications repeat; the first time does not count


@dataclass(frozen=True)
class Load:
    """What publications take each side by itself, one after the other: seconds, and the steps that
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
    """Of a run that lasts so long that its start and its end do not matter."""
    load = load_of(costs, placement, _period(costs) * _AGAIN)
    making, working = load.means
    if not placement.sidecars or working == 0:
        return Outcome(making, making, working)
    sharing = costs.sharing(placement)
    slow_making, slow_working = making * sharing.simulation, working * sharing.sidecars
    if not memory.waits and slow_working > slow_making:
        return Outcome(slow_making, making, working, 1 - slow_making / slow_working)
    done = schedule(load.making, load.working, room_of(costs, placement, memory, load), sharing)
    # Of the last two thirds; sidecars may be behind at their begin and at their end alike.
    count = len(load.steps)
    begin, last = count // _AGAIN - 1, count - 1
    steps = sum(load.steps[begin + 1 :])
    simulation = (done.made[last] - done.made[begin]) / steps
    sidecars = (done.finished[last] - done.finished[begin]) / steps
    return Outcome(max(simulation, sidecars), making, working)


def seconds_of(costs: Costs, placement: Placement, memory: Memory, steps: int) -> float:
    """Of a whole run of so many steps, from the first until everything is analysed."""
    load = load_of(costs, placement, steps, from_start=True)
    if not placement.sidecars:
        return sum(load.making)
    room = room_of(costs, placement, memory, load)
    done = schedule(load.making, load.working, room, costs.sharing(placement))
    return done.end + (steps - sum(load.steps)) * costs.step(placement.simulation)


def roughly(costs: Costs, placement: Placement) -> float:
    """Seconds a step as `outcome` has them where room is ample; takes microseconds."""
    making, working = 0.0, 0.0
    for number, rate in enumerate(costs.rates):
        here, there = _publication(costs, placement, number)
        making, working = making + rate * here, working + rate * there
    making += costs.step(placement.simulation)
    return balance(making, working, costs.sharing(placement)) if working else making


def load_of(costs: Costs, placement: Placement, steps: int, from_start: bool = False) -> Load:
    """Publications of so many steps; `from_start` counts the one of the first step, too, before
    which the solver has done nothing.
    """
    due: dict[int, tuple[float, float]] = {}
    for number, every in enumerate(_intervals(costs)):
        if every is None:
            continue
        here, there = _publication(costs, placement, number)
        for step in range(0 if from_start else every, steps + 1, every):
            making, working = due.get(step, (0.0, 0.0))
            due[step] = making + here, working + there
    at = sorted(due) or [steps]
    before = [step - last for step, last in zip(at, [0, *at])]
    each = costs.step(placement.simulation)
    sides = [due.get(step, (0.0, 0.0)) for step in at]
    made = [side[0] + number * each for side, number in zip(sides, before)]
    return Load(made, [side[1] for side in sides], before)


def room_of(costs: Costs, placement: Placement, memory: Memory, load: Load) -> int:
    """How many publications the memory holds; at least the one that sidecars work on."""
    largest = 0.0
    for number, cut in enumerate(placement.cuts):
        crossing = costs.crossings[number].get(cut)
        if crossing is not None:
            largest += crossing.bytes * crossing.ranks[0] / placement.simulation
    ranks = -(-placement.simulation // memory.nodes)
    room = memory.budget / ranks / largest if largest else len(load.steps)
    return max(1, min(int(room), len(load.steps)))


def _publication(costs: Costs, placement: Placement, number: int) -> tuple[float, float]:
    """Seconds that a publication of one analysis takes on both sides."""
    cut = placement.cuts[number]
    here = costs.inside(number, cut, placement.simulation)
    if cut == len(costs.stages[number]):
        return here, 0.0
    there = costs.beyond(number, cut, placement.sidecars)
    return here + costs.publishing(number, cut, placement.simulation), there


def _intervals(costs: Costs) -> list[int | None]:
    return [max(1, round(1 / rate)) if rate > 0 else None for rate in costs.rates]


def _period(costs: Costs) -> int:
    """Steps after which publications repeat, or as many as are worth following."""
    every = [interval for interval in _intervals(costs) if interval is not None]
    if not every:
        return 1
    return min(lcm(*every), min(every) * _MOST // _AGAIN)
