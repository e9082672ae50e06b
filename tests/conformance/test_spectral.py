# SPDX-License-Identifier: BSD-3-Clause
"""Stages on spectral elements against NumPy on all of them, wherever stages run and however they
are divided: several blocks, none, elements that move from rank to rank. The mesh is the unit cube
in hexahedra of order 3, deformed by a smooth map; its elements are numbered in no order."""

import json
import os
from functools import cache
from pathlib import Path

import h5py
import numpy as np
import pillion
import pytest
import yaml
from conftest import read_table
from frames import Frame
from numpy.polynomial import Polynomial
from numpy.polynomial.legendre import Legendre, leggauss
from placements import cases, check_report, placements
from pool import results_of_case
from scenes import Placement, Scene

ORDER, N = 3, 4
ELEMENTS = (3, 4, 2)
STAGES = Path(__file__).parent / "stages" / "spectral.py"
BUILD = Path(os.environ.get("PILLION_BUILD", "build"))
HAS_PYTHON = any((BUILD / "python/pillion").glob("_stage*.so"))
HAS_WRITE = (BUILD / "stages/write_hdf5.so").exists()

CATALOGUE = f"""
meshes:
  box: {{kind: spectral, order: {ORDER}, coordinates: xyz, units: m}}
fields:
  xyz: {{mesh: box, type: float64, components: 3, units: m}}
  velocity: {{mesh: box, type: float64, components: 3, units: m/s}}
  pressure: {{mesh: box, type: float32}}
  number: {{mesh: box, type: int64, centering: cell}}
  drift: {{mesh: box, type: float64, components: 2, centering: cell, units: m/s}}
"""
WRITTEN = ["xyz", "velocity", "pressure", "number", "drift", "speed"]
ANALYSES = """
analyses:
  values:
    stages:
      - statistics: {fields: [velocity, pressure, drift, number]}
      - histogram: {field: velocity, component: 1, bins: 25, range: [-2, 2]}
      - magnitude: {field: velocity, into: speed}
      - histogram: {field: speed, bins: 20, range: [0, 4], weight: pressure}
      - histogram: {field: drift, component: 1, bins: 9, range: auto}
"""
WRITING = f"""
      - write_hdf5: {{fields: [{", ".join(WRITTEN)}], durable: false}}
      - write_hdf5: {{fields: [velocity, number], name: small, compression: gzip,
                durable: false, chunk: [2], files: grouped, groups: 2}}
      - write_raw: {{fields: [drift, pressure, number], name: plain,
                durable: false}}
"""
# Fields at other points of the elements.
SETS = {"inner": (3, "gauss"), "outer": (6, "gauss-lobatto")}
OF_SETS = """
  sets:
    stages:
      - statistics: {fields: [inner, outer]}
      - histogram: {field: inner, bins: 12, range: [-2, 2]}
      - magnitude: {field: outer, into: size}
      - average: {field: inner, into: middle}
      - statistics: {fields: [size, middle]}
"""
RAW_SETS = "      - write_raw: {fields: [xyz, inner, outer, number], name: sets, durable: false}\n"
PYTHON = f"""
  python:
    stages:
      - python: {{call: "{STAGES}:owned"}}
      - python: {{call: "{STAGES}:produce"}}
      - statistics: {{fields: [peak, shifted]}}
"""


def points() -> np.ndarray:
    """Gauss, Lobatto and Legendre's, from NumPy's roots."""
    inner = Legendre.basis(ORDER).deriv().roots()
    return np.concatenate([[-1.0], np.sort(inner.real), [1.0]])


def coordinates() -> np.ndarray:
    """[element, component, k, j, i] of the deformed cube."""
    corners = np.stack(np.meshgrid(*map(np.arange, ELEMENTS), indexing="ij"), -1).reshape(-1, 3)
    t, s, r = np.meshgrid(points(), points(), points(), indexing="ij")
    local = (np.stack([r, s, t]) + 1) / 2
    x = (corners[:, :, None, None, None] + local) / np.array(ELEMENTS)[:, None, None, None]
    bump = 0.07 * np.prod(np.sin(np.pi * x), axis=1, keepdims=True)
    return x + bump * np.array([1.0, -0.6, 0.8])[:, None, None, None]


def quadrature(count: int, kind: str) -> tuple[np.ndarray, np.ndarray]:
    """Points and weights, from NumPy's."""
    if kind == "gauss":
        return leggauss(count)
    last = Legendre.basis(count - 1)
    x = np.concatenate([[-1.0], np.sort(last.deriv().roots().real), [1.0]])
    return x, 2 / (count * (count - 1) * last(x) ** 2)


