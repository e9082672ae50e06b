# SPDX-License-Identifier: BSD-3-Clause
"""Stages on quadrilateral spectral elements against NumPy: a plane whose coordinates have two
components, and a surface in space. The elements are of order 3, deformed by a smooth map."""

from functools import cache

import h5py
import numpy as np
import pillion.compressed
import pytest
from conftest import read_table
from datasets import read_raw
from frames import Frame
from image_oracle import colours, pixels, rays
from numpy.polynomial import Polynomial
from numpy.polynomial.legendre import Legendre
from placements import cases, check_report, placements
from pool import results_of_case
from scenes import Scene
from test_spectral import BUILD, HAS_PYTHON, HAS_WRITE, ORDER, STAGES, N, points
from test_write_vtkhdf import arrays_of, file_of, parts_of
from vtkmodules.util.numpy_support import vtk_to_numpy
from vtkmodules.vtkCommonDataModel import vtkLagrangeQuadrilateral
from vtkmodules.vtkFiltersVerdict import vtkCellSizeFilter

HAS_IMAGE = (BUILD / "stages/image.so").exists()
ELEMENTS = (5, 4)
DIMENSIONS = {"plane": 2, "surface": 3}
CATALOGUE = f"""
meshes:
  sheet: {{kind: spectral, order: {ORDER}, dimensions: 2, coordinates: xyz, units: m}}
fields:
  xyz: {{mesh: sheet, type: float64, components: SPACE, units: m}}
  velocity: {{mesh: sheet, type: float64, components: 2, units: m/s}}
  pressure: {{mesh: sheet, type: float32}}
  number: {{mesh: sheet, type: int64, centering: cell}}
"""
ANALYSES = """
analyses:
  values:
    stages:
      - magnitude: {field: velocity, into: speed}
      - statistics: {fields: [velocity, pressure, number]}
      - histogram: {field: speed, bins: 20, range: [0, 4]}
"""
WRITING = """
      - write_hdf5: {fields: [xyz, velocity, pressure, number], durable: false}
      - write_raw: {fields: [velocity, pressure, number], durable: false}
      - write_vtkhdf: {fields: [velocity, pressure, number], durable: false}
      - write_vtkhdf: {fields: [pressure, number], elements: split, name: split, durable: false}
"""
BOUND, PART = 1e-2, 3e-2
COMPRESSING = f"""
  small:
    stages:
      - truncate: {{fields: [velocity, pressure], error: {BOUND}}}
      - encode: {{fields: [velocity, pressure], numbers: number, durable: false}}
  most:
    stages:
      - truncate: {{fields: [velocity], error: {PART}, relative_to: range, norm: max, round: false}}
      - encode: {{fields: [velocity], numbers: number, coordinates: each, durable: false}}
  exact:
    stages: [encode: {{fields: [velocity], coordinates: none, durable: false}}]
"""
SIZE = (90, 72)
VIEW = "size: [90, 72], samples: 1, labels: false, outline: false, camera: {parallel: true, "
VIEW += "direction: [0, 0, 1], up: [0, 1, 0], focal_point: [0.5, 0.5, 0], height: 1.2}"
DRAWING = f"""
  look:
    stages:
      - image: {{name: flat, draw: [slice: {{field: xyz, component: 0}}], {VIEW}}}
      - image: {{name: lit, draw: [surface: {{field: xyz, component: 0}}], {VIEW}}}
      - image: {{name: cells, draw: [slice: {{field: number}}], {VIEW}}}
"""
CUTTING = """
  cut:
    stages: [slice: {field: xyz, component: 0, pixels: 25}]
"""
PYTHON = f"""
  python:
    stages:
      - python: {{call: "{STAGES}:flat"}}
      - statistics: {{fields: [peak, doubled]}}
"""


@cache
def coordinates(name: str) -> np.ndarray:
    """[element, component, j, i]."""
    corners = np.stack(np.meshgrid(*map(np.arange, ELEMENTS), indexing="ij"), -1).reshape(-1, 2)
    s, r = np.meshgrid(points(), points(), indexing="ij")
    local = (np.stack([r, s]) + 1) / 2
    x = (corners[:, :, None, None] + local) / np.array(ELEMENTS)[:, None, None]
    bump = np.prod(np.sin(np.pi * x), axis=1, keepdims=True)
    x = x + 0.07 * bump * np.array([1.0, -0.6])[:, None, None]
    return x if name == "plane" else np.concatenate([x, 0.5 * bump], axis=1)


