# SPDX-License-Identifier: BSD-3-Clause
"""miniapps/taylor_green with Pillion: the flow is the same as without, and products say of it what
its checkpoint says."""

from pathlib import Path

import h5py
import numpy as np
import pytest
from conftest import read_table
from flow_runs import simulate
from numpy.polynomial import Legendre, Polynomial

YAML = Path(__file__).parents[2] / "miniapps/taylor_green/pillion.yaml"
SETTINGS = {"elements": 2, "reynolds": 20, "end_time": 2, "max_dt": 0.04, "deform": 0.2}
SETTINGS |= {"case": "turbulence", "peak": 1.5, "checkpoint": "end"}


def in_the_simulation(text):
    """The words that a user would change."""
    return text.replace("at: sidecar", "at: simulation").replace("{ranks: 1, ", "{ranks: 0, ")


@pytest.fixture(scope="module")
def alone(build, tmp_path_factory):
    return simulate(build, tmp_path_factory.mktemp("alone"), 2, **SETTINGS)


def mean_over_elements(values, coordinates):
    """Of values [element, k, j, i] at Gauss-Lobatto-Legendre points of elements that are deformed:
    weights of the quadrature times the Jacobian, from NumPy's polynomials."""
    n = values.shape[-1]
    legendre = Legendre.basis(n - 1)
    points = np.concatenate([[-1], legendre.deriv().roots(), [1]])
    along = 2 / (n * (n - 1) * legendre(points) ** 2)
    derivative = np.empty((n, n))
    for j in range(n):
        of = Polynomial.fromroots(np.delete(points, j))
        derivative[:, j] = of.deriv()(points) / of(points[j])
    columns = [
        np.einsum("im,eckjm->eckji", derivative, coordinates),
        np.einsum("jm,eckmi->eckji", derivative, coordinates),
        np.einsum("km,ecmji->eckji", derivative, coordinates),
    ]
    jacobian = np.linalg.det(np.moveaxis(np.stack(columns, 1), (1, 2), (-2, -1)))
    weights = jacobian * np.einsum("k,j,i->kji", along, along, along)
    return (values * weights).sum() / weights.sum()


@pytest.mark.parametrize("ranks", [2, 3])
def test_same_flow_and_true_products(build, tmp_path, alone, ranks):
    text = YAML.read_text(encoding="utf-8")
    if ranks == 2:
        text = in_the_simulation(text)
    (tmp_path / "pillion.yaml").write_text(text, encoding="utf-8")
    run = simulate(build, tmp_path, ranks, name="taylor_green", **SETTINGS)
    assert np.array_equal(run["energy"], alone["energy"])
    assert np.array_equal(run.state.velocity, alone.state.velocity)

    speed = np.sqrt((run.state.velocity[:, 0] ** 2).sum(axis=1))
    coordinates = run.state.coordinates(SETTINGS["deform"])
    table = read_table(tmp_path / "results/decay/statistics_speed.csv")
    assert list(table["step"]) == list(range(0, 51, 10))
    np.testing.assert_allclose(
        table["mean"][-1], mean_over_elements(speed, coordinates), rtol=1e-12
    )
    np.testing.assert_allclose(table["max"][-1], speed.max(), rtol=1e-12)

    snapshots = sorted((tmp_path / "results/snapshots").glob("*/*.0*.h5"))
    assert [int(path.stem.split(".")[1]) for path in snapshots] == [0, 50]
    for path in snapshots:
        with h5py.File(path) as file:
            assert len(file) > 0
