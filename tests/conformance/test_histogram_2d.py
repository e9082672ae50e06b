# SPDX-License-Identifier: BSD-3-Clause
"""Histograms in two dimensions, of values relative to their mean, with weights and densities per
decade, against numpy, wherever they are made and however the grid is divided."""

from functools import cache
from itertools import pairwise

import numpy as np
import pytest
from conftest import read_table
from frames import Frame
from placements import check_report, placements
from pool import results_of_case
from scenes import Placement, Scene

CELLS = (9, 8, 11)
CATALOGUE = """
meshes:
  grid: {kind: uniform, cells: [9, 8, 11], units: m, periodic: true}
  atoms: {kind: particles}
fields:
  density: {mesh: grid, type: float64, units: kg/m^3}
  temperature: {mesh: grid, type: float32, units: K}
  velocity: {mesh: grid, type: float32, components: 3, units: m/s}
  level: {mesh: grid, type: int32}
  mass: {mesh: atoms, type: float64}
"""
PHASE = "field: temperature, bins: 23, range: [30, 3.0e+3], scale: log"
AGAINST = "field: density, bins: 17, range: [0.05, 20], scale: log, relative_to_mean: true"
ANALYSES = f"""
analyses:
  phase:
    every: 1 steps
    stages:
      - histogram: {{{PHASE}, against: {{{AGAINST}}}, weight: density, per_dex: true, means: true}}
      - histogram: {{{PHASE}}}
      - histogram: {{{AGAINST}, per_dex: true, weight: level, means: true}}
  mixed:
    every: 1 steps
    stages:
      - histogram:
          field: velocity
          component: magnitude
          range: auto
          bins: 9
          against: {{field: level, range: [0, 6], bins: 6}}
      - histogram: {{field: temperature, range: auto, relative_to_mean: true, bins: 31}}
"""


@cache
def frames() -> list[Frame]:
    """Values on edges, NaN and infinities in each field and in weights."""
    rng = np.random.default_rng(21)
    count = int(np.prod(CELLS))
    made = []
    for step in range(3):
        density = 1e-3 * np.exp(rng.normal(0, 1.5, count))
        temperature = (300 * density**0.3 * np.exp(rng.normal(1.5, 0.7, count))).astype(np.float32)
        temperature[rng.choice(count, 12, replace=False)] = [30, 3000, 10, 4000] * 3
        density[rng.choice(count, 9, replace=False)] = [np.nan, np.inf, -0.5] * 3
        temperature[rng.choice(count, 6, replace=False)] = [np.nan, -np.inf] * 3
        values = {
            "density": density,
            "temperature": temperature,
            "velocity": rng.normal(0, 1, (count, 3)).astype(np.float32),
            "level": rng.integers(-1, 8, count).astype(np.int32),
        }
        made.append(Frame(step, 0.5 * step, values))
    return made


def made_of(analyses: str, catalogue: str = CATALOGUE) -> Scene:
    cells = ",".join(map(str, CELLS))
    return Scene("plane", frames(), catalogue, analyses, "grid_driver", ("--cells", cells))


PLACEMENTS = placements(
    ["slabs", "uneven", "many", "empty"],
    [
        *((1, 0, "slabs"), (3, 0, "uneven"), (4, 0, "many"), (2, 0, "empty")),
        *((1, 1, "many"), (2, 3, "uneven"), (2, 1, "many", "node"), (3, 2, "empty", "node", 2)),
    ],
)


@pytest.fixture(scope="module", params=PLACEMENTS, ids=str)
def played(request, build, tmp_path_factory):
    made = made_of(ANALYSES)
    _, results = results_of_case(request, build, tmp_path_factory, lambda place, _: (made, place))
    check_report(made, request.param, results)
    return results


def tables(results, name):
    for frame in frames():
        yield frame, read_table(results / f"{name}.{frame.step:09d}.csv")


def edges_of(table, prefix=""):
    """Of the bins, without what lies outside."""
    every = np.unique(np.append(table[prefix + "lower"], table[prefix + "upper"]))
    return every[np.isfinite(every)]


def plane(table, column):
    """[bins, against_bins] with what lies outside around it."""
    shape = (len(edges_of(table)) + 1, len(edges_of(table, "against_")) + 1)
    return table[column].reshape(shape)


