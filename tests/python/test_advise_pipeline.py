# SPDX-License-Identifier: BSD-3-Clause
"""The advisor's model of two sides, against a simulation that goes on in small equal steps of time
and knows nothing of events, and against what must hold of it.
"""

import random

import pytest
from pillion.advise.costs import Sharing
from pillion.advise.model import balance, schedule

TICK = 1e-3  # seconds


def by_ticks(making, working, room, sharing, tick=TICK):
    """Instants at which publications are made and finished, each late by at most a few ticks."""
    made, finished, now = [], [], 0.0
    to_make, to_work = making[0], 0.0
    while len(finished) < len(making):
        makes = len(made) < len(making) and to_make > 0
        works = len(made) > len(finished)
        if makes:
            to_make -= tick / (sharing.simulation if works else 1)
        if works:
            to_work -= tick / (sharing.sidecars if makes else 1)
        now += tick
        if works and to_work <= 0:
            finished.append(now)
            if len(made) > len(finished):
                to_work = working[len(finished)]
        if len(made) < len(making) and to_make <= 0 and len(made) - len(finished) < room:
            made.append(now)
            if len(made) < len(making):
                to_make = making[len(made)]
            if len(made) == len(finished) + 1:
                to_work = working[len(finished)]
    return made, finished


@pytest.mark.parametrize("seed", range(24))
def test_instants_are_those_of_a_simulation_in_small_steps(seed):
    draw = random.Random(seed)
    number, room = draw.randint(1, 12), draw.randint(1, 4)
    making = [draw.uniform(0.05, 1) for _ in range(number)]
    working = [draw.uniform(0.05, 1) for _ in range(number)]
    sharing = Sharing(draw.uniform(1, 2), draw.uniform(1, 2)) if seed % 2 else Sharing()
    exact = schedule(making, working, room, sharing)
    made, finished = by_ticks(making, working, room, sharing)
    assert exact.made == pytest.approx(made, abs=3 * number * TICK)
    assert exact.finished == pytest.approx(finished, abs=3 * number * TICK)


@pytest.mark.parametrize("seed", range(12))
def test_equal_publications_settle_to_the_closed_form(seed):
    draw = random.Random(seed)
    making, working = draw.uniform(0.1, 1), draw.uniform(0.1, 1)
    sharing = Sharing(draw.uniform(1, 2), draw.uniform(1, 2))
    done = schedule([making] * 600, [working] * 600, 2, sharing)
    period = (done.finished[-1] - done.finished[99]) / 500
    assert period == pytest.approx(balance(making, working, sharing), rel=0.005)


def test_two_sides_with_cores_of_their_own_take_the_longer():
    assert balance(3.0, 2.0, Sharing()) == 3.0
    assert balance(2.0, 3.0, Sharing()) == 3.0


def test_two_sides_that_halve_each_other_take_the_sum():
    assert balance(3.0, 2.0, Sharing(2, 2)) == pytest.approx(5.0)


def test_without_room_a_side_waits_for_the_other():
    # One publication at a time: a long one is not hidden behind the short ones after it.
    lone = schedule([1, 1, 1, 1], [4, 0, 0, 0], 1, Sharing())
    ample = schedule([1, 1, 1, 1], [4, 0, 0, 0], 4, Sharing())
    assert lone.made == [1, 5, 6, 7]
    assert ample.made == [1, 2, 3, 4]
    assert lone.end == 7 and ample.end == 5
