# SPDX-License-Identifier: BSD-3-Clause
"""Curvilinear meshes whose points move, at every placement, against NumPy: the area of a polygon
around a circle and of its sectors is known."""

import json
from pathlib import Path

import curvilinear_program as program
import numpy as np
import pytest
from conftest import read_table
from image_oracle import check_cells, pixels, rays
from programs import PLACES, results_of, runner
from test_unstructured_slices import samples
from vtkmodules.util.numpy_support import vtk_to_numpy
from vtkmodules.vtkFiltersVerdict import vtkCellSizeFilter
from vtkmodules.vtkIOHDF import vtkHDFReader

HERE = Path(__file__).parent
SIZE = (200, 160)
LOOK = f"""\
          size: {list(SIZE)}
          samples: 1
          labels: false
          outline: false
          camera: {{parallel: true, height: 16, position: [0, 0, 50], focal_point: [0, 0, 0],
                   up: [0, 1, 0]}}"""
TEXT = f"""
output: results
SIDECARS
meshes:
  ring: {{kind: curvilinear, cells: {list(program.RING)}, coordinates: ring_x, units: m}}
  shell:
    kind: curvilinear
    cells: {list(program.SHELL)}
    coordinates: [shell_x, shell_y, shell_z]
    units: m
fields:
  ring_u: {{mesh: ring, type: float64}}
  ring_x: {{mesh: ring, type: float64, components: 2, centering: point}}
  shell_u: {{mesh: shell, type: float64}}
  shell_x: {{mesh: shell, type: float64, centering: point}}
  shell_y: {{mesh: shell, type: float64, centering: point}}
  shell_z: {{mesh: shell, type: float64, centering: point}}
analyses:
  ring:
    every: 1 steps
    stages:
      - statistics: {{fields: [ring_u]}}
      - histogram: {{field: ring_u, bins: 5, range: [-2.0, 2.0]}}
      - slice: {{field: ring_u, pixels: 90}}
      - image:
          name: ring
{LOOK}
          draw: [slice: {{field: ring_u, limits: [-2, 4]}}]
      - write_vtkhdf: {{fields: [ring_u], durable: false}}
  shell:
    every: 1 steps
    stages:
      - statistics: {{fields: [shell_u]}}
      - slice: {{field: shell_u, position: 2.0, pixels: 90}}
      - image:
          name: shell
{LOOK}
          draw: [slice: {{field: shell_u, axis: z, at: 2.0, limits: [-2, 4]}}]
      - write_vtkhdf: {{fields: [shell_u], durable: false}}
"""
run = runner("curvilinear_program.py")


@pytest.fixture(scope="module", params=["inside", "network", "node"])
def results(request, build, tmp_path_factory):
    folder = tmp_path_factory.mktemp("curved")
    run(folder, build, request.param, TEXT)
    return results_of(folder, program.STEPS)


def volumes(cells, step):
    """Quadrilaterals between two rays: the difference of two triangles' areas."""
    rays = np.sin(2 * np.pi / (24 if len(cells) == 2 else 48)) / 2
    squares = program.radius(np.arange(cells[0] + 1.0), step) ** 2
    areas = np.diff(squares) * rays
    if len(cells) == 2:
        return np.repeat(areas[:, None], cells[1], axis=1)
    heights = np.diff(np.arange(cells[2] + 1.0) ** 1.5)
    return np.broadcast_to(areas[:, None, None] * heights, cells)


@pytest.mark.parametrize("mesh", ["ring", "shell"])
def test_cells_weigh_by_volume(results, mesh):
    cells = {"ring": program.RING, "shell": program.SHELL}[mesh]
    table = read_table(results / f"{mesh}/statistics_{mesh}_u.csv")
    for step in range(program.STEPS):
        u, v = program.values([0] * len(cells), cells, step), volumes(cells, step)
        mean = (u * v).sum() / v.sum()
        assert table["count"][step] == u.size
        assert table["volume"][step] == pytest.approx(v.sum(), rel=1e-12)
        assert table["mean"][step] == pytest.approx(mean, rel=1e-11)
        deviation = np.sqrt((v * (u - mean) ** 2).sum() / v.sum())
        assert table["standard_deviation"][step] == pytest.approx(deviation, rel=1e-11)
        if mesh == "ring":
            bins = read_table(results / f"ring/histogram_ring_u.{step:09}.csv")
            found, _ = np.histogram(u.ravel(), 5, (-2, 2), weights=v.ravel())
            np.testing.assert_allclose(bins["volume"], found, rtol=1e-12, atol=1e-15)


