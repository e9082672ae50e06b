# SPDX-License-Identifier: BSD-3-Clause
"""The example's gas, recomputed from its particles and by the cell, and what Pillion sees of it."""

import limits
import numpy as np
import pytest
from conftest import launcher, read_table
from scipy.special import ive
from simulation import simulate
from theory import HYDROGEN, MPC, SUN, Cosmology, recombination

COSMOLOGY = Cosmology()
SETTINGS = {"cells": 32, "length": 32, "steps": 40, "snapshot_every": 20, "box": 12, "filter": 1.2}
STEPS = (20, 40)


@pytest.fixture(scope="module")
def run(build, tmp_path_factory):
    """Two ranks simulate; the third is the sidecar."""
    folder = tmp_path_factory.mktemp("cosmology") / "gas"
    return simulate(build, folder, 3, program="cosmology", **SETTINGS)


def clouds(run, step, values):
    """Sum of particles' values in each cell, indexed [z, y, x], smoothed by a discrete Gaussian."""
    place = run.field("position", step) * run.cells / run.length - 0.5
    low = np.floor(place).astype(int)
    grid = np.zeros((run.cells,) * 3)
    for corner in np.ndindex(2, 2, 2):
        x, y, z = ((low + corner) % run.cells).T
        weight = np.prod(np.abs(1 - np.array(corner) - (place - low)), axis=1)
        np.add.at(grid, (z, y, x), weight * values)
    kernel = ive(np.arange(-16, 17), SETTINGS["filter"] ** 2)
    for axis in range(3):
        grid = sum(w * np.roll(grid, n - 16, axis) for n, w in enumerate(kernel))
    return grid


def overdensity(run, step):
    mean = COSMOLOGY.omega_b * COSMOLOGY.critical() * MPC**3 / SUN
    return run.field("gas_density", step) / mean


@pytest.mark.parametrize("step", STEPS)
def test_density_and_velocity_are_the_particles(run, step):
    mass = clouds(run, step, 1.0)
    np.testing.assert_allclose(overdensity(run, step), mass, rtol=1e-6, atol=1e-8)
    assert abs(overdensity(run, step).mean() - 1) < 1e-6
    velocity = run.field("velocity", step)
    for axis in range(3):
        momentum = clouds(run, step, velocity[:, axis])
        np.testing.assert_allclose(
            run.field("gas_velocity", step)[..., axis], momentum / mass, rtol=1e-6, atol=1e-6
        )


@pytest.mark.parametrize("step", STEPS)
def test_temperature_follows_density(run, step):
    over = overdensity(run, step)
    assert over.max() > 3 and over.min() < 0.6  # or there is nothing to see
    np.testing.assert_allclose(run.field("gas_temperature", step), 1e4 * over**0.6, rtol=1e-6)


@pytest.mark.parametrize("step", STEPS)
def test_ionisation_is_in_equilibrium(run, step):
    """Photo-ionisations and recombinations per volume are equal; helium is fully ionised."""
    over, neutral = overdensity(run, step), run.field("n_HI", step)
    mean = COSMOLOGY.omega_b * COSMOLOGY.critical() / run["a"][step] ** 3
    hydrogen = over * mean * 0.755 / HYDROGEN
    helium = over * mean * 0.245 / (4 * HYDROGEN)
    protons = hydrogen - neutral
    electrons = protons * (1 + 2 * helium / hydrogen)
    recombined = recombination(run.field("gas_temperature", step)) * protons * electrons
    np.testing.assert_allclose(1e-12 * neutral, recombined, rtol=1e-5)
    assert neutral.min() > 0 and np.all(neutral < hydrogen)


def test_mean_density_of_hydrogen():
    """A number that everyone knows: about 1.9e-7 atoms per cm^3 today for Omega_b h^2 = 0.0224."""
    number = 0.755 * COSMOLOGY.omega_b * COSMOLOGY.critical() / HYDROGEN
    assert abs(number / 1.9e-7 - 1) < 0.01


@pytest.mark.parametrize("step", STEPS)
@pytest.mark.parametrize(
    "name", ["gas_density", "gas_temperature", "gas_velocity", "n_HI", "velocity"]
)
def test_pillion_saw_what_the_simulation_wrote(run, step, name):
    table = read_table(run.folder / f"results/overview/statistics_{name}.csv")
    row = list(table["step"]).index(step)
    values = run.field(name, step)
    vector = values.shape[-1] == 3
    for axis, suffix in enumerate(("_x", "_y", "_z") if vector else ("",)):
        part = values[..., axis] if vector else values
        assert table[f"min{suffix}"][row] == part.min()
        assert table[f"max{suffix}"][row] == part.max()
        assert abs(table[f"mean{suffix}"][row] - part.mean()) < 1e-10 * np.abs(part).max()
        assert table[f"count{suffix}"][row] == run.cells**3
    assert table["time"][row] == run["a"][step]


def test_the_simulation_is_the_same_without_pillion(build, tmp_path, run):
    without = simulate(build, tmp_path / "r", 2, **SETTINGS)
    for name in ("kinetic", "potential"):
        assert np.array_equal(run[name], without[name])
    assert np.array_equal(run.field("n_HI"), without.field("n_HI"))


@pytest.mark.parametrize(
    ("setting", "message"),
    [
        ("cell=8", "sets no parameter"),
        ("cells=x", "cells: 'x' is not a value"),
        ("cells=7", "an even number"),
        ("absent.txt", "cannot read the parameter file"),
    ],
)
def test_mistakes_are_named(build, tmp_path, setting, message):
    program = build / "miniapps/cosmology/cosmology_noop"
    if not program.exists():
        pytest.skip("miniapps/cosmology was not built: FFTW with MPI was not found")
    done = limits.run(
        [*launcher(), "-n", "2", program, setting],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=30,
    )
    assert done.returncode != 0
    assert message in done.stderr
