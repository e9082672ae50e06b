# SPDX-License-Identifier: BSD-3-Clause
"""Stages on uniform grids against numpy, wherever they run and however the grid is divided."""

from functools import cache

import numpy as np
import pytest
from conftest import read_table
from frames import Frame
from placements import cases, check_report, placements
from pool import results_of_case
from scenes import Placement, Scene

ANALYSES = """
analyses:
  values:
    every: 1 steps
    products_every: 2
    stages:
      - statistics: {fields: [density, velocity, level, offset]}
      - histogram: {field: density, bins: 40, range: [0.01, 20], scale: log}
      - histogram: {field: offset, bins: 64, range: auto}
      - histogram: {field: velocity, component: 1, bins: 33, range: [-1, 1.5]}
      - histogram: {field: level, bins: 6, range: [0, 6]}
  speeds:
    every: 1 steps
    stages:
      - magnitude: {field: velocity, into: speed, at: simulation}
      - histogram: {field: speed, bins: 20, range: [0.5, 2]}
      - statistics: {fields: speed}
  logarithms:
    every: 1 steps
    stages:
      - histogram: {field: density, bins: 16, range: auto, scale: log}
"""

CATALOGUE = """
units: {{time: s}}
meshes:
  grid: {{kind: uniform, cells: [{cells}], length: [{length}], units: m, periodic: true}}
fields:
  density: {{mesh: grid, type: float64, units: kg/m^3}}
  velocity: {{mesh: grid, type: float32, components: 3, units: m/s}}
  level: {{mesh: grid, type: int32}}
  offset: {{mesh: grid, type: float64, units: K}}
"""

SHAPES = {"cube": (9, 8, 11), "sheet": (37, 20), "line": (613,)}


@cache
def scene(name: str) -> Scene:
    """Values on edges of bins, NaN and infinities, a small spread about a large mean."""
    rng = np.random.default_rng(len(name))
    shape, _, how = name.partition("-")  # of the arrays of components, as apart.hpp says
    cells = SHAPES[shape]
    count = int(np.prod(cells))
    frames = []
    for step in range(4):
        density = np.exp(rng.normal(0, 1.5, count))
        density[rng.choice(count, 25, replace=False)] = [np.nan, np.inf, -np.inf, -1, 0] * 5
        values = {
            "density": density,
            "velocity": rng.normal(0, 1, (count, 3)).astype(np.float32),
            "level": rng.integers(-1, 8, count).astype(np.int32),
            "offset": 1e8 + rng.normal(0, 1, count),
        }
        frames.append(Frame(step, 0.25 * step, values))
    catalogue = CATALOGUE.format(
        cells=", ".join(map(str, cells)), length=", ".join("1" for _ in cells)
    )
    apart = ["", "apart", "even"].index(how)
    arguments = ("--cells", ",".join(map(str, cells)), "--apart", apart)
    return Scene(name, frames, catalogue, ANALYSES, "grid_driver", arguments)


DIVISIONS = ["slabs", "uneven", "many", "empty"]
CASES = cases(
    {
        "cube": placements(
            DIVISIONS,
            [
                *((1, 0, "slabs"), (2, 0, "many"), (3, 0, "uneven"), (4, 0, "empty")),
                *((1, 1, "many"), (2, 1, "empty"), (3, 2, "many"), (4, 3, "uneven")),
                *((1, 1, "uneven", "node"), (3, 2, "many", "node"), (4, 2, "empty", "node", 2)),
                (3, 1, "many", "node", 2, 3),
                *((2, 1, "empty", "separate"), (3, 2, "many", "separate", 2, 2)),
                *(
                    (2, 1, "slabs", "separate", 2, 0, "spill", "64 KiB"),
                    (2, 0, "many", "network", 1, 2),
                ),
            ],
        ),
        "sheet": [
            Placement(3, 0, "many"),
            Placement(2, 2, "uneven"),
            Placement(2, 1, "uneven", "node", 1, 2),
        ],
        "cube-apart": placements(
            DIVISIONS,
            [
                *((1, 0, "slabs"), (3, 0, "many"), (3, 2, "uneven"), (2, 1, "many", "node")),
                *((3, 1, "many", "node", 2, 3), (2, 1, "empty", "separate")),
            ],
        ),
        "cube-even": [Placement(3, 0, "many"), Placement(3, 1, "uneven", "node", 1, 2)],
        "line": [Placement(4, 1, "slabs"), Placement(4, 1, "slabs", "separate", 2, 3)],
    }
)


@pytest.fixture(scope="module", params=CASES)
def played(request, build, tmp_path_factory):
    name, placement = request.param
    _, results = results_of_case(
        request, build, tmp_path_factory, lambda case, _: (scene(case[0]), case[1])
    )
    check_report(scene(name), placement, results)
    return scene(name), results


def magnitude(v: np.ndarray) -> np.ndarray:
    v = v.astype(np.float64)
    return np.sqrt(v[:, 0] ** 2 + v[:, 1] ** 2 + v[:, 2] ** 2)


