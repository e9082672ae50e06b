# SPDX-License-Identifier: BSD-3-Clause
"""Nyx's MiniSB, a cluster of galaxies of the Santa Barbara comparison, with adiabatic gas and with
particles in double precision: against Nyx's plotfiles of the same steps.
"""

import numpy as np
import pytest
from amrex_files import plotfile_levels, plotfile_particles, raw_levels, raw_particles
from cached_codes import needs_codes
from conftest import read_table
from nyx_runs import Nyx
from test_nyx import with_sidecars

pytestmark = needs_codes

STEPS = (0, 1, 2)
WORDS = ["max_step=2", "amr.plot_int=1", "amr.check_int=-1", "amr.derive_plot_vars=magvel pressure"]
TEXT = """
output: results
sidecars: $sidecars
parameters: {sidecars: {}}
analyses:
  a:
    stages:
      - statistics: {fields: [density, magvel, pressure]}
      - deposit: {position: dark_matter_position, mass: dark_matter_mass, mesh: grid, into: dark}
      - matter: {gas: density, dark_matter: dark, baryon_fraction: 0.1, into: all}
      - power_spectrum: {field: all}
      - statistics: {fields: [dark]}
  stored: {stages: [write_raw: {fields: [density, magvel, pressure], durable: false}]}
  dark:
    stages:
      - write_raw: {fields: [dark_matter_position, dark_matter_velocity, dark_matter_id],
                    durable: false}
"""


@pytest.fixture(scope="module")
def nyx(build, tmp_path_factory) -> Nyx:
    return Nyx(build, tmp_path_factory.mktemp("prefix"), "MiniSB")


@pytest.mark.parametrize("sidecars", [0, 1])
def test_gas_and_dark_matter(nyx, tmp_path, sidecars):
    nyx.run(tmp_path, "inputs.32", WORDS, 2 + sidecars, with_sidecars(TEXT, sidecars))
    names = ["density", "magvel", "pressure"]
    table = read_table(tmp_path / "results/a/statistics_dark.csv")
    for row, step in enumerate(STEPS):
        there = plotfile_levels(tmp_path / f"plt{step:05d}", names)[0]
        here = raw_levels(tmp_path / "results/stored", "grid", step, [(32,) * 3])[0]
        for name in names:
            np.testing.assert_array_equal(here[name], there[name], err_msg=name)
        particles = plotfile_particles(tmp_path / f"plt{step:05d}/DM")
        mine = raw_particles(tmp_path / "results/dark", "dark_matter", step)
        assert mine["dark_matter_position"].dtype == particles["position"].dtype == np.float64
        a, b = np.argsort(mine["dark_matter_id"][:, 0]), np.argsort(particles["id"])
        np.testing.assert_array_equal(mine["dark_matter_id"][a, 0], particles["id"][b])
        np.testing.assert_array_equal(mine["dark_matter_position"][a], particles["position"][b])
        np.testing.assert_array_equal(mine["dark_matter_velocity"][a, 0], particles["xvel"][b])
        mass = particles["mass"].sum() / 64**3
        assert table["mean"][row] == pytest.approx(mass, rel=1e-12)
        # Of all matter a tenth is gas, as in the inputs: baryons over all.
        gas = there["density"].mean()
        assert gas / (gas + mass) == pytest.approx(0.1, rel=0.02)
