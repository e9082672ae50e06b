# SPDX-License-Identifier: BSD-3-Clause
"""The optimum of the mixed-integer program, and which of the pairs that share it is taken.

Only whole numbers decide here. The program's objective grows with `measure`, the product of the
largest cuts of both grids, so two pairs tie exactly when their measures are equal.
"""

from collections.abc import Collection
from dataclasses import dataclass
from math import log, prod

from pillion.errors import Error
from pillion.grids import highs
from pillion.grids.box import Faces
from pillion.grids.factors import Triple, is_spread, prime_factors, triples
from pillion.grids.program import ANALYSIS, SIMULATION, write_program

Shapes = tuple[Triple, Triple]


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
        """What the program minimises; 0 if sub-boxes of both grids are cubes."""
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
    """Orders of the axes that differ in the program: one for a cube, six if no faces are alike."""
    orders: list[Triple] = [(0, 1, 2), (0, 2, 1), (1, 0, 2), (1, 2, 0), (2, 0, 1), (2, 1, 0)]
    known = {tuple(faces.areas[axis] for axis in order): order for order in reversed(orders)}
    return known.values()


def _in_order(problem: Problem, order: Triple) -> Shapes | None:
    sizes = [log(problem.faces.areas[axis]) for axis in order]
    program = write_program(problem.simulation, problem.analysis, problem.weight, sizes)
    values = highs.solve(program)
    if values is None:
        return None
    x, y, z = (order.index(axis) for axis in range(3))  # where the program has each axis of the box
    simulation, analysis = (program.dimensions(values, grid) for grid in (SIMULATION, ANALYSIS))
    return (
        (simulation[x], simulation[y], simulation[z]),
        (analysis[x], analysis[y], analysis[z]),
    )


def tied_with(problem: Problem, optimum: Shapes) -> list[Shapes]:
    """All pairs that are as good, of which the optimum is one."""
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
    """How many pairs these are if axes whose faces are alike may change places."""
    return len({tuple(sorted(zip(problem.faces.areas, *shapes, strict=True))) for shapes in tied})


def preferred(problem: Problem, tied: list[Shapes]) -> Shapes:
    """Of pairs that tie, that of the smallest surface; then of most ranks along x, then y."""

    def badness(shapes: Shapes) -> tuple[int, list[int]]:
        return problem.cut(shapes), [-n for shape in shapes for n in shape]

    return min(tied, key=badness)
