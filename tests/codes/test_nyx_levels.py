# SPDX-License-Identifier: BSD-3-Clause
"""Nyx with refined levels that regrid, without gas, resumed from a checkpoint, and started with
mistakes: against NumPy on Nyx's plotfiles, and against a run that was not interrupted.
"""

from pathlib import Path

import numpy as np
import pytest
from amrex_files import (
    is_covered,
    plotfile_levels,
    plotfile_particles,
    raw_levels,
    raw_particles,
)
from cached_codes import needs_codes
from conftest import read_table
from nyx_runs import Nyx
from test_nyx import LENGTH, WORDS, with_sidecars

pytestmark = needs_codes

CELLS = 16
STEPS = (0, 1, 2)
REFINED = [
    *("max_step=2", "amr.plot_int=1", "amr.check_int=-1", "amr.max_grid_size=8"),
    *("nyx.initial_z=3", "nyx.final_z=1", "nyx.reuse_mlpoisson=0", "amr.max_level=2"),
    *("amr.n_cell=16 16 16", "amr.regrid_int=1 1", "amr.blocking_factor=4", "amr.n_error_buf=1 1"),
    # The mean density of gas is 6.3e9.
    *("amr.ref_ratio=2 2", "amr.density.field_name=density", "amr.density.value_greater=7.2e9"),
    "amr.derive_plot_vars=x_velocity",
]
LEVELS = """
output: results
sidecars: $sidecars
parameters: {sidecars: {}}
analyses:
  gas:
    stages:
      - statistics: {fields: [density, Temp]}
      - histogram: {field: density, range: [5.0e+9, 9.0e+9], bins: 20}
      - write_raw: {fields: [density, Temp, x_velocity], durable: false}
  spectrum:
    stages:
      - flatten: {fields: [density], level: 1, into: [smooth]}
      - power_spectrum: {field: smooth}
  dark:
    stages:
      - deposit: {position: dark_matter_position, mass: dark_matter_mass, mesh: grid,
                  into: dark, like: density}
      - statistics: {fields: [dark]}
      - write_raw: {fields: [dark_matter_position, dark_matter_id], durable: false}
"""


@pytest.fixture(scope="module")
def nyx(build, tmp_path_factory) -> Nyx:
    return Nyx(build, tmp_path_factory.mktemp("prefix"))


