# SPDX-License-Identifier: BSD-3-Clause
"""Process grids by brute force: every ordered triple of factors is looked at, and every pair of
triples, with the objective and the constraints written down as the paper has them.
"""

from fractions import Fraction
from itertools import pairwise
from math import inf, log, prod


def all_triples(number):
    """Every (x, y, z) whose product it is, found by trying."""
    whole = [d for d in range(1, number + 1) if number % d == 0]
    return [(x, y, number // x // y) for x in whole for y in whole if number // x % y == 0]


def exponents(dimension, primes):
    found = []
    for prime in primes:
        times = 0
        while dimension % prime == 0:
            dimension //= prime
            times += 1
        found.append(times)
    return found


def primes_of(number):
    return [p for p in range(2, number + 1) if number % p == 0 and all(p % q for q in range(2, p))]


def objective(simulation, analysis, weight=2):
    """sum_i log f_i (w (2 s_xi - s_yi - s_zi) + 3 amax_i - a_xi - a_yi - a_zi)."""
    primes = primes_of(prod(simulation))
    x, y, z = (exponents(d, primes) for d in simulation)
    ax, ay, az = (exponents(d, primes) for d in analysis)
    most = exponents(max(analysis), primes)
    return sum(
        log(f) * (weight * (2 * x[i] - y[i] - z[i]) + 3 * most[i] - ax[i] - ay[i] - az[i])
        for i, f in enumerate(primes)
    )


def above_one(shape):
    return sum(d > 1 for d in shape)


def are_allowed(simulation, analysis):
    """All constraints but the order of the simulation's dimensions."""
    pairs = ((simulation, all_triples(prod(simulation))), (analysis, all_triples(prod(analysis))))
    return all(s % a == 0 for s, a in zip(simulation, analysis)) and all(
        above_one(shape) == max(map(above_one, others)) for shape, others in pairs
    )


def allowed_pairs(simulation, analysis):
    """All pairs of grids that satisfy the constraints, in any order of the axes."""
    outer, inner = all_triples(simulation), all_triples(analysis)
    most = [max(map(above_one, shapes)) for shapes in (outer, inner)]
    inner = [a for a in inner if above_one(a) == most[1]]
    for s in outer:
        if above_one(s) == most[0]:
            x, y, z = s
            yield from ((s, a) for a in inner if not (x % a[0] or y % a[1] or z % a[2]))


def descends(shape):
    return all(one >= two for one, two in pairwise(shape))


def on_box(simulation, analysis, box, weight):
    """The objective for a box: of dimensions over lengths, whichever of them is the largest."""
    s = sorted((log(n / length) for n, length in zip(simulation, box)), reverse=True)
    a = [log(n / length) for n, length in zip(analysis, box)]
    return weight * (2 * s[0] - s[1] - s[2]) + 3 * max(a) - sum(a)


def total_surface(shape, box):
    """Of all sub-boxes together, exactly."""
    x, y, z = (Fraction(str(length)) / n for length, n in zip(box, shape))
    return 2 * (x * y + y * z + z * x) * prod(shape)


def choose(pairs, value, box=(1, 1, 1), weight=2):
    """Least value, then least surface, then most ranks along x, and so on; and how many tie."""
    rated = [(value(*pair), pair) for pair in pairs]
    least = min(rated, default=(inf, None))[0]
    tied = [pair for rate, pair in rated if rate < least + 1e-9]
    surfaces = {(s, a): weight * total_surface(s, box) + total_surface(a, box) for s, a in tied}
    smallest = min(surfaces.values())
    return least, max(pair for pair in tied if surfaces[pair] == smallest), len(tied)


def best_pair_on_cube(simulation, analysis, weight=2):
    pairs = [p for p in allowed_pairs(simulation, analysis) if descends(p[0])]
    return choose(pairs, lambda s, a: objective(s, a, weight), weight=weight)


def best_pair_on_box(simulation, analysis, box, weight=2):
    pairs = list(allowed_pairs(simulation, analysis))
    return choose(pairs, lambda s, a: on_box(s, a, box, weight), box, weight)
