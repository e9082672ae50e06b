# SPDX-License-Identifier: BSD-3-Clause
"""Nyx with the patch of adapters/amrex/nyx: what its analyses find in the simulation and in
sidecars, against NumPy and SciPy on the plotfiles that Nyx writes at the same steps; and these
plotfiles are those of a Nyx without Pillion.
"""

from pathlib import Path

import numpy as np
import pytest
import scipy.ndimage
from amrex_files import (
    plotfile_levels,
    plotfile_particles,
    raw_levels,
    raw_particles,
)
from cached_codes import needs_codes
from conftest import read_table
from nyx_runs import Nyx
from pillion.datasets import open_plotfile
from scipy.special import erf
from test_lyman_alpha import DOPPLER, LAMBDA, MPC, SIGMA

pytestmark = needs_codes

CELLS, LENGTH = 32, 8.0  # Mpc, comoving
STEPS = (0, 3, 6)
OMEGA_M, H = 0.27, 0.71
DERIVED = ["pressure", "x_velocity", "y_velocity", "z_velocity", "particle_mass_density"]
WORDS = [
    *("max_step=6", "amr.plot_int=3", "amr.check_int=-1", "amr.max_grid_size=16"),
    # Late enough for an ionising background; the structure is that of the initial conditions.
    *("nyx.initial_z=3", "nyx.final_z=1", f"amr.derive_plot_vars={' '.join(DERIVED)}"),
]
DARK = ["dark_matter_position", "dark_matter_mass", "dark_matter_velocity", "dark_matter_id"]
STORE = f"""
  stored:
    every: 3 steps
    stages:
      - write_raw: {{fields: [density, Temp, Ne, velocity, n_HI, pressure, particle_mass_density],
                     durable: false}}
  dark:
    every: 3 steps
    stages: [write_raw: {{fields: [{", ".join(DARK)}], durable: false}}]
"""
GAS = f"""
output: results
sidecars: $sidecars
parameters: {{sidecars: {{}}}}
analyses:
  gas:
    every: 3 steps
    stages:
      - statistics: {{fields: [density, Temp, velocity]}}
      - histogram: {{field: density, range: [0.1, 10], bins: 40, scale: log,
                     relative_to_mean: true}}
      - halos: {{field: density, thresholds: [[1.08, 1.12]], mass_averages: [Temp]}}
      - power_spectrum: {{field: density}}
      - slice: {{field: Temp, axis: y, position: 3.9}}
  matter:
    every: 3 steps
    stages:
      - deposit: {{position: dark_matter_position, mass: dark_matter_mass, mesh: grid, into: dark}}
      - statistics: {{fields: [dark]}}
      - matter: {{gas: density, dark_matter: dark, baryon_fraction: 0.16666666666666666, into: all}}
      - power_spectrum: {{field: all}}
  forest:
    every: 3 steps
    stages:
      - lyman_alpha: {{neutral_hydrogen: n_HI, temperature: Temp, velocity: velocity,
                       omega_m: {OMEGA_M}, h: {H}, time_is: scale_factor, axes: [x]}}
{STORE}
"""


@pytest.fixture(scope="module")
def nyx(build, tmp_path_factory) -> Nyx:
    return Nyx(build, tmp_path_factory.mktemp("prefix"))


def with_sidecars(text: str, sidecars: int) -> str:
    value = f"{{ranks: {sidecars}, when_full: wait}}" if sidecars else "{}"
    return text.replace("$sidecars", value).replace("parameters: {sidecars: {}}\n", "")


