# SPDX-License-Identifier: BSD-3-Clause
"""Slices and pictures of cells of every shape, against the cells that pixels lie in, at every
placement alike."""

from functools import cache

import mixed_cells as mixed
import numpy as np
import pytest
from conftest import read_table
from image_oracle import check_cells, pixels, rays
from scipy.spatial import ConvexHull
from test_unstructured import TEXT, run

ANALYSES = """
analyses:
  look:
    every: 1 steps
    stages:
      - slice: {field: u, pixels: 60}
      - slice: {field: u, axis: x, position: 5.0, pixels: 50}
      - slice: {field: w, component: 0, axis: y, position: 2.5}
      - slice: {field: w, component: 2, axis: x, position: 4.0, thickness: 0.5, pixels: 32}
"""


@pytest.fixture(scope="module", params=["inside", "one", "network"])
def played(request, build, tmp_path_factory):
    folder = tmp_path_factory.mktemp("slices")
    run(folder, build, request.param, TEXT + ANALYSES)
    return folder / "results/look"


@cache
def half_spaces(step: int) -> list[np.ndarray]:
    """Of each cell: the planes of its faces, whose normals point out of it."""
    places = mixed.positions(step)
    return [ConvexHull(places[cell.points]).equations for cell in mixed.mesh()[1]]


def cell_at(step: int, places: np.ndarray) -> np.ndarray:
    """The number of the cell that each place is in; -1 if none, or if it is on a border."""
    out = np.full(len(places), -1)
    for n, planes in enumerate(half_spaces(step)):
        out[((places @ planes[:, :3].T + planes[:, 3]) < -1e-9).all(axis=1)] = n
    return out


def samples(table, axis: str, at: float) -> np.ndarray:
    """The corners, nearly, and the centre of each pixel, in space: [sample, pixel, 3]."""
    across = "xyz".index(axis)
    along = [d for d in range(3) if d != across]
    first, second = ("xyz"[d] for d in along)
    side = np.diff(np.unique(table[first]))[0]
    out = np.empty((5, len(table[first]), 3))
    out[:, :, across] = at
    for n, (u, v) in enumerate([(0, 0), (1, 1), (1, -1), (-1, 1), (-1, -1)]):
        out[n, :, along[0]] = table[first] + u * side * 0.499999
        out[n, :, along[1]] = table[second] + v * side * 0.499999
    return out


@pytest.mark.parametrize(("axis", "at"), [("z", None), ("x", 5.0)])
def test_pixels_within_a_cell_have_its_value(played, axis, at):
    for step in range(mixed.STEPS):
        table = read_table(played / f"slice_u_{axis}.{step:09}.csv")
        middle = np.mean([f(mixed.positions(step)[:, 2]) for f in (np.min, np.max)])
        place = middle if at is None else at
        assert table.attributes["from"] == table.attributes["to"] == pytest.approx(place)
        cells = np.array([cell_at(step, places) for places in samples(table, axis, place)])
        within = (cells == cells[0]).all(axis=0) & (cells[0] >= 0)
        assert within.sum() > 300
        expected = mixed.at_cells(step)[cells[0][within]]
        np.testing.assert_allclose(table["mean"][within], expected, rtol=1e-9)
        # Elsewhere, too, a pixel is a mean of what its samples are in, or is outside.
        some = (cells >= 0).any(axis=0)
        assert np.isfinite(table["mean"][some]).all()
        assert (np.abs(table["mean"][some]) <= 1).all()


def test_values_at_points_are_linear_between_them(played):
    """They are the places themselves, so pixels within the box show their own."""
    inverse = np.linalg.inv(mixed.SHEAR.T)
    for step in range(mixed.STEPS):
        upper = np.array([along[-1] for along in mixed.axes()]) * (1 + 0.1 * step)
        for axis, at, component, half in [("y", 2.5, "x", 0), ("x", 4.0, "z", 0.25)]:
            table = read_table(played / f"slice_w_{component}_{axis}.{step:09}.csv")
            ends = [samples(table, axis, at + shift) for shift in (-half, half)]
            places = np.concatenate(ends) @ inverse
            within = ((places > 0) & (places < upper)).all(axis=(0, 2))
            assert within.sum() > 100
            expected = table[component][within]
            np.testing.assert_allclose(table["mean"][within], expected, rtol=2e-6, atol=1e-6)
            if half > 0:
                assert table.attributes["from"] == pytest.approx(at - half)
                assert table.attributes["to"] == pytest.approx(at + half)


SIZE = (240, 180)
CAMERA = "camera: {position: [6, -50, 4], focal_point: [6, 3, 4], up: [0, 0, 1], parallel: true, "
PICTURES = f"""
analyses:
  look:
    every: 3 steps
    stages:
      - image:
          name: plane
          size: [{SIZE[0]}, {SIZE[1]}]
          {CAMERA}height: 12}}
          outline: false
          labels: false
          samples: 1
          draw: [slice: {{field: u, axis: y, at: 3.0, limits: [-1, 1]}}]
      - image:
          name: oblique
          size: [320, 240]
          draw:
            - slice: {{field: w, component: magnitude, normal: [1, 1, 1], origin: [4, 3, 2]}}
            - isosurface: {{field: w, component: 0, values: 6, colour_by: u}}
"""


def test_pictures_show_cells_and_are_the_same_everywhere(build, tmp_path):
    if not (build / "stages/image.so").exists():
        pytest.skip("no stage image")
    made = []
    for place in ("one", "inside", "network", "node"):
        folder = tmp_path / place
        folder.mkdir()
        run(folder, build, place, TEXT + PICTURES)
        found = sorted((folder / "results/look").glob("*.png"))
        assert [path.name[:5] for path in found] == ["obliq"] * 2 + ["plane"] * 2
        made.append([pixels(path) for path in found])
    for other in made[1:]:
        assert all(np.array_equal(one, same) for one, same in zip(made[0], other, strict=True))
    for step, picture in zip((0, 3), made[0][2:], strict=True):
        check_plane(picture, step)


def check_plane(picture: np.ndarray, step: int) -> None:
    """Pixels that lie in a cell with those around them have its colour."""
    seen = rays(SIZE, (6, -50, 4), (6, 3, 4), (0, 0, 1), height=12).at(np.full(SIZE[::-1], 53.0))
    cells = cell_at(step, seen.reshape(-1, 3)).reshape(SIZE[::-1])
    check_cells(picture, cells, mixed.at_cells(step), (-1, 1))
