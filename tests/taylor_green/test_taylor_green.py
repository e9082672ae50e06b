# SPDX-License-Identifier: BSD-3-Clause
"""The flow solver of miniapps/taylor_green: exact solutions, another solver, budgets, and the same
result on any number of ranks and after a restart."""

import os
from itertools import pairwise

import numpy as np
import pytest
from conftest import mpirun
from flow_runs import program, simulate, write_state
from pseudo_spectral import vortex

TAYLOR = {"case": "taylor", "drift": "1,0.5,0.25", "reynolds": 10, "checkpoint": "end"}
DRIFT = np.array([1, 0.5, 0.25])


def taylor_error(state, viscosity=0.1, deform=0.0):
    """The largest distance from Taylor's vortices (Phil. Mag. 46, 671, 1923), drifting."""
    x, y, _ = np.moveaxis(state.coordinates(deform), 1, 0) - state.time * DRIFT[:, *[None] * 4]
    decay = np.exp(-2 * viscosity * state.time)
    exact = [-np.cos(x) * np.sin(y) * decay, np.sin(x) * np.cos(y) * decay, 0 * x]
    exact = np.stack(exact, axis=1) + DRIFT[:, None, None, None]
    return np.abs(state.velocity[:, 0] - exact).max()


@pytest.mark.parametrize("deform", [0, 0.2])
def test_error_falls_exponentially_with_order(build, tmp_path, deform):
    """A fixed order of convergence would divide it by the same factor for ever larger orders."""
    errors = []
    for order in (4, 6, 8, 10):
        settings = {"elements": 2, "order": order, "deform": deform, "end_time": 0.05}
        run = simulate(build, tmp_path, **TAYLOR, **settings, max_dt=0.0025, tolerance=1e-11)
        errors.append(taylor_error(run.state, deform=deform))
    assert all(after < before / 6 for before, after in pairwise(errors))
    assert errors[-1] < (1e-6 if deform == 0 else 1e-4)


@pytest.mark.parametrize("time_order", [1, 2, 3])
def test_error_falls_with_the_order_in_time(build, tmp_path, time_order):
    errors = []
    for steps in (10, 20):
        settings = {"elements": 2, "order": 9, "end_time": 0.8, "max_dt": 0.8 / steps}
        run = simulate(
            build, tmp_path, **TAYLOR, **settings, time_order=time_order, tolerance=1e-11
        )
        errors.append(taylor_error(run.state))
    assert time_order - 0.3 < np.log2(errors[0] / errors[1]) < time_order + 0.2


@pytest.fixture(scope="module")
def decaying(build, tmp_path_factory):
    """Viscous enough for 21 points a side."""
    settings = {"elements": 3, "order": 7, "reynolds": 20, "end_time": 2, "max_dt": 0.05}
    return simulate(build, tmp_path_factory.mktemp("vortex"), 2, **settings)


def test_vortex_like_a_pseudo_spectral_solver(decaying):
    reference = vortex(24, 1 / 20, 2, 40)
    np.testing.assert_allclose(decaying["t"], reference.time, atol=1e-12)
    np.testing.assert_allclose(decaying["energy"], reference.energy, rtol=1e-4)
    np.testing.assert_allclose(decaying["dissipation"], reference.dissipation, rtol=3e-4)


def test_energy_is_lost_by_dissipation_alone(decaying):
    """-dE/dt by central differences of fourth order."""
    e, dt = decaying["energy"], decaying["t"][1]
    loss = (e[4:] - 8 * e[3:-1] + 8 * e[1:-3] - e[:-4]) / (12 * dt)
    np.testing.assert_allclose(loss, decaying["dissipation"][2:-2], rtol=1e-3)
    assert decaying["divergence"].max() < 5e-3


# Time and dissipation at Re = 100 by Brachet et al., J. Fluid Mech. 130, 411 (1983), as the authors
# of PsDNS (Los Alamos National Laboratory) have read them from the figure for their tests.
PUBLISHED = [
    *[(1.015, 0.00778), (2.115, 0.00950), (3.078, 0.01136), (4.033, 0.01260), (4.841, 0.01298)],
    *[(5.959, 0.01235), (7.066, 0.01059), (8.118, 0.00846), (9.086, 0.00667)],
]


@pytest.mark.skipif("PILLION_TEST_ALL" not in os.environ, reason="takes minutes")
def test_whole_dissipation_curve(build, tmp_path):
    settings = {"elements": 8, "order": 7, "reynolds": 100, "end_time": 10, "max_dt": 0.025}
    run = simulate(build, tmp_path, **settings, report_every=2, timeout=900)
    reference = vortex(48, 1 / 100, 10, 200)
    np.testing.assert_allclose(run["energy"], reference.energy, rtol=5e-4)
    np.testing.assert_allclose(run["dissipation"], reference.dissipation, rtol=1e-3)
    time, dissipation = np.transpose(PUBLISHED)
    np.testing.assert_allclose(
        np.interp(time, run["t"], run["dissipation"]), dissipation, rtol=5e-3
    )
    assert run["t"][np.argmax(run["dissipation"])] == pytest.approx(4.9, abs=0.1)