@cache
def volumes(count: int = N, kind: str = "gauss-lobatto") -> np.ndarray:
    """Quadrature weights times Jacobians [element, k, j, i], from NumPy's polynomials."""
    x = points()
    at, weights = quadrature(count, kind)
    value, slope = np.empty((count, N)), np.empty((count, N))
    for j in range(N):
        of = Polynomial.fromroots(np.delete(x, j))
        value[:, j], slope[:, j] = of(at) / of(x[j]), of.deriv()(at) / of(x[j])
    along = [
        np.einsum(
            "zk,yj,xi,eckji->eczyx",
            *(slope if axis == a else value for a in "kji"),
            coordinates(),
            optimize=True,
        )
        for axis in "ijk"
    ]
    jacobian = np.linalg.det(np.moveaxis(np.stack(along, 1), (1, 2), (-2, -1)))
    return jacobian * np.einsum("k,j,i->kji", weights, weights, weights)


@cache
def frames() -> list[Frame]:
    rng = np.random.default_rng(8)
    xyz = coordinates()
    number = (rng.permutation(len(xyz)) * 3 + 7).astype(np.int64)
    out = []
    for step in range(4):
        noise = rng.normal(0, 0.3, xyz.shape)
        velocity = np.sin(2 * np.pi * xyz[:, [1, 2, 0]] + 0.3 * step) + noise
        values = {
            "xyz": xyz,
            "velocity": velocity,
            "pressure": (velocity**2).sum(axis=1).astype(np.float32),
            "number": number,
            "drift": velocity[:, :2].sum(axis=(2, 3, 4)),
        }
        flat = {k: v.reshape(len(v), -1) if v.ndim > 1 else v for k, v in values.items()}
        out.append(Frame(step, 0.25 * step, flat))
    return out


def shaped(frame: Frame, name: str) -> np.ndarray:
    if name == "speed":
        return np.sqrt((shaped(frame, "velocity") ** 2).sum(axis=1))
    shape = {"xyz": (3, N, N, N), "velocity": (3, N, N, N), "pressure": (N, N, N)}.get(name)
    return frame[name] if shape is None else frame[name].reshape(-1, *shape)


@cache
def frames_of_sets() -> list[Frame]:
    """With values at other points."""
    rng, out = np.random.default_rng(9), []
    for frame in frames():
        inner, outer = rng.normal(size=(24, 27)), rng.normal(size=(24, 2 * 216)).astype(np.float32)
        out.append(Frame(frame.step, frame.time, {**frame.values, "inner": inner, "outer": outer}))
    return out


def catalogue_of_sets() -> str:
    sets = {name: {"points": n, "kind": kind} for name, (n, kind) in SETS.items()}
    return (
        CATALOGUE.replace("coordinates: xyz", f"coordinates: xyz, point_sets: {json.dumps(sets)}")
        + "  inner: {mesh: box, type: float64, points: inner}\n"
        + "  outer: {mesh: box, type: float32, components: 2, points: outer}\n"
    )


def scene(name: str) -> Scene:
    """With components in arrays of their own, if its name says so."""
    analyses = ANALYSES + (WRITING if HAS_WRITE else "") + OF_SETS + RAW_SETS
    analyses += PYTHON if HAS_PYTHON else ""
    arguments = ("--elements", 1, "--apart", int(name == "apart"))
    return Scene(
        name, frames_of_sets(), catalogue_of_sets(), analyses, "trajectory_driver", arguments
    )


DIVISIONS = ["slabs", "migrate", "sparse", "pieces"]
CASES = cases(
    {
        "spectral": placements(
            DIVISIONS,
            [
                *((1, 0, "slabs"), (4, 0, "sparse"), (3, 2, "pieces"), (2, 1, "migrate", "node")),
                *((3, 1, "pieces", "node", 2, 2), (2, 1, "sparse", "separate")),
                (2, 2, "migrate", "separate", 2, 0, "spill", "192 KiB"),
            ],
        ),
        "apart": placements(
            DIVISIONS,
            [
                *((1, 0, "slabs"), (3, 0, "pieces"), (3, 2, "pieces"), (2, 1, "migrate", "node")),
                *((2, 1, "pieces", "node", 1, 2), (2, 1, "sparse", "separate")),
            ],
        ),
    }
)


@pytest.fixture(scope="module", params=CASES)
def played(request, build, tmp_path_factory):
    name, placement = request.param
    _, results = results_of_case(
        request, build, tmp_path_factory, lambda case, _: (scene(case[0]), case[1])
    )
    check_report(scene(name), placement, results)
    return results


