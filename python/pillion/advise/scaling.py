# SPDX-License-Identifier: BSD-3-Clause
"""How seconds depend on the number of ranks that share some work: a curve through what was measured
on a few numbers. It is a sum of what does not divide, what divides, and what grows with the rounds
of a reduction,

    seconds(r) = a + b / r + c log2 r,   a, b, c >= 0,

fitted so that squares of relative deviations are least. One measurement gives b alone, two a and b.
Pure.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np

TERMS = (lambda r: 1.0 / r, lambda _: 1.0, lambda r: math.log2(r))


@dataclass(frozen=True)
class Curve:
    """Coefficients of TERMS, and by how much (relative) it misses what was measured."""

    coefficients: tuple[float, ...]
    deviation: float

    def __call__(self, ranks: float) -> float:
        return sum(c * term(ranks) for c, term in zip(self.coefficients, TERMS))

    def times(self, factor: float) -> "Curve":
        return Curve(tuple(c * factor for c in self.coefficients), self.deviation)


NOTHING = Curve((0.0, 0.0, 0.0), 0.0)


def fit(samples: Mapping[int, float]) -> Curve:
    """Through seconds by number of ranks; nothing through no samples."""
    known = {ranks: seconds for ranks, seconds in samples.items() if seconds > 0}
    if not known:
        return NOTHING
    numbers = sorted(known)
    rows = np.array([[term(r) / known[r] for term in TERMS] for r in numbers])
    allowed = min(len(TERMS), len(numbers))
    best = min(
        (_solved(rows, chosen) for size in range(1, allowed + 1) for chosen in _sets(size)),
        key=lambda found: found[0],
    )
    return Curve(tuple(best[1]), math.sqrt(best[0] / len(numbers)))


def _sets(size: int) -> list[tuple[int, ...]]:
    """What divides is always there: work that does not is no work of ranks."""
    return [chosen for chosen in combinations(range(len(TERMS)), size) if size > 1 or 0 in chosen]


def _solved(rows: np.ndarray, chosen: Sequence[int]) -> tuple[float, list[float]]:
    """Squares of what is left, and coefficients; infinite where one would be negative."""
    found, *_ = np.linalg.lstsq(rows[:, list(chosen)], np.ones(len(rows)), rcond=None)
    out = [0.0] * len(TERMS)
    for place, value in zip(chosen, found):
        out[place] = float(value)
    if min(out) < 0:
        return math.inf, out
    left = rows @ np.array(out) - 1.0
    return float(left @ left), out