@pytest.fixture(scope="module", params=[(1, 0), (2, 1)], ids=str)
def done(request, nyx, tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("levels")
    ranks, sidecars = request.param
    nyx.run(folder, "inputs.rt", REFINED, ranks + sidecars, with_sidecars(LEVELS, sidecars))
    return folder


def leaves(folder: Path, step: int, field: str) -> tuple[np.ndarray, np.ndarray]:
    """Values and volumes of cells that no finer box covers."""
    levels = plotfile_levels(folder / f"plt{step:05d}", [field])
    values, volumes = [], []
    for number, (level, covered) in enumerate(zip(levels, is_covered(levels, field), strict=True)):
        leaf = ~np.isnan(level[field]) & ~covered
        values.append(level[field][leaf])
        volumes.append(np.full(leaf.sum(), (LENGTH / CELLS / 2**number) ** 3))
    return np.concatenate(values), np.concatenate(volumes)


def test_levels_are_those_of_the_plotfile(done):
    shapes = []
    for step in STEPS:
        there = plotfile_levels(done / f"plt{step:05d}", ["density", "Temp", "x_velocity"])
        cells = [(CELLS * 2**level,) * 3 for level in range(3)]
        here = raw_levels(done / "results/gas", "grid", step, cells)
        assert len(here) == len(there) == 3
        for a, b in zip(here, there, strict=True):
            for name, values in b.items():
                np.testing.assert_array_equal(a[name], values, err_msg=name)
        shapes.append(~np.isnan(there[1]["density"]))
    assert not np.array_equal(shapes[0], shapes[-1]), "no regrid changed a box"


def test_statistics_and_pdf_of_all_levels(done):
    for field in ("density", "Temp"):
        table = read_table(done / f"results/gas/statistics_{field}.csv")
        for row, step in enumerate(STEPS):
            values, volumes = leaves(done, step, field)
            assert volumes.sum() == pytest.approx(LENGTH**3, rel=1e-12)
            assert table["count"][row] == len(values)
            assert table["min"][row] == values.min() and table["max"][row] == values.max()
            mean = np.average(values, weights=volumes)
            assert table["mean"][row] == pytest.approx(mean, rel=1e-12)
    for step in STEPS:
        values, volumes = leaves(done, step, "density")
        pdf = read_table(done / f"results/gas/histogram_density.{step:09d}.csv")
        wanted, _ = np.histogram(values, 20, (5e9, 9e9), weights=volumes)
        np.testing.assert_allclose(pdf["volume"], wanted, rtol=1e-10)


def test_spectrum_at_the_resolution_of_level_1(done):
    for step in STEPS:
        levels = plotfile_levels(done / f"plt{step:05d}", ["density"])
        n = 2 * CELLS
        fine = np.repeat(np.repeat(np.repeat(levels[0]["density"], 2, 0), 2, 1), 2, 2)
        one = levels[1]["density"]
        two = levels[2]["density"].reshape(n, 2, n, 2, n, 2).mean((1, 3, 5))
        whole = np.where(np.isnan(two), np.where(np.isnan(one), fine, one), two)
        power = np.abs(np.fft.fftn(whole / whole.mean() - 1)) ** 2 * LENGTH**3 / n**6
        axis = np.fft.fftfreq(n, 1 / n)
        length = np.sqrt(axis[:, None, None] ** 2 + axis[:, None] ** 2 + axis**2)
        shell = np.floor(length + 0.5).astype(int).ravel()
        wanted = np.bincount(shell, power.ravel())[1:] / np.bincount(shell)[1:]
        table = read_table(done / f"results/spectrum/power_spectrum_smooth.{step:09d}.csv")
        np.testing.assert_allclose(table["power"], wanted[: len(table)], rtol=1e-9)


def test_dark_matter_of_all_levels(done):
    table = read_table(done / "results/dark/statistics_dark.csv")
    for row, step in enumerate(STEPS):
        there = plotfile_particles(done / f"plt{step:05d}/DM")
        here = raw_particles(done / "results/dark", "dark_matter", step)
        a, b = np.argsort(here["dark_matter_id"][:, 0]), np.argsort(there["id"])
        np.testing.assert_array_equal(here["dark_matter_id"][a, 0], there["id"][b])
        np.testing.assert_array_equal(here["dark_matter_position"][a], there["position"][b])
        mean = there["mass"].astype(float).sum() / LENGTH**3
        assert table["mean"][row] == pytest.approx(mean, rel=1e-7)


DARK = """
output: results
sidecars: {ranks: 1, when_full: wait}
analyses:
  a:
    stages:
      - statistics: {fields: [particle_mass_density, phi_grav]}
      - deposit: {position: dark_matter_position, mass: dark_matter_mass, mesh: grid, into: dark}
      - statistics: {fields: [dark]}
"""


def test_without_gas(nyx, tmp_path):
    """The first step; to advance, this build of Nyx needs gas."""
    words = ["max_step=0", "amr.plot_int=1", "amr.derive_plot_vars=particle_mass_density"]
    nyx.run(tmp_path, "inputs_nohydro.rt", words, 3, DARK)
    names = ["particle_mass_density", "phi_grav"]
    there = plotfile_levels(
        tmp_path / "plt00000",
        names,
    )[0]
    for name in names:
        table = read_table(tmp_path / f"results/a/statistics_{name}.csv")
        assert table["min"][0] == there[name].min() and table["max"][0] == there[name].max()
    # Nyx's own deposit has another precision.
    density = there["particle_mass_density"]
    table = read_table(tmp_path / "results/a/statistics_dark.csv")
    assert table["max"][0] == pytest.approx(density.max(), rel=1e-5)
    assert table["mean"][0] == pytest.approx(density.mean(), rel=1e-6)


RESUMED = """
output: results
sidecars: {ranks: 1, when_full: wait}
analyses:
  a: {every: 2 steps, stages: [statistics: {fields: [density, Temp]}]}
"""


def test_a_restart_resumes_the_analyses(nyx, tmp_path):
    words = [
        word for word in WORDS if not word.startswith(("max_step", "amr.check", "amr.plot_int"))
    ]
    words += ["amr.plot_int=-1", "amr.check_int=3", "amr.checkpoint_files_output=1"]
    whole, parts = tmp_path / "whole", tmp_path / "parts"
    nyx.run(whole, "inputs.rt", [*words, "max_step=6"], 3, RESUMED)
    nyx.run(parts, "inputs.rt", [*words, "max_step=3"], 3, RESUMED)
    assert (parts / "chk00003/pillion").exists()
    nyx.run(parts, "inputs.rt", [*words, "max_step=6", "amr.restart=chk00003"], 3, RESUMED)
    for name in ("density", "Temp"):
        a = read_table(whole / f"results/a/statistics_{name}.csv")
        b = read_table(parts / f"results/a/statistics_{name}.csv")
        assert list(a["step"]) == list(b["step"]) == [0, 2, 4, 6]
        for column in a.columns:
            np.testing.assert_allclose(b[column], a[column], rtol=1e-6, err_msg=column)
    (parts / "chk00003/pillion").rename(parts / "elsewhere")
    words += ["max_step=4", "amr.check_int=-1", "amr.restart=chk00003"]
    done = nyx.run(parts, "inputs.rt", words, 2, RESUMED)
    assert "chk00003 has no saved analyses, so they start from scratch" in done.stderr


def test_without_a_file_it_is_a_run_without_pillion(nyx, tmp_path):
    words = [*WORDS, "max_step=1", "amr.plot_int=1"]
    for program in (nyx.plain, nyx.program):
        nyx.run(tmp_path / program.name, "inputs.rt", words, 2, None, program=program)
    with_it, without = (
        plotfile_levels(tmp_path / program.name / "plt00001", ["density", "Temp"])[0]
        for program in (nyx.plain, nyx.program)
    )
    for name, values in with_it.items():
        np.testing.assert_array_equal(values, without[name])
    assert not (tmp_path / nyx.program.name / "results").exists()


def test_mistakes_end_the_job_with_a_sentence(nyx, tmp_path):
    for text, told in {
        "analyses: {a: {stages: [statistics: {fields: [densty]}]}}\n": "densty",
        "sidecars: {ranks: 2}\nanalyses: {}\n": "sidecars",
    }.items():
        result = nyx.run(tmp_path, "inputs.rt", ["max_step=1"], 2, text, check=False)
        assert result.returncode != 0
        (line,) = [line for line in result.stderr.splitlines() if "pillion: error: " in line]
        assert told in line and "Pillion: " not in result.stderr
