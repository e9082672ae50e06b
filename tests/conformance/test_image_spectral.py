# SPDX-License-Identifier: BSD-3-Clause
"""Pictures of spectral elements: the same wherever they are drawn and elements lie; no cracks where
elements touch, also such as are turned against each other; slices against what the field is, and
surfaces against VTK."""

import os
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from conftest import read_table
from datasets import roomy
from frames import Frame
from image_oracle import colours, pixels, rays
from numpy.polynomial.legendre import Legendre
from placements import check_report, placements
from scenes import Placement, Scene
from scipy.spatial import cKDTree

BUILD = Path(os.environ.get("PILLION_BUILD", "build"))
pytestmark = pytest.mark.skipif(
    not (BUILD / "stages/image.so").exists(), reason="the stage image is not built"
)

ORDER, N = 5, 6
ELEMENTS = (3, 4, 2)
SIZE = (96, 80)
CATALOGUE = f"""
units: {{time: s}}
meshes:
  box: {{kind: spectral, order: {ORDER}, coordinates: xyz, units: m}}
fields:
  xyz: {{mesh: box, type: float64, components: 3, units: m}}
  height: {{mesh: box, type: float64, units: m}}
  same: {{mesh: box, type: float32}}
  distance: {{mesh: box, type: float64}}
  number: {{mesh: box, type: int64, centering: cell}}
"""
PLAIN = "size: [96, 80], labels: false, outline: false"
FRONT = "samples: 1, camera: {direction: [0, -1, 0], focal_point: [0.5, 0.5, 0.5], parallel: true, "
PICTURES = {
    "front": f"draw: [slice: {{field: height, axis: y, at: 0.55}}], {PLAIN}, {FRONT}height: 1.2}}",
    "lower": f"draw: [slice: {{field: height, axis: y, at: 0}}], {PLAIN}, {FRONT}height: 1.2}}",
    "upper": f"draw: [slice: {{field: height, axis: y, at: 1}}], {PLAIN}, {FRONT}height: 1.2}}",
    "below": "draw: [slice: {field: height, normal: [0, 2, 0], origin: [0.3, 0, 0.3]}], "
    f"{PLAIN}, {FRONT}height: 1.2}}",
    "inner": f"draw: [slice: {{field: height, axis: y, at: 0.5}}], {PLAIN}, {FRONT}height: 1.2}}",
    "skew": "draw: [slice: {field: same, normal: [1, -2, 1.5], origin: [0.5, 0.5, 0.5]}], "
    f"{PLAIN}, background: '#ff0000'",
    "ball": f"draw: [isosurface: {{field: distance, values: 0.3}}], {PLAIN}, {FRONT}height: 0.8}}",
    "cloud": f"draw: [volume: {{field: height, opacity: 0.5, resolution: 40}}], {PLAIN}, "
    f"{FRONT}height: 1.2}}",
    "all": "draw: [isosurface: {field: height, values: [0.3, 0.6], colour_by: number}, "
    "slice: {field: number, axis: x, at: 0.4, map: coolwarm}, volume: {field: distance, "
    "resolution: 30}], size: [160, 120]",
}
ANALYSES = "analyses:\n  look:\n    every: 1 steps\n    stages:\n" + "".join(
    f"      - image: {{name: {name}, {told}}}\n" for name, told in PICTURES.items()
)
ANALYSES += """\
      - slice: {field: height, axis: y, position: 0.55, pixels: 40}
      - slice: {field: number, axis: y, position: 0.55, pixels: 40}
      - slice: {field: distance, axis: z, position: 0.5, thickness: 0.2, pixels: 20}
      - slice: {field: xyz, component: 0, axis: x, position: 0.7, pixels: 16}
"""


def coordinates() -> np.ndarray:
    """[element, component, k, j, i] of a deformed cube; every third element's axes go round."""
    inner = np.sort(Legendre.basis(ORDER).deriv().roots().real)
    points = np.concatenate([[-1.0], inner, [1.0]])
    corners = np.stack(np.meshgrid(*map(np.arange, ELEMENTS), indexing="ij"), -1).reshape(-1, 3)
    t, s, r = np.meshgrid(points, points, points, indexing="ij")
    local = (np.stack([r, s, t]) + 1) / 2
    x = (corners[:, :, None, None, None] + local) / np.array(ELEMENTS)[:, None, None, None]
    bump = 0.07 * np.prod(np.sin(np.pi * x), axis=1, keepdims=True)
    x = x + bump * np.array([1.0, -0.6, 0.8])[:, None, None, None]
    x[::3] = x[::3].transpose(0, 1, 3, 4, 2)
    return x


