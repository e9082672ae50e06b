# SPDX-License-Identifier: BSD-3-Clause
"""The best grid for a number of ranks on a box, and which numbers divide better."""

import random
from math import ceil, inf, prod

import pytest
from grid_oracle import all_triples, total_surface
from pillion import Error
from pillion.grids import best_grid, best_pair
from pillion.grids.advice import better_grids, better_pair, nearby


def test_least_surface_on_any_box():
    draw = random.Random(1)
    for _ in range(150):
        ranks = draw.randint(1, 400)
        box = tuple(draw.choice([0.1, 1, 1.5, 3, 10, 40]) for _ in range(3))
        surfaces = {shape: total_surface(shape, box) for shape in all_triples(ranks)}
        least = min(surfaces.values())
        expected = max(shape for shape, surface in surfaces.items() if surface == least)
        grid = best_grid(ranks, box)
        assert grid.shape == expected
        assert grid.surface * ranks == pytest.approx(float(least))


def test_long_box():
    grid = best_grid(96, box=(10, 10, 40))
    assert grid.shape == (4, 3, 8)
    assert grid.sub_box == pytest.approx((2.5, 10 / 3, 5))
    assert grid.surface == pytest.approx(2 * (2.5 * 10 / 3 + 10 / 3 * 5 + 5 * 2.5))


def cells_of_ranks(cells, shape):
    """How many cells each rank has if they are dealt out in turn along each axis."""
    dealt = [
        [len(range(rank, n, ranks)) for rank in range(ranks)] for n, ranks in zip(cells, shape)
    ]
    return [x * y * z for x in dealt[0] for y in dealt[1] for z in dealt[2]]


@pytest.mark.parametrize("slack", [0.0, 0.01, 0.2])
def test_cells_are_divided_evenly(slack):
    draw = random.Random(2)
    for _ in range(25):
        ranks = draw.randint(1, 60)
        cells = tuple(draw.randint(8, 90) for _ in range(3))
        shares = {s: cells_of_ranks(cells, s) for s in all_triples(ranks)}
        loads = {s: max(share) for s, share in shares.items() if min(share) > 0}
        if not loads:
            continue
        even = [s for s, n in loads.items() if n <= min(loads.values()) * (1 + slack) + 1e-9]
        sizes = {s: [ceil(n / p) for n, p in zip(cells, s)] for s in even}
        surfaces = {s: x * y + y * z + z * x for s, (x, y, z) in sizes.items()}
        least = min(surfaces.values())
        grid = best_grid(ranks, cells=cells, slack=slack)
        assert grid.shape == max(s for s, n in surfaces.items() if n == least)
        assert grid.imbalance == pytest.approx(loads[grid.shape] * ranks / prod(cells))
        assert grid.excess == pytest.approx(
            2 * least / (6 * (prod(cells) / ranks) ** (2 / 3)), rel=1e-12
        )


def test_slack_weighs_load_and_surface():
    """A thousandth of load for two fifths of surface, unless it is wanted otherwise."""
    cells = (512, 512, 2048)
    assert best_grid(96, cells=cells).shape == (4, 3, 8)
    strict = best_grid(96, cells=cells, slack=0)
    assert strict.shape == (8, 4, 3)
    assert strict.imbalance < best_grid(96, cells=cells).imbalance < 1.003
    assert strict.surface > 1.4 * best_grid(96, cells=cells).surface


def test_cells_that_are_no_cubes():
    """With a box the surface is measured in its unit: thin cells make thin sub-boxes cheap."""
    flat = best_grid(16, box=(1, 1, 16), cells=(64, 64, 64))
    assert flat.shape == (1, 1, 16)
    assert best_grid(64, cells=(64, 64, 64)).shape == (4, 4, 4)


def test_more_ranks_than_cells():
    with pytest.raises(Error, match=r"7 ranks on 4x4x4 cells: every grid leaves ranks without"):
        best_grid(7, cells=(4, 4, 4))


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ({"ranks": 0}, "0 ranks: give a number from 1"),
        ({"ranks": 4, "box": (1, -2, 3)}, "box 1x-2x3: give three lengths above 0"),
        ({"ranks": 4, "box": (1, 2, 3, 4)}, "box 1x2x3x4"),
        ({"ranks": 4, "cells": (4, 0, 4)}, "cells 4x0x4: give three numbers"),
        ({"ranks": 4, "cells": (4, 4)}, "cells 4x4"),
        ({"ranks": 4, "cells": (4, 4, 4), "slack": -1.0}, "slack -1"),
        ({"ranks": 4, "cells": (4, 4, 4), "slack": inf}, "slack inf"),
    ],
)
def test_wrong_numbers(arguments, said):
    with pytest.raises(Error) as raised:
        best_grid(**arguments)
    assert said in str(raised.value)


def fair(number, box):
    """Whether some grid's sub-boxes have at most 5/4 of the surface of cubes."""
    least = min(float(total_surface(shape, box)) for shape in all_triples(number)) / number
    return least <= 1.25 * 6 * (prod(box) / number) ** (2 / 3)


@pytest.mark.parametrize("box", [(1, 1, 1), (10, 10, 40)])
def test_neighbours_of_every_number(box):
    """Of a number that is not fair, the nearest fair ones within an eighth are named."""
    for number in range(1, 130):
        found = [grid.ranks for grid in better_grids(best_grid(number, box))]
        reach = range(1, min(max(1, number // 8), 64) + 1)
        below = next((number - n for n in reach if number > n and fair(number - n, box)), None)
        above = next((number + n for n in reach if fair(number + n, box)), None)
        if fair(number, box):
            assert found == []
        else:
            assert [n for n in (below, above) if n is not None] == [
                n for n in found if fair(n, box)
            ]


def test_primes_have_better_neighbours():
    assert [str(grid) for grid in better_grids(best_grid(97))] == ["6x4x4", "7x7x2"]


def test_uneven_cells_have_better_neighbours():
    grid = best_grid(30, cells=(16, 16, 16))
    assert grid.imbalance > 1.1
    better = better_grids(grid)
    assert [other.ranks for other in better] == [32]
    assert all(other.imbalance <= 1.1 for other in better)


def test_long_boxes_have_no_better_neighbours():
    grid = best_grid(10, box=(1, 1, 100))
    assert grid.poorness > 1
    assert better_grids(grid) == []


def test_pairs_of_primes_have_better_neighbours():
    pair = best_pair(1527, 509)
    assert pair.poorness > 1
    better = better_pair(pair)
    assert better is not None and better.poorness <= 1
    assert better.simulation.ranks == 3 * better.analysis.ranks
    assert abs(better.analysis.ranks - 509) <= 4
    assert better_pair(best_pair(1536, 512)) is None


def test_nearby_pairs():
    for simulation, analysis in [(1, 1), (7, 1), (15, 5), (1000, 10), (1527, 509)]:
        found = nearby(simulation, analysis)
        assert (simulation, analysis) not in found
        assert all(s % a == 0 and s >= a >= 1 for s, a in found)
        assert len(found) == len(set(found)) > 0
    assert nearby(7, 1)[:2] == [(6, 1), (8, 1)]
