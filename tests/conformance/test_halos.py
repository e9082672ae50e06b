# SPDX-License-Identifier: BSD-3-Clause
"""Halos and merge trees, wherever the stage runs and however the mesh is shared: components against
scipy.ndimage.label (count, cells, mass, peak), centroids against flooding, pairs of the tree
against gudhi's lower-star filtration.
"""

import csv
import itertools
import json
import math
from collections import deque
from dataclasses import dataclass
from functools import cache

import gudhi
import limits
import numpy as np
import pytest
from conftest import read_table, some
from frames import Frame
from placements import cases, check_report, placements
from pool import results_of_case
from scenes import Placement, Scene
from scipy import ndimage

# The neighbours of a cell in the Freudenthal triangulation.
STEPS = [s for s in itertools.product((-1, 0, 1), repeat=3) if any(s) and not {-1, 1} <= set(s)]


@dataclass(frozen=True)
class Mesh:
    cells: tuple
    periodic: tuple
    length: tuple
    origin: tuple

    @property
    def axes(self) -> int:
        return len(self.cells)

    @property
    def shape(self) -> tuple:
        return (*self.cells, *[1] * (3 - self.axes))

    @property
    def wraps(self) -> tuple:
        return (*self.periodic, *[False] * (3 - self.axes))

    @property
    def cell_volume(self) -> float:
        return math.prod(self.length) / math.prod(self.cells)

    def inside(self, at):
        """The cell at a place, across periodic faces; nothing beyond the others."""
        out = []
        for x, n, periodic in zip(at, self.shape, self.wraps, strict=True):
            if not periodic and not 0 <= x < n:
                return None
            out.append(x % n)
        return tuple(out)

    def coordinate(self, place: float, axis: int) -> float:
        return self.origin[axis] + (place + 0.5) * self.length[axis] / self.cells[axis]


MESHES = {
    "cube": Mesh((12, 10, 11), (True, True, True), (6.0, 10.0, 5.5), (0.0, -1.0, 2.0)),
    "open": Mesh((9, 14, 8), (False, False, False), (9.0, 14.0, 8.0), (0.0, 0.0, 0.0)),
    "mixed": Mesh((2, 13, 9), (True, False, True), (1.0, 3.0, 2.0), (0.0, 0.0, 0.0)),
    "sheet": Mesh((31, 20), (True, False), (3.1, 2.0), (1.0, 0.0)),
    "line": Mesh((3,), (True,), (1.0,), (0.0,)),  # fewer cells than there are ranks
}

# (boundary, peak), in multiples of the mean unless absolute.
DENSITY = [(1.5, 3.0, False), (4.0, 4.0, True), (0.15, 0.15, False), (1.5, 6.0, False)]
LEVEL = [(2.0, 3.0, True)]
SINGLE = [(0.25, 1.0, True), (-9.0, -9.0, True)]


def flow(values) -> str:
    return (
        "["
        + ", ".join("true" if v is True else "false" if v is False else str(v) for v in values)
        + "]"
    )


def pairs_of(thresholds) -> str:
    return flow(
        f"{{boundary: {b}, peak: {p}, absolute: true}}" if absolute else f"[{b}, {p}]"
        for b, p, absolute in thresholds
    )


ANALYSES = f"""
analyses:
  halos:
    every: 1 steps
    stages:
      - halos:
          field: density
          thresholds: {pairs_of(DENSITY)}
          averages: [temperature, velocity]
          mass_averages: temperature
          keep_tree: true
          bins: 7
      - halos: {{field: level, thresholds: {pairs_of(LEVEL)}, minimum_cells: 3, keep_tree: true}}
      - halos: {{field: count, thresholds: [[1, 1]], masses: [2, 2000], bins: 3}}
  single:
    every: 1 steps
    stages:
      - halos: {{field: single, thresholds: {pairs_of(SINGLE)}, keep_tree: true}}
"""