@cache
def frames() -> list[Frame]:
    xyz = coordinates()
    values = {
        "xyz": xyz,
        "height": xyz[:, 2],
        "same": np.full(xyz[:, 2].shape, 3, np.float32),
        "distance": np.sqrt(((xyz - 0.5) ** 2).sum(axis=1)),
        "number": np.arange(len(xyz), dtype=np.int64),
    }
    flat = {k: v.reshape(len(v), -1) if v.ndim > 1 else v for k, v in values.items()}
    return [Frame(step, 0.5 * step, flat) for step in range(2)]


def scene() -> Scene:
    return Scene("image", frames(), CATALOGUE, ANALYSES, "trajectory_driver", ("--elements", 1))


PLACEMENTS = roomy(
    placements(
        ["slabs", "migrate", "sparse", "pieces"],
        [(3, 0, "pieces"), (2, 2, "migrate"), (4, 1, "sparse")],
    )
)


@pytest.fixture(scope="module")
def alone(build, tmp_path_factory):
    """By a single rank."""
    results, _ = scene().run(build, tmp_path_factory.mktemp("alone"), Placement(1, 0, "slabs"))
    return results / "look"


@pytest.mark.parametrize("placement", PLACEMENTS, ids=str)
def test_pixels_are_the_same_everywhere(build, tmp_path, alone, placement):
    results, _ = scene().run(build, tmp_path, placement)
    check_report(scene(), placement, results)
    found = sorted((results / "look").glob("*.png"))
    assert len(found) == 2 * len(PICTURES)
    for path in found:
        assert np.array_equal(pixels(path), pixels(alone / path.name)), path.name


def sliced(alone: Path, name: str):
    table = read_table(alone / f"slice_{name}.000000000.csv")
    assert "not_finite" not in table.attributes
    return table


def test_slices_in_numbers(alone):
    """Fields that are linear in space are exact; others are as good as a linear interpolation."""
    height = sliced(alone, "height_y")
    assert len(height["mean"]) == 40 * 40
    np.testing.assert_allclose(height["mean"], height["z"], rtol=1e-9)
    x = sliced(alone, "xyz_x_x")
    np.testing.assert_allclose(x["mean"], 0.7, rtol=1e-9)
    distance = sliced(alone, "distance_z")
    assert (distance.attributes["from"], distance.attributes["to"]) == pytest.approx((0.4, 0.6))
    inner = (np.arange(10) + 0.5) / 10 - 0.5
    u, v, w = np.meshgrid(inner / 20, inner / 20, inner / 5, indexing="ij")
    for x, y, mean in zip(distance["x"], distance["y"], distance["mean"], strict=True):
        exact = np.sqrt((x + u - 0.5) ** 2 + (y + v - 0.5) ** 2 + w**2).mean()
        assert mean == pytest.approx(exact, abs=2e-3 / exact)  # curvature is 1 / distance


def test_slices_show_the_elements_that_pixels_are_in(alone):
    """Against many places in each element, by its polynomials."""
    basis = np.sort(np.concatenate([[-1.0, 1.0], Legendre.basis(ORDER).deriv().roots().real]))
    at = np.linspace(-1, 1, 24)
    matrix = np.linalg.solve(np.vander(basis).T, np.vander(at, N).T).T
    seen = np.einsum("ak,bj,ci,edkji->eabcd", matrix, matrix, matrix, coordinates())
    tree = cKDTree(seen.reshape(-1, 3))
    table = sliced(alone, "number_y")
    places = np.stack([table["x"], np.full(len(table["x"]), 0.55), table["z"]], axis=-1)
    near = tree.query(places, 30)[1] // len(at) ** 3
    inside = (near == near[:, :1]).all(axis=1)
    assert inside.sum() > 1000
    edge = table["mean"] != np.rint(table["mean"])  # of pixels in several elements
    assert (inside & ~edge).sum() > 700
    np.testing.assert_array_equal(table["mean"][inside & ~edge], near[inside & ~edge, 0])


def picture(alone: Path, name: str) -> np.ndarray:
    return pixels(alone / f"{name}.000000000.png")


