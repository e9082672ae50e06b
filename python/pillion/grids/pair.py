# SPDX-License-Identifier: BSD-3-Clause
"""The best pair of process grids for a simulation and an analysis that run side by side. It is the
optimum of a mixed-integer program, which docs/howto-grids.md states and HiGHS solves through its
Python package highspy. If several pairs share the optimum, one of them is chosen here.

The unknowns are exponents: how often each prime factor of the numbers of ranks goes to x, y and z
of either grid. In logarithms of dimensions all is linear then. From Malakar, Munson, Knight,
Vishwanath, Papka: Topology-aware space-shared co-analysis of large-scale molecular dynamics
simulations, SC 2018.

Only whole numbers decide between pairs. The program's objective grows with `measure`, the product
of the largest cuts of both grids, so two pairs tie exactly when their measures are equal.
"""

import ctypes
import os
import sys
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from math import inf, log, prod
from time import perf_counter
from typing import Any

from pillion.errors import Error
from pillion.grids.grid import (
    CUBE,
    Faces,
    Grid,
    Lengths,
    Triple,
    checked_lengths,
    checked_ranks,
    divisors,
    is_spread,
    prime_factors,
    triples,
)

SIMULATION, ANALYSIS = 0, 1
# Whole numbers apart differ by far more, and no gap is allowed: the optimum is the true one.
_HIGHS_OPTIONS: dict[str, Any] = {
    "output_flag": False,
    "parallel": "off",
    "mip_rel_gap": 0.0,
    "mip_abs_gap": 1e-9,
    "mip_feasibility_tolerance": 1e-9,
    "primal_feasibility_tolerance": 1e-9,
}
Shapes = tuple[Triple, Triple]
MOST_WEIGHT = 100


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
    """The program for the two numbers of ranks, with grids that descend from x to z.

    In the paper, the largest exponents of the analysis grid occur only as the sum of their
    logarithms. Here that sum is one real unknown: its minimum is the largest dimension's anyway.
    """
    writer = _Writer(prime_factors(simulation), prime_factors(analysis), sizes)
    writer.share_out_factors()
    writer.be_multiples()
    writer.descend()
    writer.bound_the_largest()
    writer.spread()
    return Program(writer.primes, writer.cost(weight), writer.upper(), writer.rows)


def load_highs() -> Any:
    """The package highspy; raises Error if it is not installed."""
    try:
        import highspy
    except ImportError as error:
        raise Error("pairs of grids need the package highspy: pip install highspy") from error
    return highspy


@contextmanager
def _silence() -> Iterator[None]:
    """Discards all output. HiGHS 1.16 prints its name before an option can forbid it."""
    sys.stdout.flush()
    kept = os.dup(1)
    with open(os.devnull, "wb") as nothing:
        os.dup2(nothing.fileno(), 1)
    try:
        yield
    finally:
        ctypes.CDLL(None).fflush(None)  # the C library's buffer still holds it
        os.dup2(kept, 1)
        os.close(kept)


def solved_by_highs(program: Program) -> list[float] | None:
    """The unknowns at the optimum; None if nothing satisfies the program."""
    highspy = load_highs()
    with _silence():
        solver = highspy.Highs()
    for name, value in _HIGHS_OPTIONS.items():
        solver.setOptionValue(name, value)
    solver.passModel(_highs_model(highspy, program))
    solver.run()
    status = solver.getModelStatus()
    if status == highspy.HighsModelStatus.kInfeasible:
        return None
    if status != highspy.HighsModelStatus.kOptimal:
        said = solver.modelStatusToString(status)
        raise Error(f"HiGHS found no optimum: it said '{said}'. Is highspy whole?")
    return list(solver.getSolution().col_value)


