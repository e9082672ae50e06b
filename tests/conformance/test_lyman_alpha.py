# SPDX-License-Identifier: BSD-3-Clause
"""Lyman-alpha absorption against sums over all cells and pixels with scipy's error function,
wherever the stage runs, however the mesh is divided, along all axes; its distributions and spectra
against numpy's; and what it refuses.
"""

import struct
from functools import cache
from pathlib import Path

import numpy as np
import pytest
import scipy.constants
from conftest import read_table
from frames import Frame
from placements import check_report, placements
from pool import results_of_case
from scenes import Placement, Scene
from scipy.special import erf

# CODATA 2022, in cm, g, s.
SIGMA = 1e4 * 1.602176634e-19**2 * 0.41641 / (4 * 8.8541878188e-12 * 9.1093837139e-31 * 299792458)
LAMBDA = 1215.67e-8
MPC = 3.0856775814913673e24
DOPPLER = np.sqrt(2 * 1.380649e-23 / 1.67262192595e-27) / 1e3  # km/s at 1 K

OMEGA_M, H = 0.31, 0.68
CELLS = (9, 12, 10)
LENGTH = (4.5, 7.0, 5.0)  # Mpc/h, comoving
LETTERS = "xyz"

CATALOGUE = """
units: {time: scale factor}
meshes:
  grid: {kind: uniform, cells: [9, 12, 10], length: [4.5, 7, 5], units: Mpc/h, periodic: true}
fields:
  n_HI: {mesh: grid, type: float64, units: cm^-3}
  temperature: {mesh: grid, type: float32, units: K}
  velocity: {mesh: grid, type: float32, components: 3, units: km/s}
  density: {mesh: grid, type: float64}
"""
COMMON = "neutral_hydrogen: n_HI, temperature: temperature, velocity: velocity"
COSMOLOGY = f"omega_m: {OMEGA_M}, h: {H}"


def analyses(folder: Path) -> str:
    text = f"""
analyses:
  forest:
    every: 1 steps
    stages:
      - lyman_alpha: {{{COMMON}, {COSMOLOGY}, time_is: scale_factor, into: {{tau: tau}}}}
"""
    for letter in LETTERS:
        text += f"      - cells: {{folder: {folder}/forest_{letter}, fields: [tau_{letter}]}}\n"
    text += f"""
  observed:
    every: 1 steps
    stages:
      - lyman_alpha: {{{COMMON}, {COSMOLOGY}, time_is: scale_factor, into: {{tau: a_tau}},
                      axes: [z, x], mean_flux: 0.62, tau_bins: 41, tau_range: [1.0e-3, 50],
                      flux_bins: 17}}
"""
    for letter in "xz":
        text += f"      - cells: {{folder: {folder}/observed_{letter}, fields: [a_tau_{letter}]}}\n"
    return text


@cache
def frames() -> list[Frame]:
    """Cold gas with lines thinner than a pixel; gas so hot that lines are as wide as the box."""
    rng = np.random.default_rng(11)
    count = int(np.prod(CELLS))
    made = []
    for step, scale_factor in enumerate((0.2, 0.25, 1 / 3)):
        density = np.exp(rng.normal(0, 1.3, count))
        temperature = (1e4 * density**0.6).astype(np.float32)
        temperature[:40] = rng.uniform(0, 1e2, 40)
        temperature[40:60] = rng.uniform(1e7, 2e8, 20)
        values = {
            "n_HI": 3e-12 * density**2 * rng.uniform(0.5, 2, count),
            "temperature": temperature,
            "velocity": rng.normal(0, 150, (count, 3)).astype(np.float32),
            "density": density,
        }
        made.append(Frame(step, scale_factor, values))
    return made


def scene(folder: Path) -> Scene:
    return Scene(
        "forest",
        frames(),
        CATALOGUE,
        analyses(folder),
        "grid_driver",
        ("--cells", ",".join(map(str, CELLS))),
    )


PLACEMENTS = placements(
    ["slabs", "uneven", "many", "empty"],
    [
        *((1, 0, "slabs"), (3, 0, "uneven"), (4, 0, "many"), (2, 0, "empty")),
        *((1, 1, "many"), (2, 3, "uneven"), (3, 2, "empty")),
        *((2, 1, "many", "node"), (3, 2, "uneven", "node", 2), (2, 2, "many", "separate", 2)),
    ],
)


