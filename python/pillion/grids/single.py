# SPDX-License-Identifier: BSD-3-Clause
"""The best process grid for a number of ranks on a box: all there are, compared exactly."""

from collections.abc import Sequence
from fractions import Fraction
from math import isfinite, prod

from pillion.errors import Error
from pillion.grids.box import CUBE, Faces, Lengths, checked_lengths
from pillion.grids.factors import Triple, checked_ranks, triples
from pillion.grids.grid import Grid, crossed, largest_block

SLACK = 0.01  # a difference that nothing measures


def best_grid(
    ranks: int,
    box: Sequence[float] | None = None,
    cells: Sequence[int] | None = None,
    slack: float = SLACK,
) -> Grid:
    """The process grid for so many ranks whose sub-boxes have the smallest surface.

    What ranks exchange at their faces grows with it. `box` is its three lengths in any unit (by
    default a cube, or with `cells` a box of cubic cells). With `cells`, its numbers of cells along
    x, y and z, every rank has cells, and only grids are compared whose largest share is the least
    there is, or above it by no more than this part of it. Of grids that tie, the one with most
    ranks along x, then y, is taken.

    Raises Error for numbers that make no sense, and if every grid of so many ranks has more of
    them along an axis than there are cells.
    """
    checked_ranks(ranks)
    if cells is None:
        lengths = checked_lengths(CUBE if box is None else box)
        faces = Faces.of(lengths)
        shape = min(triples(ranks), key=lambda grid: (faces.cut(grid), _backwards(grid)))
        return Grid(shape, lengths)
    counts = _checked_cells(cells)
    lengths = checked_lengths([float(n) for n in counts] if box is None else box)
    return Grid(_of_even_grids(ranks, lengths, counts, slack), lengths, counts)


def _of_even_grids(ranks: int, box: Lengths, cells: Triple, slack: float) -> Triple:
    if not (isfinite(slack) and slack >= 0):
        raise Error(f"slack {slack:g}: give a number from 0")
    loads = {
        grid: prod(largest_block(cells, grid))
        for grid in triples(ranks)
        if all(n <= number for n, number in zip(grid, cells, strict=True))
    }
    if not loads:
        raise Error(
            f"{ranks} ranks on {crossed(cells)} cells: every grid leaves ranks without cells; "
            "take fewer ranks, or a number of more and smaller factors"
        )
    most = min(loads.values()) * (1 + Fraction(str(slack)))
    even = [grid for grid, load in loads.items() if load <= most]
    return min(even, key=lambda grid: (_exact_surface(grid, box, cells), _backwards(grid)))


def _exact_surface(grid: Triple, box: Lengths, cells: Triple) -> Fraction:
    parts = zip(box, largest_block(cells, grid), cells, strict=True)
    x, y, z = (Fraction(str(length)) * n / number for length, n, number in parts)
    return x * y + y * z + z * x


def _backwards(grid: Triple) -> Triple:
    x, y, z = grid
    return -x, -y, -z


def _checked_cells(cells: Sequence[int]) -> Triple:
    x, y, z = cells if len(cells) == 3 else (0, 0, 0)
    if min(x, y, z) < 1:
        raise Error(f"cells {crossed(cells)}: give three numbers from 1, as 512x512x2048")
    return x, y, z
