# SPDX-License-Identifier: BSD-3-Clause
"""Means over boxes of cells, over spectral elements and over cells of values at points against
NumPy, wherever they are made; and how well the time averages of such means are known, while
elements move from rank to rank."""

from functools import cache

import mixed_cells as mixed
import numpy as np
import points_program as points
import pytest
import test_spectral
from conftest import read_table
from datasets import read_raw
from frames import Frame
from numpy.polynomial.legendre import Legendre
from scenes import Placement, Scene
from series_of_test import NUMBERS, ar1, check_command, stages
from statsmodels.tsa.stattools import acovf
from test_points_of_boxes import TEXT as POINTS
from test_points_of_boxes import run as run_points
from test_unstructured import TEXT as SHAPES
from test_unstructured import run as run_shapes

CELLS, SIDES = (12, 10, 6), (4, 5, 2)
GRID = """
meshes:
  grid: {kind: uniform, cells: [12, 10, 6], length: [6, 5, 3], origin: [1, 0, 0], units: m}
  boxes: {kind: uniform, cells: [3, 2, 3], length: [6, 5, 3], origin: [1, 0, 0], units: m}
fields:
  u: {mesh: grid, type: float32, components: 3, units: m/s}
analyses:
  means:
    stages:
      - average: {field: u, onto: boxes, into: mean, at: FIRST}
      - write_raw: {fields: [mean], durable: false, at: SECOND}
"""
PLACES = [
    ("simulation", "simulation", Placement(4, 0, "many")),
    ("simulation", "sidecar", Placement(3, 2, "uneven")),
    ("sidecar", "sidecar", Placement(2, 3, "empty", "node")),
]