@cache
def scene(name: str) -> Scene:
    """Rough and smooth fields, ties by the dozen, values that are all alike."""
    mesh = MESHES[name]
    rng = np.random.default_rng(len(name))
    count = math.prod(mesh.cells)
    frames = []
    for step in range(3):
        noise = rng.normal(size=mesh.shape)
        mode = ["wrap" if p else "nearest" for p in mesh.wraps]
        smooth = ndimage.gaussian_filter(noise, [1.0, 0, 1.5][step], mode=mode)
        smooth /= smooth.std()
        values = {
            "density": np.exp(1.3 * smooth).ravel(order="F"),
            "temperature": rng.uniform(1e3, 1e5, count),
            "velocity": rng.normal(size=(count, 3)).astype(np.float32),
            "level": np.floor(1.5 * smooth + 1).astype(np.int32).ravel(order="F"),
            "count": (rng.integers(0, 3, count) * (step != 1)).astype(np.int64),
            "single": noise.astype(np.float32).ravel(order="F"),
        }
        frames.append(Frame(step, 0.5 * step, values))
    catalogue = (
        "units: {time: s}\n"
        f"meshes:\n  grid: {{kind: uniform, cells: {flow(mesh.cells)}, length: {flow(mesh.length)},"
        f" origin: {flow(mesh.origin)}, units: Mpc, periodic: {flow(mesh.periodic)}}}\nfields:\n"
        "  density: {mesh: grid, type: float64, units: Msun/Mpc^3}\n"
        "  temperature: {mesh: grid, type: float64, units: K}\n"
        "  velocity: {mesh: grid, type: float32, components: 3, units: km/s}\n"
        "  level: {mesh: grid, type: int32}\n  count: {mesh: grid, type: int64}\n"
        "  single: {mesh: grid, type: float32}\n"
    )
    arguments = ("--cells", ",".join(map(str, mesh.cells)))
    return Scene(name, frames, catalogue, ANALYSES, "grid_driver", arguments)


CASES = cases(
    {
        "cube": placements(
            ["slabs", "uneven", "many", "empty"],
            [
                *((1, 0, "slabs"), (2, 0, "many"), (3, 0, "uneven"), (4, 0, "empty")),
                *((6, 0, "many"), (1, 1, "many"), (2, 3, "empty"), (3, 5, "uneven")),
                *((3, 2, "many", "node"), (2, 2, "uneven", "node", 2, 2)),
                (2, 3, "many", "separate", 2),
            ],
        ),
        "open": [
            *(Placement(1, 0, "slabs"), Placement(4, 0, "many"), Placement(7, 0, "uneven")),
            *(Placement(2, 3, "empty"), Placement(3, 2, "many", "node")),
        ],
        "mixed": [
            *(Placement(1, 0, "slabs"), Placement(2, 0, "uneven"), Placement(5, 0, "many")),
            *(Placement(2, 4, "many"), Placement(2, 1, "uneven", "node", 2)),
        ],
        "sheet": [Placement(4, 0, "many"), Placement(2, 3, "uneven"), Placement(3, 1, "slabs")],
        "line": [Placement(1, 0, "slabs"), Placement(5, 0, "slabs"), Placement(2, 4, "empty")],
    }
)


@pytest.fixture(scope="module", params=CASES)
def played(request, build, tmp_path_factory):
    name, placement = request.param
    _, results = results_of_case(
        request, build, tmp_path_factory, lambda case, _: (scene(case[0]), case[1])
    )
    check_report(scene(name), placement, results)
    return MESHES[name], scene(name).frames, results