@pytest.fixture(scope="module", params=PLACEMENTS, ids=str)
def played(request, build, tmp_path_factory):
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PILLION_STAGE_PATH", str(build / "tests" / "conformance" / "stages"))
        folder, results = results_of_case(
            request, build, tmp_path_factory, lambda place, to: (scene(to), place)
        )
    check_report(scene(folder), request.param, results)
    return folder, results


def hubble(scale_factor: float) -> float:
    return 100 * H * np.sqrt(OMEGA_M / scale_factor**3 + 1 - OMEGA_M)


def box_velocity(frame: Frame, axis: int) -> float:
    return hubble(frame.time) * frame.time * LENGTH[axis] / H


@cache
def optical_depth(step: int, axis: int) -> np.ndarray:
    """[z, y, x]: every cell of a line in every pixel, with 40 images on both sides."""
    frame = frames()[step]
    shape = CELLS[::-1]
    lines = [
        np.moveaxis(values.astype(np.float64).reshape(shape), 2 - axis, 2)
        for values in (frame["n_HI"], frame["temperature"], frame["velocity"][:, axis])
    ]
    density, temperature, velocity = lines
    n = CELLS[axis]
    box = box_velocity(frame, axis)
    width = np.maximum(DOPPLER * np.sqrt(temperature), 1e-30)[:, :, None, :]
    pixel = (np.arange(n) + 0.5)[None, None, :, None] * box / n
    strength = SIGMA * LAMBDA / (2 * hubble(frame.time) * 1e5 / MPC) * density
    tau = np.zeros(density.shape)
    for image in range(-40, 41):
        for j in range(n):
            away = pixel - velocity[:, :, None, j : j + 1] + image * box
            b = width[:, :, :, j : j + 1]
            upper, lower = (away - j * box / n) / b, (away - (j + 1) * box / n) / b
            tau += strength[:, :, j : j + 1] * (erf(upper) - erf(lower))[..., 0]
    return np.moveaxis(tau, 2, 2 - axis)


def produced(folder: Path, step: int) -> np.ndarray:
    """[z, y, x], from what the stage `cells` has written down."""
    out = np.full(CELLS[::-1], np.nan)
    for file in folder.glob(f"{step}-*"):
        data = file.read_bytes()
        _, blocks = struct.unpack_from("2q", data)
        at = 16
        for _ in range(blocks):
            _, count, _, *corners = struct.unpack_from("15q", data, at)
            at += 15 * 8
            lo, hi = corners[:3], corners[3:6]
            values = np.frombuffer(data, np.float64, count, at)
            at += values.nbytes
            box = tuple(slice(lo[d], hi[d]) for d in (2, 1, 0))
            out[box] = values.reshape([hi[d] - lo[d] for d in (2, 1, 0)])
    assert not np.isnan(out).any()
    return out


def products(results, kind, step, analysis="forest"):
    """Tables of a step by axis."""
    return {
        letter: read_table(results / analysis / f"lyman_alpha_{kind}_{letter}.{step:09d}.csv")
        for letter in (LETTERS if analysis == "forest" else "xz")
    }


def test_constants_are_those_of_nature():
    c = scipy.constants
    sigma = c.e**2 * 0.41641 / (4 * c.epsilon_0 * c.m_e * c.c)
    np.testing.assert_allclose(SIGMA, 1e4 * sigma, rtol=1e-8)
    np.testing.assert_allclose(DOPPLER, np.sqrt(2 * c.k / c.m_p) / 1e3, rtol=1e-8)
    np.testing.assert_allclose(MPC, c.parsec * 1e8, rtol=1e-12)
    assert round(SIGMA, 5) == 0.01105


def test_optical_depth_is_the_sum_over_all_cells(played):
    folder, _ = played
    for step, frame in enumerate(frames()):
        for axis, letter in enumerate(LETTERS):
            found = produced(folder / f"forest_{letter}", step)
            tau = optical_depth(step, axis)
            np.testing.assert_allclose(found, tau, rtol=1e-10, atol=1e-13 * tau.max())
            column = frame["n_HI"].sum() * SIGMA * LAMBDA / (hubble(frame.time) * 1e5 / MPC)
            np.testing.assert_allclose(found.sum(), column, rtol=1e-12)


