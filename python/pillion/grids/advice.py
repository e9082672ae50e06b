# SPDX-License-Identifier: BSD-3-Clause
"""Grids for people, for programs and for LAMMPS; and, for a number of ranks that divides badly,
nearby numbers that divide better.

A number is good if its grid is not poor (see `Grid.poorness`). If none nearby is good, the best of
them is taken if it is better by a tenth.
"""

from collections.abc import Iterable, Iterator
from typing import Any, TypeVar

from pillion.errors import Error
from pillion.grids.grid import CUBE, FAIR_LOAD, FAIR_SURFACE, SLACK, Grid, best_grid, crossed
from pillion.grids.pair import Pair, best_pair
from pillion.units import seconds

REACH = 8  # numbers differ by no more than the eighth part
MOST_TRIED = 64
WORTH = 1.1

Rated = TypeVar("Rated", Grid, Pair)
Rows = list[list[str]]


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
    """Pairs of nearby numbers, other than pairs that cannot be better than this one."""
    box = pair.simulation.box
    for simulation, analysis in nearby(pair.simulation.ranks, pair.analysis.ranks):
        alone = [best_grid(ranks, box).poorness for ranks in (simulation, analysis)]
        if max(alone) * WORTH <= pair.poorness:
            yield best_pair(simulation, analysis, box, pair.weight)


def nearby(simulation: int, analysis: int) -> list[tuple[int, int]]:
    """Other pairs of numbers, the second dividing the first; the smallest change comes first."""
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


def processors(found: Grid | Pair) -> list[str]:
    """Lines for a LAMMPS input: `processors`, and for a pair those of two partitions.

    The first partition simulates. Both lines must name the other partition with `part`, or LAMMPS
    waits.
    """
    if isinstance(found, Grid):
        return [_processors(found)]
    return [
        f"partition yes {number} {_processors(grid)} part 1 2 multiple"
        for number, grid in ((1, found.simulation), (2, found.analysis))
    ]


def _processors(grid: Grid) -> str:
    return "processors " + " ".join(map(str, grid.shape))


def table(found: Grid | Pair) -> Rows:
    """Rows of texts, their heads first: grids, their sub-boxes, and how good they are."""
    if isinstance(found, Pair):
        named = [("simulation", found.simulation), ("analysis", found.analysis)]
    else:
        named = [(f"{found.ranks} ranks", found)]
    heads = ["", "grid", "sub-box", "surface", "of a cube's"]
    if found_cells := isinstance(found, Grid) and found.cells is not None:
        heads += ["cells", "of the mean"]
    rows = [heads]
    for name, grid in named:
        surface = [_area(grid.surface), f"{grid.excess:.2f}"]
        rows.append([name, str(grid), _sub_box(grid), *surface])
        if found_cells:
            rows[-1] += [crossed(grid.block or ()), f"{grid.imbalance:.4g}"]
    return rows


def _area(value: float) -> str:
    return f"{value:.0f}" if 1e3 <= value < 1e9 else f"{value:.4g}"


def _sub_box(grid: Grid) -> str:
    if grid.box == CUBE and grid.cells is None:
        return " x ".join(f"1/{n}" if n > 1 else "1" for n in grid.shape)
    return " x ".join(f"{length:.4g}" for length in grid.sub_box)


def explained(pair: Pair) -> list[str]:
    """Facts on a pair that the table does not show."""
    multiples = crossed(pair.multiples)
    alone = "shared by no other pair"
    shared = f"shared by {pair.tied} pairs; this one has the smallest surface"
    return [
        f"multiples: a sub-box of the analysis holds {multiples} of the simulation's",
        f"objective {pair.objective:.4f}, {shared if pair.tied > 1 else alone}",
        f"solved in {seconds(pair.seconds)}",
    ]


def remark(found: Grid | Pair, better: list[Grid] | list[Pair]) -> str:
    """The fault of a poor grid and better numbers of ranks; "" if the grid is good."""
    if found.poorness <= 1:
        return ""
    grids = [found] if isinstance(found, Grid) else [found.simulation, found.analysis]
    named = [""] if isinstance(found, Grid) else ["simulation: ", "analysis: "]
    faults = [
        f"{name}{grid.ranks} ranks divide this box badly: {_fault(grid)}"
        for name, grid in zip(named, grids, strict=True)
        if grid.poorness > 1
    ]
    if not better:
        return "\n".join([*faults, "no number of ranks nearby does much better"])
    return "\n".join([*faults, "better: " + " or ".join(_offer(other) for other in better)])


def _fault(grid: Grid) -> str:
    faults = []
    if grid.excess > FAIR_SURFACE:
        faults.append(f"sub-boxes have {grid.excess:.2f} times the surface of cubes")
    if grid.imbalance > FAIR_LOAD:
        faults.append(f"the largest has {grid.imbalance:.2f} times the mean number of cells")
    return ", and ".join(faults)


def _offer(other: Grid | Pair) -> str:
    if isinstance(other, Grid):
        return f"{other.ranks} ranks ({other})"
    ranks = f"{other.simulation.ranks} and {other.analysis.ranks} ranks"
    return f"{ranks} ({other.simulation} and {other.analysis})"


def as_json(found: Grid | Pair, better: list[Grid] | list[Pair]) -> dict[str, Any]:
    """All of it for programs; lengths and surfaces are in the unit of the box."""
    about = _grid_for_programs(found) if isinstance(found, Grid) else _pair_for_programs(found)
    about["poor"] = found.poorness > 1
    about["better"] = [
        _grid_for_programs(b) if isinstance(b, Grid) else _pair_for_programs(b) for b in better
    ]
    return about


def _grid_for_programs(grid: Grid) -> dict[str, Any]:
    about: dict[str, Any] = {"ranks": grid.ranks, "grid": grid.shape, "box": grid.box}
    about |= {"sub_box": grid.sub_box, "surface": grid.surface, "of_a_cubes": grid.excess}
    if grid.cells is not None:
        about |= {"cells": grid.cells, "block": grid.block, "of_the_mean": grid.imbalance}
    return about


def _pair_for_programs(pair: Pair) -> dict[str, Any]:
    return {
        "simulation": _grid_for_programs(pair.simulation),
        "analysis": _grid_for_programs(pair.analysis),
        "multiples": pair.multiples,
        "weight": pair.weight,
        "objective": pair.objective,
        "tied": pair.tied,
        "seconds": pair.seconds,
    }
