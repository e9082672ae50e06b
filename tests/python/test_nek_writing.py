# SPDX-License-Identifier: BSD-3-Clause
"""Field files of Nek5000 that Python writes, read by pymech."""

import numpy as np
import pytest
from pillion.command import main
from pillion.datasets.nek_files import read_part
from pillion.datasets.nek_writing import write_file
from pillion.errors import Error
from pymech.neksuite import readnek
from test_compressed import by_sz3  # noqa: F401

N, COUNT = 5, 6


def arrays(axes: int, kind: str) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(axes)
    components = {"heat": 1, "velocity": axes, "pressure": 1, "pair": 2, "temperature": 1}
    shape = [N] * axes
    return {k: rng.normal(size=(COUNT, c, *shape)).astype(kind) for k, c in components.items()}


@pytest.mark.parametrize("kind", ["f4", "f8"])
@pytest.mark.parametrize("axes", [2, 3])
def test_pymech_reads_what_is_written(tmp_path, axes, kind):
    fields, path = arrays(axes, kind), tmp_path / "case0.f00007"
    places = np.random.default_rng(1).normal(size=(COUNT, axes, *[N] * axes))
    write_file(path, 120, 0.0125, places, fields)
    data = readnek(str(path))
    assert (data.istep, data.time, data.ndim, data.nel) == (120, 0.0125, axes, COUNT)
    for at, element in enumerate(data.elem):
        wanted = {
            "pos": places[at],
            "vel": fields["velocity"][at],
            "pres": fields["pressure"][at],
            "temp": fields["temperature"][at],
            "scal": np.concatenate([fields["heat"][at], fields["pair"][at]]),
        }
        for name, values in wanted.items():
            found = getattr(element, name)[: len(values)].reshape(values.shape)
            np.testing.assert_array_equal(found, values.astype(kind), name)
    part = read_part(path)
    assert list(part.fields) == [
        "coordinates", "velocity", "pressure", "temperature", "scalar_1", "scalar_2", "scalar_3"
    ]  # fmt: skip


def test_the_first_vector_stands_for_a_velocity(tmp_path):
    force = np.ones((COUNT, 3, N, N, N))
    write_file(tmp_path / "a0.f00001", 0, -1e-120, None, {"force": force, "other": 2 * force})
    data = readnek(str(tmp_path / "a0.f00001"))
    assert data.var == (0, 3, 0, 0, 3) and data.time == pytest.approx(-1e-120)
    assert (data.elem[0].vel == 1).all() and (data.elem[0].scal == 2).all()


@pytest.mark.parametrize(("name", "components"), [("velocity", 1), ("pressure", 2), ("many", 100)])
def test_fields_without_a_place_are_refused(tmp_path, name, components):
    with pytest.raises(Error, match="field files of Nek5000 have"):
        write_file(tmp_path / "a0.f00001", 0, 0, None, {name: np.ones((1, components, 2, 2, 2))})


def test_cells_are_refused(by_sz3, tmp_path, capsys):  # noqa: F811
    assert main(["decode", str(by_sz3[0]), "--to", str(tmp_path / "a0.f00001")]) == 1
    assert "field files of Nek5000 hold elements" in capsys.readouterr().err