def check_counts(table, values):
    edges = np.append(table["lower"], table["upper"][-1])
    counts = np.histogram(values, edges)[0]
    np.testing.assert_array_equal(table["count"], counts)
    below, above = (values < edges[0]).sum(), (values > edges[-1]).sum()
    assert (table.attributes["below"], table.attributes["above"]) == (below, above)
    assert counts.sum() + below + above == values.size
    assert counts.sum() > 0
    np.testing.assert_allclose(table["density"], counts / counts.sum() / np.diff(edges), rtol=1e-13)
    if table.attributes["scale"] == "log":
        decades = np.diff(np.log10(edges))
        np.testing.assert_allclose(
            table["density_per_dex"], counts / counts.sum() / decades, rtol=1e-10
        )
    return edges


def test_distributions_are_those_of_numpy(played):
    folder, results = played
    for step in range(len(frames())):
        for letter, table in products(results, "tau", step).items():
            edges = check_counts(table, produced(folder / f"forest_{letter}", step))
            np.testing.assert_allclose(edges, np.geomspace(1e-2, 1e3, 201), rtol=1e-12)
        for letter, table in products(results, "flux", step).items():
            edges = check_counts(table, np.exp(-produced(folder / f"forest_{letter}", step)))
            np.testing.assert_array_equal(edges, np.linspace(0, 1, 51))


