# SPDX-License-Identifier: BSD-3-Clause
"""Slices of fields against numpy, wherever they are made and however the mesh is divided."""

from functools import cache

import numpy as np
import pytest
from conftest import read_table
from frames import Frame
from placements import check_report, placements
from pool import results_of_case
from scenes import Placement, Scene

CELLS = (9, 8, 11)  # along x, y, z
LENGTH, ORIGIN = (4.5, 8.0, 22.0), (0.0, -2.0, 1.0)
CATALOGUE = """
units: {time: s}
meshes:
  grid:
    {kind: uniform, cells: [9, 8, 11], length: [4.5, 8, 22], origin: [0, -2, 1], units: m}
fields:
  density: {mesh: grid, type: float64, units: kg/m^3}
  velocity: {mesh: grid, type: float32, components: 3, units: m/s}
  level: {mesh: grid, type: int32}
"""
# Name of the product, what the stage is told, which cells of [z, y, x] are in it, from where to
# where.
SLICES = [
    ("slice_density_z", "field: density", np.s_[5:6], (11, 13)),
    ("slice_density_x", "field: density, axis: x, position: 0.5", np.s_[:, :, 1:2], (0.5, 1)),
    ("slice_level_y", "field: level, axis: y, position: 6", np.s_[:, 7:8], (5, 6)),
    ("slice_level_z", "field: level, position: 7, thickness: 6, pixels: 4", np.s_[1:4], (3, 9)),
    ("slice_velocity_y_z", "field: velocity, component: 1, thickness: all", np.s_[:], (1, 23)),
    (
        "slice_velocity_magnitude_x",
        "field: velocity, component: magnitude, axis: x",
        np.s_[:, :, 4:5],
        (2, 2.5),
    ),
]
ANALYSES = "analyses:\n  look:\n    every: 1 steps\n    stages:\n" + "".join(
    f"      - slice: {{{told}}}\n" for _, told, *_ in SLICES
)


@cache
def frames() -> list[Frame]:
    rng = np.random.default_rng(5)
    count = int(np.prod(CELLS))
    made = []
    for step in range(2):
        density = rng.lognormal(size=count)
        density[rng.choice(count, 150, replace=False)] = [np.nan, np.inf, -0.0] * 50
        values = {
            "density": density,
            "velocity": rng.normal(size=(count, 3)).astype(np.float32),
            "level": rng.integers(-5, 9, count).astype(np.int32),
        }
        made.append(Frame(step, 0.5 * step, values))
    return made


def scene(analyses: str = ANALYSES, catalogue: str = CATALOGUE) -> Scene:
    cells = ",".join(map(str, CELLS))
    return Scene("slice", frames(), catalogue, analyses, "grid_driver", ("--cells", cells))


PLACEMENTS = placements(
    ["slabs", "uneven", "many", "empty"],
    [
        *((1, 0, "slabs"), (3, 0, "uneven"), (2, 0, "empty")),
        *((1, 1, "many"), (2, 3, "uneven"), (2, 1, "many", "node")),
    ],
)


@pytest.fixture(scope="module", params=PLACEMENTS, ids=str)
def played(request, build, tmp_path_factory):
    _, results = results_of_case(
        request, build, tmp_path_factory, lambda place, _: (scene(), place)
    )
    check_report(scene(), request.param, results)
    return results / "look"


def whole(frame: Frame, name: str) -> np.ndarray:
    """[z, y, x] of the field, or component, or magnitude, that a product is of."""
    words = name.split("_")
    values = frame[words[1]].astype(np.float64)
    if words[1] == "velocity":
        values = values[:, 1] if words[2] == "y" else np.sqrt((values**2).sum(axis=1))
    return values.reshape(CELLS[::-1])


def pixels_of(values: np.ndarray, axis: int, side: int) -> np.ndarray:
    """Means of finite cells, over all of the axis and blocks of so many cells along the others."""
    cells = np.moveaxis(values, 2 - axis, 0)
    v, u = (range(0, n, side) for n in cells.shape[1:])
    parts = [[cells[:, j : j + side, i : i + side] for i in u] for j in v]
    return np.array([[mean_of(part[np.isfinite(part)]) for part in row] for row in parts])


def mean_of(values: np.ndarray) -> float:
    return values.mean() if values.size else np.nan


@pytest.mark.parametrize(
    ("name", "told", "cells", "ends"), SLICES, ids=[name for name, *_ in SLICES]
)
def test_pixels_are_means_of_cells(played, name, told, cells, ends):
    axis = "xyz".index(name[-1])
    side = 3 if "pixels" in told else 1
    first, second = (d for d in range(3) if d != axis)
    for frame in frames():
        table = read_table(played / f"{name}.{frame.step:09d}.csv")
        part = whole(frame, name)[cells]
        expected = pixels_of(part, axis, side)
        assert len(table) == expected.size
        np.testing.assert_allclose(table["mean"], expected.ravel(), rtol=1e-14, atol=1e-15)
        for d, turn in ((first, np.tile), (second, np.repeat)):
            edges = np.append(np.arange(0, CELLS[d], side), CELLS[d])
            edges = ORIGIN[d] + edges * (LENGTH[d] / CELLS[d])
            other = expected.size // (len(edges) - 1)
            centres = turn((edges[1:] + edges[:-1]) / 2, other)
            np.testing.assert_allclose(table["xyz"[d]], centres, rtol=1e-14, atol=1e-15)
        assert table.attributes.get("not_finite", 0) == (~np.isfinite(part)).sum()
        assert (table.attributes["from"], table.attributes["to"]) == ends


def test_a_sheet_is_one_plane(build, tmp_path):
    catalogue = (
        "meshes: {grid: {kind: uniform, cells: [7, 5]}}\n"
        "fields: {density: {mesh: grid, type: float64}}\n"
    )
    analyses = "analyses: {a: {every: 1 steps, stages: [{slice: {field: density, pixels: 4}}]}}\n"
    values = np.arange(35.0)
    frame = Frame(0, 0, {"density": values})
    made = Scene("sheet", [frame], catalogue, analyses, "grid_driver", ("--cells", "7,5"))
    results, _ = made.run(build, tmp_path, Placement(2, 1, "slabs"))
    table = read_table(results / "a" / "slice_density_z.000000000.csv")
    rows = np.add.reduceat(values.reshape(5, 7), [0, 2, 4], axis=0)
    sums = np.add.reduceat(rows, [0, 2, 4, 6], axis=1)
    counts = np.outer([2, 2, 1], [2, 2, 2, 1])
    assert table["mean"].tolist() == (sums / counts).ravel().tolist()
    assert table["x"][:4].tolist() == [1, 3, 5, 6.5]


@pytest.mark.parametrize(
    ("told", "words"),
    [
        ("field: density, axis: w", "expected one of x, y, z"),
        ("field: density, position: 24", "reaches from 1"),
        ("field: density, thickness: 0", "above 0"),
        ("field: velocity", "component"),
        ("field: density, pixels: 0", "at least 1"),
        ("field: mass", "deposit"),
    ],
)
def test_what_is_refused(build, tmp_path, told, words):
    catalogue = CATALOGUE.replace("meshes:\n", "meshes:\n  dust: {kind: particles}\n")
    catalogue += "  mass: {mesh: dust, type: float64}\n"
    analyses = f"analyses: {{a: {{every: 1 steps, stages: [{{slice: {{{told}}}}}]}}}}\n"
    _, done = scene(analyses, catalogue).run(build, tmp_path, Placement(2, 1, "slabs"), fails=True)
    assert words in done.stderr, done.stderr