@pytest.mark.parametrize("name", ["front", "lower", "upper", "below", "inner"])
def test_a_slice_of_elements_shows_the_field(alone, name):
    """A linear field is linear in every cell, however deformed; also at the ends of the mesh."""
    found = picture(alone, name)
    seen = rays(SIZE, (0.5, -9, 0.5), (0.5, 0.5, 0.5), (0, 0, 1), height=1.2)
    x, z = seen.origin[..., 0], seen.origin[..., 2]
    inside = (np.abs(x - 0.5) < 0.49) & (np.abs(z - 0.5) < 0.49)
    outside = (np.abs(x - 0.5) > 0.51) | (np.abs(z - 0.5) > 0.51)
    assert np.abs(found - colours(z, 0, 1))[inside].max() <= 1
    assert (found[outside] == 255).all()


def test_there_are_no_cracks_between_elements(alone):
    """All that is seen of a constant field has one colour, but for the edge of the slice."""
    found = picture(alone, "skew")
    colour = np.rint(colours(0.5, 0, 1)).astype(int)
    filled = (np.abs(found - colour) <= 1).all(axis=-1)
    assert filled.sum() > 1000
    for row in filled:
        columns = np.flatnonzero(row)
        if columns.size:
            assert row[columns[0] : columns[-1] + 1].all()
    background = (found == [255, 0, 0]).all(axis=-1)
    edge = ~filled & ~background
    near = np.zeros_like(filled)
    for shift in ((0, 1), (0, -1), (1, 0), (-1, 0)):
        near |= np.roll(background, shift, (0, 1))
    assert not (edge & ~near).any()


def test_a_surface_of_elements_covers_what_vtk_draws(alone):
    vtk = pytest.importorskip("vtk")
    from vtk.util.numpy_support import numpy_to_vtk, vtk_to_numpy

    xyz, distance = coordinates(), frames()[0]["distance"]
    points = np.moveaxis(xyz, 1, -1).reshape(-1, 3)
    ids = np.arange(N**3).reshape(N, N, N)
    part = [slice(0, -1), slice(1, None)]
    order = [(0, 0, 0), (0, 0, 1), (0, 1, 1), (0, 1, 0), (1, 0, 0), (1, 0, 1), (1, 1, 1), (1, 1, 0)]
    corners = np.stack([ids[part[k], part[j], part[i]].ravel() for k, j, i in order], axis=1)
    cells = np.concatenate([corners + e * N**3 for e in range(len(xyz))])
    grid = vtk.vtkUnstructuredGrid()
    places = vtk.vtkPoints()
    places.SetData(numpy_to_vtk(np.ascontiguousarray(points), deep=True))
    grid.SetPoints(places)
    for cell in cells:
        grid.InsertNextCell(vtk.VTK_HEXAHEDRON, 8, cell.tolist())
    grid.GetPointData().SetScalars(numpy_to_vtk(distance.ravel(), deep=True))
    contour = vtk.vtkContourFilter()
    contour.SetInputData(grid)
    contour.SetValue(0, 0.3)
    contour.Update()
    surface = vtk_to_numpy(contour.GetOutput().GetPoints().GetData())
    # The outline that is seen from the front, of the points of VTK's surface.
    found = (picture(alone, "ball") != 255).any(axis=-1)
    seen = rays(SIZE, (0.5, -9, 0.5), (0.5, 0.5, 0.5), (0, 0, 1), height=0.8)
    across = np.hypot(seen.origin[..., 0] - 0.5, seen.origin[..., 2] - 0.5)
    radius = np.hypot(surface[:, 0] - 0.5, surface[:, 2] - 0.5).max()
    pixel = 0.8 / SIZE[1]
    assert found[across < radius - 1.5 * pixel].all()
    assert not found[across > radius + pixel].any()


def test_a_volume_of_elements_fills_them(alone):
    """An opacity of a half everywhere, over a tenth of the side: a thousandth comes through."""
    found = picture(alone, "cloud")
    seen = rays(SIZE, (0.5, -9, 0.5), (0.5, 0.5, 0.5), (0, 0, 1), height=1.2)
    x, z = seen.origin[..., 0], seen.origin[..., 2]
    inside = (np.abs(x - 0.5) < 0.46) & (np.abs(z - 0.5) < 0.46)
    assert np.abs(found - colours(z, 0, 1))[inside].max() <= 2
    outside = (np.abs(x - 0.5) > 0.52) | (np.abs(z - 0.5) > 0.52)
    assert (found[outside] == 255).all()
