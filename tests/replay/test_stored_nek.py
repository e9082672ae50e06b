# SPDX-License-Identifier: BSD-3-Clause
"""Field files of Nek5000 that pymech writes, replayed: values as it has them, on any number of
ranks, and means by volume that are known."""

from pathlib import Path

import numpy as np
import pillion
import pytest
from conftest import read_table
from pymech.core import HexaData
from pymech.neksuite import readnek, writenek
from pymech.neksuite.field import Header
from replaying import replay

N = 5  # points along each axis of an element
LENGTHS = (2.0, 3.0, 0.5)
TEXT = """
output: results
SIDECARS
meshes: {box: {kind: spectral, order: 4, dimensions: AXES, coordinates: xyz, units: m}}
fields:
  xyz: {mesh: box, type: float64, components: AXES, units: m}
  velocity: {mesh: box, type: float64, components: AXES, units: m/s}
  pressure: {mesh: box, type: float64}
  temperature: {mesh: box, type: float64}
  scalar_2: {mesh: box, type: float64}
  number: {mesh: box, type: int64, centering: cell}
analyses:
  a:
    every: 1 steps
    stages:
      - statistics: {fields: [velocity, pressure, scalar_2]}
      - write_raw: {fields: [xyz, velocity, pressure, temperature, scalar_2], durable: false}
      - write_nek: {fields: [velocity, scalar_2, pressure, temperature], durable: false}
"""


def gll(n: int) -> np.ndarray:
    """Gauss-Lobatto-Legendre points on [-1, 1]."""
    inner = np.polynomial.legendre.Legendre.basis(n - 1).deriv().roots().real
    return np.concatenate([[-1], np.sort(inner), [1]])


def make(axes: int, step: int, wdsz: int, endian: str) -> HexaData:
    """Elements side by side, in an order that is not that of their ids. Coordinates are there at
    the first step alone."""
    counts = (3, 4, 2)[:axes]
    rng = np.random.default_rng(step)
    points = (N, N, N if axes == 3 else 1)
    has_places = axes if step == 0 else 0
    data = HexaData(axes, int(np.prod(counts)), points, (has_places, axes, 1, 1, 2))
    data.time, data.istep, data.wdsz, data.endian = 0.25 * step, 10 * step, wdsz, endian
    data.elmap = np.random.default_rng(5).permutation(data.elmap).astype(np.int32)
    along = (gll(N) + 1) / 2
    for at, element in zip(np.ndindex(counts), data.elem, strict=True):
        places = [(at[d] + along) * LENGTHS[d] / counts[d] for d in range(axes)]
        grid = np.meshgrid(*places[::-1], indexing="ij")[::-1]
        for d in range(has_places):
            element.pos[d] = grid[d].reshape(points[::-1])
        for part in (element.vel, element.pres, element.temp, element.scal):
            part[...] = rng.normal(size=part.shape)
        # A polynomial that the quadrature integrates exactly.
        element.scal[1] = (1 + grid[0] * grid[1] ** 2).reshape(points[::-1])
    return data


def values_of(data: HexaData, what: str, component: slice | int) -> np.ndarray:
    """[element, component, z, y, x] in the order of the file."""
    found = np.array([getattr(data.elem[n - 1], what)[component] for n in data.elmap])
    found = found.astype(np.float32 if data.wdsz == 4 else np.float64)
    return found.squeeze(-3) if data.ndim == 2 else found


@pytest.mark.parametrize(
    ("axes", "wdsz", "endian", "ranks", "sidecars"),
    [
        (3, 8, "little", 1, ""),
        (3, 4, "big", 4, "sidecars: {ranks: 1}"),
        (2, 4, "little", 3, ""),
        (2, 8, "big", 1, ""),
    ],
)
def test_values(build, tmp_path, axes, wdsz, endian, ranks, sidecars):
    steps = [make(axes, step, wdsz, endian) for step in range(3)]
    for number, data in enumerate(steps):
        writenek(str(tmp_path / f"case0.f{number + 1:05}"), data)
    text = TEXT.replace("AXES", str(axes)).replace("SIDECARS", sidecars)
    (tmp_path / "c.yaml").write_text(text)
    done = replay(build, tmp_path, ranks, tmp_path, "c.yaml")
    assert "3 steps, 0 to 20; 3 were due" in done.stdout
    found = pillion.results(tmp_path / "results")
    for data in steps:
        values = found.at("a/box", data.istep)
        assert float(values["time"]) == data.time
        of = {
            "xyz": values_of(steps[0], "pos", slice(axes)),
            "velocity": values_of(data, "vel", slice(axes)),
            "pressure": values_of(data, "pres", 0),
            "temperature": values_of(data, "temp", 0),
            "scalar_2": values_of(data, "scal", 1),
        }
        for name, expected in of.items():
            seen = np.sort(values[name].values.reshape(len(expected), -1), axis=0)
            np.testing.assert_array_equal(
                values[name].values.reshape(expected.shape) if ranks == 1 else seen,
                expected if ranks == 1 else np.sort(expected.reshape(len(expected), -1), axis=0),
                name,
            )
    for number, data in enumerate(steps, 1):
        back = readnek(str(tmp_path / f"results/a/box_nek/box0.f{number:05}"))
        assert (back.time, back.istep, back.var) == (data.time, data.istep, (*data.var[:4], 1))
        for element, original in zip(back.elem, data.elem, strict=True):
            for what, count in (("pos", axes), ("vel", axes), ("pres", 1), ("temp", 1)):
                wanted = getattr(original, what)[:count].astype(f"f{wdsz}")
                np.testing.assert_array_equal(getattr(element, what)[:count], wanted, what)
            np.testing.assert_array_equal(element.scal[0], original.scal[1].astype(f"f{wdsz}"))
    table = read_table(tmp_path / "results/a/statistics_scalar_2.csv")
    lx, ly, lz = (*LENGTHS[:axes], 1.0, 1.0)[:3]
    tolerance = 1e-12 if wdsz == 8 else 1e-6
    assert table["volume"][1] == pytest.approx(lx * ly * lz, rel=tolerance)
    assert table["mean"][1] == pytest.approx(1 + lx / 2 * ly**2 / 3, rel=tolerance)


