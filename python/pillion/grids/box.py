# SPDX-License-Identifier: BSD-3-Clause
"""The box that is divided, in whole numbers, so that grids compare exactly.

A grid with P planes of sub-boxes along an axis cuts the box P times at right angles to it (once of
these at its boundary), each cut as large as the box's face there. So the faces of the box, in the
smallest whole numbers that have their proportions, are all that decides between grids.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import gcd, isfinite, lcm, prod

from pillion.errors import Error
from pillion.grids.factors import Triple

Lengths = tuple[float, float, float]
CUBE: Lengths = (1.0, 1.0, 1.0)


def checked_lengths(lengths: Sequence[float], what: str = "box") -> Lengths:
    """Three lengths; raises Error unless they are positive and finite."""
    x, y, z = lengths if len(lengths) == 3 else (0, 0, 0)
    if not all(isfinite(length) and length > 0 for length in (x, y, z)):
        seen = "x".join(f"{length:g}" for length in lengths)
        raise Error(f"{what} {seen}: give three lengths above 0, as 10x10x40")
    return x, y, z


@dataclass(frozen=True)
class Faces:
    """Areas of a box's faces at right angles to x, y and z, up to a common factor."""

    areas: Triple

    @staticmethod
    def of(lengths: Lengths) -> "Faces":
        exact = [Fraction(str(length)) for length in lengths]
        volume = prod(exact, start=Fraction(1))
        faces = [volume / length for length in exact]
        common = lcm(*(face.denominator for face in faces))
        whole = [int(face * common) for face in faces]
        x, y, z = (face // gcd(*whole) for face in whole)
        return Faces((x, y, z))

    def cut(self, grid: Triple) -> int:
        """Area of all cuts that a grid makes; its sub-boxes have twice that as surface."""
        return sum(n * area for n, area in zip(grid, self.areas, strict=True))

    def largest_cut(self, grid: Triple) -> int:
        """Area of the cuts across the axis that has most of it."""
        return max(n * area for n, area in zip(grid, self.areas, strict=True))