@cache
def areas(name: str) -> np.ndarray:
    """Quadrature weights times the area of the map [element, j, i], from NumPy's polynomials."""
    x = points()
    weights = 2 / (ORDER * N * Legendre.basis(ORDER)(x) ** 2)
    derivative = np.empty((N, N))
    for j in range(N):
        of = Polynomial.fromroots(np.delete(x, j))
        derivative[:, j] = of.deriv()(x) / of(x[j])
    r = np.einsum("im,ecjm->ecji", derivative, coordinates(name))
    s = np.einsum("jm,ecmi->ecji", derivative, coordinates(name))
    g = [(a * b).sum(axis=1) for a, b in ((r, r), (s, s), (r, s))]
    return np.sqrt(g[0] * g[1] - g[2] ** 2) * np.outer(weights, weights)


@cache
def frames(name: str) -> list[Frame]:
    rng = np.random.default_rng(11)
    xyz = coordinates(name)
    number = (rng.permutation(len(xyz)) * 3 + 7).astype(np.int64)
    out = []
    for step in range(3):
        velocity = np.sin(2 * np.pi * xyz[:, [1, 0]] + 0.3 * step)
        velocity += rng.normal(0, 0.3, velocity.shape)
        pressure = (velocity**2).sum(axis=1).astype(np.float32)
        values = {"xyz": xyz, "velocity": velocity, "pressure": pressure, "number": number}
        flat = {k: v.reshape(len(v), -1) if v.ndim > 1 else v for k, v in values.items()}
        out.append(Frame(step, 0.25 * step, flat))
    return out


def shaped(frame: Frame, field: str) -> np.ndarray:
    if field == "speed":
        return np.sqrt((shaped(frame, "velocity") ** 2).sum(axis=1))
    if field == "number":
        return frame[field]
    values = frame[field].reshape(len(frame["number"]), -1, N, N)
    return values[:, 0] if field == "pressure" else values


PARTS = {"xyz": ["x", "y"], "velocity": ["vx", "vy"]}


def in_parts(frame: Frame) -> Frame:
    """Each component is a field of its own."""
    values = dict(frame.values)
    for name, parts in PARTS.items():
        all_of_it = values.pop(name).reshape(len(frame["number"]), len(parts), -1)
        values |= {part: all_of_it[:, c].copy() for c, part in enumerate(parts)}
    return Frame(frame.step, frame.time, values)


def scene(name: str) -> Scene:
    shape, _, apart = name.partition("-")
    catalogue = CATALOGUE.replace("SPACE", str(DIMENSIONS[shape]))
    analyses = ANALYSES + (WRITING + COMPRESSING if HAS_WRITE else "")
    analyses += (PYTHON if HAS_PYTHON else "") + (DRAWING if HAS_IMAGE else "")
    analyses += CUTTING if shape == "plane" else ""
    arguments = ("--elements", 1, "--apart", int(apart == "apart"))
    shared = frames(shape)
    if apart == "parts":
        shared = [in_parts(frame) for frame in shared]
        analyses = analyses.replace("xyz", "sheet_coordinates")
        catalogue = catalogue.replace("coordinates: xyz", "coordinates: [x, y]")
        lines = [line for line in catalogue.splitlines() if "xyz:" not in line]
        at = next(n for n, line in enumerate(lines) if "velocity:" in line)
        lines[at] = "  velocity: {components: [vx, vy], units: m/s}"
        lines += [f"  {n}: {{mesh: sheet, type: float64}}" for n in ("x", "y", "vx", "vy")]
        catalogue = "\n".join(lines) + "\n"
    return Scene(name, shared, catalogue, analyses, "trajectory_driver", arguments)


DIVISIONS = ["slabs", "migrate", "sparse", "pieces"]
CASES = cases(
    {
        "plane": placements(
            DIVISIONS, [(1, 0, "slabs"), (3, 2, "pieces"), (2, 1, "slabs", "node")]
        ),
        "surface-apart": placements(DIVISIONS, [(3, 0, "migrate"), (2, 1, "pieces", "node")]),
        "plane-parts": placements(
            DIVISIONS, [(3, 2, "migrate"), (2, 0, "pieces"), (2, 1, "pieces", "node")]
        ),
    }
)


