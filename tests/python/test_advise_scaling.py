# SPDX-License-Identifier: BSD-3-Clause
"""Power laws through seconds by number of ranks, against weighted polynomial fits by NumPy."""

import random

import numpy as np
import pytest
from pillion.advise.costs import NOTHING, fit, measured


@pytest.mark.parametrize("seed", range(20))
def test_it_is_the_weighted_fit_of_logarithms(seed):
    draw = random.Random(seed)
    ranks = sorted(draw.sample([1, 2, 3, 4, 8, 16, 32, 64], draw.randint(2, 8)))
    power = draw.uniform(-0.8, 0.8)
    samples = {r: 3.0 * r**power * draw.gauss(1, 0.02) for r in ranks}
    curve = fit(samples)
    # NumPy multiplies deviations, not their squares, by the weights.
    x, y = np.log(ranks), np.log([samples[r] for r in ranks])
    slope, height = np.polyfit(x, y, 1, w=np.array(ranks) / ranks[-1])
    if abs(slope) <= 1:
        assert curve.power == pytest.approx(slope, abs=1e-9)
        assert curve.scale == pytest.approx(np.exp(height), rel=1e-9)
    assert curve(ranks[-1]) == pytest.approx(samples[ranks[-1]], rel=0.1)


def test_work_neither_more_than_divides_nor_more_than_piles_up():
    assert fit({1: 10.0, 2: 1.0}).power == -1.0
    assert fit({1: 1.0, 2: 10.0}).power == 1.0


def test_few_measurements_say_less():
    assert fit({}) == NOTHING and NOTHING(8) == 0
    assert fit({4: 2.0})(8) == pytest.approx(1.0)
    assert fit({1: 10.0, 4: 5.0})(16) == pytest.approx(2.5)


def test_what_was_measured_is_believed():
    known = measured({1: 10.0, 2: 7.0, 4: 3.0, 8: 0.0})
    assert [known(1), known(2), known(4)] == [10.0, 7.0, 3.0]
    assert known.uncertainty(2) == 0.0
    assert 0.1 <= known.uncertainty(8) < known.uncertainty(16)
    assert known(8) == pytest.approx(known.curve(8))
