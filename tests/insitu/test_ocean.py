# SPDX-License-Identifier: BSD-3-Clause
"""The example of an ocean on latitude and longitude: its means by area against those of spherical
harmonics. Mistakes in coordinates are found on all ranks alike."""

import sys
from pathlib import Path

import numpy as np
import pytest
import yaml
from conftest import mpirun, read_table
from insitu import environment, needs_modules

pytestmark = needs_modules
EXAMPLE = Path(__file__).parents[2] / "examples/ocean"
HEAD = "sidecars: {ranks: 1, when_full: wait}\n"
MEAN, ZONAL, WAVE, STEP = 12.0, -9.0, 6.0, 5e-4


def configure(folder: Path, head: str) -> None:
    text = (EXAMPLE / "pillion.yaml").read_text()
    assert HEAD in text
    (folder / "pillion.yaml").write_text(text.replace(HEAD, head))
    (folder / "belts.py").symlink_to(EXAMPLE / "belts.py")


@pytest.mark.parametrize("head", [HEAD, HEAD.replace("ranks", "per_node"), ""])
def test_means_by_area(build, tmp_path, head):
    configure(tmp_path, head)
    ranks = 3 if head else 2
    mpirun(ranks, sys.executable, EXAMPLE / "ocean.py", 60, env=environment(build), cwd=tmp_path)
    table = read_table(tmp_path / "results/heat/statistics_temperature.csv")
    assert table["step"].tolist() == list(range(0, 61, 10))
    time = table["step"] * STEP
    np.testing.assert_allclose(table["time"], time, rtol=1e-12)
    np.testing.assert_allclose(table["volume"], 4 * np.pi * 6371**2, rtol=1e-12)
    assert table.units["volume"] == "km^2"
    np.testing.assert_allclose(table["mean"], MEAN, rtol=1e-12)
    # Of P2 the mean square is 1/5, of cos(latitude) cos(longitude) it is 1/3.
    variance = ZONAL**2 / 5 * np.exp(-12 * time) + WAVE**2 / 3 * np.exp(-4 * time)
    np.testing.assert_allclose(table["standard_deviation"] ** 2, variance, rtol=3e-3)
    check_sea(tmp_path / "results/heat", time)
    belts = read_table(tmp_path / "results/belts/belts.csv")
    np.testing.assert_allclose(belts["area"], 4 * np.pi * 6371**2, rtol=1e-12)
    # Up to sin(latitude) = s the mean of P2 is (s^2 - 1) / 2; cells end near the tropic.
    sine = np.sin(np.radians(23.44))
    expected = MEAN + ZONAL * np.exp(-6 * belts["step"] * STEP) * (sine**2 - 1) / 2
    np.testing.assert_allclose(belts["tropics"], expected, rtol=0.01)
    shares = read_table(tmp_path / "results/distribution/histogram_temperature.000000000.csv")
    assert shares["volume"].sum() == pytest.approx(4 * np.pi * 6371**2, rel=1e-12)
    assert shares["count"].sum() == 72 * 49


def mean_of(longitudes, latitudes, time) -> np.ndarray:
    """The exact mean of the temperature between these degrees."""
    lo, hi = np.radians(longitudes)
    south, north = np.radians(latitudes)
    area = (hi - lo) * (np.sin(north) - np.sin(south))
    square = (np.sin(north) ** 3 - np.sin(south) ** 3) / 3 * (hi - lo) / area
    cosine = (north - south) / 2 + (np.sin(2 * north) - np.sin(2 * south)) / 4
    wave = (np.sin(hi) - np.sin(lo)) * cosine / area
    return MEAN + ZONAL * np.exp(-6 * time) * (3 * square - 1) / 2 + WAVE * np.exp(-2 * time) * wave


