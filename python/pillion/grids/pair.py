# SPDX-License-Identifier: BSD-3-Clause
"""The best pair of process grids for a simulation and an analysis that run side by side."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from time import perf_counter

from pillion.errors import Error
from pillion.grids import highs
from pillion.grids.box import CUBE, Faces, Lengths, checked_lengths
from pillion.grids.factors import Triple, checked_ranks, divisors
from pillion.grids.grid import Grid
from pillion.grids.optimum import Problem, count_distinct, preferred, solve, tied_with

MOST_WEIGHT = 100


@dataclass(frozen=True)
class Pair:
    """Grids of a simulation and of its analysis, whose sub-boxes hold whole ones of the former.

    `objective` is the value of the program: 0 where all sub-boxes are cubes. `tied` is the number
    of pairs that share it, not counting changes of axes that are alike, and `seconds` how long it
    took to find the best.
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
    """The best pair of 3-D process grids for so many simulation and analysis ranks.

    Every dimension of the simulation's grid is a multiple of the analysis's, and as many dimensions
    are above one as the prime factors allow. Least is `weight` times the logarithm of how far the
    simulation's sub-boxes are from cubes, plus that of the analysis's; of pairs that tie, the one
    whose sub-boxes have the smallest surface. `box` is its three lengths in any unit.

    A mixed-integer program after Malakar, Munson, Knight, Vishwanath, Papka: Topology-aware
    space-shared co-analysis of large-scale molecular dynamics simulations (SC 2018),
    solved by HiGHS. Raises Error if the number of simulation ranks is no multiple of the other,
    which is when there is no such pair.
    """
    lengths = checked_lengths(box)
    problem = _problem(simulation, analysis, lengths, weight)
    highs.load()  # its import is no part of the time that is told
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
        f"no pair of grids: {simulation} simulation ranks are no multiple of {analysis} analysis "
        "ranks, so no sub-box of the analysis can hold whole sub-boxes of the simulation; take "
        f"{' or '.join(map(str, near))} analysis ranks, or "
        f"{' or '.join(map(str, multiples))} simulation ranks"
    )