@pytest.fixture(scope="module", params=CASES)
def played(request, build, tmp_path_factory):
    """The shape of the mesh, and the folder of the results."""
    name, placement = request.param
    _, results = results_of_case(
        request, build, tmp_path_factory, lambda case, _: (scene(case[0]), case[1])
    )
    check_report(scene(name), placement, results)
    return name.partition("-")[0], results


def sized(part):
    sizes = vtkCellSizeFilter()
    sizes.SetInputData(part)
    sizes.Update()
    return sizes.GetOutput()


def check_row(table, row: int, ending: str, values: np.ndarray, shape: str) -> None:
    values = values.astype(np.float64)
    weights = areas(shape) if values.ndim > 1 else areas(shape).sum(axis=(1, 2))
    expected = {
        "volume": weights.sum(),
        "min": values.min(),
        "max": values.max(),
        "mean": np.average(values, weights=weights),
        "rms": np.sqrt(np.average(values**2, weights=weights)),
    }
    assert table["count" + ending][row] == values.size
    for name, value in expected.items():
        assert table[name + ending][row] == pytest.approx(value, rel=1e-12, abs=1e-14), name


def test_statistics(played):
    shape, results = played
    velocity, pressure, number = (
        read_table(results / f"values/statistics_{name}.csv")
        for name in ("velocity", "pressure", "number")
    )
    assert velocity.units["volume_x"] == "m^2"
    for row, frame in enumerate(frames(shape)):
        for c, axis in enumerate("xy"):
            check_row(velocity, row, f"_{axis}", shaped(frame, "velocity")[:, c], shape)
        check_row(velocity, row, "_magnitude", shaped(frame, "speed"), shape)
        check_row(pressure, row, "", shaped(frame, "pressure"), shape)
        check_row(number, row, "", frame["number"], shape)


def test_histogram(played):
    shape, results = played
    for frame in frames(shape):
        table = read_table(results / f"values/histogram_speed.{frame.step:09}.csv")
        speed = shaped(frame, "speed")
        assert table["count"].tolist() == np.histogram(speed, 20, (0, 4))[0].tolist()
        by_area = np.histogram(speed, 20, (0, 4), weights=areas(shape))[0]
        np.testing.assert_allclose(table["volume"], by_area, rtol=1e-11, atol=1e-15)


@pytest.mark.skipif(not HAS_WRITE, reason="no stage write_hdf5")
def test_files(played):
    shape, results = played
    raw = read_raw(results / "values", "sheet.raw.yaml")
    for frame in frames(shape):
        wanted = np.argsort(frame["number"])
        with h5py.File(results / f"values/sheet_hdf5/sheet.{frame.step:09}.h5") as file:
            assert file["velocity"].shape == (20, 2, N, N) and file["pressure"].shape == (20, N, N)
            names = [dim[0].name for dim in file["velocity"].dims]
            assert names == ["/element", "/component2", "/point_y", "/point_x"]
            found = np.argsort(file["number"][...])
            for name in ("xyz", "velocity", "pressure", "number"):
                stored = name if name in file else "sheet_coordinates"
                np.testing.assert_array_equal(
                    file[stored][...][found], shaped(frame, name)[wanted], err_msg=name
                )
        _, blocks = raw[frame.step]
        number = np.concatenate([block["number"].ravel() for block in blocks])
        velocity = np.concatenate([block["velocity"].reshape(-1, 2, N, N) for block in blocks])
        np.testing.assert_array_equal(
            velocity[np.argsort(number)], shaped(frame, "velocity")[wanted]
        )


def decoded(results, name: str, field: str, frame: Frame, average: bool = False):
    """A field in the file of a step, and the original, in the order of the elements' numbers."""
    path = results / name / f"sheet_compressed/sheet.{frame.step:09}.h5"
    with pillion.compressed.open(path) as file:
        order = np.argsort(frame["number"])
        assert file.dimensions == 2 and file.order == ORDER
        np.testing.assert_array_equal(file.numbers, frame["number"][order])
        values = shaped(frame, field)[order].reshape(len(order), -1, N, N)
        return file.read(field, average), values, file.field(field), file.coefficients(field)