def labelled(values: np.ndarray, mesh: Mesh, boundary: float) -> np.ndarray:
    """Components of scipy, joined where they touch across periodic faces; 0 is none."""
    structure = np.zeros((3, 3, 3), bool)
    structure[1, 1, 1] = True
    for step in STEPS:
        structure[tuple(np.add(step, 1))] = True
    labels, count = ndimage.label(values >= boundary, structure)
    joined = list(range(count + 1))

    def top(label: int) -> int:
        while joined[label] != label:
            label = joined[label]
        return label

    faces = [
        at
        for at in zip(*np.nonzero(labels), strict=True)
        if any(x in (0, n - 1) for x, n in zip(at, mesh.shape, strict=True))
    ]
    for at, step in itertools.product(faces, STEPS):
        other = mesh.inside(np.add(at, step))
        if other is not None and labels[other]:
            joined[top(labels[at])] = top(labels[other])
    return np.array([top(label) for label in range(count + 1)])[labels]


def flooded(inside: np.ndarray, mesh: Mesh, start: tuple) -> tuple[dict, int]:
    """Where each cell of a component is, seen from one of them; and the axes it wraps round."""
    seen, wraps, todo = {start: start}, 0, deque([start])
    while todo:
        cell = todo.popleft()
        for step in STEPS:
            at = tuple(np.add(seen[cell], step))
            at = tuple(0 if n == 1 else x for x, n in zip(at, mesh.shape, strict=True))
            other = mesh.inside(np.add(cell, step))
            if other is None or not inside[other]:
                continue
            if other not in seen:
                seen[other] = at
                todo.append(other)
            for d in range(3):
                wraps |= (seen[other][d] != at[d]) << d
    return seen, wraps


@dataclass
class Halo:
    id: int
    peak: float
    cells: np.ndarray  # flat indices, first axis fastest
    top: tuple
    wraps: int
    centroid: list


@cache
def expected_halos(name: str, step: int, field: str, boundary: float, peak: float, least: int):
    mesh = MESHES[name]
    values = scene(name).frames[step][field].reshape(mesh.shape, order="F")
    labels = labelled(values, mesh, boundary)
    flat_labels, flat = labels.ravel(order="F"), values.ravel(order="F").astype(np.float64)
    out = []
    for label in np.unique(flat_labels[flat_labels > 0]):
        cells = np.flatnonzero(flat_labels == label)
        if flat[cells].max() < peak or len(cells) < least:
            continue
        top = cells[flat[cells] == flat[cells].max()].max()
        start = tuple(int(i) for i in np.unravel_index(top, mesh.shape, order="F"))
        seen, wraps = flooded(labels == label, mesh, start)
        assert len(seen) == len(cells)
        out.append(Halo(int(top), flat[top], cells, start, wraps, np.mean(list(seen.values()), 0)))
    out.sort(key=lambda halo: (-halo.peak, -halo.id))
    return out


def name_of(mesh: Mesh) -> str:
    return next(name for name, other in MESHES.items() if other is mesh)


def check_catalogue(table, mesh, frame, field, boundary, peak, least=1):
    halos = expected_halos(name_of(mesh), frame.step, field, boundary, peak, least)
    flat = frame[field].astype(np.float64)
    assert len(table) == len(halos)
    assert table["id"].tolist() == [h.id for h in halos]
    assert table["peak"].tolist() == [h.peak for h in halos]
    assert table["cells"].tolist() == [len(h.cells) for h in halos]
    assert table["wraps"].tolist() == [h.wraps for h in halos]
    masses = [mesh.cell_volume * math.fsum(flat[h.cells]) for h in halos]
    np.testing.assert_allclose(table["mass"], masses, rtol=1e-12, atol=1e-13)
    for d, letter in enumerate("xyz"[: mesh.axes]):
        where = [mesh.coordinate(h.top[d], d) for h in halos]
        np.testing.assert_allclose(table["peak_" + letter], where, rtol=1e-13, atol=1e-13)
        for row, halo in enumerate(halos):
            found = table[letter][row]
            if halo.wraps >> d & 1:
                assert np.isnan(found)
                continue
            away = (found - mesh.coordinate(halo.centroid[d], d)) / mesh.length[d]
            if mesh.periodic[d]:
                assert mesh.origin[d] <= found < mesh.origin[d] + mesh.length[d]
                away -= round(away)
            assert abs(away) < 1e-12
    return halos