def check_power(table, tau, frame, axis):
    flux = np.moveaxis(np.exp(-tau), 2 - axis, 2)
    mean = flux.mean()
    n = CELLS[axis]
    box = box_velocity(frame, axis)
    waves = np.fft.fft(flux / mean - 1, axis=2)[:, :, 1 : n // 2 + 1] * box / n
    power = (np.abs(waves) ** 2).mean((0, 1)) / box
    k = 2 * np.pi * np.arange(1, n // 2 + 1) / box
    length = LENGTH[axis] / H
    np.testing.assert_allclose(table["k"], k, rtol=1e-13)
    np.testing.assert_allclose(table["power"], power, rtol=1e-10)
    np.testing.assert_allclose(table["dimensionless"], k * power / np.pi, rtol=1e-10)
    np.testing.assert_allclose(table["k_comoving"], k * box / length, rtol=1e-13)
    np.testing.assert_allclose(table["power_comoving"], power * length / box, rtol=1e-10)
    np.testing.assert_allclose(table.attributes["mean_flux"], mean, rtol=1e-12)
    np.testing.assert_allclose(
        table.attributes["effective_optical_depth"], -np.log(mean), rtol=1e-11
    )
    assert table.attributes["lines"] == np.prod(CELLS) // n
    np.testing.assert_allclose(table.attributes["velocity_length"], box, rtol=1e-13)
    np.testing.assert_allclose(table.attributes["comoving_length"], length, rtol=1e-13)
    assert (table.units["k"], table.units["power"]) == ("s/km", "km/s")
    assert (table.units["k_comoving"], table.units["power_comoving"]) == ("1/Mpc", "Mpc")


def test_power_spectra_are_those_of_numpy(played):
    _, results = played
    for step, frame in enumerate(frames()):
        for letter, table in products(results, "power", step).items():
            axis = LETTERS.index(letter)
            check_power(table, optical_depth(step, axis), frame, axis)
            assert table.attributes["rescaling"] == 1


def test_rescaling_gives_the_mean_flux(played):
    folder, results = played
    for step, frame in enumerate(frames()):
        for letter, table in products(results, "power", step, "observed").items():
            axis, factor = LETTERS.index(letter), table.attributes["rescaling"]
            assert abs(table.attributes["mean_flux"] - 0.62) < 1e-13
            tau = optical_depth(step, axis)
            assert abs(np.exp(-factor * tau).mean() - 0.62) < 1e-11
            assert abs(factor - 1) > 0.01
            found = produced(folder / f"observed_{letter}", step)
            np.testing.assert_allclose(found, factor * tau, rtol=1e-10, atol=1e-13 * tau.max())
            check_power(table, factor * tau, frame, axis)
            edges = check_counts(products(results, "tau", step, "observed")[letter], found)
            np.testing.assert_allclose(edges, np.geomspace(1e-3, 50, 42), rtol=1e-12)
            check_counts(products(results, "flux", step, "observed")[letter], np.exp(-found))


def test_mean_flux_over_time(played):
    _, results = played
    table = read_table(results / "forest" / "lyman_alpha.csv")
    assert table["step"].tolist() == [0, 1, 2]
    np.testing.assert_allclose(table["redshift"], [4, 3, 2], rtol=1e-14)
    for axis, letter in enumerate(LETTERS):
        means = [np.exp(-optical_depth(step, axis)).mean() for step in range(3)]
        np.testing.assert_allclose(table[f"flux_{letter}"], means, rtol=1e-12)
        np.testing.assert_allclose(table[f"effective_{letter}"], -np.log(means), rtol=1e-11)
        assert set(table[f"rescaling_{letter}"]) == {1}
    assert "flux_y" not in read_table(results / "observed" / "lyman_alpha.csv").columns


def one(stage: str, catalogue: str = CATALOGUE, made=None) -> Scene:
    text = "\nanalyses:\n  one:\n    every: 1 steps\n    stages:\n"
    text += f"      - lyman_alpha: {{{stage}}}\n"
    cells = ",".join(map(str, CELLS))
    return Scene("one", made or frames(), catalogue, text, "grid_driver", ("--cells", cells))


def test_other_units_give_the_same(build, tmp_path):
    """Densities per m^3, velocities in m/s, lengths in kpc, and redshift for time."""
    made = []
    for f in frames():
        velocity = (f["velocity"] * 1e3).astype(np.float64)
        values = {**f.values, "n_HI": f["n_HI"] * 1e6, "velocity": velocity}
        made.append(Frame(f.step, 1 / f.time - 1, values))
    catalogue = CATALOGUE.replace("cm^-3", "1/m^3").replace("km/s", "m/s")
    catalogue = catalogue.replace("float32, components", "float64, components")
    catalogue = catalogue.replace(
        "[4.5, 7, 5], units: Mpc/h", f"[{4500 / H}, {7000 / H}, {5000 / H}]"
    )
    stage = f"{COMMON}, {COSMOLOGY}, time_is: redshift, length_units: kpc"
    results, _ = one(stage, catalogue, made).run(build, tmp_path, Placement(2, 0, "many"))
    for axis, letter in enumerate(LETTERS):
        for step, frame in enumerate(frames()):
            table = read_table(results / "one" / f"lyman_alpha_power_{letter}.{step:09d}.csv")
            np.testing.assert_allclose(
                table.attributes["mean_flux"], np.exp(-optical_depth(step, axis)).mean(), rtol=1e-6
            )
            np.testing.assert_allclose(
                table.attributes["velocity_length"], box_velocity(frame, axis), rtol=1e-12
            )


def test_a_resumed_run_goes_on_with_the_mean_flux(build, tmp_path):
    scene = one(f"{COMMON}, {COSMOLOGY}, time_is: scale_factor, mean_flux: 0.5, axes: [z, y]")
    whole, _ = scene.run(build, tmp_path / "whole", Placement(1, 0, "slabs"))
    saved = tmp_path / "saved"
    scene.run(build, tmp_path / "a", Placement(2, 1, "many"), last=2, checkpoint=saved)
    resumed, _ = scene.run(build, tmp_path / "b", Placement(3, 0, "uneven"), first=2, restart=saved)
    expected, found = (read_table(r / "one" / "lyman_alpha.csv") for r in (whole, resumed))
    assert list(expected.columns) == list(found.columns)
    for name in expected.columns:
        np.testing.assert_allclose(found[name], expected[name], rtol=1e-12)
    assert len(found) == 3


def test_gas_that_makes_no_sense_absorbs_nothing(build, tmp_path):
    frame = frames()[1]
    n = frame["n_HI"].copy()
    n[[5, 17]], n[100] = np.nan, -1
    temperature = frame["temperature"].copy()
    temperature[[7, 200]] = np.inf, -3
    velocity = frame["velocity"].copy()
    velocity[300, 0] = np.nan
    values = {**frame.values, "n_HI": n, "temperature": temperature, "velocity": velocity}
    stage = f"{COMMON}, {COSMOLOGY}, redshift: 3, axes: x"
    scene = one(stage, made=[Frame(0, 0.0, values)])
    results, _ = scene.run(build, tmp_path, Placement(3, 0, "uneven"))
    table = read_table(results / "one" / "lyman_alpha_tau_x.000000000.csv")
    assert table.attributes["not_usable"] == 6
    assert np.isfinite(table.attributes["mean_flux"])
    power = read_table(results / "one" / "lyman_alpha_power_x.000000000.csv")
    assert np.isfinite(power["power"]).all()


GOOD = f"{COMMON}, {COSMOLOGY}, time_is: scale_factor"
REFUSED = {
    "no redshift": (f"{COMMON}, {COSMOLOGY}", "say either what the time of a step is"),
    "two redshifts": (f"{GOOD}, redshift: 3", "say either what the time of a step is"),
    "time is odd": (
        f"{COMMON}, {COSMOLOGY}, time_is: cosmic",
        "scale_factor, redshift, not 'cosmic'",
    ),
    "redshift below -1": (f"{COMMON}, {COSMOLOGY}, redshift: -1", "expected a number above -1"),
    "no h": (f"{COMMON}, omega_m: 0.3, redshift: 3", "lacks 'h'"),
    "h of 0": (f"{COMMON}, omega_m: 0.3, h: 0, redshift: 3", "expected a number above 0"),
    "unknown axis": (f"{GOOD}, axes: [x, w]", "'w' is not an axis of mesh 'grid'"),
    "axis twice": (f"{GOOD}, axes: [x, x]", "axis 'x' is listed twice"),
    "flux of 1": (f"{GOOD}, mean_flux: 1", "expected a number between 0 and 1"),
    "range from 0": (f"{GOOD}, tau_range: [0, 10]", "above 0, the lower one first"),
    "no bins": (f"{GOOD}, flux_bins: 0", "at least 1, not 0"),
    "unknown units of length": (f"{GOOD}, length_units: ly", "lengths in 'ly' are none"),
    "unknown field to make": (f"{GOOD}, into: {{flux: f}}", "unknown key 'flux'"),
    "unknown field": (GOOD.replace("n_HI", "n_H2"), "unknown field 'n_H2'"),
    "velocity of one component": (
        GOOD.replace("velocity: velocity", "velocity: density"),
        "(parameter 'velocity') has 1 components; 3 are needed",
    ),
    "temperature in density's place": (
        GOOD.replace("hydrogen: n_HI", "hydrogen: temperature"),
        "is in K; it must be in one of: 1/cm^3, 1/m^3",
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_refused_before_the_first_step(name, build, tmp_path):
    stage, message = REFUSED[name]
    made = one(stage)
    _, done = made.run(build, tmp_path, Placement(2, 1, "slabs"), fails=True)
    line = 1 + (tmp_path / "pillion.yaml").read_text().splitlines().index(
        f"      - lyman_alpha: {{{stage}}}"
    )
    assert message in done.stderr, done.stderr
    assert f"pillion.yaml:{line}" in done.stderr, done.stderr
    assert not list(tmp_path.glob("results/one/*"))


MESHES = {
    "open mesh": ("periodic: true", "periodic: [true, false, true]", "not periodic along y"),
    "mesh without units": ("units: Mpc/h, ", "", "the mesh has no units of length"),
    "integers": ("n_HI: {mesh: grid, type: float64", "n_HI: {mesh: grid, type: int64", "reals"),
}


@pytest.mark.parametrize("name", MESHES)
def test_meshes_that_are_refused(name, build, tmp_path):
    before, after, message = MESHES[name]
    made = one(GOOD, CATALOGUE.replace(before, after))
    results, done = made.run(build, tmp_path, Placement(2, 0, "slabs"), fails=True)
    report = results / "report.json"
    assert message in done.stderr + (report.read_text() if report.exists() else "")


def test_a_mean_flux_that_cannot_be(build, tmp_path):
    values = {**frames()[0].values, "n_HI": np.zeros(int(np.prod(CELLS)))}
    made = one(f"{GOOD}, mean_flux: 0.7", made=[Frame(0, 0.25, values)])
    results, _ = made.run(build, tmp_path, Placement(2, 1, "slabs"))
    assert "no factor brings the mean flux along x to 0.7" in (results / "report.json").read_text()
