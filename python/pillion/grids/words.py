# SPDX-License-Identifier: BSD-3-Clause
"""Grids as people, programs and LAMMPS read them."""

from typing import Any

from pillion.grids.box import CUBE
from pillion.grids.grid import FAIR_LOAD, FAIR_SURFACE, Grid, crossed
from pillion.grids.pair import Pair
from pillion.units import seconds

Rows = list[list[str]]


def processors(found: Grid | Pair) -> list[str]:
    """Lines for a LAMMPS input: `processors`, and for a pair those of two partitions.

    The first partition simulates. Both must be told of the other with `part`, or LAMMPS waits.
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
    """What the table does not tell of a pair."""
    multiples = crossed(pair.multiples)
    alone = "shared by no other pair"
    shared = f"shared by {pair.tied} pairs, of which this has the smallest surface"
    return [
        f"multiples: a sub-box of the analysis holds {multiples} of the simulation's",
        f"objective {pair.objective:.4f}, {shared if pair.tied > 1 else alone}",
        f"solved in {seconds(pair.seconds)}",
    ]


def remark(found: Grid | Pair, better: list[Grid] | list[Pair]) -> str:
    """What is poor about it and what would be better; "" if all is well."""
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
    about = _grid(found) if isinstance(found, Grid) else _pair(found)
    about["poor"] = found.poorness > 1
    about["better"] = [_grid(b) if isinstance(b, Grid) else _pair(b) for b in better]
    return about


def _grid(grid: Grid) -> dict[str, Any]:
    about: dict[str, Any] = {"ranks": grid.ranks, "grid": grid.shape, "box": grid.box}
    about |= {"sub_box": grid.sub_box, "surface": grid.surface, "of_a_cubes": grid.excess}
    if grid.cells is not None:
        about |= {"cells": grid.cells, "block": grid.block, "of_the_mean": grid.imbalance}
    return about


def _pair(pair: Pair) -> dict[str, Any]:
    return {
        "simulation": _grid(pair.simulation),
        "analysis": _grid(pair.analysis),
        "multiples": pair.multiples,
        "weight": pair.weight,
        "objective": pair.objective,
        "tied": pair.tied,
        "seconds": pair.seconds,
    }