def _highs_model(highspy: Any, program: Program) -> Any:
    model = highspy.HighsLp()
    model.num_col_, model.num_row_ = len(program.cost), len(program.rows)
    model.col_cost_, model.col_upper_ = program.cost, program.upper
    model.col_lower_ = [0.0] * len(program.cost)
    model.row_lower_ = [float(row.lower) for row in program.rows]
    model.row_upper_ = [float(row.upper) for row in program.rows]
    kinds = highspy.HighsVarType
    model.integrality_ = [kinds.kInteger] * (len(program.cost) - 1) + [kinds.kContinuous]
    matrix = model.a_matrix_
    matrix.format_ = highspy.MatrixFormat.kRowwise
    starts = [0]
    for row in program.rows:
        starts.append(starts[-1] + len(row.terms))
    matrix.start_ = starts
    matrix.index_ = [place for row in program.rows for place in row.terms]
    matrix.value_ = [float(value) for row in program.rows for value in row.terms.values()]
    return model


@dataclass(frozen=True)
class Problem:
    """Numbers of ranks, the analysis's dividing the simulation's; weight; faces of the box."""

    simulation: int
    analysis: int
    weight: int
    faces: Faces

    def measure(self, shapes: Shapes) -> int:
        simulation, analysis = (self.faces.largest_cut(shape) for shape in shapes)
        return int(simulation**self.weight * analysis)

    def objective(self, shapes: Shapes) -> float:
        """The value that the program minimises; 0 if sub-boxes of both grids are cubes."""
        whole = [log(prod(shape) * prod(self.faces.areas)) for shape in shapes]
        most = [3 * log(self.faces.largest_cut(shape)) for shape in shapes]
        value = self.weight * (most[0] - whole[0]) + most[1] - whole[1]
        return max(0.0, round(value, 12))

    def cut(self, shapes: Shapes) -> int:
        """Area of all cuts of both grids, the simulation's counted as often as it weighs."""
        return self.weight * self.faces.cut(shapes[0]) + self.faces.cut(shapes[1])


def solve(problem: Problem) -> Shapes:
    """A pair at the optimum, by HiGHS: the best over the orders in which axes may descend."""
    found = [shapes for order in _orders(problem.faces) if (shapes := _in_order(problem, order))]
    if not found:
        raise Error(
            f"no pair of grids for {problem.simulation} and {problem.analysis} ranks satisfies the "
            "program, though one number divides the other: please report it"
        )
    return min(found, key=problem.measure)


def _orders(faces: Faces) -> Collection[Triple]:
    """Orders of the axes that differ in the program: one for a cube, six if all faces differ."""
    orders: list[Triple] = [(0, 1, 2), (0, 2, 1), (1, 0, 2), (1, 2, 0), (2, 0, 1), (2, 1, 0)]
    known = {tuple(faces.areas[axis] for axis in order): order for order in reversed(orders)}
    return known.values()


def _in_order(problem: Problem, order: Triple) -> Shapes | None:
    sizes = [log(problem.faces.areas[axis]) for axis in order]
    program = write_program(problem.simulation, problem.analysis, problem.weight, sizes)
    values = solved_by_highs(program)
    if values is None:
        return None
    x, y, z = (order.index(axis) for axis in range(3))  # where the program has each axis of the box
    simulation, analysis = (program.dimensions(values, grid) for grid in (SIMULATION, ANALYSIS))
    return (
        (simulation[x], simulation[y], simulation[z]),
        (analysis[x], analysis[y], analysis[z]),
    )


def tied_with(problem: Problem, optimum: Shapes) -> list[Shapes]:
    """All pairs as good as the optimum, the optimum among them."""
    found = _no_worse_than(problem, optimum)
    least = min(map(problem.measure, found))  # the optimum's, however a solver rounds
    return [shapes for shapes in found if problem.measure(shapes) == least]


def _no_worse_than(problem: Problem, optimum: Shapes) -> list[Shapes]:
    most = problem.measure(optimum)
    inner = sorted(_spread(problem.analysis), key=problem.faces.largest_cut)
    found = []
    for simulation in _spread(problem.simulation):
        mine = problem.faces.largest_cut(simulation) ** problem.weight
        for analysis in inner:
            if mine * problem.faces.largest_cut(analysis) > most:
                break
            if all(s % a == 0 for s, a in zip(simulation, analysis, strict=True)):
                found.append((simulation, analysis))
    return found