def check_row(table, row: int, ending: str, values: np.ndarray, weights=None) -> None:
    values = values.astype(np.float64)
    if weights is None:
        weights = volumes() if values.ndim > 1 else volumes().sum(axis=(1, 2, 3))
    mean = np.average(values, weights=weights)
    expected = {
        "volume": weights.sum(),
        "min": values.min(),
        "max": values.max(),
        "mean": mean,
        "standard_deviation": np.sqrt(np.average((values - mean) ** 2, weights=weights)),
        "rms": np.sqrt(np.average(values**2, weights=weights)),
    }
    assert table["count" + ending][row] == values.size
    for name, value in expected.items():
        assert table[name + ending][row] == pytest.approx(value, rel=1e-12, abs=1e-14), name


def test_statistics(played):
    tables = {
        name: read_table(played / f"values/statistics_{name}.csv")
        for name in ("velocity", "pressure", "drift", "number")
    }
    assert tables["velocity"].units["rms_x"] == "m/s"
    for row, frame in enumerate(frames()):
        velocity = shaped(frame, "velocity")
        for c, axis in enumerate("xyz"):
            check_row(tables["velocity"], row, f"_{axis}", velocity[:, c])
        check_row(tables["velocity"], row, "_magnitude", shaped(frame, "speed"))
        check_row(tables["pressure"], row, "", shaped(frame, "pressure"))
        check_row(tables["number"], row, "", frame["number"])
        check_row(tables["drift"], row, "_y", frame["drift"][:, 1])


def check_sets(folder: Path) -> None:
    tables = {
        name: read_table(folder / f"statistics_{name}.csv")
        for name in ("inner", "outer", "size", "middle")
    }
    at_inner, at_outer = (volumes(*of) for of in SETS.values())
    for row, frame in enumerate(frames_of_sets()):
        inner = frame["inner"].reshape(-1, 3, 3, 3)
        outer = frame["outer"].reshape(-1, 2, 6, 6, 6)
        size = np.sqrt((outer.astype(np.float64) ** 2).sum(axis=1)).astype(np.float32)
        check_row(tables["inner"], row, "", inner, at_inner)
        check_row(tables["outer"], row, "_y", outer[:, 1], at_outer)
        assert tables["size"]["mean"][row] == pytest.approx(
            np.average(size, weights=at_outer), rel=1e-7
        )
        inside = (1, 2, 3)
        means = (inner * at_inner).sum(axis=inside) / at_inner.sum(axis=inside)
        check_row(tables["middle"], row, "", means)
        table = read_table(folder / f"histogram_inner.{frame.step:09}.csv")
        assert table["count"].tolist() == np.histogram(inner, 12, (-2, 2))[0].tolist()
        by_volume = np.histogram(inner, 12, (-2, 2), weights=at_inner)[0]
        np.testing.assert_allclose(table["volume"], by_volume, rtol=1e-11, atol=1e-15)


def test_fields_at_other_points_of_elements(played):
    check_sets(played / "sets")
    found = pillion.results(played)["sets/sets"]
    assert found["xyz"].dims[-3:] == ("point_z", "point_y", "point_x")
    for name, (n, _) in SETS.items():
        assert found[name].dims[-1] == f"point{n}_x" and found[name].sizes[f"point{n}_x"] == n
        for frame in frames_of_sets():
            of_step = found.sel(step=frame.step)
            values = of_step[name].values[np.argsort(of_step["number"].values)]
            wanted = frame[name][np.argsort(frame["number"])]
            np.testing.assert_array_equal(values.reshape(wanted.shape), wanted)


def test_histograms(played):
    for frame in frames():
        end = f"{frame.step:09}.csv"
        velocity, speed = shaped(frame, "velocity")[:, 1], shaped(frame, "speed")
        table = read_table(played / f"values/histogram_velocity_y.{end}")
        assert table["count"].tolist() == np.histogram(velocity, 25, (-2, 2))[0].tolist()
        table = read_table(played / f"values/histogram_speed.{end}")
        assert table["count"].tolist() == np.histogram(speed, 20, (0, 4))[0].tolist()
        by_volume = np.histogram(speed, 20, (0, 4), weights=volumes())[0]
        np.testing.assert_allclose(table["volume"], by_volume, rtol=1e-11, atol=1e-15)
        weights = shaped(frame, "pressure").astype(float)
        expected = np.histogram(speed, 20, (0, 4), weights=weights)[0]
        np.testing.assert_allclose(table["weight"], expected, rtol=1e-12)
        table = read_table(played / f"values/histogram_drift_y.{end}")
        assert table["count"].sum() == len(frame["number"])