def relative(table, attribute, values):
    """Over the mean that the table holds, which is that of the finite values."""
    mean = table.attributes[attribute]
    finite = values[np.isfinite(values)].astype(np.longdouble)
    assert abs(mean / float(finite.mean()) - 1) < 1e-15
    return values.astype(np.float64) / mean


def check_plane(table, first, second):
    """Counts are those of numpy, inside and outside; returns what is in bins and counts there."""
    edges, against = edges_of(table), edges_of(table, "against_")
    finite = np.isfinite(first) & np.isfinite(second)
    assert table.attributes["not_finite"] == (~finite).sum()
    counts = plane(table, "count")
    inner = np.histogram2d(first[finite], second[finite], [edges, against])[0]
    np.testing.assert_array_equal(counts[1:-1, 1:-1], inner)
    assert counts.sum() == finite.sum()
    for axis, values, bins, prefix in ((1, first, edges, ""), (0, second, against, "against_")):
        marginal, values = counts.sum(axis), values[finite]
        np.testing.assert_array_equal(marginal[1:-1], np.histogram(values, bins)[0])
        assert marginal[0] == table.attributes[prefix + "below"] == (values < bins[0]).sum()
        assert marginal[-1] == table.attributes[prefix + "above"] == (values > bins[-1]).sum()
    area = np.outer(np.diff(edges), np.diff(against))
    density = plane(table, "density")
    np.testing.assert_allclose(density[1:-1, 1:-1], inner / inner.sum() / area, rtol=1e-12)
    assert np.isnan(density).sum() == density.size - area.size
    assert inner.sum() > 100
    return finite, inner


def test_temperature_against_density(played):
    for frame, table in tables(played / "phase", "histogram_temperature_against_density"):
        temperature = frame["temperature"].astype(np.float64)
        density = relative(table, "mean_of_against", frame["density"])
        finite, inner = check_plane(table, temperature, density)
        edges, against = edges_of(table), edges_of(table, "against_")
        np.testing.assert_allclose(edges, np.geomspace(30, 3e3, 24), rtol=1e-13)
        np.testing.assert_allclose(against, np.geomspace(0.05, 20, 18), rtol=1e-13)
        decades = np.outer(np.diff(np.log10(edges)), np.diff(np.log10(against)))
        per_dex = plane(table, "density_per_dex")[1:-1, 1:-1]
        np.testing.assert_allclose(per_dex, inner / inner.sum() / decades, rtol=1e-10)
        inside = temperature[finite], density[finite]
        weights = np.histogram2d(*inside, [edges, against], weights=frame["density"][finite])[0]
        np.testing.assert_allclose(plane(table, "weight")[1:-1, 1:-1], weights, rtol=1e-12)
        area = np.outer(np.diff(edges), np.diff(against))
        weighted = plane(table, "weighted_density")[1:-1, 1:-1]
        np.testing.assert_allclose(weighted, weights / weights.sum() / area, rtol=1e-11)
        for column, values in (("mean", inside[0]), ("against_mean", inside[1])):
            sums = np.histogram2d(*inside, [edges, against], weights=values)[0]
            with np.errstate(invalid="ignore"):
                means = sums / inner
            np.testing.assert_allclose(plane(table, column)[1:-1, 1:-1], means, rtol=1e-12)
        assert table.units["lower"] == table.units["mean"] == "K"
        assert table.units["against_lower"] == table.units["count"] == ""
        assert (table.units["density"], table.units["weight"]) == ("1/K", "kg/m^3")


def test_of_one_field_it_is_the_histogram_in_one_dimension(played):
    """But for cells where only the other field is not finite."""
    both = tables(played / "phase", "histogram_temperature_against_density")
    one = tables(played / "phase", "histogram_temperature")
    for (frame, table), (_, alone) in zip(both, one):
        lost = frame["temperature"][~np.isfinite(frame["density"])].astype(np.float64)
        lost = np.histogram(lost, edges_of(alone))[0]
        counts = plane(table, "count").sum(1)[1:-1]
        np.testing.assert_array_equal(counts + lost, alone["count"])
        assert lost.sum() > 0


