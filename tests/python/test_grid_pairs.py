# SPDX-License-Identifier: BSD-3-Clause
"""Pairs of process grids: the mixed-integer program and how ties are broken, beside brute force.

Every day a sample of the pairs; all of up to 512 simulation ranks with PILLION_TEST_ALL=1.
"""

import os
import random
import re
from fractions import Fraction
from math import inf, log, prod
from pathlib import Path

import pytest
from grid_oracle import (
    all_triples,
    allowed_pairs,
    are_allowed,
    best_pair_on_box,
    best_pair_on_cube,
    descends,
    exponents,
    objective,
    on_box,
)
from pillion import Error
from pillion.grids import best_pair
from pillion.grids.grid import CUBE, Faces
from pillion.grids.pair import Problem, solve, write_program

ALL_PAIRS = [(s, a) for s in range(1, 513) for a in range(1, s + 1) if s % a == 0]


def shapes(pair):
    return pair.simulation.shape, pair.analysis.shape


def assert_best(simulation, analysis):
    least, expected, _ = best_pair_on_cube(simulation, analysis)
    alone = solve(Problem(simulation, analysis, 2, Faces.of(CUBE)))
    assert are_allowed(*alone) and descends(alone[0]), alone
    assert objective(*alone) == pytest.approx(least, abs=1e-9), f"HiGHS: {alone}"
    pair = best_pair(simulation, analysis)
    assert shapes(pair) == expected
    assert pair.objective == pytest.approx(least, abs=1e-9)


def test_the_published_pair():
    pair = best_pair(1536, 512)
    assert shapes(pair) == ((16, 12, 8), (16, 4, 8))
    assert pair.multiples == (1, 3, 1)
    assert pair.tied == best_pair_on_cube(1536, 512)[2] == 2


@pytest.mark.parametrize("numbers", random.Random(9).sample(ALL_PAIRS, 60), ids=str)
def test_optimum(numbers):
    assert_best(*numbers)


@pytest.mark.skipif("PILLION_TEST_ALL" not in os.environ, reason="takes minutes")
@pytest.mark.parametrize("part", range(16))
def test_every_optimum(part):
    for numbers in ALL_PAIRS[part::16]:
        assert_best(*numbers)


@pytest.mark.parametrize("numbers", [(1, 1), (2, 1), (4, 4), (12, 4), (30, 6), (509, 509)], ids=str)
def test_few_factors(numbers):
    """No dimension is one where the factors suffice, and as few as can be where they do not."""
    assert_best(*numbers)


@pytest.mark.parametrize("numbers", [(396, 132), (468, 156)], ids=str)
def test_ties_that_the_weight_decides(numbers):
    """The simulation's surface and the analysis's disagree here, and the former counts twice."""
    assert best_pair(*numbers).tied > 1
    assert_best(*numbers)


@pytest.mark.parametrize("weight", [1, 3, 7])
@pytest.mark.parametrize("numbers", [(96, 32), (144, 48), (240, 20), (108, 36)], ids=str)
def test_weights(numbers, weight):
    least, expected, _ = best_pair_on_cube(*numbers, weight)
    pair = best_pair(*numbers, weight=weight)
    assert shapes(pair) == expected
    assert pair.objective == pytest.approx(least, abs=1e-9)


def test_boxes():
    draw = random.Random(4)
    for _ in range(12):
        analysis = draw.randint(1, 24)
        simulation = analysis * draw.randint(1, 8)
        box = tuple(draw.choice([1.0, 2.0, 2.5, 4.0, 10.0]) for _ in range(3))
        least, expected, _ = best_pair_on_box(simulation, analysis, box)
        pair = best_pair(simulation, analysis, box)
        assert on_box(*shapes(pair), box, 2) == pytest.approx(least, abs=1e-9)
        assert shapes(pair) == expected, (simulation, analysis, box)
        assert pair.objective == pytest.approx(least, abs=1e-9)


def test_pairs_follow_the_axes_of_the_box():
    long = best_pair(96, 32, box=(10, 10, 40))
    turned = best_pair(96, 32, box=(40, 10, 10))
    assert sorted(shapes(long)[0]) == sorted(shapes(turned)[0])
    assert shapes(long)[0][2] == max(shapes(long)[0]) == shapes(turned)[0][0]


