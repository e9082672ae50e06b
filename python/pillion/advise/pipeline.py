# SPDX-License-Identifier: BSD-3-Clause
"""Two sides at work on the same publications: the simulation makes one after the other, and the
sidecars work on each in order. Up to `room` publications may wait or be worked on; then the
simulation waits for them. While both are busy each may be slower than alone, since they share
cores or the memory's bandwidth. Follows the two from event to event, which is exact. Pure.
"""

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Sharing:
    """How many times as long each side takes while the other is busy, too."""

    simulation: float = 1.0
    sidecars: float = 1.0


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
    """Seconds between publications that are all alike, after long: of the longer side, with what
    it loses while the shorter is busy.
    """
    slow_making, slow_working = making * sharing.simulation, working * sharing.sidecars
    if slow_making >= slow_working:  # sidecars finish first, the simulation goes on alone
        return slow_working + making - slow_working / sharing.simulation
    return slow_making + working - slow_making / sharing.sidecars
