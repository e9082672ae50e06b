# SPDX-License-Identifier: BSD-3-Clause
"""The example's equations of motion: momentum, energy, convergence, and the same result however the
work is divided."""

import numpy as np
import pytest
from simulation import simulate


def test_momentum_and_energy(build, tmp_path):
    """Layzer and Irvine: a (kinetic + potential) changes by minus the integral of kinetic da. What
    is missing is compared with the greatest a |potential|: the forces that particles get from the
    mesh are no exact gradients, so it is not nothing."""
    for length in (32, 64):
        run = simulate(build, tmp_path / f"{length}", 2, cells=32, length=length, steps=80)
        a, kinetic, potential = run["a"], run["kinetic"], run["potential"]
        work = np.cumsum((kinetic[1:] + kinetic[:-1]) / 2 * np.diff(a))
        energy = a * (kinetic + potential)
        missing = energy[1:] - energy[0] + work
        assert np.abs(missing).max() < 0.01 * np.abs(a * potential).max()
        assert work[-1] > 20 * np.abs(missing).max()
        assert run["net_momentum"].max() < 1e-12


def test_steps_are_of_second_order(build, tmp_path):
    """Halving the step divides the error by four; by two, if it were of first order."""
    places = []
    for steps in (20, 40, 80):
        run = simulate(
            build, tmp_path / f"{steps}", cells=32, length=1000, steps=steps, snapshot_every=steps
        )
        places.append(run.displacement())
    first = np.sqrt(np.mean((places[1] - places[0]) ** 2))
    second = np.sqrt(np.mean((places[2] - places[1]) ** 2))
    assert 3.3 < first / second < 4.7


SETTINGS = {"cells": 32, "length": 64, "steps": 20, "snapshot_every": 20}
FIELDS = ("gas_density", "gas_temperature", "gas_velocity", "n_HI")


@pytest.fixture(scope="module")
def reference(build, tmp_path_factory):
    return simulate(build, tmp_path_factory.mktemp("cosmology") / "reference", **SETTINGS)


@pytest.mark.parametrize(
    ("ranks", "box", "cells"), [(2, 32, 32), (3, 8, 32), (3, 7, 32), (5, 20, 32)]
)
def test_ranks_and_boxes_make_no_difference(build, tmp_path, reference, ranks, box, cells):
    run = simulate(build, tmp_path / "r", ranks, box=box, **SETTINGS)
    assert np.array_equal(np.sort(run.field("id")), np.arange(cells**3))
    np.testing.assert_allclose(run.displacement(), reference.displacement(), atol=1e-8)
    for name in FIELDS:
        scale = np.abs(reference.field(name)).max()
        np.testing.assert_allclose(
            run.field(name), reference.field(name), rtol=1e-7, atol=1e-9 * scale
        )


def test_more_ranks_than_planes(build, tmp_path):
    """Ranks without particles and ranks without boxes."""
    few, many = (
        simulate(build, tmp_path / f"{n}", n, cells=4, length=64, steps=5, box=4, snapshot_every=5)
        for n in (1, 6)
    )
    np.testing.assert_allclose(many.displacement(), few.displacement(), atol=1e-10)
    np.testing.assert_allclose(many.field("n_HI"), few.field("n_HI"), rtol=1e-8)


def test_seeds_differ(build, tmp_path, reference):
    run = simulate(build, tmp_path / "r", seed=2, **SETTINGS)
    mine, other = run.displacement().ravel(), reference.displacement().ravel()
    assert abs(np.corrcoef(mine, other)[0, 1]) < 0.2


def test_parameters_from_a_file(build, tmp_path, reference):
    """Comments, blanks, and later settings that win."""
    parameters = tmp_path / "run.txt"
    parameters.write_text("# a run\nsteps = 3  # few\n\n length=5\nseed=1\n", encoding="utf-8")
    run = simulate(build, tmp_path / "r", file=parameters, **{**SETTINGS, "steps": 20})
    assert np.array_equal(run["kinetic"], reference["kinetic"])
