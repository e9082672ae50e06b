# SPDX-License-Identifier: BSD-3-Clause
"""Stages on meshes whose cells differ in size, against NumPy with volumes worked out here, wherever
they run: a rectilinear block in cylindrical coordinates, and a sphere's surface with poles."""

from functools import cache

import h5py
import numpy as np
import pillion
import pytest
import xarray
from conftest import mpirun, read_table
from datasets import read_raw
from frames import Frame
from image_oracle import check_cells, pixels
from placements import cases, check_report
from pool import results_of_case
from scenes import Placement, Scene
from vtkmodules.util.numpy_support import vtk_to_numpy
from vtkmodules.vtkIOXdmf2 import vtkXdmfReader

CELLS = {"pipe": (8, 12, 10), "globe": (24, 15)}
RADIUS = 6371.0
PLACEMENTS = [
    *(Placement(1, 0, "slabs"), Placement(3, 0, "uneven"), Placement(3, 2, "many")),
    *(Placement(2, 3, "empty", "node"), Placement(2, 2, "many", "separate", 2)),
]
COMMON = """
    stages:
      - statistics: {fields: [u, v]}
      - histogram: {field: u, bins: 7, range: [-1.0, 1.5], means: true}
      - histogram: {field: v, component: 0, bins: 5, range: auto, relative_to_mean: true}
      - average: {field: v, onto: coarse, into: mean}
      - write_raw: {fields: [mean], name: means, durable: false}
"""


SIZE = (240, 160)
SEEN = {"pipe": ((1.0, 8.0), 4.0), "globe": ((150.0, 0.0), 240.0)}  # the middle, and the height


@cache
def faces(name: str) -> list[np.ndarray]:
    """By axis; the radius of the pipe begins at the axis."""
    n = CELLS[name]
    if name == "globe":
        return [np.linspace(-30, 330, n[0] + 1), np.linspace(-90, 90, n[1] + 1)]
    radius = np.linspace(0, 1, n[0] + 1) ** 0.7 * 2
    return [radius, np.linspace(10, 190, n[1] + 1), np.cumsum(np.arange(n[2] + 1.0)) - 3]


@cache
def volumes(name: str) -> np.ndarray:
    """An index per axis, x first."""
    x = faces(name)
    if name == "globe":
        sines = np.sin(np.radians(x[1]))
        return np.outer(np.diff(np.radians(x[0])), np.diff(sines)) * RADIUS**2
    rings = np.diff(x[0] ** 2) / 2
    return np.einsum("i,j,k->ijk", rings, np.diff(np.radians(x[1])), np.diff(x[2]))


@cache
def frames(name: str) -> list[Frame]:
    rng = np.random.default_rng(3)
    count = int(np.prod(CELLS[name]))
    out = []
    for step in range(3):
        u = rng.normal(size=count)
        u[step] = np.nan
        v = rng.normal(5, 1, (count, 2)).astype(np.float32)
        out.append(Frame(step, 0.5 * step, {"u": u, "v": v}))
    return out


def grid_of(name: str, values: np.ndarray) -> np.ndarray:
    """With an index per axis, x first, and components last."""
    return values.reshape((*CELLS[name], *values.shape[1:]), order="F").astype(float)


def mesh_text(name: str, side: int) -> str:
    every = [list(map(float, of[::side])) for of in faces(name)]
    if name == "pipe":
        return f"{{kind: rectilinear, metric: cylindrical, units: m, coordinates: {every}}}"
    cells = [len(of) - 1 for of in every]
    return (
        f"{{kind: uniform, metric: spherical, radius: {RADIUS}, units: km, cells: {cells}, "
        f"origin: [-30, -90], length: [360, 180], periodic: [true, false]}}"
    )


def scene(name: str) -> Scene:
    sides = {"pipe": 2, "globe": 3}
    catalogue = (
        f"meshes:\n  grid: {mesh_text(name, 1)}\n  coarse: {mesh_text(name, sides[name])}\n"
        "fields:\n  u: {mesh: grid, type: float64}\n"
        "  v: {mesh: grid, type: float32, components: 2, units: K}\n"
    )
    analyses = f"analyses:\n  all:\n    every: 1 steps{COMMON}      - slice: {{field: u"
    analyses += ", axis: y, position: 60, thickness: 40}\n" if name == "pipe" else "}\n"
    (x, z), height = SEEN[name]
    camera = f"[{x}, -500, {z}], focal_point: [{x}, 0, {z}], up: [0, 0, 1]"
    if name == "globe":
        camera = f"[{x}, {z}, 500], focal_point: [{x}, {z}, 0], up: [0, 1, 0]"
    analyses += (
        f"      - image: {{name: map, size: {list(SIZE)}, samples: 1, labels: false, outline: "
        f"false, camera: {{position: {camera}, parallel: true, height: {height}}}, draw: [slice: "
        f"{{field: v, component: 0, limits: [3, 7]{', axis: y, at: 60' * (name == 'pipe')}}}]}}\n"
    )
    analyses += "  files:\n    every: 1 steps\n    stages:\n"
    analyses += "      - write_raw: {fields: [u, v], durable: false}\n"
    analyses += "      - write_hdf5: {fields: [u, v], name: h5, durable: false, chunk: "
    analyses += ("[4, 4, 4]" if name == "pipe" else "[8, 8]") + ", files: grouped, groups: 2}\n"
    arguments = ("--cells", ",".join(map(str, CELLS[name])))
    return Scene(name, frames(name), catalogue, analyses, "grid_driver", arguments)


