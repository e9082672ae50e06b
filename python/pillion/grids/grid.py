# SPDX-License-Identifier: BSD-3-Clause
"""Process grids on a box: all grids for a number of ranks, their quality (surfaces of sub-boxes,
shares of cells), and the best of them, found by exact comparison of all.

A grid with P planes of sub-boxes along an axis cuts the box P times at right angles to it (once of
these at its boundary). Each cut is as large as the box's face there. So only the proportions of the
box's faces, in the smallest whole numbers, decide between grids.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import gcd, isfinite, lcm, prod

from pillion.errors import Error

Triple = tuple[int, int, int]

MOST_RANKS = 2**31 - 1  # an int of MPI
Lengths = tuple[float, float, float]
CUBE: Lengths = (1.0, 1.0, 1.0)
FAIR_SURFACE = 1.25  # of a cube's; more is called poor
FAIR_LOAD = 1.1  # of the mean; more is called poor
SLACK = 0.01  # a difference that nothing measures


def checked_ranks(number: int, what: str = "ranks") -> int:
    """The number itself; raises Error if no run could have that many ranks."""
    if not 1 <= number <= MOST_RANKS:
        raise Error(f"{number} {what}: give a number from 1 to {MOST_RANKS}")
    return number


def prime_factors(number: int) -> dict[int, int]:
    """How often each prime divides a number ≥ 1, in increasing order of primes."""
    found: dict[int, int] = {}
    prime = 2
    while prime * prime <= number:
        while number % prime == 0:
            found[prime] = found.get(prime, 0) + 1
            number //= prime
        prime += 1
    if number > 1:
        found[number] = found.get(number, 0) + 1
    return found


def divisors(number: int) -> list[int]:
    """All divisors of a number ≥ 1, in increasing order."""
    found = [1]
    for prime, times in prime_factors(number).items():
        found = [d * prime**n for d in found for n in range(times + 1)]
    return sorted(found)


def triples(number: int) -> Iterator[Triple]:
    """All ordered triples (x, y, z) of numbers ≥ 1 whose product is this number."""
    whole = divisors(number)
    for x in whole:
        rest = number // x
        for y in whole:
            if y > rest:
                break
            if rest % y == 0:
                yield x, y, rest // y


def is_spread(triple: Triple, multiplicity: int) -> bool:
    """Whether as many dimensions are above one as a number with `multiplicity` prime factors
    allows.
    """
    return sum(d > 1 for d in triple) == min(3, multiplicity)


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


@dataclass(frozen=True)
class Grid:
    """A number of ranks along x, y and z of a box, whose lengths are in any unit.

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


def best_grid(
    ranks: int,
    box: Sequence[float] | None = None,
    cells: Sequence[int] | None = None,
    slack: float = SLACK,
) -> Grid:
    """The process grid for `ranks` ranks whose sub-boxes have the smallest surface.

    Ranks exchange data at their faces, so the exchange grows with the surface. `box` is the three
    lengths of the box in any unit. By default it is a cube, or with `cells` a box of cubic cells.

    `cells` are the numbers of cells along x, y and z. With them, every rank has cells. Only grids
    are compared whose largest share of cells exceeds the least possible by at most the fraction
    `slack`. If grids tie, the one with most ranks along x, then y, is taken.

    Raises Error for numbers that make no sense, and if every grid of `ranks` ranks has more of them
    along an axis than there are cells.
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