def tables(played, analysis: str, name: str):
    mesh, frames, results = played
    for frame in frames:
        yield mesh, frame, read_table(results / analysis / f"{name}.{frame.step:09d}.csv")


def in_units(frame, field, thresholds):
    """Thresholds as numbers, and the mean, which is exact to the last digit."""
    mean = math.fsum(frame[field].astype(np.float64)) / frame.count
    boundary, peak, absolute = thresholds
    return (boundary, peak, mean) if absolute else (boundary * mean, peak * mean, mean)


@pytest.mark.parametrize("number", range(len(DENSITY)))
def test_halos_of_a_density(played, number):
    for mesh, frame, table in tables(played, "halos", f"halos_density_{number}"):
        boundary, peak, mean = in_units(frame, "density", DENSITY[number])
        assert table.attributes["mean"] == mean
        assert table.attributes["boundary"] == boundary
        halos = check_catalogue(table, mesh, frame, "density", boundary, peak)
        for weights, ending in ((np.ones(frame.count), ""), (frame["density"], "mass_")):
            for row, halo in enumerate(halos):
                average = np.average(frame["temperature"][halo.cells], weights=weights[halo.cells])
                found = table[ending + "average_temperature"][row]
                np.testing.assert_allclose(found, average, rtol=1e-12)
        for row, halo in enumerate(halos):
            found = [table["average_velocity_" + letter][row] for letter in "xyz"]
            mean_velocity = frame["velocity"][halo.cells].astype(np.float64).mean(0)
            np.testing.assert_allclose(found, mean_velocity, rtol=1e-10, atol=1e-14)
        assert table.units["average_temperature"] == "K"
        assert table.units["x"] == "Mpc"
        assert table.units["mass"] == {3: "Msun", 2: "Msun/Mpc", 1: "Msun/Mpc^2"}[mesh.axes]


def test_halos_of_integers_with_ties(played):
    for mesh, frame, table in tables(played, "halos", "halos_level"):
        check_catalogue(table, mesh, frame, "level", 2.0, 3.0, least=3)
    for mesh, frame, table in tables(played, "halos", "halos_count"):
        mean = in_units(frame, "count", (1, 1, False))[2]
        check_catalogue(table, mesh, frame, "count", mean, mean)
        if frame.step == 1:  # everything is 0, the mean too, and one halo is all there is
            assert table["cells"].tolist() == [math.prod(mesh.cells)]
            assert table["id"].tolist() == [math.prod(mesh.cells) - 1]


@pytest.mark.parametrize("number", range(len(SINGLE)))
def test_halos_of_single_precision(played, number):
    for mesh, frame, table in tables(played, "single", f"halos_single_{number}"):
        check_catalogue(table, mesh, frame, "single", *SINGLE[number][:2])
        if number == 1:  # the root counts
            assert table["cells"].tolist() == [math.prod(mesh.cells)]


def test_mass_functions(played):
    found = zip(
        tables(played, "halos", "halo_mass_function_density_0"),
        tables(played, "halos", "halos_density_0"),
        strict=True,
    )
    for (mesh, _, table), (_, _, halos) in found:
        masses = halos["mass"]
        edges = np.append(table["lower"], table["upper"][-1])
        np.testing.assert_allclose(edges, np.geomspace(edges[0], edges[-1], 8), rtol=1e-12)
        assert table["count"].tolist() == np.histogram(masses, edges)[0].tolist()
        if len(set(masses)) > 1:
            assert (edges[0], edges[-1]) == (masses.min(), masses.max())
        widths = np.log10(table["upper"] / table["lower"]) * math.prod(mesh.length)
        np.testing.assert_allclose(table["density"], table["count"] / widths, rtol=1e-12)
    found = zip(
        tables(played, "halos", "halo_mass_function_count"),
        tables(played, "halos", "halos_count"),
        strict=True,
    )
    for (_, _, table), (_, _, halos) in found:
        edges = np.append(table["lower"], table["upper"][-1])
        np.testing.assert_allclose(edges, [2, 20, 200, 2000])
        assert table["count"].tolist() == np.histogram(halos["mass"], edges)[0].tolist()
        assert table.attributes["below"] == (halos["mass"] < 2).sum()
        assert table.attributes["above"] == (halos["mass"] > 2000).sum()