def check_statistics(table, row, ending, values):
    values = values.astype(np.float64)
    finite = values[np.isfinite(values)]
    assert table["count" + ending][row] == len(finite)
    assert table["not_finite" + ending][row] == len(values) - len(finite)
    assert table["min" + ending][row] == finite.min()
    assert table["max" + ending][row] == finite.max()
    exact = finite.astype(np.longdouble)
    deviation = np.sqrt(((exact - exact.mean()) ** 2).mean())
    rms = np.sqrt((exact**2).mean())
    # A mean near zero is a sum of cancelling values; its error is relative to those.
    np.testing.assert_allclose(
        table["mean" + ending][row], float(exact.mean()), rtol=1e-14, atol=1e-14 * float(rms)
    )
    np.testing.assert_allclose(
        table["standard_deviation" + ending][row], float(deviation), rtol=1e-12
    )
    np.testing.assert_allclose(table["rms" + ending][row], float(rms), rtol=1e-12)


def test_statistics_of_scalars(played):
    scene, results = played
    for name in ("density", "level", "offset"):
        table = read_table(results / "values" / f"statistics_{name}.csv")
        assert table["step"].tolist() == [0, 1, 2, 3]
        np.testing.assert_array_equal(table["time"], [f.time for f in scene.frames])
        for row, frame in enumerate(scene.frames):
            check_statistics(table, row, "", frame[name])
    assert table.units["standard_deviation"] == "K"


def test_statistics_of_vectors(played):
    scene, results = played
    table = read_table(results / "values" / "statistics_velocity.csv")
    for row, frame in enumerate(scene.frames):
        for axis, letter in enumerate("xyz"):
            check_statistics(table, row, "_" + letter, frame["velocity"][:, axis])
        check_statistics(table, row, "_magnitude", magnitude(frame["velocity"]))


def check_histogram(table, values):
    """Exactly numpy's counts on the same edges, and every value accounted for."""
    edges = np.append(table["lower"], table["upper"][-1])
    np.testing.assert_array_equal(table["lower"][1:], table["upper"][:-1])
    finite = values[np.isfinite(values)].astype(np.float64)
    counts = np.histogram(finite, edges)[0]
    np.testing.assert_array_equal(table["count"], counts)
    assert table.attributes["below"] == (finite < edges[0]).sum()
    assert table.attributes["above"] == (finite > edges[-1]).sum()
    assert table.attributes["not_finite"] == len(values) - len(finite)
    inside = finite[(finite >= edges[0]) & (finite <= edges[-1])]
    density = np.histogram(inside, edges, density=True)[0]
    np.testing.assert_allclose(table["density"], density, rtol=1e-12)
    assert counts.sum() > 0
    return edges


def tables(scene, results, name):
    for frame in scene.frames:
        yield frame, read_table(results / f"{name}.{frame.step:09d}.csv")


def test_histogram_on_a_logarithmic_scale(played):
    for frame, table in tables(*played[:1], played[1] / "values", "histogram_density"):
        edges = check_histogram(table, frame["density"])
        np.testing.assert_allclose(edges, np.geomspace(0.01, 20, 41), rtol=1e-13)
        assert table.units["density"] == "m^3/kg" or table.units["density"] == "1/kg*m^3"


def test_histogram_with_the_range_of_the_values(played):
    for frame, table in tables(*played[:1], played[1] / "values", "histogram_offset"):
        edges = check_histogram(table, frame["offset"])
        np.testing.assert_array_equal(edges, np.histogram_bin_edges(frame["offset"], 64))
    for frame, table in tables(*played[:1], played[1] / "logarithms", "histogram_density"):
        edges = check_histogram(table, frame["density"])
        usable = frame["density"][np.isfinite(frame["density"]) & (frame["density"] > 0)]
        assert (edges[0], edges[-1]) == (usable.min(), usable.max())


def test_histogram_of_a_component(played):
    for frame, table in tables(*played[:1], played[1] / "values", "histogram_velocity_y"):
        edges = check_histogram(table, frame["velocity"][:, 1])
        np.testing.assert_array_equal(edges, np.linspace(-1, 1.5, 34))


def test_histogram_of_integers(played):
    for frame, table in tables(*played[:1], played[1] / "values", "histogram_level"):
        check_histogram(table, frame["level"])
        last = (frame["level"] == 5).sum() + (frame["level"] == 6).sum()
        assert table["count"][-1] == last, "the last bin contains its upper edge"


def test_a_field_made_by_a_stage_in_the_simulation(played):
    for frame, table in tables(*played[:1], played[1] / "speeds", "histogram_speed"):
        check_histogram(table, magnitude(frame["velocity"]).astype(np.float32))
    scene, results = played
    table = read_table(results / "speeds" / "statistics_speed.csv")
    for row, frame in enumerate(scene.frames):
        check_statistics(table, row, "", magnitude(frame["velocity"]).astype(np.float32))
    assert table.units["mean"] == "m/s"