@pytest.mark.skipif(not HAS_WRITE, reason="HDF5 was not found")
def test_compressed_files_are_within_the_bound(played):
    shape, results = played
    for frame in frames(shape):
        order = np.argsort(frame["number"])
        weights = areas(shape)[order][:, None]
        for field in ("velocity", "pressure"):
            found, values, of, _ = decoded(results, "small", field, frame)
            off = found.astype(float) - values
            rms = np.sqrt((off**2 * weights).sum(axis=(2, 3)) / weights.sum(axis=(2, 3)))
            assert BOUND / 3 < rms.max() <= BOUND and of.ratio > 1.5
            whole = np.sqrt((off**2 * weights).sum(axis=(0, 2, 3)) / weights.sum()).max()
            assert whole <= of.error * (1 + 1e-9) <= BOUND
        found, values, of, coefficients = decoded(results, "most", "velocity", frame)
        most = PART * np.ptp(values, axis=(0, 2, 3)).max()
        assert of.bound == pytest.approx(most, rel=1e-12)
        assert most / 10 < abs(found - values).max() <= most
        wanted = np.einsum("ai,bj,ecji->ecba", to_legendre(), to_legendre(), values)
        kept = coefficients != 0
        np.testing.assert_allclose(coefficients[kept], wanted[kept], rtol=1e-11, atol=1e-13)
        assert 0.3 < kept.mean() < 1
        assert_exact(results / f"exact/sheet_compressed/sheet.{frame.step:09}.h5", frame)


def to_legendre() -> np.ndarray:
    """Values at the points times this are coefficients of orthonormal Legendre polynomials."""
    x, degrees = points(), np.arange(N)
    weights = 2 / (ORDER * N * Legendre.basis(ORDER)(x) ** 2)
    scale = np.sqrt(degrees + 0.5)
    scale[-1] = np.sqrt(ORDER / 2)  # of the quadrature's norm
    return np.array([scale[a] * Legendre.basis(a)(x) * weights for a in degrees])


def assert_exact(path, frame: Frame) -> None:
    with pillion.compressed.open(path) as file:
        order = np.argsort(frame["number"])
        np.testing.assert_array_equal(file.read("velocity"), shaped(frame, "velocity")[order])


@pytest.mark.skipif(not HAS_WRITE, reason="HDF5 was not found")
def test_the_average_is_one_at_points_where_elements_meet(played):
    shape, results = played
    frame = frames(shape)[1]
    found, _, _, _ = decoded(results, "small", "velocity", frame, average=True)
    order = np.argsort(frame["number"])
    places = np.moveaxis(coordinates(shape)[order], 1, -1).reshape(-1, DIMENSIONS[shape])
    names, weights = np.round(places, 9), areas(shape)[order].ravel()
    _, at = np.unique(names, axis=0, return_inverse=True)
    plain, _, _, _ = decoded(results, "small", "velocity", frame)
    for c in range(2):
        sums = np.bincount(at.ravel(), weights * plain[:, c].ravel()) / np.bincount(
            at.ravel(), weights
        )
        np.testing.assert_allclose(found[:, c].ravel(), sums[at.ravel()], rtol=1e-12, atol=1e-13)