@pytest.fixture(scope="module", params=[(2, 0), (2, 1)], ids=["simulation", "sidecar"])
def done(request, nyx, tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("lya")
    ranks, sidecars = request.param
    nyx.run(folder, "inputs.rt", WORDS, ranks + sidecars, with_sidecars(GAS, sidecars))
    return folder


@pytest.fixture(scope="module")
def plain(nyx, tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("plain")
    nyx.run(folder, "inputs.rt", WORDS, 2, None)
    return folder


def stored(done: Path, step: int) -> dict[str, np.ndarray]:
    return raw_levels(done / "results/stored", "grid", step, [(CELLS,) * 3])[0]


def plotted(done: Path, step: int, *more: str) -> dict[str, np.ndarray]:
    fields = ["density", "Temp", "Ne", *DERIVED, *more]
    return plotfile_levels(done / f"plt{step:05d}", fields)[0]


def test_nyx_is_not_disturbed(done, plain):
    for step in STEPS:
        a, b = plotted(done, step, "rho_e", "phi_grav"), plotted(plain, step, "rho_e", "phi_grav")
        for name, values in a.items():
            np.testing.assert_array_equal(values, b[name], err_msg=name)


def test_fields_are_those_of_the_plotfile(done):
    for step in STEPS:
        here, there = stored(done, step), plotted(done, step)
        for name in ("density", "Temp", "Ne", "pressure", "particle_mass_density"):
            np.testing.assert_array_equal(here[name], there[name], err_msg=name)
        for axis, letter in enumerate("xyz"):
            np.testing.assert_array_equal(here["velocity"][..., axis], there[f"{letter}_velocity"])


def test_time_is_the_scale_factor(done):
    table = read_table(done / "results/gas/statistics_density.csv")
    np.testing.assert_array_equal(table["step"], STEPS)
    np.testing.assert_allclose(1 / table["time"] - 1, table["redshift"], rtol=1e-12)
    assert table["time"][0] == pytest.approx(1 / 4, rel=1e-12)  # z = 3
    times = [open_plotfile(done / f"plt{step:05d}").time for step in STEPS]
    np.testing.assert_allclose(table["code_time"], times, rtol=1e-12)
    # Nyx writes step, time, dt, z and a into its log.
    rows = [line.split() for line in (done / "runlog").read_text().splitlines()]
    log = {int(r[0]): r for r in rows if r and r[0].isdigit()}
    for step, a in zip(STEPS[1:], table["time"][1:], strict=True):
        assert a == pytest.approx(float(log[step][4]), rel=1e-5)


def test_statistics_pdf_and_slice(done):
    gas = done / "results/gas"
    table = read_table(gas / "statistics_density.csv")
    for row, step in enumerate(STEPS):
        there = plotted(done, step)
        density = there["density"]
        assert table["min"][row] == density.min() and table["max"][row] == density.max()
        assert table["mean"][row] == pytest.approx(density.mean(), rel=1e-13)
        pdf = read_table(gas / f"histogram_density.{step:09d}.csv")
        wanted, _ = np.histogram(density / density.mean(), np.geomspace(0.1, 10, 41))
        np.testing.assert_array_equal(pdf["count"], wanted)
        plane = read_table(gas / f"slice_Temp_y.{step:09d}.csv")
        wanted = there["Temp"][:, int(3.9 / LENGTH * CELLS), :]
        np.testing.assert_array_equal(plane["mean"], wanted.ravel())


def spectrum(values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Modes and power in shells of one fundamental wave number."""
    contrast = values / values.mean() - 1
    power = np.abs(np.fft.fftn(contrast)) ** 2 * LENGTH**3 / CELLS**6
    axis = np.fft.fftfreq(CELLS, 1 / CELLS)
    length = np.sqrt(axis[:, None, None] ** 2 + axis[None, :, None] ** 2 + axis[None, None] ** 2)
    shell = np.floor(length + 0.5).astype(int).ravel()
    modes = np.bincount(shell)[1:]
    return modes, np.bincount(shell, power.ravel())[1:] / modes


def test_power_spectra(done):
    for step in STEPS:
        table = read_table(done / f"results/gas/power_spectrum_density.{step:09d}.csv")
        modes, power = spectrum(plotted(done, step)["density"])
        np.testing.assert_array_equal(table["modes"], modes[: len(table)])
        np.testing.assert_allclose(table["power"], power[: len(table)], rtol=1e-10)


def clouds(position: np.ndarray, mass: np.ndarray) -> np.ndarray:
    """Masses in cells, [z, y, x], each particle shared by the eight cells around it."""
    out = np.zeros((CELLS,) * 3)
    at = position / LENGTH * CELLS - 0.5
    first = np.floor(at).astype(int)
    beyond = at - first
    for corner in np.ndindex(2, 2, 2):
        share = np.prod(np.where(corner, beyond, 1 - beyond), axis=1)
        index = (first + corner) % CELLS
        np.add.at(out, (index[:, 2], index[:, 1], index[:, 0]), mass * share)
    return out / (LENGTH / CELLS) ** 3


def test_dark_matter_and_all_matter(done):
    for row, step in enumerate(STEPS):
        particles = plotfile_particles(done / f"plt{step:05d}/DM")
        assert len(particles["id"]) == CELLS**3
        position = particles["position"].astype(float)
        dark = clouds(position, particles["mass"].astype(float))
        table = read_table(done / "results/matter/statistics_dark.csv")
        # Positions are in single precision, and so are shares of particles across the faces.
        assert table["mean"][row] == pytest.approx(dark.mean(), rel=1e-7)
        assert table["max"][row] == pytest.approx(dark.max(), rel=1e-6)
        gas = plotted(done, step)["density"]
        whole = gas / gas.mean() / 6 + dark / dark.mean() * 5 / 6
        _, power = spectrum(whole)
        found = read_table(done / f"results/matter/power_spectrum_all.{step:09d}.csv")
        np.testing.assert_allclose(found["power"], power[: len(found)], rtol=1e-5)


def test_particles_are_those_of_the_plotfile(done):
    for step in STEPS:
        there = plotfile_particles(done / f"plt{step:05d}/DM")
        here = raw_particles(done / "results/dark", "dark_matter", step)
        a, b = np.argsort(here["dark_matter_id"][:, 0]), np.argsort(there["id"])
        np.testing.assert_array_equal(here["dark_matter_id"][a, 0], there["id"][b])
        np.testing.assert_array_equal(here["dark_matter_position"][a], there["position"][b])
        np.testing.assert_array_equal(here["dark_matter_mass"][a, 0], there["mass"][b])
        for axis, name in enumerate(("xvel", "yvel", "zvel")):
            np.testing.assert_array_equal(here["dark_matter_velocity"][a, axis], there[name][b])


def labelled(inside: np.ndarray) -> tuple[np.ndarray, int]:
    """Regions of the 14 neighbours of the Freudenthal triangulation, across periodic faces."""
    around = np.zeros((3, 3, 3), bool)
    for step in np.ndindex(2, 2, 2):
        around[tuple(1 + s for s in step)] = around[tuple(1 - s for s in step)] = True
    tiled = np.tile(inside, (3, 3, 3))
    labels, _ = scipy.ndimage.label(tiled, around)
    # Cells of one region of the middle copy may be joined outside of it.
    n = CELLS
    copies = labels.reshape(3, n, 3, n, 3, n).transpose(0, 2, 4, 1, 3, 5).reshape(27, -1)
    parent = np.arange(labels.max() + 1)

    def root(label: int) -> int:
        while parent[label] != label:
            label = parent[label]
        return label

    for copy in copies:
        for a, b in np.unique(np.stack([copies[13], copy]), axis=1).T:
            parent[root(a)] = root(b)
    flat = np.array([root(label) for label in copies[13]])
    names = np.unique(flat[flat > 0])
    return np.searchsorted(names, flat) + 1, len(names)


def test_halos(done):
    for step in STEPS:
        there = plotted(done, step)
        density = there["density"].ravel()
        contrast = density / density.mean()
        labels, count = labelled((contrast >= 1.08).reshape((CELLS,) * 3))
        wanted = []
        for label in range(1, count + 1):
            members = (labels == label) & (contrast >= 1.08)
            if contrast[members].max() < 1.12:
                continue
            mass = density[members]
            mean = np.average(there["Temp"].ravel()[members], weights=mass)
            wanted.append((mass.max(), mass.sum() * (LENGTH / CELLS) ** 3, members.sum(), mean))
        table = read_table(done / f"results/gas/halos_density.{step:09d}.csv")
        assert len(table) == len(wanted)
        for row, (peak, mass, cells, mean) in enumerate(sorted(wanted, reverse=True)):
            assert table["peak"][row] == peak and table["cells"][row] == cells
            assert table["mass"][row] == pytest.approx(mass, rel=1e-12)
            assert table["mass_average_Temp"][row] == pytest.approx(mean, rel=1e-12)
    assert len(wanted) > 3, "the test would be weak"


def recombination(temperature: np.ndarray) -> np.ndarray:
    """Of H II, cm³/s: Verner and Ferland, ApJS 103 (1996) 467."""
    a, b, t0, t1 = 7.982e-11, 0.7480, 3.148, 7.036e5
    x, y = np.sqrt(temperature / t0), np.sqrt(temperature / t1)
    return a / (x * (1 + x) ** (1 - b) * (1 + y) ** (1 + b))


def collisions(temperature: np.ndarray) -> np.ndarray:
    """Ionisation of H I by electrons, cm³/s: Voronov, ADNDT 65 (1997) 1."""
    u = 13.6 / (8.617333e-5 * temperature)
    return 0.291e-7 * u**0.39 * np.exp(-u) / (0.232 + u)


def test_neutral_hydrogen_is_in_ionisation_equilibrium(done):
    """With Nyx's own table of the ionising background, and rates of the literature."""
    rates = np.loadtxt(done / "TREECOOL_middle")
    table = read_table(done / "results/gas/statistics_density.csv")
    # At first the gas is colder than the tables of Nyx begin.
    for step, a in zip(STEPS[1:], table["time"][1:], strict=True):
        here = stored(done, step)
        photons = np.interp(np.log10(1 / a), rates[:, 0], rates[:, 1])
        grams = 1.98848e33 / 3.0856776e24**3 / a**3
        hydrogen = here["density"] * grams * 0.76 / 1.6726231e-24
        electrons = here["Ne"] * hydrogen
        temperature = here["Temp"]
        gains = recombination(temperature) * electrons
        losses = collisions(temperature) * electrons + photons
        wanted = hydrogen * gains / (gains + losses)
        np.testing.assert_allclose(here["n_HI"], wanted, rtol=1e-4)


def test_lyman_alpha_forest(done):
    """The mean flux along x, by all cells in all pixels."""
    for row, step in enumerate(STEPS):
        time = read_table(done / "results/gas/statistics_density.csv")["time"][row]
        here = stored(done, step)
        hubble = 100 * H * np.sqrt(OMEGA_M / time**3 + 1 - OMEGA_M)
        box = hubble * time * LENGTH
        pixel = (np.arange(CELLS) + 0.5)[None, None, :, None] * box / CELLS
        edge = np.arange(CELLS)[None, None, None, :] * box / CELLS
        width = DOPPLER * np.sqrt(here["Temp"])[:, :, None, :]
        tau = np.zeros_like(here["Temp"])
        for image in range(-3, 4):
            away = pixel - here["velocity"][:, :, None, :, 0] - edge + image * box
            parts = erf(away / width) - erf((away - box / CELLS) / width)
            tau += np.einsum("zyij,zyj->zyi", parts, here["n_HI"])
        tau *= SIGMA * LAMBDA / (2 * hubble * 1e5 / MPC)
        table = read_table(done / "results/forest/lyman_alpha.csv")
        assert table["flux_x"][row] == pytest.approx(np.exp(-tau).mean(), rel=1e-6)
    assert 0.01 < table["flux_x"][-1] < 0.99