@pytest.mark.parametrize(("first", "second", "place"), PLACES, ids=str)
def test_boxes(first, second, place, build, tmp_path):
    rng = np.random.default_rng(5)
    frames = [
        Frame(s, 0.5 * s, {"u": rng.normal(9, 1, (720, 3)).astype(np.float32)}) for s in range(3)
    ]
    text = GRID.replace("FIRST", first).replace("SECOND", second)
    scene = Scene("boxes", frames, text, "", "grid_driver", ("--cells", "12,10,6"))
    results, _ = scene.run(build, tmp_path, place)
    written = read_raw(results / "means", "boxes.raw.yaml")
    counts = [n // s for n, s in zip(CELLS, SIDES, strict=True)]
    for frame in frames:
        found = np.full((*counts[::-1], 3), np.nan)
        for block in written[frame.step][1]:
            box = tuple(slice(a, b) for a, b in zip(block["lo"], block["hi"], strict=True))[::-1]
            assert np.isnan(found[box]).all()
            found[box] = block["mean"].reshape(found[box].shape)
        split = frame["u"].astype(float).reshape(3, 2, 2, 5, 3, 4, 3)  # z, y, x, component
        np.testing.assert_allclose(found, split.mean(axis=(1, 3, 5)), rtol=1e-14)


N, LAGS, COUNT = test_spectral.N, 4, 40
ELEMENTS = """
meshes:
  box: {kind: spectral, order: 3, coordinates: xyz, units: m}
fields:
  xyz: {mesh: box, type: float64, components: 3, units: m}
  number: {mesh: box, type: int64, centering: cell}
  v: {mesh: box, type: float64, components: 2, units: m/s}
"""


@cache
def elements() -> tuple[np.ndarray, np.ndarray]:
    """Numbers of the elements, and series [step, element, component, k, j, i]."""
    rng = np.random.default_rng(6)
    numbers = (rng.permutation(len(test_spectral.coordinates())) * 3 + 7).astype(np.int64)
    return numbers, 1e3 + ar1(rng, COUNT, (len(numbers), 2, N, N, N), 0.6)


def shares() -> np.ndarray:
    """[element, k, j, i]: quadrature weights times the Jacobian, over the volume. The derivative is
    that of NumPy's polynomials through the points."""
    x, xyz = test_spectral.points(), test_spectral.coordinates()
    weights = 2 / ((N - 1) * N * Legendre.basis(N - 1)(x) ** 2)
    basis = [np.polynomial.Polynomial.fit(x, row, N - 1, [-1, 1]).deriv()(x) for row in np.eye(N)]
    d = np.array(basis).T
    gradient = np.stack(
        [
            np.einsum("ia,eckja->eckji", d, xyz),
            np.einsum("ja,eckai->eckji", d, xyz),
            np.einsum("ka,ecaji->eckji", d, xyz),
        ],
        axis=1,
    )
    jacobian = np.linalg.det(np.moveaxis(gradient, (1, 2), (-2, -1)))
    out = jacobian * np.einsum("k,j,i->kji", weights, weights, weights)
    return out / out.sum(axis=(1, 2, 3), keepdims=True)


def spectral_scene(first: str, second: str, field: str, made: list[str]) -> Scene:
    numbers, series = elements()
    xyz = test_spectral.coordinates().reshape(len(numbers), -1)
    frames = [
        Frame(2 * s, 0.5 * s, {"xyz": xyz, "number": numbers, "v": v.reshape(len(v), -1)})
        for s, v in enumerate(series)
    ]
    text = stages(LAGS, COUNT, first, second)
    text = text.replace("field: u", f"field: {field}").replace(
        "from_step", "key: number, from_step"
    )
    written = ", ".join(["number", *made])
    text = text[: text.index("- write")] + (
        f"- write_raw: {{fields: [{written}], durable: false, at: {second}}}\n"
    )
    if field == "mean":
        text = text.replace(
            "    stages:\n",
            f"    stages:\n      - average: {{field: v, into: mean, at: {first}}}\n",
        )
    return Scene("elements", frames, ELEMENTS, text, "trajectory_driver", ("--elements", 1))


SPREAD = [
    ("simulation", "simulation", Placement(3, 0, "migrate")),
    ("simulation", "sidecar", Placement(2, 2, "pieces", "node", memory="8 MiB")),
    ("sidecar", "sidecar", Placement(3, 2, "migrate", memory="8 MiB")),
]


@pytest.mark.parametrize("field", ["mean", "v"])
@pytest.mark.parametrize(("first", "second", "place"), SPREAD, ids=str)
def test_elements(first, second, place, field, build, tmp_path):
    made = [f"{field}_autocovariance", f"{field}_sigma", f"{field}_mean"]
    scene = spectral_scene(first, second, field, made + (["mean"] if field == "mean" else []))
    results, _ = scene.run(build, tmp_path, place)
    _, blocks = read_raw(results / "averages", "box.raw.yaml")[2 * (COUNT - 1)]
    numbers, series = elements()
    if field == "mean":
        series = np.einsum("seckji,ekji->sec", series, shares())
    series = series.reshape(COUNT, len(numbers), 2, -1)
    points = series.shape[-1]
    seen = []
    for block in blocks:
        for e, number in enumerate(np.ravel(block["number"])):
            (at,) = np.flatnonzero(numbers == number)
            seen.append(at)
            x = series[:, at]
            numbered = block[made[0]].reshape(block["count"], 2, len(NUMBERS) + LAGS + 1, points)
            if field == "mean":
                np.testing.assert_allclose(block["mean"].reshape(-1, 2)[e], x[-1, :, 0], rtol=1e-13)
            assert (numbered[e, :, 0] == COUNT).all() and (numbered[e, :, 1] == 0).all()
            np.testing.assert_allclose(numbered[e, :, 5], x.mean(axis=0), rtol=1e-13)
            np.testing.assert_array_equal(
                block[made[2]].reshape(-1, 2, points)[e], numbered[e, :, 5]
            )
            sigma = block[made[1]].reshape(-1, 2, points)[e]
            assert (sigma > 0).all() and (sigma < x.std(axis=0)).all()
            for c in range(2):
                for p in range(0, points, 7):
                    expected = acovf(x[:, c, p] - 1e3, adjusted=False, fft=False, nlag=LAGS)
                    np.testing.assert_allclose(
                        numbered[e, c, 7:, p], expected, rtol=0, atol=1e-11 * expected[0]
                    )
    assert sorted(seen) == list(range(len(numbers)))
    table = read_table(results / "averages" / f"uncertainty_{field}.csv")
    assert table["fitted_x"] + table["unresolved_x"] + table["misfit_x"] == len(numbers) * points


def over_cells(fields: list[str]) -> str:
    """Analyses that write means over cells, of values at points."""
    return "analyses:\n" + "".join(
        f"  {field}:\n    every: 1 steps\n    stages:\n"
        f"      - average: {{field: {field}, into: {field}_mean, at: simulation}}\n"
        f"      - statistics: {{fields: [{field}, {field}_mean]}}\n"
        f"      - write_raw: {{fields: [{field}_mean], durable: false}}\n"
        for field in fields
    )


def check_means(folder, field, components):
    """Both have one mean by volume, as a cell shares its volume evenly among its points."""
    at_points = read_table(folder / f"statistics_{field}.csv")
    at_cells = read_table(folder / f"statistics_{field}_mean.csv")
    for c in components:
        np.testing.assert_allclose(at_cells[f"mean{c}"], at_points[f"mean{c}"], rtol=1e-12)


@pytest.mark.parametrize("place", ["inside", "network", "node"])
def test_over_cells_of_every_shape(build, tmp_path, place):
    run_shapes(tmp_path, build, place, SHAPES + over_cells(["w"]))
    steps = read_raw(tmp_path / "results/w", "box.raw.yaml")
    assert list(steps) == list(range(mixed.STEPS))
    for step, (_, blocks) in steps.items():
        w = mixed.at_points(step).astype(float)
        means = np.array([w[cell.points].mean(axis=0) for cell in mixed.mesh()[1]])
        for block in blocks:
            ids = block["cells"].get("ids", [])
            np.testing.assert_allclose(block["w_mean"].reshape(-1, 3), means[ids], rtol=1e-14)
    check_means(tmp_path / "results/w", "w", ["_x", "_y", "_z"])


@pytest.mark.parametrize("place", ["inside", "node"])
def test_over_cells_of_boxes(build, tmp_path, place):
    text = POINTS[: POINTS.index("analyses:")] + over_cells(["v", "plane_t", "ring_t"])
    run_points(tmp_path, build, place, text)
    for field, mesh, cells, make in [
        ("v", "cube", points.CUBE, points.vectors),
        ("plane_t", "plane", points.PLANE, points.values),
        ("ring_t", "ring", points.RING, points.values),
    ]:
        axes = len(cells)
        for step, (_, blocks) in read_raw(tmp_path / "results" / field, f"{mesh}.raw.yaml").items():
            wanted = make([0] * axes, cells, step)
            for axis in range(axes):
                lower, upper = np.arange(cells[axis]), np.arange(1, cells[axis] + 1)
                wanted = (wanted.take(lower, axis) + wanted.take(upper, axis)) / 2
            for block in blocks:
                box = tuple(slice(a, b) for a, b in zip(block["lo"], block["hi"], strict=True))
                part = wanted[box].transpose(*range(axes)[::-1], *range(axes, wanted.ndim))
                found = block[f"{field}_mean"].reshape(part.shape)
                np.testing.assert_allclose(found, part, rtol=1e-12, atol=1e-13)
        check_means(
            tmp_path / "results" / field, field, ["_x", "_y", "_z"] if field == "v" else [""]
        )


@pytest.mark.parametrize(
    ("stage", "words"),
    [
        (
            "average: {field: cells, into: m}",
            "values at the cells of an unstructured mesh, and no box",
        ),
        ("average: {field: points, onto: grid, into: m}", "leave `onto` out"),
        ("average: {field: u, into: m}", "onto: MESH"),
        ("average: {field: u, onto: thirds, into: m}", "not boxes of whole cells"),
        ("average: {field: u, onto: shorter, into: m}", "not boxes of whole cells"),
        ("average: {field: v, onto: grid, into: m}", "leave `onto` out"),
        ("average: {field: number, into: m}", "nor at the points"),
        ("autocorrelation: {field: v, key: numbr}", "series on a spectral mesh need it"),
        ("autocorrelation: {field: v, key: scale}", "does not number the elements"),
        ("autocorrelation: {field: atoms}", "has no cells and no elements"),
    ],
)
def test_mistakes(stage, words, build, tmp_path):
    (tmp_path / "c.yaml").write_text(
        f"""
meshes:
  grid: {{kind: uniform, cells: [8, 4], length: [2, 1]}}
  thirds: {{kind: uniform, cells: [3, 1], length: [2, 1]}}
  shorter: {{kind: uniform, cells: [4, 2], length: [1, 1]}}
  box: {{kind: spectral, order: 3, coordinates: xyz}}
  gas: {{kind: particles}}
  shapes: {{kind: unstructured}}
fields:
  cells: {{mesh: shapes, type: float64}}
  points: {{mesh: shapes, type: float64, centering: point}}
  u: {{mesh: grid, type: float64}}
  xyz: {{mesh: box, type: float64, components: 3}}
  v: {{mesh: box, type: float64}}
  scale: {{mesh: box, type: int32}}
  number: {{mesh: box, type: int64, centering: cell}}
  atoms: {{mesh: gas, type: float64}}
analyses: {{a: {{stages: [{stage}]}}}}
"""
    )
    done = check_command(build, tmp_path / "c.yaml")
    assert done.returncode != 0 and words in done.stdout + done.stderr
