# SPDX-License-Identifier: BSD-3-Clause
"""The example of an ocean on latitude and longitude: its means by area against those that spherical
harmonics have, and what is wrong with coordinates is found on all ranks alike."""

import sys
from pathlib import Path

import numpy as np
import pytest
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
    belts = read_table(tmp_path / "results/belts/belts.csv")
    np.testing.assert_allclose(belts["area"], 4 * np.pi * 6371**2, rtol=1e-12)
    # Up to sin(latitude) = s the mean of P2 is (s^2 - 1) / 2; cells end near the tropic.
    sine = np.sin(np.radians(23.44))
    expected = MEAN + ZONAL * np.exp(-6 * belts["step"] * STEP) * (sine**2 - 1) / 2
    np.testing.assert_allclose(belts["tropics"], expected, rtol=0.01)
    shares = read_table(tmp_path / "results/distribution/histogram_temperature.000000000.csv")
    assert shares["volume"].sum() == pytest.approx(4 * np.pi * 6371**2, rel=1e-12)
    assert shares["count"].sum() == 72 * 49


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