def check_sorted(datasets, frame: Frame, names) -> None:
    """Elements are in any order, each with its own values."""
    found, wanted = np.argsort(datasets["number"][...]), np.argsort(frame["number"])
    for name in names:
        np.testing.assert_array_equal(
            datasets[name][...][found], shaped(frame, name)[wanted], err_msg=name
        )


@pytest.mark.skipif(not HAS_WRITE, reason="no stage write_hdf5")
def test_write_hdf5(played):
    for frame in frames():
        with h5py.File(played / f"values/box_hdf5/box.{frame.step:09}.h5") as file:
            assert file["velocity"].shape == (24, 3, N, N, N)
            assert file["pressure"].shape == (24, N, N, N) and file["drift"].shape == (24, 2)
            exact = [name for name in WRITTEN if name != "speed"]
            check_sorted(file, frame, exact)
            order = np.argsort(file["number"][...])
            np.testing.assert_allclose(
                file["speed"][...][order],
                shaped(frame, "speed")[np.argsort(frame["number"])],
                rtol=1e-15,
            )
            np.testing.assert_allclose(file["velocity"].dims[4][0][...], points(), atol=1e-15)
            names = [dim[0].name for dim in file["velocity"].dims]
            assert names == ["/element", "/component3", "/point_z", "/point_y", "/point_x"]
            assert file.attrs["mesh_order"] == ORDER
        with h5py.File(played / f"values/small_hdf5/small.{frame.step:09}.h5") as file:
            check_sorted(file, frame, ["velocity", "number"])


@pytest.mark.skipif(not HAS_WRITE, reason="no stage write_hdf5")
def test_write_raw(played):
    head = yaml.safe_load((played / "values/plain.raw.yaml").read_text())
    assert head["mesh"]["order"] == ORDER and head["mesh"]["coordinates"] == "xyz"
    shapes = {"drift": (2,), "pressure": (N, N, N), "number": ()}
    for frame, of_step in zip(frames(), head["steps"], strict=True):
        pieces = {name: [] for name in shapes}
        for block in yaml.safe_load((played / "values" / of_step["index"]).read_text())["blocks"]:
            for field, offset in zip(head["fields"], block["offsets"], strict=True):
                shape = shapes[field["name"]]
                values = np.fromfile(
                    played / "values" / block["file"],
                    field["type"],
                    block["count"] * int(np.prod(shape)),
                    offset=offset,
                )
                pieces[field["name"]].append(values.reshape(-1, *shape))
        check_sorted({k: np.concatenate(v) for k, v in pieces.items()}, frame, shapes)


@pytest.mark.skipif(not HAS_WRITE, reason="no stage write_hdf5")
def test_results_in_python(played):
    results = pillion.results(played)
    for key, names in (
        ("box", ["velocity", "pressure", "drift"]),
        ("plain", ["pressure", "drift"]),
    ):
        found = results[f"values/{key}"]
        points = ("point_z", "point_y", "point_x")
        assert found["pressure"].dims == ("step", "element", *points)
        assert found["drift"].dims == ("step", "element", "component2")
        for frame in frames():
            of_step = found.sel(step=frame.step)
            check_sorted({n: of_step[n].values for n in [*names, "number"]}, frame, names)


@pytest.mark.skipif(not HAS_PYTHON, reason="no modules for Python")
def test_stages_in_python(played):
    owned = read_table(played / "python/owned.csv")
    peak = read_table(played / "python/statistics_peak.csv")
    shifted = read_table(played / "python/statistics_shifted.csv")
    for row, frame in enumerate(frames()):
        velocity, number = shaped(frame, "velocity"), frame["number"]
        assert owned["elements"][row] == len(number)
        weighted = (number * velocity[:, 2].max(axis=(1, 2, 3))).sum()
        assert owned["weighted"][row] == pytest.approx(weighted, rel=1e-13)
        corner = (number * velocity[:, 1, 3, 1, 2]).sum()
        assert owned["corner"][row] == pytest.approx(corner, rel=1e-12)
        for c, axis in enumerate("xyz"):
            check_row(peak, row, f"_{axis}", velocity[:, c].max(axis=(1, 2, 3)))
        sums = (velocity[:, 0] + number[:, None, None, None]).astype(np.float32)
        check_row(shifted, row, "", sums)


HYBRID = """
analyses:
  hybrid:
    stages:
      - magnitude: {field: velocity, into: speed, at: simulation}
      - statistics: {fields: [speed]}
  rare:
    when: max(norm(velocity)) > LIMIT and mean(drift[0]) < 1e9
    stages: [{statistics: {fields: [pressure]}}]
"""


