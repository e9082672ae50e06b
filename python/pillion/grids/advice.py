# SPDX-License-Identifier: BSD-3-Clause
"""Which numbers of ranks nearby divide better, for those that divide badly.

A number is good if its grid is not poor (see `Grid.poorness`). Where none nearby is, the best of
them will do if it is better by a tenth.
"""

from collections.abc import Iterable, Iterator
from typing import TypeVar

from pillion.errors import Error
from pillion.grids.grid import Grid
from pillion.grids.pair import Pair, best_pair
from pillion.grids.single import SLACK, best_grid

REACH = 8  # numbers differ by no more than the eighth part
MOST_TRIED = 64
WORTH = 1.1

Rated = TypeVar("Rated", Grid, Pair)


def better_grids(grid: Grid, slack: float = SLACK) -> list[Grid]:
    """Grids of the nearest good numbers of ranks below and above; [] if this one is not poor."""
    if grid.poorness <= 1:
        return []
    steps = range(1, _reach(grid.ranks, MOST_TRIED) + 1)
    found = [
        _first_good(_grids((grid.ranks + sign * n for n in steps), grid, slack), grid.poorness)
        for sign in (-1, 1)
    ]
    return [other for other in found if other is not None]


def _grids(numbers: Iterable[int], like: Grid, slack: float) -> Iterator[Grid]:
    for ranks in numbers:
        try:
            yield best_grid(ranks, like.box, like.cells, slack)
        except Error:  # no ranks, or more of them along an axis than there are cells
            continue


def better_pair(pair: Pair) -> Pair | None:
    """The pair of the nearest good numbers of ranks; None if this one is not poor, or none is."""
    if pair.poorness <= 1:
        return None
    return _first_good(_pairs(pair), pair.poorness)


def _pairs(pair: Pair) -> Iterator[Pair]:
    """Pairs of nearby numbers, but those that cannot be better than what is poor already."""
    box = pair.simulation.box
    for simulation, analysis in nearby(pair.simulation.ranks, pair.analysis.ranks):
        alone = [best_grid(ranks, box).poorness for ranks in (simulation, analysis)]
        if max(alone) * WORTH <= pair.poorness:
            yield best_pair(simulation, analysis, box, pair.weight)


def nearby(simulation: int, analysis: int) -> list[tuple[int, int]]:
    """Other pairs of numbers, the second dividing the first: those that change least come first."""
    found = []
    reach = _reach(analysis, MOST_TRIED // 4)
    for other in range(max(1, analysis - reach), analysis + reach + 1):
        middle = simulation // other
        numbers = [times * other for times in range(max(1, middle - 2), middle + 4)]
        found += [(n, other) for n in numbers if abs(n - simulation) * REACH <= simulation]
    found += [(simulation + n, analysis) for n in (-1, 1) if analysis == 1 and simulation + n > 0]

    def change(numbers: tuple[int, int]) -> tuple[float, tuple[int, int]]:
        parts = zip(numbers, (simulation, analysis), strict=True)
        return sum(abs(new - old) / old for new, old in parts), numbers

    return sorted(set(found) - {(simulation, analysis)}, key=change)[:MOST_TRIED]


def _reach(number: int, most: int) -> int:
    return min(max(1, number // REACH), most)


def _first_good(others: Iterable[Rated], poorness: float) -> Rated | None:
    best = None
    for other in others:
        if other.poorness <= 1:
            return other
        if best is None or other.poorness < best.poorness:
            best = other
    return best if best is not None and best.poorness * WORTH <= poorness else None
