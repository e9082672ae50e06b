# SPDX-License-Identifier: BSD-3-Clause
"""The example's dark matter: it starts with the power spectrum that it should, and grows as linear
theory says as long as that holds."""

import numpy as np
import pytest
from simulation import simulate
from theory import Cosmology, density_contrast, lattice_growth, wave_numbers

COSMOLOGY = Cosmology()


def divergence(run, step):
    """Transform of -div(psi), which is the linear density contrast, and |k| of its modes."""
    axes, k = wave_numbers(run.cells, run.length)
    psi = run.displacement(step)
    waves = [2 * np.pi / run.length * n for n in axes]
    # Arrays are indexed [z, y, x]; displacements are (x, y, z).
    psi_k = [np.fft.rfftn(psi[..., axis]) for axis in range(3)]
    return -1j * sum(waves[2 - axis] * psi_k[axis] for axis in range(3)), k


def inside(run, part=1.0):
    """Modes other than the mean, below a part of the mesh's limit along each axis."""
    axes, k = wave_numbers(run.cells, run.length)
    limit = part * run.cells / 2
    return (k > 0) & np.all([abs(n) < limit for n in axes], axis=0)


@pytest.fixture(scope="module")
def start(build, tmp_path_factory):
    folder = tmp_path_factory.mktemp("cosmology") / "start"
    return simulate(
        build, folder, cells=32, length=300, fixed=1, steps=1, final_redshift=48, snapshot_every=1
    )


def test_initial_power_is_the_transfer_functions(start):
    density, k = divergence(start, 0)
    growth, _ = COSMOLOGY.growth(start["a"][0])
    modes = inside(start)
    power = abs(density[modes]) ** 2 * start.length**3 / start.cells**6
    np.testing.assert_allclose(power, growth**2 * COSMOLOGY.power(k[modes]), rtol=2e-5)


def test_initial_velocities_are_those_of_the_growing_mode(start):
    a = start["a"][0]
    _, rate = COSMOLOGY.growth(a)
    hubble = 100 * COSMOLOGY.h * COSMOLOGY.expansion(a)
    velocity = start.particles("velocity", 0).reshape(start.displacement(0).shape)
    np.testing.assert_allclose(
        velocity, a * hubble * rate * start.displacement(0), rtol=1e-5, atol=1e-7
    )


def test_amplitudes_are_gaussian(build, tmp_path):
    """Of complex Gaussian numbers <|d|^4> is twice <|d|^2>^2, to 1.6 % with so many modes."""
    run = simulate(build, tmp_path / "r", cells=32, length=300, steps=1, snapshot_every=1, seed=7)
    density, k = divergence(run, 0)
    growth, _ = COSMOLOGY.growth(run["a"][0])
    modes = inside(run) & (wave_numbers(run.cells, run.length)[0][2] > 0)
    expected = growth**2 * COSMOLOGY.power(k[modes]) * run.cells**6 / run.length**3
    ratio = abs(density[modes]) ** 2 / expected
    assert abs(ratio.mean() - 1) < 5 / np.sqrt(ratio.size)
    assert abs((ratio**2).mean() - 2) < 5 * np.sqrt(20 / ratio.size)
    phases = np.exp(1j * np.angle(density[modes]))
    assert abs(phases.mean()) < 5 / np.sqrt(phases.size)


def mesh_response(run):
    """Force on a lattice between the mesh's cells, over what it should be, for small waves.

    Moved by psi, half of a particle's cloud is in the cells on either side: what is deposited and
    what is interpolated have windows of sines and cosines. The mesh divides by those of a particle
    that is anywhere in a cell, and tapers.
    """
    axes, k = wave_numbers(run.cells, run.length)
    half = [np.pi * n / run.cells for n in axes]
    squares = sum(n**2 for n in axes)
    cosines = np.prod(np.cos(half), axis=0)
    with np.errstate(divide="ignore", invalid="ignore"):
        longitudinal = np.nansum(
            [np.where(n == 0, 0, n**2 * np.tan(h) / h) for n, h in zip(axes, half, strict=True)],
            axis=0,
        )
        deposited = cosines * longitudinal / squares
    windows = np.prod([np.sinc(n / run.cells) ** 4 for n in axes], axis=0)
    taper = np.exp(-2 * (k / (np.pi * run.cells / run.length)) ** 4)
    return deposited * cosines / windows * taper


def test_small_waves_grow_as_the_mesh_lets_them(build, tmp_path):
    """Every mode up to half the limit, against linear theory with the mesh's own force."""
    settings = {"cells": 32, "length": 500, "sigma_8": 1e-4, "fixed": 1, "steps": 160}
    run = simulate(build, tmp_path / "r", 2, snapshot_every=40, **settings)
    modes = inside(run, 0.5)
    before = divergence(run, 0)[0][modes]
    for step in (40, 80, 120, 160):
        grown = divergence(run, step)[0][modes] / before
        expected = lattice_growth(COSMOLOGY, mesh_response(run)[modes], run["a"][0], run["a"][step])
        np.testing.assert_allclose(grown, expected, rtol=5e-4)


def test_large_scales_grow_as_linear_theory_says(build, tmp_path):
    """Waves of 20 cells and more, at four redshifts: what steps, mesh and the first corrections to
    linear theory do to them is 2 % together, while their power grows by a factor of 1500."""
    run = simulate(
        build, tmp_path / "r", 2, cells=64, length=2000, fixed=1, steps=80, snapshot_every=20
    )
    for step in (0, 40, 60, 80):
        density, k = density_contrast(run.field("position", step), run.cells, run.length)
        growth, _ = COSMOLOGY.growth(run["a"][step])
        fundamental = 2 * np.pi / run.length
        for shell in (1, 2, 3):
            modes = (k >= (shell - 0.5) * fundamental) & (k < (shell + 0.5) * fundamental)
            power = abs(density[modes]) ** 2 * run.length**3 / run.cells**6
            ratio = np.mean(power / (growth**2 * COSMOLOGY.power(k[modes])))
            assert abs(ratio - 1) < 0.02, f"z={1 / run['a'][step] - 1:.1f} shell {shell}: {ratio}"