@pytest.mark.parametrize(
    "placement",
    [Placement(3, 2, "pieces"), Placement(2, 1, "sparse", "separate")],
    ids=str,
)
def test_hybrid_and_conditions(build, tmp_path, placement):
    """What is made of points in the simulation crosses the cut; conditions see all points."""
    peaks = [shaped(frame, "speed").max() for frame in frames()]
    limit = np.mean(sorted(peaks)[1:3])
    analyses = HYBRID.replace("LIMIT", repr(float(limit)))
    hybrid = Scene("hybrid", frames(), CATALOGUE, analyses, "trajectory_driver", ("--elements", 1))
    results, _ = hybrid.run(build, tmp_path, placement)
    table = read_table(results / "hybrid/statistics_speed.csv")
    for row, frame in enumerate(frames()):
        check_row(table, row, "", shaped(frame, "speed"))
    rare = read_table(results / "rare/statistics_pressure.csv")
    # Ranks agree on a condition without waiting, so that it decides about the step after.
    assert rare["step"].tolist() == [n + 1 for n, peak in enumerate(peaks[:-1]) if peak > limit]


CHANGING = """
analyses:
  values: {stages: [statistics: {fields: [pressure, number]}]}
  files: {stages: [write_hdf5: {fields: [velocity, number]}]}
  plain: {stages: [write_raw: {fields: [velocity, number]}]}
"""


@pytest.mark.skipif(not HAS_WRITE, reason="no stage write_hdf5")
@pytest.mark.parametrize("placement", [Placement(3, 2, "pieces")])
def test_elements_come_and_go(build, tmp_path, placement):
    """As where a mesh is refined: their number is another at each step, and once there are none."""
    counts = [24, 0, 1, 13]
    changing = [
        Frame(f.step, f.time, {name: values[:n] for name, values in f.values.items()})
        for f, n in zip(frames(), counts, strict=True)
    ]
    arguments = ("--elements", 1)
    scene = Scene("changing", changing, CATALOGUE, CHANGING, "trajectory_driver", arguments)
    folder, _ = scene.run(build, tmp_path, placement)
    table = read_table(folder / "values/statistics_pressure.csv")
    assert table["count"].tolist() == [n * N**3 for n in counts]
    results = pillion.results(folder)
    for key in ("files", "plain"):
        found = results[f"{key}/box"]
        assert found["velocity"].dims[0] == "element" and found.sizes["element"] == sum(counts)
        for frame in changing:
            here = found.isel(element=found["step"].values == frame.step)
            values = {name: here[name].values for name in ("velocity", "number")}
            check_sorted(values, frame, values)


COARSE = """
analyses:
  plain: {stages: [write_raw: {fields: [velocity, id]}]}
"""


@pytest.mark.skipif(not HAS_WRITE, reason="no stage write_hdf5")
def test_whole_elements_are_left_out_where_there_is_no_room(build, tmp_path):
    """The same ones at every step that is as coarse, whoever has them, each with its own values."""
    many = [
        Frame(n, float(n), {"velocity": f["velocity"], "id": f["number"]})
        for n, f in enumerate([frames()[n % 4] for n in range(16)])
    ]
    catalogue = CATALOGUE.replace("number:", "id:")
    arguments = ("--elements", 1)
    scene = Scene("shortage", many, catalogue, COARSE, "trajectory_driver", arguments)
    late = Placement(3, 1, "migrate", "separate", 1, 0, "coarsen", "144 KiB")
    results, _ = scene.run(build, tmp_path, late, meet_at=8)
    dataset = results / "plain"
    head = yaml.safe_load((dataset / "box.raw.yaml").read_text())
    kept = {}
    for of_step in head["steps"]:
        frame = many[of_step["step"]]
        row = {number: n for n, number in enumerate(frame["id"].tolist())}
        ids = []
        for block in yaml.safe_load((dataset / of_step["index"]).read_text())["blocks"]:
            path, count = dataset / block["file"], block["count"]
            velocity, own = block["offsets"]
            own = np.fromfile(path, "int64", count, offset=own)
            values = np.fromfile(path, "float64", count * 3 * N**3, offset=velocity)
            wanted = frame["velocity"][[row[i] for i in own.tolist()]]
            np.testing.assert_array_equal(values.reshape(wanted.shape), wanted)
            ids += own.tolist()
        assert kept.setdefault(of_step["coarsening"], sorted(ids)) == sorted(ids)
    assert len(kept[1]) == 24 and len(kept) > 1, "nothing was made coarse"
    coarsest = kept[max(kept)]
    assert set(coarsest) < set(kept[1])