@pytest.mark.skipif(not HAS_PYTHON, reason="no modules for Python")
@pytest.mark.skipif(not HAS_WRITE, reason="HDF5 was not found")
def test_vtk_reads_quadrilaterals(played):
    shape, results = played
    xyz = np.zeros((len(coordinates(shape)), 3, N, N))
    xyz[:, : DIMENSIONS[shape]] = coordinates(shape)
    for frame in frames(shape):
        row_of = {number: row for row, number in enumerate(frame["number"].tolist())}
        velocity, pressure = shaped(frame, "velocity"), shaped(frame, "pressure")
        seen = set()
        for part in parts_of(file_of(results / "values", "sheet", frame.step)):
            values, cells = arrays_of(part.GetPointData()), arrays_of(part.GetCellData())
            where = vtk_to_numpy(part.GetPoints().GetData())
            for c in range(part.GetNumberOfCells()):
                row = row_of[int(cells["number"][c])]
                seen.add(row)
                assert part.GetCellType(c) == 70
                ids = part.GetCell(c).GetPointIds()
                for j, i in np.ndindex(N, N):
                    # Where VTK itself has the node.
                    node = vtkLagrangeQuadrilateral.PointIndexFromIJK(i, j, (N - 1,) * 2)
                    point = ids.GetId(node)
                    np.testing.assert_array_equal(where[point], xyz[row, :, j, i])
                    np.testing.assert_array_equal(values["velocity"][point], velocity[row, :, j, i])
                    assert values["pressure"][point] == pressure[row, j, i]
        assert len(seen) == len(row_of)
        parts = parts_of(file_of(results / "values", "split", frame.step))
        assert sum(part.GetNumberOfCells() for part in parts) == len(row_of) * ORDER**2
        assert {part.GetCellType(0) for part in parts} == {9}
        areas_of = [arrays_of(sized(part).GetCellData())["Area"] for part in parts]
        assert np.concatenate(areas_of).sum() == pytest.approx(areas(shape).sum(), rel=0.02)


DRAWN: dict[str, np.ndarray] = {}


@pytest.mark.skipif(not HAS_IMAGE, reason="the stage image is not built")
def test_pictures(played):
    """From above, where x and y are linear in each triangle: as a plane, and as a lit surface."""
    shape, results = played
    found = {
        name: pixels(results / f"look/{name}.000000000.png") for name in ("flat", "lit", "cells")
    }
    for name, picture in found.items():
        np.testing.assert_array_equal(picture, DRAWN.setdefault(f"{shape}-{name}", picture))
    seen = rays(SIZE, (0.5, 0.5, 9), (0.5, 0.5, 0), (0, 1, 0), height=1.2)
    x, y = seen.origin[..., 0], seen.origin[..., 1]
    inside = (np.abs(x - 0.5) < 0.49) & (np.abs(y - 0.5) < 0.49)
    outside = (np.abs(x - 0.5) > 0.51) | (np.abs(y - 0.5) > 0.51)
    wanted = colours(x, 0, 1)
    assert np.abs(found["flat"] - wanted)[inside].max() <= 1
    for picture in found.values():
        assert (picture[outside] == 255).all() and (picture[inside] != 255).any(axis=-1).all()
    # Light falls along the ray: all of it where the normal is along it too.
    bright = np.minimum(wanted + 40, 255)
    if shape == "plane":
        assert np.abs(found["lit"] - bright)[inside].max() <= 1
    else:
        top = np.hypot(x - 0.57, y - 0.458) < 0.01
        slope = np.hypot(x - 0.15, y - 0.5) < 0.05
        assert top.any() and np.abs(found["lit"] - bright)[top].max() <= 3
        assert (found["lit"].sum(axis=-1) < 0.9 * bright.sum(axis=-1))[slope].all()
    # Of a cell-centred field, one colour for each element.
    own = {tuple(c) for c in found["cells"][inside]}
    number = np.sort(frames(shape)[0]["number"]).astype(float)
    known = np.rint(colours(number, number.min(), number.max())).astype(int)
    assert all(np.abs(known - colour).max(axis=1).min() <= 1 for colour in own)
    assert len(own) >= len(number)


def test_slices_in_numbers(played):
    """x is linear in each triangle, so its means are those of pixels."""
    shape, results = played
    if shape == "surface":
        pytest.skip("a plane cuts a surface in lines")
    (path,) = (results / "cut").glob("slice_*_x_z.000000000.csv")
    table = read_table(path)
    assert len(table["mean"]) == 25 * 25
    np.testing.assert_allclose(table["mean"], table["x"], rtol=1e-9)


def test_stages_in_python(played):
    shape, results = played
    peak = read_table(results / "python/statistics_peak.csv")
    doubled = read_table(results / "python/statistics_doubled.csv")
    for row, frame in enumerate(frames(shape)):
        velocity = shaped(frame, "velocity")
        check_row(peak, row, "", velocity[:, 1, 2].max(axis=1), shape)
        for c, axis in enumerate("xy"):
            check_row(doubled, row, f"_{axis}", 2 * velocity[:, c], shape)