@pytest.mark.parametrize("numbers", [(24, 12), (30, 6), (72, 6), (64, 4), (14, 2)], ids=str)
def test_program_is_the_published_one(numbers):
    """For any two triples, the rows hold exactly if the constraints do; and costs are alike."""
    program = write_program(*numbers)
    held = 0
    for s in all_triples(numbers[0]):
        for a in all_triples(numbers[1]):
            values = unknowns(program, s, a)
            holds = all(is_held(row, values) for row in program.rows)
            assert holds == (are_allowed(s, a) and descends(s)), (s, a)
            held += holds
            cost = sum(c * v for c, v in zip(program.cost, values))
            assert cost == pytest.approx(objective(s, a), abs=1e-9)
    assert held > 0


def unknowns(program, simulation, analysis):
    """What the program's unknowns are for these grids, the last at its least."""
    parts = [exponents(d, program.primes) for d in (*simulation, *analysis)]
    return [n for part in parts for n in part] + [log(max(analysis))]


def is_held(row, values):
    total = sum(coefficient * values[place] for place, coefficient in row.terms.items())
    return row.lower - 1e-9 <= total <= row.upper + 1e-9


def test_the_largest_dimension_is_bounded_in_the_program():
    program = write_program(24, 12)
    values = unknowns(program, (6, 2, 2), (6, 2, 1))
    least = [*values[:-1], log(6) - 1e-6]
    assert any(not is_held(row, least) for row in program.rows)
    assert program.upper[-1] == inf


def test_pairs_exist_exactly_where_one_number_divides_the_other():
    for simulation in range(1, 17):
        for analysis in range(1, 20):
            exists = any(True for _ in allowed_pairs(simulation, analysis))
            assert exists == (simulation % analysis == 0)
            if not exists:
                with pytest.raises(Error, match="not a multiple"):
                    best_pair(simulation, analysis)


def test_what_to_do_where_there_is_no_pair():
    with pytest.raises(Error) as raised:
        best_pair(1536, 500)
    text = str(raised.value)
    assert "1536 simulation ranks are not a multiple of 500 analysis ranks" in text
    assert "take 384 or 512 analysis ranks, or 1500 or 2000 simulation ranks" in text
    with pytest.raises(Error, match="take 5 analysis ranks, or 7 simulation ranks"):
        best_pair(5, 7)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ({"simulation": 0, "analysis": 1}, "0 simulation ranks: give a number from 1"),
        ({"simulation": 8, "analysis": -2}, "-2 analysis ranks"),
        ({"simulation": 2**40, "analysis": 2}, "1099511627776 simulation ranks"),
        ({"simulation": 8, "analysis": 2, "weight": 0}, "weight 0: give a whole number"),
        ({"simulation": 8, "analysis": 2, "box": (1, 2)}, "box 1x2: give three lengths"),
        ({"simulation": 8, "analysis": 2, "box": (1, 2, inf)}, "box 1x2xinf"),
    ],
)
def test_wrong_numbers(arguments, said):
    with pytest.raises(Error) as raised:
        best_pair(**arguments)
    assert said in str(raised.value)


def test_faces_are_exact():
    assert Faces.of((0.1, 0.2, 0.3)).areas == (6, 3, 2)
    for box in ((10, 10, 40), (1.5, 2.25, 7), (1e-9, 3, 1e9)):
        exact = [prod(map(Fraction, map(str, box))) / Fraction(str(length)) for length in box]
        areas = Faces.of(box).areas
        assert all(a * exact[0] == exact[i] * areas[0] for i, a in enumerate(areas))


def test_table_of_the_documentation():
    page = (Path(__file__).parents[2] / "docs/howto-grids.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| (\d+) \| (\d+) \| (\S+) \| (\S+) \| (\S+) \|$", page, re.MULTILINE)
    assert len(rows) >= 5
    for s, a, *told in rows:
        pair = best_pair(int(s), int(a))
        multiples = "x".join(map(str, pair.multiples))
        assert [str(pair.simulation), str(pair.analysis), multiples] == told


def test_large_numbers():
    """Ranks of whole machines, where brute force would take long: cubes are best, and found."""
    pair = best_pair(1_000_000, 1000)
    assert shapes(pair) == ((100, 100, 100), (10, 10, 10))
    assert pair.objective == 0
    assert best_pair(2**21, 2**18).simulation.shape == (128, 128, 128)
