# SPDX-License-Identifier: BSD-3-Clause
"""The example of heat in a plate of hexahedra and wedges: its means by volume against the decay of
the exact solution, and a slice of it."""

import sys
from pathlib import Path

import numpy as np
import pytest
from conftest import mpirun, read_table
from insitu import environment, needs_modules

pytestmark = needs_modules
EXAMPLE = Path(__file__).parents[2] / "examples/heat_cells"
HEAD = "sidecars: {ranks: 1, when_full: wait}\n"
STEP, CELLS = 1e-3, 432


@pytest.mark.parametrize("head", [HEAD, HEAD.replace("ranks", "per_node"), ""])
def test_means_by_volume(build, tmp_path, head):
    text = (EXAMPLE / "pillion.yaml").read_text()
    assert HEAD in text
    (tmp_path / "pillion.yaml").write_text(text.replace(HEAD, head))
    ranks = 3 if head else 2
    program = EXAMPLE / "heat_cells.py"
    mpirun(ranks, sys.executable, program, 60, env=environment(build), cwd=tmp_path)
    table = read_table(tmp_path / "results/heat/statistics_temperature.csv")
    assert table["step"].tolist() == list(range(0, 61, 10))
    assert (table["count"] == CELLS).all()
    np.testing.assert_allclose(table["volume"], 0.1, rtol=1e-12)
    assert table.units["volume"] == "m^3"
    time = table["step"] * STEP
    decay = np.exp(-(np.pi**2) * time)
    np.testing.assert_allclose(table["mean"], 2 / np.pi * decay, rtol=0.01)
    # Of sin^2 the mean is 1/2, and of the wave's square 1 + 0.32 exp(-2 pi^2 t).
    square = decay**2 / 2 * (1 + 0.32 * decay**2)
    np.testing.assert_allclose(table["rms"] ** 2, square, rtol=0.01)
    # Were wedges to count as much as hexahedra, the mean would be that of the right half.
    shares = read_table(tmp_path / "results/distribution/histogram_temperature.000000000.csv")
    assert shares["count"].sum() == CELLS
    assert shares["volume"].sum() == pytest.approx(0.1, rel=1e-12)
    middles = (shares["lower"] + shares["upper"]) / 2
    by_count = (middles * shares["count"]).sum() / CELLS
    assert by_count < 0.75 * table["mean"][0]
    assert len(list((tmp_path / "results/distribution").glob("*.png"))) == 3
    check_slice(tmp_path / "results/heat/slice_temperature_z.000000000.csv")


def check_slice(path: Path) -> None:
    """Pixels cover the plate, and hexahedra differ by little from the pattern."""
    pixels = read_table(path)
    assert len(pixels["x"]) == 64 * 64
    assert pixels.attributes["from"] == pixels.attributes["to"] == pytest.approx(0.05)
    exact = np.sin(np.pi * pixels["y"]) * (1 + 0.8 * np.cos(np.pi * pixels["x"]))
    assert np.abs(pixels["mean"] - exact).max() < 0.35
    assert np.abs(pixels["mean"] - exact).mean() < 0.05
    assert pixels["mean"].mean() == pytest.approx(2 / np.pi, rel=0.01)