@cache
def expected_pairs(name: str, step: int, field: str) -> list[tuple]:
    """Of gudhi: (maximum, saddle) of pairs with a difference, and the greatest value of all."""
    mesh = MESHES[name]
    values = scene(name).frames[step][field].astype(np.float64).reshape(mesh.shape, order="F")
    tree = gudhi.SimplexTree()
    index = np.arange(values.size).reshape(mesh.shape, order="F")
    for at in np.ndindex(*mesh.shape):
        tree.insert([int(index[at])], -values[at])
        for step_to in STEPS:
            other = mesh.inside(np.add(at, step_to))
            if other is not None and other != at:
                edge = [int(index[at]), int(index[other])]
                tree.insert(edge, max(-values[at], -values[other]))
    tree.compute_persistence(homology_coeff_field=2, persistence_dim_max=True)
    pairs = tree.persistence_intervals_in_dimension(0)
    return sorted((-birth, -death) for birth, death in pairs if death > birth)


@pytest.mark.parametrize(
    ("analysis", "field"), [("halos", "density"), ("halos", "level"), ("single", "single")]
)
def test_merge_trees(played, analysis, field):
    for mesh, frame, table in tables(played, analysis, f"halo_tree_{field}"):
        flat = frame[field].astype(np.float64)
        assert (flat[table["id"]] == table["peak"]).all()
        rest = table["saddle_id"] >= 0
        assert (flat[table["saddle_id"][rest]] == table["saddle"][rest]).all()
        assert (~rest).sum() == 1 and not rest[0] and np.isnan(table["saddle"][0])
        assert len(set(table["id"])) == len(table)
        saddles = np.where(rest, table["saddle"], -np.inf)
        found = sorted((p, s) for p, s in zip(table["peak"], saddles, strict=True) if p > s)
        assert found == expected_pairs(name_of(mesh), frame.step, field)


def query(build, tree, to, thresholds):
    """What the command finds in a kept tree, one list of rows for each pair of thresholds."""
    asked = [word for pair in thresholds for word in ("--threshold", *map(repr, pair))]
    command = [build / "bin" / "pillion", "query", tree, *asked, "--absolute", "--to", to]
    limits.run([str(word) for word in command], check=True, timeout=60)
    with to.open(encoding="utf-8") as file:
        rows = [{name: float(text) for name, text in row.items()} for row in csv.DictReader(file)]
    return [[r for r in rows if (r["boundary"], r["peak_threshold"]) == p] for p in thresholds]


TREES: dict[tuple[str, int], str] = {}  # rows of trees, by table and step


def test_trees_are_the_same_rows_on_any_number_of_ranks(played):
    """Each rank writes some of the rows, so a row that is lost or out of order shows here."""
    mesh, frames, results = played
    for name in ("halos/halo_tree_density", "halos/halo_tree_level", "single/halo_tree_single"):
        for frame in frames:
            text = (results / f"{name}.{frame.step:09d}.csv").read_text()
            rows = "".join(line for line in text.splitlines(True) if not line.startswith("#"))
            assert rows == TREES.setdefault((f"{mesh} {name}", frame.step), rows)
        assert not list((results / name).parent.glob(".*"))