@pytest.fixture(scope="module", params=cases({name: PLACEMENTS for name in CELLS}))
def played(request, build, tmp_path_factory):
    name, placement = request.param
    _, results = results_of_case(
        request, build, tmp_path_factory, lambda case, _: (scene(case[0]), case[1])
    )
    check_report(scene(name), placement, results)
    return name, results


def test_volumes_fill_what_they_should():
    assert volumes("globe").sum() == pytest.approx(4 * np.pi * RADIUS**2, rel=1e-14)
    assert volumes("pipe").sum() == pytest.approx(np.pi * 4 / 2 * 55, rel=1e-14)


def test_statistics(played):
    name, results = played
    for field, columns in (("u", {"": 0}), ("v", {"_x": 0, "_y": 1})):
        table = read_table(results / f"all/statistics_{field}.csv")
        assert table.attributes["weighted"] == "by volume"
        for step, frame in enumerate(frames(name)):
            values = frame[field].reshape(len(frame[field]), -1).astype(float)
            for end, component in columns.items():
                x, w = values[:, component], volumes(name).ravel(order="F")
                good = np.isfinite(x)
                x, w = x[good], w[good]
                assert table[f"count{end}"][step] == good.sum()
                mean = (w * x).sum() / w.sum()
                expected = {
                    "volume": w.sum(),
                    "mean": mean,
                    "standard_deviation": np.sqrt((w * (x - mean) ** 2).sum() / w.sum()),
                    "rms": np.sqrt((w * x**2).sum() / w.sum()),
                    "min": x.min(),
                    "max": x.max(),
                }
                for column, value in expected.items():
                    assert table[column + end][step] == pytest.approx(value, rel=1e-12), column


def test_pictures_show_cells_at_their_coordinates(played):
    name, results = played
    ((x, z), height), x_faces = SEEN[name], faces(name)
    columns = x + (np.arange(SIZE[0]) + 0.5 - SIZE[0] / 2) * height / SIZE[1]
    rows = z + (SIZE[1] / 2 - np.arange(SIZE[1]) - 0.5) * height / SIZE[1]
    across, up = (0, 1) if name == "globe" else (0, 2)
    i, k = (np.searchsorted(x_faces[axis], at) - 1 for axis, at in ((across, columns), (up, rows)))
    is_inside = (i >= 0) & (i < CELLS[name][across]), (k >= 0) & (k < CELLS[name][up])
    cells = np.where(
        is_inside[0][None] & is_inside[1][:, None], k[:, None] * CELLS[name][across] + i, -1
    )
    for frame in frames(name):
        v = grid_of(name, frame["v"])[..., 0]
        if name == "pipe":
            v = v[:, np.searchsorted(x_faces[1], 60) - 1]
        picture = pixels(results / f"all/map.{frame.step:09}.png")
        check_cells(picture, cells, v.ravel(order="F"), (3, 7))


def test_histogram(played):
    name, results = played
    for frame in frames(name):
        x, w = frame["u"], volumes(name).ravel(order="F")
        table = read_table(results / f"all/histogram_u.{frame.step:09}.csv")
        good = np.isfinite(x)
        counts, edges = np.histogram(x[good], 7, (-1, 1.5))
        by_volume = np.histogram(x[good], edges, weights=w[good])[0]
        sums = np.histogram(x[good], edges, weights=(w * x)[good])[0]
        assert table["count"].tolist() == counts.tolist()
        np.testing.assert_allclose(table["volume"], by_volume, rtol=1e-12)
        np.testing.assert_allclose(table["mean"], sums / by_volume, rtol=1e-12)
        density = by_volume / by_volume.sum() / np.diff(edges)
        np.testing.assert_allclose(table["volume_density"], density, rtol=1e-12)
        table = read_table(results / f"all/histogram_v_x.{frame.step:09}.csv")
        mean = np.average(frame["v"][:, 0].astype(float), weights=w)
        assert table.attributes["mean_of_field"] == pytest.approx(mean, rel=1e-12)


