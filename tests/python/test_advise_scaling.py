# SPDX-License-Identifier: BSD-3-Clause
"""Curves through seconds by number of ranks, against non-negative least squares by SciPy."""

import math
import random
from itertools import combinations

import numpy as np
import pytest
from pillion.advise.scaling import NOTHING, TERMS, fit


@pytest.mark.parametrize("seed", range(20))
def test_it_is_the_best_fit_without_negative_coefficients(seed):
    optimize = pytest.importorskip("scipy.optimize")
    draw = random.Random(seed)
    coefficients = [draw.choice([0, draw.uniform(0, 5)]) for _ in TERMS]
    coefficients[0] += 1
    samples = {
        ranks: sum(c * term(ranks) for c, term in zip(coefficients, TERMS)) * draw.gauss(1, 0.1)
        for ranks in draw.sample([1, 2, 3, 4, 8, 16, 32, 64], draw.randint(3, 8))
    }
    curve = fit(samples)
    rows = np.array([[term(r) / seconds for term in TERMS] for r, seconds in samples.items()])
    best = min(
        optimize.nnls(rows[:, list(chosen)], np.ones(len(rows)))[1]
        for chosen in combinations(range(len(TERMS)), min(3, len(rows) - 1))
    )
    assert min(curve.coefficients) >= 0
    left = [curve(r) / seconds - 1 for r, seconds in samples.items()]
    assert np.linalg.norm(left) == pytest.approx(best, rel=1e-6, abs=1e-6)
    assert curve.deviation == pytest.approx(best / math.sqrt(len(rows)), rel=1e-6, abs=1e-6)


def test_few_measurements_say_less():
    assert fit({}) == NOTHING
    assert fit({4: 2.0})(8) == pytest.approx(1.0)
    two = fit({1: 10.0, 2: 6.0})
    assert two(4) == pytest.approx(4.0) and two(10**6) == pytest.approx(2.0, rel=1e-4)


def test_a_cost_that_grows_is_followed():
    curve = fit({1: 1.0, 2: 2.0, 4: 3.0, 8: 4.0})
    assert curve(64) == pytest.approx(7.0, rel=0.01)