def test_in_one_dimension_over_the_mean(played):
    for frame, table in tables(played / "phase", "histogram_density"):
        density = relative(table, "mean_of_field", frame["density"])
        edges = edges_of(table)
        finite = np.isfinite(density)
        values, weights = density[finite], frame["level"][finite]
        counts = np.histogram(values, edges)[0]
        np.testing.assert_array_equal(table["count"], counts)
        assert table.attributes["below"] == (values < edges[0]).sum() > 0
        assert table.attributes["above"] == (values > edges[-1]).sum()
        np.testing.assert_array_equal(
            table["weight"], np.histogram(values, edges, weights=weights)[0]
        )
        decades = np.diff(np.log10(edges))
        np.testing.assert_allclose(
            table["density_per_dex"], counts / counts.sum() / decades, rtol=1e-10
        )
        for row, (lower, upper) in enumerate(pairwise(edges)):
            inside = values[(values >= lower) & (values < upper)]
            mean = inside.mean() if len(inside) else np.nan
            np.testing.assert_allclose(table["mean"][row], mean, rtol=1e-13)
        assert "against_lower" not in table.columns


def test_magnitudes_against_integers(played):
    for frame, table in tables(played / "mixed", "histogram_velocity_magnitude_against_level"):
        v = frame["velocity"].astype(np.float64)
        speed = np.sqrt(v[:, 0] ** 2 + v[:, 1] ** 2 + v[:, 2] ** 2)
        check_plane(table, speed, frame["level"].astype(np.float64))
        np.testing.assert_array_equal(edges_of(table), np.histogram_bin_edges(speed, 9))
        np.testing.assert_array_equal(edges_of(table, "against_"), np.arange(7))
        assert table.attributes["against"] == "level"


def test_automatic_range_over_the_mean(played):
    for frame, table in tables(played / "mixed", "histogram_temperature"):
        values = relative(table, "mean_of_field", frame["temperature"])
        values = values[np.isfinite(values)]
        edges = edges_of(table)
        np.testing.assert_array_equal(edges, np.histogram_bin_edges(values, 31))
        np.testing.assert_array_equal(table["count"], np.histogram(values, edges)[0])


REFUSED = {
    "against a name": ("range: auto, against: density", "expected a map, such as"),
    "unknown key": (
        "range: auto, against: {field: density, range: auto, bin: 3}",
        "unknown key 'bin'",
    ),
    "no field": ("range: auto, against: {range: auto}", "`field` is missing"),
    "no range": ("range: auto, against: {field: density}", "`range` is missing"),
    "another mesh": (
        "range: auto, against: {field: mass, range: auto}",
        "field 'mass' is on mesh 'atoms', and 'temperature' on 'grid'",
    ),
    "itself": (
        "range: auto, against: {field: temperature, range: auto}",
        "'temperature' cannot be counted against itself",
    ),
    "component": (
        "range: auto, against: {field: velocity, range: auto}",
        "field 'velocity' has 3 components; set `component",
    ),
    "weight of three": ("range: auto, weight: velocity", "has 3 components; 1 are needed"),
    "decades of a linear scale": ("range: auto, per_dex: true", "needs `scale: log`"),
    "decades of one linear scale": (
        "range: auto, scale: log, per_dex: true, against: {field: density, range: [0, 1]}",
        "bins of 'density' are linear",
    ),
    "too many": (
        "range: auto, bins: 5000, against: {field: density, range: auto, bins: 5000}",
        "more than ten million bins",
    ),
    "no word": ("range: auto, relative_to_mean: perhaps", "expected true or false"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_refused(name, build, tmp_path):
    parameters, message = REFUSED[name]
    text = f"      - histogram: {{field: temperature, {parameters}}}"
    made = made_of(f"\nanalyses:\n  bad:\n    every: 1 steps\n    stages:\n{text}\n")
    _, done = made.run(build, tmp_path, Placement(2, 1, "slabs"), fails=True)
    line = 1 + (tmp_path / "pillion.yaml").read_text().splitlines().index(text)
    assert message in done.stderr, done.stderr
    assert f"pillion.yaml:{line}" in done.stderr, done.stderr