def test_kept_trees_tell_the_halos_of_any_thresholds(played, build, tmp_path):
    mesh, frames, results = played
    thresholds = [in_units(frames[0], "density", asked)[:2] for asked in DENSITY]
    tree = results / "halos" / f"halo_tree_density.{frames[0].step:09d}.csv"
    answers = query(build, tree, tmp_path / "halos.csv", thresholds)
    for number, found in enumerate(answers):
        table = read_table(results / "halos" / f"halos_density_{number}.{frames[0].step:09d}.csv")
        for name in ["id", "peak", *(f"peak_{axis}" for axis in "xyz"[: len(mesh.cells)])]:
            assert [row[name] for row in found] == table[name].tolist()


def small_scene(stage: str, values=None, length="[5, 6, 1]") -> Scene:
    rng = np.random.default_rng(1)
    density = rng.normal(size=30) if values is None else values
    frames = [
        Frame(step, step, {"density": density, "velocity": np.zeros((30, 3))}) for step in range(2)
    ]
    catalogue = (
        f"meshes:\n  grid: {{kind: uniform, cells: [5, 6, 1], length: {length}}}\n"
        "  other: {kind: uniform, cells: [5, 6, 1], length: [1, 1, 1]}\n"
        "fields:\n  density: {mesh: grid, type: float64}\n"
        "  velocity: {mesh: grid, type: float64, components: 3}\n"
        "  elsewhere: {mesh: other, type: float64}\n"
    )
    analyses = f"analyses:\n  bad:\n    every: 1 steps\n    stages:\n      - {stage}\n"
    return Scene("small", frames, catalogue, analyses, "grid_driver", ("--cells", "5,6,1"))


WRONG = {
    "no thresholds": ("halos: {field: density}", "thresholds"),
    "no list": ("halos: {field: density, thresholds: 3}", "list of pairs of thresholds"),
    "three": ("halos: {field: density, thresholds: [[1, 2, 3]]}", "[BOUNDARY, PEAK]"),
    "upside down": ("halos: {field: density, thresholds: [[3, 2]]}", "below that of the boundary"),
    "no peak": ("halos: {field: density, thresholds: [{boundary: 3}]}", "`boundary` and `peak`"),
    "unknown key": (
        "halos: {field: density, thresholds: [{boundary: 3, peak: 4, absolutely: true}]}",
        "unknown key 'absolutely'",
    ),
    "not finite": ("halos: {field: density, thresholds: [[1, inf]]}", "must be finite"),
    "vector": ("halos: {field: velocity, thresholds: [[1, 2]]}", "3 components; 1 are needed"),
    "another mesh": (
        "halos: {field: density, thresholds: [[1, 2]], averages: elsewhere}",
        "is on mesh 'other', halos are on 'grid'",
    ),
    "average twice": (
        "halos: {field: density, thresholds: [[1, 2]], mass_averages: [density, density]}",
        "listed twice",
    ),
    "no bins": ("halos: {field: density, thresholds: [[1, 2]], bins: 0}", "at least 1, not 0"),
    "no cells": ("halos: {field: density, thresholds: [[1, 2]], minimum_cells: 0}", "at least 1"),
    "masses": ("halos: {field: density, thresholds: [[1, 2]], masses: [0, 3]}", "above 0"),
}


@pytest.mark.parametrize("name", WRONG)
def test_wrong_parameters_are_refused_at_their_line(build, tmp_path, name):
    stage, expected = WRONG[name]
    _, done = small_scene(stage).run(build, tmp_path, Placement(1, 1, "slabs"), fails=True)
    lines = (tmp_path / "pillion.yaml").read_text().splitlines()
    line = next(n for n, text in enumerate(lines, 1) if "- halos:" in text)
    errors = [e for e in done.stderr.splitlines() if expected in e]
    assert len(errors) >= 2, done.stderr
    assert all(f"pillion.yaml:{line}: " in e for e in errors)
    assert not (tmp_path / "results" / "bad").exists()