def cells_at(mesh, places, step):
    """The numbers of the cells at places [..., xy], x fastest; -1 where none is. The shell is seen
    at the height of its second layer."""
    cells = {"ring": program.RING, "shell": program.SHELL}[mesh]
    turn = 2 * np.pi / (24 if mesh == "ring" else 48)
    angle = np.arctan2(places[..., 1], places[..., 0]) % (2 * np.pi)
    j = np.floor(angle / turn).astype(int)
    # Faces are chords between rays: from the middle of one the angle to a place.
    r = np.hypot(places[..., 0], places[..., 1])
    chord = r * np.cos(angle - (j + 0.5) * turn) / np.cos(turn / 2)
    i = np.searchsorted(program.radius(np.arange(cells[0] + 1.0), step), chord) - 1
    is_inside = (i >= 0) & (i < cells[0]) & (j < cells[1])
    layer = 0 if mesh == "ring" else cells[0] * cells[1]
    return np.where(is_inside, layer + i + cells[0] * j, -1)


@pytest.mark.parametrize("mesh", ["ring", "shell"])
def test_slices_and_pictures_show_cells(results, mesh):
    cells = {"ring": program.RING, "shell": program.SHELL}[mesh]
    seen = rays(SIZE, (0, 0, 50), (0, 0, 0), (0, 1, 0), height=16).at(np.zeros(SIZE[::-1]))
    for step in range(program.STEPS):
        u = program.values([0] * len(cells), cells, step).ravel(order="F")
        picture = pixels(results / f"{mesh}/{mesh}.{step:09}.png")
        check_cells(picture, cells_at(mesh, seen[..., :2], step), u, (-2, 4))
        table = read_table(results / f"{mesh}/slice_{mesh}_u_z.{step:09}.csv")
        found = np.array([cells_at(mesh, at[:, :2], step) for at in samples(table, "z", 2.0)])
        within = (found == found[0]).all(axis=0) & (found[0] >= 0)
        assert within.sum() > 200
        np.testing.assert_allclose(table["mean"][within], u[found[0][within]], rtol=1e-9)
        assert np.isfinite(table["mean"][(found >= 0).any(axis=0)]).all()


@pytest.mark.parametrize("mesh", ["ring", "shell"])
def test_vtk_reads_them(results, mesh):
    cells = {"ring": program.RING, "shell": program.SHELL}[mesh]
    for step in range(program.STEPS):
        reader = vtkHDFReader()
        reader.SetFileName(str(results / f"{mesh}/{mesh}_vtkhdf/{mesh}.{step:09}.vtkhdf"))
        sizes = vtkCellSizeFilter()
        sizes.SetInputConnection(reader.GetOutputPort())
        sizes.Update()
        parts = sizes.GetOutput()
        measure = "Area" if mesh == "ring" else "Volume"
        found = []
        for part in range(parts.GetNumberOfPartitions()):
            data = parts.GetPartition(part).GetCellData()
            of_part = [vtk_to_numpy(data.GetArray(name)) for name in (f"{mesh}_u", measure)]
            found += zip(of_part[0].round(9), of_part[1], strict=True)
        u, v = program.values([0] * len(cells), cells, step), volumes(cells, step)
        wanted = sorted(zip(u.ravel().round(9), v.ravel(), strict=True))
        np.testing.assert_allclose(sorted(found), wanted, rtol=1e-9)


@pytest.mark.parametrize("place", ["inside", "network"])
def test_an_inverted_mesh_is_refused_on_all_ranks(build, tmp_path, place):
    out = run(tmp_path, build, place, TEXT, "inverted0", check=False)
    refused = [line for line in out.splitlines() if line.startswith("pillion.errors.Error: ")]
    assert len(refused) == PLACES[place][0], out
    for line in refused:
        assert "block 0 of mesh 'shell', rank 2: cell (0, " in line, out
        assert "is a hexahedron that is inverted: its volume is -" in line, out


def test_an_inverted_mesh_drops_the_publication(build, tmp_path):
    out = run(tmp_path, build, "network", TEXT, "inverted1")
    assert "is inverted: its volume is -" in out and "right-handed" in out, out
    report = json.loads((tmp_path / "results/report.json").read_text())
    ring, shell = report["analyses"]  # an area has no sign
    assert (ring["publications"], ring["dropped"]) == (program.STEPS, 0), ring
    assert (shell["publications"], shell["dropped"]) == (program.STEPS - 1, 1), shell