@pytest.mark.parametrize("axes", [2, 3])
def test_files_bring_their_catalogue(build, tmp_path, axes):
    """Coordinates are those of a file before the first one that is analysed."""
    for step in range(3):
        writenek(str(tmp_path / f"case0.f{step + 1:05}"), make(axes, step, 8, "little"))
    text = "output: results\nanalyses:\n  a:\n    every: 20 steps\n"
    text += "    stages: [statistics: {fields: [velocity, scalar_2]}]\n"
    (tmp_path / "c.yaml").write_text(text)
    replay(build, tmp_path, 2, "--steps", "10..20", tmp_path, "c.yaml")
    table = read_table(tmp_path / "results/a/statistics_scalar_2.csv")
    lx, ly, lz = (*LENGTHS[:axes], 1.0, 1.0)[:3]
    assert table["step"].tolist() == [20]
    assert table["mean"][0] == pytest.approx(1 + lx / 2 * ly**2 / 3, rel=1e-12)
    assert table["volume"][0] == pytest.approx(lx * ly * lz, rel=1e-12)
    (tmp_path / "c.yaml").write_text(text.replace("scalar_2", "scalar_3"))
    done = replay(build, tmp_path, 1, "--output", "other", tmp_path, "c.yaml", check=False)
    assert done.returncode == 1 and "scalar_3" in done.stderr


def split(path: Path, data: HexaData, files: int) -> None:
    """Writes a step to several files, as Nek5000 does."""
    for number in range(files):
        own = np.array_split(data.elmap, files)[number]
        header = Header(
            data.wdsz, data.lr1, len(own), data.nel, data.time, data.istep, number, files,
            nb_vars=data.var,
        )  # fmt: skip
        with open(str(path).replace("0.f", f"{number}.f"), "wb") as file:
            file.write(header.as_bytestring())
            np.array([6.54321], np.float32).tofile(file)
            own.tofile(file)
            for what, count in zip(("pos", "vel", "pres", "temp"), data.var, strict=False):
                for n in own:
                    getattr(data.elem[n - 1], what)[:count].astype("f8").tofile(file)
            for n in range(data.var[4]):
                for element in own:
                    data.elem[element - 1].scal[n].astype("f8").tofile(file)


WRONG = {
    "cannot read case1.f00002: No such file": lambda path: path.unlink(),
    "field 'scalar_2' needs": lambda path: path.write_bytes(path.read_bytes()[:-9000]),
    "does not begin as a field file of Nek5000": lambda path: path.write_bytes(b"#max" * 40),
    "has other elements than 'case1.f00001'": lambda path: path.write_bytes(
        path.read_bytes()[:136] + path.read_bytes()[140:144] * 2 + path.read_bytes()[144:]
    ),
}


def test_several_files(build, tmp_path):
    for step in range(2):
        split(tmp_path / f"case0.f{step + 1:05}", make(3, step, 8, "little"), 3)
    text = TEXT.replace("AXES", "3").replace("SIDECARS", "")
    (tmp_path / "c.yaml").write_text(text)
    files = sorted(path.name for path in tmp_path.glob("case*"))
    replay(build, tmp_path, 2, *files, "c.yaml")
    found = pillion.results(tmp_path / "results").at("a/box", 10)
    expected = values_of(make(3, 1, 8, "little"), "vel", slice(3))
    assert found["velocity"].values.sum() == pytest.approx(expected.sum(), rel=1e-12)
    assert found["velocity"].values.shape == expected.shape
    whole = (tmp_path / "case1.f00002").read_bytes()
    for message, spoil in WRONG.items():
        (tmp_path / "case1.f00002").write_bytes(whole)
        spoil(tmp_path / "case1.f00002")
        words = ("--output", "other", "case0.f00001", "case0.f00002", "c.yaml")
        done = replay(build, tmp_path, 1, *words, check=False)
        assert done.returncode == 1 and message in done.stderr, (message, done.stderr)
