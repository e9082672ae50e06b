# SPDX-License-Identifier: BSD-3-Clause
"""The mixed-integer program for a pair of grids, as docs/howto-grids.md states it.

Its unknowns are exponents: how often each prime factor of the numbers of ranks goes to x, y and z
of either grid. In logarithms of dimensions all is linear then. From Malakar, Munson, Knight,
Vishwanath, Papka: Topology-aware space-shared co-analysis of large-scale molecular dynamics
simulations, SC 2018.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from math import inf, log, prod

from pillion.grids.factors import Triple, prime_factors

SIMULATION, ANALYSIS = 0, 1


@dataclass(frozen=True)
class Row:
    """lower ≤ sum of coefficient * unknown ≤ upper."""

    terms: dict[int, float]
    lower: float
    upper: float


@dataclass(frozen=True)
class Program:
    """Minimise the sum of cost * unknown within bounds from 0 and rows; all whole but the last."""

    primes: tuple[int, ...]
    cost: list[float]
    upper: list[float]
    rows: list[Row]

    def dimensions(self, values: Sequence[float], grid: int) -> Triple:
        """A grid's dimensions, first to last, from values of the unknowns."""
        x, y, z = (self._dimension(values, grid, axis) for axis in range(3))
        return x, y, z

    def _dimension(self, values: Sequence[float], grid: int, axis: int) -> int:
        first = _place(len(self.primes), grid, axis, 0)
        exponents = values[first : first + len(self.primes)]
        return prod(prime ** round(n) for prime, n in zip(self.primes, exponents, strict=True))


def _place(primes: int, grid: int, axis: int, prime: int) -> int:
    return (3 * grid + axis) * primes + prime


@dataclass
class _Writer:
    """Gathers the rows; `sizes` are the logarithms of the box's faces at right angles to axes."""

    simulation: dict[int, int]
    analysis: dict[int, int]
    sizes: Sequence[float]
    rows: list[Row] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.primes = tuple(self.simulation)
        self.logs = [log(prime) for prime in self.primes]
        self.largest = 6 * len(self.primes)

    def multiplicity(self, grid: int, prime: int) -> int:
        return (self.simulation, self.analysis)[grid].get(prime, 0)

    def place(self, grid: int, axis: int, prime: int) -> int:
        return _place(len(self.primes), grid, axis, prime)

    def logarithm(self, grid: int, axis: int, sign: int = 1) -> dict[int, float]:
        return {self.place(grid, axis, i): sign * value for i, value in enumerate(self.logs)}

    def add(self, terms: dict[int, float], lower: float, upper: float) -> None:
        self.rows.append(Row(terms, lower, upper))

    def share_out_factors(self) -> None:
        for grid in (SIMULATION, ANALYSIS):
            for i, prime in enumerate(self.primes):
                times = self.multiplicity(grid, prime)
                self.add({self.place(grid, axis, i): 1 for axis in range(3)}, times, times)

    def be_multiples(self) -> None:
        for axis in range(3):
            for i in range(len(self.primes)):
                two = self.place(ANALYSIS, axis, i), self.place(SIMULATION, axis, i)
                self.add({two[0]: 1, two[1]: -1}, -inf, 0)

    def descend(self) -> None:
        for axis in (1, 2):
            terms = self.logarithm(SIMULATION, axis) | self.logarithm(SIMULATION, axis - 1, -1)
            self.add(terms, -inf, self.sizes[axis - 1] - self.sizes[axis])

    def bound_the_largest(self) -> None:
        for axis in range(3):
            terms = self.logarithm(ANALYSIS, axis) | {self.largest: -1.0}
            self.add(terms, -inf, -self.sizes[axis])

    def spread(self) -> None:
        """Three factors or more leave no dimension at one; fewer go to dimensions of their own."""
        for grid, factors in ((SIMULATION, self.simulation), (ANALYSIS, self.analysis)):
            bounds = (1, inf) if sum(factors.values()) >= 3 else (0, 1)
            for axis in range(3):
                terms = {self.place(grid, axis, i): 1.0 for i in range(len(self.primes))}
                self.add(terms, *bounds)

    def cost(self, weight: int) -> list[float]:
        parts = [weight * sign for sign in (2, -1, -1)] + [-1, -1, -1]
        return [part * value for part in parts for value in self.logs] + [3.0]

    def upper(self) -> list[float]:
        places = [(grid, i) for grid in (0, 1) for _ in range(3) for i in range(len(self.primes))]
        return [float(self.multiplicity(grid, self.primes[i])) for grid, i in places] + [inf]


def write_program(
    simulation: int, analysis: int, weight: int = 2, sizes: Sequence[float] = (0.0, 0.0, 0.0)
) -> Program:
    """The program for so many ranks, the grids descending from x to z.

    The paper's largest exponents of the analysis grid occur in it only as the sum of their
    logarithms, which is one real unknown here: at its least it is the largest dimension's anyway.
    """
    writer = _Writer(prime_factors(simulation), prime_factors(analysis), sizes)
    writer.share_out_factors()
    writer.be_multiples()
    writer.descend()
    writer.bound_the_largest()
    writer.spread()
    return Program(writer.primes, writer.cost(weight), writer.upper(), writer.rows)
