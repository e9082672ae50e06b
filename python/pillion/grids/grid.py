# SPDX-License-Identifier: BSD-3-Clause
"""A process grid on a box, and how good it is: surfaces of sub-boxes, and shares of cells."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod

from pillion.grids.box import CUBE, Lengths
from pillion.grids.factors import Triple

FAIR_SURFACE = 1.25  # of a cube's; more is called poor
FAIR_LOAD = 1.1  # of the mean; more is called poor


@dataclass(frozen=True)
class Grid:
    """So many ranks along x, y and z of a box, whose lengths are in any unit.

    `cells` is the number of the box's cells along x, y and z, if they matter.
    """

    shape: Triple
    box: Lengths = CUBE
    cells: Triple | None = None

    @property
    def ranks(self) -> int:
        return prod(self.shape)

    @property
    def block(self) -> Triple | None:
        """Cells along x, y and z of the largest sub-box."""
        return None if self.cells is None else largest_block(self.cells, self.shape)

    @property
    def sub_box(self) -> Lengths:
        """Lengths of a sub-box (the largest, if cells cannot be shared evenly), as the box's."""
        if self.cells is None or self.block is None:
            x, y, z = (length / n for length, n in zip(self.box, self.shape, strict=True))
        else:
            parts = zip(self.box, self.block, self.cells, strict=True)
            x, y, z = (length * n / cells for length, n, cells in parts)
        return x, y, z

    @property
    def surface(self) -> float:
        """Area of the six faces of a sub-box, in the square of the box's unit."""
        return surface(self.sub_box)

    @property
    def excess(self) -> float:
        """That surface over a cube's of the volume that each rank has on average; 1 is the least.

        With cells that cannot be shared evenly, it may be more for that reason too.
        """
        return self.surface / (6 * (prod(self.box) / self.ranks) ** (2 / 3))

    @property
    def imbalance(self) -> float:
        """Cells of the largest sub-box over their mean; 1 if there are no cells."""
        if self.cells is None or self.block is None:
            return 1.0
        return prod(self.block) * self.ranks / prod(self.cells)

    @property
    def poorness(self) -> float:
        """Above 1 where a surface or a load is beyond what is fair."""
        return max(self.excess / FAIR_SURFACE, self.imbalance / FAIR_LOAD)

    def __str__(self) -> str:
        return crossed(self.shape)


def surface(lengths: Lengths) -> float:
    x, y, z = lengths
    return 2 * (x * y + y * z + z * x)


def largest_block(cells: Triple, shape: Triple) -> Triple:
    """Cells along each axis of the largest sub-box of a grid that shares them evenly."""
    x, y, z = (-(-number // n) for number, n in zip(cells, shape, strict=True))
    return x, y, z


def crossed(numbers: Sequence[float]) -> str:
    """16x12x8, as people write it."""
    return "x".join(
        f"{number:.4g}" if isinstance(number, float) else str(number) for number in numbers
    )