def test_averages(played):
    name, results = played
    side = {"pipe": 2, "globe": 3}[name]
    written = read_raw(results / "all", "means.raw.yaml")
    shape = [part for n in CELLS[name] for part in (n // side, side)]
    for frame in frames(name):
        w = volumes(name)
        split = (w[..., None] * grid_of(name, frame["v"])).reshape(*shape, 2)
        within = tuple(range(1, len(shape), 2))
        volume = w.reshape(shape).sum(axis=within)
        expected = split.sum(axis=within) / volume[..., None]
        found = np.full(expected.shape, np.nan)
        for block in written[frame.step][1]:
            box = tuple(slice(a, b) for a, b in zip(block["lo"], block["hi"], strict=True))
            values = block["mean"].reshape((*found[box].shape[:-1][::-1], 2))
            found[box] = np.moveaxis(values, -1, 0).T.reshape(found[box].shape)
        np.testing.assert_allclose(found, expected, rtol=1e-12)


def test_slice(played):
    name, results = played
    x, w = faces(name), volumes(name)
    centres = [(of[1:] + of[:-1]) / 2 for of in x]
    for frame in frames(name):
        table = read_table(results / f"all/slice_u_{'y' if name == 'pipe' else 'z'}."
                           f"{frame.step:09}.csv")  # fmt: skip
        u = grid_of(name, frame["u"])
        if name == "pipe":
            inside = (centres[1] >= 40) & (centres[1] < 80)
            good = np.where(np.isfinite(u), w, 0)[:, inside]
            u = (np.nan_to_num(u)[:, inside] * good).sum(axis=1) / good.sum(axis=1)
            assert table.units["z"] == "m" and table.units["x"] == "m"
            along = (("x", centres[0]), ("z", centres[2]))
            edges = x[1][:-1][inside].min(), x[1][1:][inside].max()
            assert (table.attributes["from"], table.attributes["to"]) == pytest.approx(edges)
        else:
            assert table.units["x"] == "degrees" and table.units["y"] == "degrees"
            along = (("x", centres[0]), ("y", centres[1]))
        np.testing.assert_allclose(table["mean"], u.ravel(order="F"), rtol=1e-12)
        here = np.meshgrid(along[0][1], along[1][1], indexing="ij")
        for (column, _), expected in zip(along, here, strict=True):
            np.testing.assert_allclose(table[column], expected.ravel(order="F"), rtol=1e-12)


def test_raw_says_where_cells_are(played):
    name, results = played
    opened = pillion.results(results)["files/grid.raw"]
    for axis, of in zip("xyz", faces(name), strict=False):
        np.testing.assert_allclose(opened[axis], (of[1:] + of[:-1]) / 2, rtol=1e-12)
    found = opened["u"].sel(step=2).to_numpy()
    np.testing.assert_array_equal(found.T, grid_of(name, frames(name)[2]["u"]))


def test_hdf5(played):
    name, results = played
    path = results / "files/h5_hdf5/h5.000000001.h5"
    with h5py.File(path) as file:
        metric = {"pipe": "cylindrical", "globe": "spherical"}[name]
        assert file.attrs["mesh_metric"] == metric
        np.testing.assert_array_equal(file["u"][...].T, grid_of(name, frames(name)[1]["u"]))
        if name == "pipe":
            for axis, of in zip("xyz", faces(name), strict=True):
                np.testing.assert_array_equal(file[f"{axis}_faces"], of)
            assert "VTKHDF" not in file
    with xarray.open_dataset(path, engine="h5netcdf") as data:
        for axis, of in zip("xyz", faces(name), strict=False):
            np.testing.assert_allclose(data["u"][axis], (of[1:] + of[:-1]) / 2, rtol=1e-12)


def test_vtk_opens_what_is_rectilinear(played):
    name, results = played
    if name != "pipe":
        return
    reader = vtkXdmfReader()
    reader.SetFileName(str(results / "files/h5.xmf"))
    reader.UpdateInformation()
    reader.UpdateTimeStep(0.5)
    grid = reader.GetOutputDataObject(0)
    grid = grid.GetBlock(0) if hasattr(grid, "GetBlock") else grid
    assert grid.GetClassName() == "vtkRectilinearGrid"
    for axis, of in zip("XYZ", faces(name), strict=True):
        found = vtk_to_numpy(getattr(grid, f"Get{axis}Coordinates")())
        np.testing.assert_array_equal(found, of)
    values = vtk_to_numpy(grid.GetCellData().GetArray("u"))
    np.testing.assert_array_equal(values, frames(name)[1]["u"])


@pytest.mark.parametrize("found", ["files/grid.raw.yaml", "files/h5_hdf5"])
def test_replay_takes_coordinates_from_files(found, build, tmp_path):
    """The configuration gives numbers of cells alone."""
    results, _ = scene("pipe").run(build, tmp_path, Placement(3, 0, "uneven"))
    (tmp_path / "again.yaml").write_text(
        "output: again\nmeshes:\n  grid: {kind: rectilinear, metric: cylindrical, units: m, "
        f"cells: {list(CELLS['pipe'])}}}"
        "\nfields:\n  u: {mesh: grid, type: float64}\n"
        "  v: {mesh: grid, type: float32, components: 2, units: K}\n"
        "analyses: {all: {every: 1 steps, stages: [statistics: {fields: [u, v]}]}}\n"
    )
    words = [build / "bin/pillion", "replay", results / found, "again.yaml"]
    mpirun(2, *words, cwd=tmp_path)
    for field in "uv":
        name = f"all/statistics_{field}.csv"
        live, again = read_table(results / name), read_table(tmp_path / "again" / name)
        assert live.columns.keys() == again.columns.keys()
        for column, values in live.columns.items():
            np.testing.assert_allclose(again[column], values, rtol=1e-12, err_msg=column)