@pytest.mark.parametrize("ranks", [1, 3])
def test_values_that_are_not_finite(build, tmp_path, ranks):
    """NaN is in no halo, and what is not finite is in no mean."""
    values = np.random.default_rng(4).normal(size=30)
    values[[3, 17]] = np.nan
    values[9] = -np.inf
    stage = "halos: {field: density, thresholds: [{boundary: -9, peak: -9, absolute: true}]}"
    results, _ = small_scene(stage, values).run(build, tmp_path, Placement(ranks, 0, "slabs"))
    report = json.loads((results / "report.json").read_text())
    assert report["analyses"][0]["disabled"] is None
    table = read_table(results / "bad" / "halos_density.000000001.csv")
    assert table.attributes["not_finite"] == 3
    finite = values[np.isfinite(values)]
    assert table.attributes["mean"] == math.fsum(finite) / 27
    assert table["cells"].sum() == 27
    np.testing.assert_allclose(table["mass"].sum(), finite.sum(), rtol=1e-12)


def test_coarse_publications(build, tmp_path):
    """Sidecars come late, so that there is no room for all cells: those that are there are searched
    as a mesh of their own, whose axes are periodic only if the factor divides them."""
    fine = Mesh((9, 8, 12), (True, True, True), (9.0, 16.0, 6.0), (0.0, 0.0, 0.0))
    rng = np.random.default_rng(8)
    frames = [Frame(n, float(n), {"density": rng.random(9 * 8 * 12)}) for n in range(20)]
    catalogue = (
        f"meshes: {{grid: {{kind: uniform, cells: {flow(fine.cells)}, length: {flow(fine.length)},"
        " periodic: true}}\nfields: {density: {mesh: grid, type: float64}}\n"
    )
    analyses = (
        "analyses: {late: {every: 1 steps, stages: ["
        "halos: {field: density, thresholds: [[1.3, 1.6]], keep_tree: true}]}}\n"
    )
    late = Scene("late", frames, catalogue, analyses, "grid_driver", ("--cells", "9,8,12"))
    place = Placement(2, 1, "uneven", "separate", 1, 0, "coarsen", "48 KiB")
    results, _ = late.run(build, tmp_path, place, meet_at=12)
    factors = []
    for path in some((results / "late").glob("halos_density.*.csv")):
        table = read_table(path)
        factor = round(table.attributes.get("coarsening", 1) ** (1 / 3))
        factors.append(factor)
        frame = frames[int(path.name.split(".")[1])]
        values = frame["density"].reshape(fine.cells, order="F")[::factor, ::factor, ::factor]
        periodic = tuple(n % factor == 0 for n in fine.cells)
        mesh = Mesh(values.shape, periodic, fine.length, fine.origin)
        mean = math.fsum(values.ravel()) / values.size
        assert table.attributes["mean"] == mean
        labels = labelled(values, mesh, 1.3 * mean)
        indices = np.arange(math.prod(fine.cells)).reshape(fine.cells, order="F")
        indices = indices[::factor, ::factor, ::factor]
        expected = []
        for label in np.unique(labels[labels > 0]):
            inside = labels == label
            if values[inside].max() >= 1.6 * mean:
                top = indices[inside][values[inside].argmax()]
                mass = values[inside].sum() * fine.cell_volume * factor**3
                expected.append((values[inside].max(), top, inside.sum(), mass))
        expected.sort(reverse=True)
        assert table["id"].tolist() == [e[1] for e in expected]
        assert table["cells"].tolist() == [e[2] for e in expected]
        np.testing.assert_allclose(table["mass"], [e[3] for e in expected], rtol=1e-12)
        tree = read_table(path.with_name(path.name.replace("halos_", "halo_tree_")))
        assert (frame["density"][tree["id"]] == tree["peak"]).all()
        assert set(tree["id"]) <= set(indices.ravel())
    assert len(set(factors)) > 1 and 1 in factors, factors
