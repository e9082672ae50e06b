# SPDX-License-Identifier: BSD-3-Clause
"""How seconds depend on the number of ranks that share some work, from a few numbers of ranks on
which it was measured: a power law,

    seconds(r) = c r^p,   -1 <= p <= 1,

fitted to logarithms by least squares. Work that divides has p = -1, what each rank does by itself
p = 0, and what grows with the ranks a positive one. Measurements count in proportion to the square
of their ranks, for it is beyond these that one asks, and there that what does not divide shows.
Forms with more terms follow what was measured more closely and go further astray beyond it: ranks
that do not divide a mesh well make seconds irregular by a tenth, which they take for a trend. Pure.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

IRREGULAR = 0.1  # relative; for each factor of two from ranks that were measured


@dataclass(frozen=True)
class Curve:
    """`deviation` is by how much, relatively, it misses what was measured."""

    scale: float
    power: float
    deviation: float

    def __call__(self, ranks: float) -> float:
        return float(self.scale * ranks**self.power)


NOTHING = Curve(0.0, 0.0, 0.0)


@dataclass(frozen=True)
class Measured:
    """Seconds by number of ranks, and the curve through them."""

    known: Mapping[int, float]
    curve: Curve

    def __call__(self, ranks: int) -> float:
        return self.known.get(ranks) or self.curve(ranks)

    def uncertainty(self, ranks: int) -> float:
        """Relative; none where it was measured."""
        if not self.known or ranks in self.known:
            return 0.0
        doublings = min(abs(math.log2(ranks / number)) for number in self.known)
        return math.hypot(self.curve.deviation, IRREGULAR * doublings)


def measured(samples: Mapping[int, float]) -> Measured:
    """Of means by number of ranks; those that are nothing are left out."""
    known = {ranks: seconds for ranks, seconds in samples.items() if seconds > 0}
    return Measured(known, fit(known))


def fit(samples: Mapping[int, float]) -> Curve:
    """Through seconds by number of ranks. A lone measurement is taken for work that divides."""
    if not samples:
        return NOTHING
    ranks = np.array(sorted(samples), dtype=float)
    x, y = np.log(ranks), np.log([samples[int(r)] for r in ranks])
    if len(ranks) == 1:
        return Curve(float(np.exp(y[0] + x[0])), -1.0, 0.0)
    weights = (ranks / ranks[-1]) ** 2
    mean_x, mean_y = np.average(x, weights=weights), np.average(y, weights=weights)
    slope = np.sum(weights * (x - mean_x) * (y - mean_y)) / np.sum(weights * (x - mean_x) ** 2)
    power = float(min(1.0, max(-1.0, slope)))
    left = y - mean_y - power * (x - mean_x)
    deviation = math.sqrt(np.average(left**2, weights=weights))
    return Curve(float(np.exp(mean_y - power * mean_x)), power, deviation)