def _spread(number: int) -> list[Triple]:
    multiplicity = sum(prime_factors(number).values())
    return [triple for triple in triples(number) if is_spread(triple, multiplicity)]


def count_distinct(problem: Problem, tied: list[Shapes]) -> int:
    """The number of these pairs if axes with equal faces may change places."""
    return len({tuple(sorted(zip(problem.faces.areas, *shapes, strict=True))) for shapes in tied})


def preferred(problem: Problem, tied: list[Shapes]) -> Shapes:
    """The pair with the smallest surface among pairs that tie; then with most ranks along x, then
    y.
    """

    def badness(shapes: Shapes) -> tuple[int, list[int]]:
        return problem.cut(shapes), [-n for shape in shapes for n in shape]

    return min(tied, key=badness)


@dataclass(frozen=True)
class Pair:
    """Grids of a simulation and of its analysis, whose sub-boxes hold whole ones of the former.

    `objective` is the value of the program: 0 if all sub-boxes are cubes. `tied` is the number of
    pairs that share it, not counting exchanges of equal axes. `seconds` is the time to find the
    best pair.
    """

    simulation: Grid
    analysis: Grid
    weight: int
    objective: float
    tied: int
    seconds: float = field(compare=False)

    @property
    def multiples(self) -> Triple:
        """Simulation ranks along x, y and z in a sub-box of the analysis."""
        parts = zip(self.simulation.shape, self.analysis.shape, strict=True)
        x, y, z = (s // a for s, a in parts)
        return x, y, z

    @property
    def poorness(self) -> float:
        """Above 1 where a surface is beyond what is fair."""
        return max(self.simulation.poorness, self.analysis.poorness)


def best_pair(simulation: int, analysis: int, box: Sequence[float] = CUBE, weight: int = 2) -> Pair:
    """The best pair of 3-D process grids for these numbers of simulation and analysis ranks.

    Every dimension of the simulation's grid is a multiple of the analysis's, and as many dimensions
    are above one as the prime factors allow. The logarithm of how far sub-boxes are from cubes is
    summed over both grids, with `weight` for the simulation's; the pair with the smallest sum is
    best. If pairs tie, the one whose sub-boxes have the smallest surface is taken. `box` is its
    three lengths in any unit.

    A mixed-integer program after Malakar, Munson, Knight, Vishwanath, Papka: Topology-aware
    space-shared co-analysis of large-scale molecular dynamics simulations (SC 2018), solved by
    HiGHS. Raises Error if the number of simulation ranks is not a multiple of the number of
    analysis ranks: then there is no such pair.
    """
    lengths = checked_lengths(box)
    problem = _problem(simulation, analysis, lengths, weight)
    load_highs()  # importing it is not part of the time
    begin = perf_counter()
    tied = tied_with(problem, solve(problem))
    best = preferred(problem, tied)
    seconds = perf_counter() - begin
    many = count_distinct(problem, tied)
    first, second = (Grid(shape, lengths) for shape in best)
    return Pair(first, second, weight, problem.objective(best), many, seconds)


def _problem(simulation: int, analysis: int, box: Lengths, weight: int) -> Problem:
    checked_ranks(simulation, "simulation ranks")
    checked_ranks(analysis, "analysis ranks")
    if not 1 <= weight <= MOST_WEIGHT:
        raise Error(f"weight {weight}: give a whole number from 1 to {MOST_WEIGHT}")
    if simulation % analysis:
        raise Error(_no_multiple(simulation, analysis))
    return Problem(simulation, analysis, weight, Faces.of(box))


def _no_multiple(simulation: int, analysis: int) -> str:
    whole = divisors(simulation)
    near = [max(d for d in whole if d < analysis), *[d for d in whole if d > analysis][:1]]
    times = simulation // analysis
    multiples = [n * analysis for n in (times, times + 1) if n]
    return (
        f"no pair of grids: {simulation} simulation ranks are not a multiple of "
        f"{analysis} analysis ranks, so no sub-box of the analysis can hold whole sub-boxes of the "
        f"simulation; take "
        f"{' or '.join(map(str, near))} analysis ranks, or "
        f"{' or '.join(map(str, multiples))} simulation ranks"
    )