def check_sea(results: Path, time: np.ndarray) -> None:
    """What lies on land counts nowhere."""
    table = read_table(results / "statistics_surface.csv")
    rows = np.linspace(-1, 1, 50)
    latitudes = (90 * rows * (2 + rows**2) / 3)[[20, 41]]
    longitudes = np.array([12, 30]) * 5.0
    share = np.diff(np.sin(np.radians(latitudes)))[0] / 2 * 90 / 360
    assert (table["count"] == 72 * 49 - 18 * 21).all()
    np.testing.assert_allclose(table["volume"], 4 * np.pi * 6371**2 * (1 - share), rtol=1e-12)
    expected = (MEAN - share * mean_of(longitudes, latitudes, time)) / (1 - share)
    assert table["mean"][0] == pytest.approx(expected[0], rel=1e-12)
    np.testing.assert_allclose(table["mean"], expected, rtol=1e-3)
    pixels = read_table(results / "slice_surface_z.000000060.csv")
    assert np.isnan(pixels["mean"]).sum() == 18 * 21


WRONG = {
    "axis > 0": "mesh 'globe' has no coordinates along longitude; call pillion_set_coordinates",
    "along[::-1]": "coordinates must increase, but along longitude number 1 is",
    "along + session.communicator.rank": "latitude goes from -89 to 91 degrees",
    "along * (1 - 0.1 * session.communicator.rank)": "the coordinates of mesh 'globe' along "
    "longitude are not the same on every rank",
    "along[1:]": "latitude has 49 cells, so 50 coordinates of faces are needed, found 49",
}


@pytest.mark.parametrize("change", WRONG)
def test_wrong_coordinates(build, tmp_path, change):
    configure(tmp_path, "")
    text = (EXAMPLE / "ocean.py").read_text()
    line = 'session.set_coordinates("globe", axis, along)'
    assert line in text
    if change == "axis > 0":
        text = text.replace(line, f"{change} and {line}")
    elif change == "along[1:]":
        text = text.replace(line, line.replace("along", "along[axis:]"))
    else:
        text = text.replace(line, line.replace("along", change))
    (tmp_path / "wrong.py").write_text(text)
    done = mpirun(
        2, sys.executable, "wrong.py", 1, env=environment(build), cwd=tmp_path, check=False
    )
    assert done.returncode != 0
    assert WRONG[change] in done.stderr


MOVING = """
import numpy as np
import pillion
from mpi4py import MPI

with pillion.open("moving.yaml", MPI.COMM_WORLD) as session:
    comm = session.communicator
    u = np.full((4, 3), 1.0 + comm.rank)
    session.share("u", u, lo=(4 * comm.rank, 0))
    session.set_coordinates("grid", 1, [0, 1, 3, 7])
    for step in range(6):
        if step != 3:  # then they stay
            session.set_coordinates("grid", 0, (1.0 + step) * np.arange(9) ** 2)
        session.step(step, float(step))
"""


@pytest.mark.parametrize("sidecars", ["ranks: 1", "per_node: 1", "ranks: 0"])
def test_faces_that_move(build, tmp_path, sidecars):
    (tmp_path / "moving.yaml").write_text(
        f"output: results\nsidecars: {{{sidecars}, when_full: wait}}\n"
        "meshes: {grid: {kind: rectilinear, cells: [8, 3], units: m}}\n"
        "fields: {u: {mesh: grid, type: float64}}\n"
        "analyses: {a: {stages: [statistics: {fields: [u]}, write_raw: {fields: [u]}]}}\n"
    )
    (tmp_path / "moving.py").write_text(MOVING)
    ranks = 2 if "0" in sidecars else 3
    mpirun(ranks, sys.executable, "moving.py", env=environment(build), cwd=tmp_path)
    table = read_table(tmp_path / "results/a/statistics_u.csv")
    factor = np.array([1, 2, 3, 3, 5, 6])
    np.testing.assert_allclose(table["volume"], factor * 64 * 7, rtol=1e-14)
    np.testing.assert_allclose(table["mean"], (16 * 1 + 48 * 2) / 64, rtol=1e-14)
    index = (tmp_path / "results/a/grid_raw/grid.000000004.yaml").read_text()
    found = yaml.safe_load(index)["coordinates"]
    assert found == [(5.0 * np.arange(9) ** 2).tolist(), [0, 1, 3, 7]]