SMALL = {"case": "turbulence", "elements": 3, "order": 5, "deform": 0.1, "reynolds": 20}
SMALL |= {"peak": 2, "max_dt": 0.01, "tolerance": 1e-11, "checkpoint": "end"}


@pytest.fixture(scope="module")
def turbulence(build, tmp_path_factory):
    return simulate(build, tmp_path_factory.mktemp("turbulence"), end_time=0.1, **SMALL)


@pytest.mark.parametrize("ranks", [2, 3, 4])
def test_ranks_make_no_difference(build, tmp_path, turbulence, ranks):
    run = simulate(build, tmp_path, ranks, end_time=0.1, **SMALL)
    np.testing.assert_allclose(run["energy"], turbulence["energy"], rtol=1e-12)
    np.testing.assert_allclose(run.state.velocity, turbulence.state.velocity, atol=1e-10)


def test_more_ranks_than_elements(build, tmp_path):
    settings = {"elements": 1, "order": 4, "reynolds": 5, "end_time": 0.1, "checkpoint": "end"}
    one, three = (simulate(build, tmp_path, ranks, **settings) for ranks in (1, 3))
    np.testing.assert_allclose(three.state.velocity, one.state.velocity, atol=1e-12)


def test_restart_goes_on_where_it_was(build, tmp_path, turbulence):
    simulate(build, tmp_path, end_time=0.05, **SMALL)
    (tmp_path / "end").rename(tmp_path / "half")
    run = simulate(build, tmp_path, 2, end_time=0.1, restart="half", **SMALL)
    assert run.state.step == turbulence.state.step
    assert run["step"][0] == 5
    np.testing.assert_allclose(run.state.velocity, turbulence.state.velocity, atol=1e-9)


def test_restart_from_one_level(build, tmp_path):
    """Such as a file that somebody else wrote. The first step is another one then."""
    settings = {**SMALL, "order": 9}
    half, full = (simulate(build, tmp_path, end_time=t, **settings).state for t in (0.03, 0.06))
    write_state(tmp_path / "one", half)
    run = simulate(build, tmp_path, end_time=0.06, restart="one", **settings).state
    missed, moved = (
        np.sqrt(np.mean((s.velocity[:, 0] - full.velocity[:, 0]) ** 2)) for s in (run, half)
    )
    assert missed < 0.003 * moved


def test_spectrum_and_seed_of_turbulence(build, tmp_path):
    """k^4 exp(-2 (k/peak)^2), an energy of 3/2, without divergence."""
    peak, points = 2, 32
    settings = {"case": "turbulence", "elements": 4, "order": 9, "peak": peak, "end_time": 0}
    run, other = (
        simulate(build, tmp_path, seed=s, checkpoint="begin", **settings).state for s in (1, 2)
    )
    modes = np.fft.fftn(run.on_grid(points), axes=(1, 2, 3), norm="forward")
    k = np.fft.fftfreq(points, 1 / points)
    kz, ky, kx = np.meshgrid(k, k, k, indexing="ij")
    shell = np.rint(np.sqrt(kx**2 + ky**2 + kz**2)).astype(int)
    spectrum = np.bincount(shell.ravel(), (np.abs(modes) ** 2).sum(0).ravel() / 2)[:5]
    wave = np.arange(5)
    expected = wave**4 * np.exp(-2 * (wave / peak) ** 2)
    np.testing.assert_allclose(spectrum, expected * 1.5 / expected.sum(), rtol=1e-4, atol=1e-9)
    assert np.abs(kx * modes[0] + ky * modes[1] + kz * modes[2]).max() < 1e-4
    first, second = run.velocity.ravel(), other.velocity.ravel()
    assert abs(np.corrcoef(first, second)[0, 1]) < 0.2


@pytest.mark.parametrize(
    ("setting", "words"),
    [
        ("odrer=5", "odrer"),
        ("order=40", "between 2 and 15"),
        ("case=vortices", "must be vortex, taylor or turbulence"),
        ("deform=2", "folds the mesh"),
        ("restart=nowhere", "cannot be opened"),
        ("settings.txt", "settings.txt"),
    ],
)
def test_slips_are_told(build, tmp_path, setting, words):
    done = mpirun(2, program(build), "elements=2", setting, cwd=tmp_path, check=False)
    assert done.returncode != 0
    assert "taylor_green: " in done.stderr
    assert words in done.stderr


def test_parameters_from_a_file(build, tmp_path):
    (tmp_path / "run.txt").write_text(
        "&run elements = 2 ! few\n case = 'taylor' end_time = 0.1 /\n", encoding="utf-8"
    )
    done = mpirun(1, program(build), "run.txt", "end_time=0", cwd=tmp_path)
    assert done.stdout.count("step=") == 1
    assert "energy= 2.5000" in done.stdout
