# SPDX-License-Identifier: BSD-3-Clause
"""Averages over time at the cells of unstructured and curvilinear meshes, whose blocks change and
whose points move, against NumPy and statsmodels."""

import curvilinear_program as curved
import mixed_cells as mixed
import numpy as np
import pytest
from conftest import read_table
from datasets import read_raw
from series_of_test import check_command
from statsmodels.tsa.stattools import acovf
from test_curvilinear import TEXT as CURVED
from test_curvilinear import run as run_curved
from test_curvilinear import volumes
from test_unstructured import TEXT as SHAPES
from test_unstructured import run as run_shapes

PLACES = ["inside", "network", "node"]
FIRST_LAG = 7  # where autocovariances begin in what `autocorrelation` makes


def analysis(name: str, field: str, fit_every: int, at: str) -> str:
    return f"""
  {name}:
    every: 1 steps
    stages:
      - autocorrelation: {{field: {field}, lags: 1, fit_every: {fit_every}{at}}}
      - uncertainty: {{field: {field}}}
      - write_raw: {{fields: [{field}_mean, {field}_autocovariance], durable: false}}
"""


def check_series(block, field: str, series: np.ndarray, own=slice(None)) -> None:
    """Of the cells of a block: `series` are their values by cell and step."""
    means = block[f"{field}_mean"][own]
    np.testing.assert_allclose(means, series.mean(axis=1), rtol=1e-12, atol=1e-14)
    gathered = block[f"{field}_autocovariance"][own]
    assert (gathered[:, 0] == series.shape[1]).all() and (gathered[:, 1] == 0).all()
    for found, values in zip(gathered[:, FIRST_LAG:], series, strict=True):
        np.testing.assert_allclose(found, acovf(values, nlag=1, fft=False), rtol=1e-10, atol=1e-14)


def check_shapes(results, steps) -> None:
    written = read_raw(results / "time", "box.raw.yaml")
    assert list(written) == [step - 1 for step in steps]
    table = read_table(results / "time/uncertainty_u.csv")
    assert table["samples"].tolist() == steps and table["missing"].tolist() == [0] * len(steps)
    for row, samples in enumerate(steps):
        u = np.stack([mixed.at_cells(step) for step in range(samples)], axis=1)
        seen = 0
        for block in written[samples - 1][1]:
            if block["count"] == 0:
                continue
            ids, flags = block["cells"]["ids"], block["cells"]["flags"]
            check_series(block, "u", u[ids[flags == 0]], flags == 0)
            assert np.isnan(block["u_mean"][flags != 0]).all()
            seen += (flags == 0).sum()
        assert seen == len(u)
        weights = mixed.volumes(samples - 1)
        mean = np.average(u.mean(axis=1), weights=weights)
        assert table["mean"][row] == pytest.approx(mean, rel=1e-12)


@pytest.mark.parametrize("place", PLACES)
def test_cells_of_every_shape(build, tmp_path, place):
    """Ranks have other cells from step 2 on, and copies must not count."""
    text = SHAPES + "analyses:" + analysis("time", "u", 2, ", at: simulation")
    run_shapes(tmp_path, build, place, text)
    check_shapes(tmp_path / "results", [2, 4])


def test_a_run_that_resumes(build, tmp_path):
    """Also on another number of ranks."""
    text = SHAPES + "analyses:" + analysis("time", "u", 4, "")
    for place, how in (("inside", "until:3"), ("inside", "from:3"), ("one", "from:3")):
        run_shapes(tmp_path, build, place, text, how)
    check_shapes(tmp_path / "results", [4])


@pytest.mark.parametrize("place", PLACES)
def test_curvilinear(build, tmp_path, place):
    """A series is that of the cell with an index, wherever its points move."""
    at = ", at: simulation" if place != "inside" else ""
    text = CURVED[: CURVED.index("analyses:")] + "analyses:"
    text += analysis("ring", "ring_u", 3, at) + analysis("shell", "shell_u", 3, at)
    run_curved(tmp_path, build, place, text=text)
    for mesh, cells in {"ring": curved.RING, "shell": curved.SHELL}.items():
        u = np.stack([curved.values([0] * len(cells), cells, n) for n in range(curved.STEPS)], -1)
        (_, blocks) = read_raw(tmp_path / "results" / mesh, f"{mesh}.raw.yaml")[curved.STEPS - 1]
        seen = 0
        for block in blocks:
            box = tuple(slice(a, b) for a, b in zip(block["lo"], block["hi"], strict=True))
            axes = len(cells)
            part = u[box].transpose(*range(axes)[::-1], axes).reshape(-1, curved.STEPS)
            check_series(block, f"{mesh}_u", part)
            seen += len(part)
        assert seen == np.prod(cells)
        table = read_table(tmp_path / f"results/{mesh}/uncertainty_{mesh}_u.csv")
        mean = np.average(u.mean(axis=-1), weights=volumes(cells, curved.STEPS - 1))
        assert table["mean"].tolist() == [pytest.approx(mean, rel=1e-11)]


def test_values_at_points_are_refused(build, tmp_path):
    text = SHAPES.replace("SIDECARS", "") + "analyses: {a: {stages: [autocorrelation: {field: w}]}}"
    (tmp_path / "c.yaml").write_text(text)
    done = check_command(build, tmp_path / "c.yaml")
    assert done.returncode != 0
    assert "has values at points of mesh 'box'" in done.stdout + done.stderr
