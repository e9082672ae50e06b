# SPDX-License-Identifier: BSD-3-Clause
"""Meshes whose program says which cells exist, and which part of its volume a cell has, at every
placement against NumPy on the whole mesh; what writers make of them; and what is refused."""

import re
from pathlib import Path

import h5py
import masks_program as program
import numpy as np
import pytest
import vtk
from conftest import read_table
from programs import PLACES, results_of, runner
from vtk.util.numpy_support import vtk_to_numpy

HERE = Path(__file__).parent
TEXT = f"""
output: results
SIDECARS
meshes:
  sea: {{kind: uniform, cells: {list(program.SEA)}, mask: wet}}
  cut: {{kind: uniform, cells: {list(program.CUT)}, length: [3.5, 6, 1], weight: part}}
  bar: {{kind: rectilinear, coordinates: {[faces.tolist() for faces in program.FACES]},
    mask: bar_m, weight: bar_w}}
  ring: {{kind: curvilinear, cells: {list(program.RING)}, coordinates: ring_x, mask: ring_m,
    weight: ring_w}}
  strip: {{kind: unstructured, dimensions: 2, weight: strip_w}}
fields:
  sea_t: {{mesh: sea, type: float64}}
  wet: {{mesh: sea, type: uint8}}
  cut_t: {{mesh: cut, type: float32}}
  part: {{mesh: cut, type: float64}}
  bar_t: {{mesh: bar, type: float64}}
  bar_m: {{mesh: bar, type: int8}}
  bar_w: {{mesh: bar, type: float32}}
  ring_c: {{mesh: ring, type: float64}}
  ring_p: {{mesh: ring, type: float64, centering: point}}
  ring_x: {{mesh: ring, type: float64, components: 2, centering: point}}
  ring_m: {{mesh: ring, type: int16}}
  ring_w: {{mesh: ring, type: float64}}
  strip_t: {{mesh: strip, type: float64}}
  strip_p: {{mesh: strip, type: float64, centering: point}}
  strip_w: {{mesh: strip, type: float64}}
analyses:
  means:
    every: 1 steps
    stages:
      - magnitude: {{field: sea_t, into: sea_size, at: simulation}}
      - statistics: {{fields: [sea_t, sea_size, cut_t, bar_t, ring_c, ring_p, strip_t, strip_p]}}
      - histogram: {{field: bar_t, bins: 4, range: [-1, 2]}}
      - slice: {{field: sea_t}}
      - slice: {{field: ring_c, pixels: 1}}
      - slice: {{field: strip_t, pixels: 1}}
      - python: {{call: "STAGES/masks.py:look"}}
  flat:
    every: 1 steps
    stages:
      - flatten: {{fields: [sea_t], level: 0}}
      - flatten: {{fields: [cut_t], level: 0}}
      - statistics: {{fields: [sea_t_level_0, cut_t_level_0]}}
  files:
    every: 1 steps
    stages:
      - write_vtkhdf: {{fields: [sea_t], durable: false}}
      - write_vtkhdf: {{fields: [bar_t, bar_w], durable: false}}
      - write_vtkhdf: {{fields: [ring_c], durable: false}}
      - write_vtkhdf: {{fields: [cut_t], durable: false}}
      - write_openpmd: {{fields: [sea_t], durable: false}}
      - write_raw: {{fields: [bar_t], durable: false}}
"""
run = runner("masks_program.py")


@pytest.fixture(scope="module", params=PLACES)
def results(request, build, tmp_path_factory):
    folder = tmp_path_factory.mktemp("masks")
    run(folder, build, request.param, TEXT)
    return results_of(folder, program.STEPS)


def whole(name, step):
    cells, make = program.FIELDS[name]
    return make([0] * len(cells), list(cells), step).astype(float)


def bar_volumes():
    x, y = (np.diff(faces) for faces in program.FACES)
    return x[:, None] * y[None]


def ring_volumes():
    squares = (1 + np.arange(program.RING[0] + 1.0)) ** 2
    return np.repeat((np.diff(squares) * np.sin(0.4) / 2)[:, None], program.RING[1], axis=1)


def check(table, step, values, weights, counted):
    values, weights = values[counted], weights[counted]
    mean = (values * weights).sum() / weights.sum()
    assert table["count"][step] == counted.sum()
    if "volume" in table.columns:
        assert table["volume"][step] == pytest.approx(weights.sum(), rel=1e-7)
    assert table["mean"][step] == pytest.approx(mean, rel=1e-7, abs=1e-12)
    spread = np.sqrt((weights * (values - mean) ** 2).sum() / weights.sum())
    assert table["standard_deviation"][step] == pytest.approx(spread, rel=1e-7)
    assert table["min"][step] == pytest.approx(values.min(), rel=1e-7)
    assert table["max"][step] == pytest.approx(values.max(), rel=1e-7)


def test_means_leave_out_cells_and_weigh_parts(results):
    tables = {
        name: read_table(results / f"means/statistics_{name}.csv")
        for name in (
            "sea_t",
            "sea_size",
            "cut_t",
            "bar_t",
            "ring_c",
            "ring_p",
            "strip_t",
            "strip_p",
        )
    }
    for step in range(program.STEPS):
        wet = whole("wet", step) != 0
        check(tables["sea_t"], step, whole("sea_t", step), np.ones(program.SEA), wet)
        check(tables["sea_size"], step, abs(whole("sea_t", step)), np.ones(program.SEA), wet)
        parts = whole("part", step) * 3.5 * 6 / np.prod(program.CUT)
        check(tables["cut_t"], step, whole("cut_t", step), parts, np.full(program.CUT, True))
        bar = bar_volumes() * whole("bar_w", step)
        check(tables["bar_t"], step, whole("bar_t", step), bar, whole("bar_m", step) != 0)
        ring, there = ring_volumes() * whole("ring_w", step), whole("ring_m", step) != 0
        check(tables["ring_c"], step, whole("ring_c", step), ring, there)
        mean = points_mean(whole("ring_p", step), ring * there)
        assert tables["ring_p"]["mean"][step] == pytest.approx(mean, rel=1e-10)
        strip = np.arange(len(program.STRIP) - 1)
        weights = np.diff(program.STRIP) * (1 + (strip + step) % 3) / 3
        check(tables["strip_t"], step, np.cos(strip + step), weights, np.full(len(strip), True))
        middle = (program.STRIP[1:] + program.STRIP[:-1]) / 2 + step
        mean = (middle * weights).sum() / weights.sum()
        assert tables["strip_p"]["mean"][step] == pytest.approx(mean, rel=1e-12)
    seen = read_table(results / "means/look.csv")
    counts = [np.prod(n) for n in (program.SEA, program.CUT, program.BAR, program.RING)]
    assert list(seen["cells"]) == [sum(counts)] * program.STEPS


def points_mean(values, volumes):
    """Each cell gives a quarter of its volume to each of its corners."""
    sums = sum(values[i : i - 1 or None, j : j - 1 or None] for i in (0, 1) for j in (0, 1)) / 4
    return (sums * volumes).sum() / volumes.sum()


def test_histograms_and_slices_leave_out_cells(results):
    for step in range(program.STEPS):
        there, edges = whole("bar_m", step) != 0, np.linspace(-1, 2, 5)
        table = read_table(results / f"means/histogram_bar_t.{step:09d}.csv")
        values, weights = whole("bar_t", step)[there], (bar_volumes() * whole("bar_w", step))[there]
        assert list(table["count"]) == list(np.histogram(values, edges)[0])
        volumes, _ = np.histogram(values, edges, weights=weights)
        np.testing.assert_allclose(table["volume"], volumes, rtol=1e-7)
        pixels = read_table(results / f"means/slice_sea_t_z.{step:09d}.csv")
        wet = whole("wet", step) != 0
        wanted = np.where(wet, whole("sea_t", step), np.nan)
        np.testing.assert_array_equal(pixels["mean"], wanted.T.ravel())


def test_slices_weigh_by_the_part_of_a_cell(results):
    """One pixel has all of a mesh, and so the mean by area."""
    for field in ("ring_c", "strip_t"):
        table = read_table(results / f"means/statistics_{field}.csv")
        for step in range(program.STEPS):
            (mean,) = read_table(results / f"means/slice_{field}_z.{step:09d}.csv")["mean"]
            assert mean == pytest.approx(table["mean"][step], rel=1e-9), field


def test_flatten_gives_cells_that_do_not_exist_no_value(results):
    sea = read_table(results / "flat/statistics_sea_t_level_0.csv")
    cut = read_table(results / "flat/statistics_cut_t_level_0.csv")
    for step in range(program.STEPS):
        wet = whole("wet", step) != 0
        assert sea["not_finite"][step] == (~wet).sum()
        check(sea, step, whole("sea_t", step), np.ones(program.SEA), wet)
        there = whole("part", step) > 0
        assert cut["not_finite"][step] == (~there).sum()
        check(cut, step, whole("cut_t", step), np.ones(program.CUT), there)


def read_vtk(path):
    """Arrays of all cells of a file, and their areas."""
    reader = vtk.vtkHDFReader()
    reader.SetFileName(str(path))
    reader.Update()
    parts, out = reader.GetOutputDataObject(0), {}
    for number in range(parts.GetNumberOfPartitions()):
        grid = parts.GetPartition(number)
        data = grid.GetCellData()
        for n in range(data.GetNumberOfArrays()):
            array = vtk_to_numpy(data.GetArray(n))
            out.setdefault(data.GetArrayName(n), []).append(array)
        cells = range(grid.GetNumberOfCells())
        out.setdefault("area", []).append([area_of(grid.GetCell(c)) for c in cells])
    return {name: np.concatenate(arrays) for name, arrays in out.items()}


def area_of(cell):
    x, y, _ = vtk_to_numpy(cell.GetPoints().GetData()).T
    return abs(x @ np.roll(y, 1) - y @ np.roll(x, 1)) / 2


def test_vtk_knows_hidden_cells(results):
    for mesh, name, volumes in [
        ("bar", "bar_t", bar_volumes()),
        ("ring", "ring_c", ring_volumes()),
    ]:
        for step in range(program.STEPS):
            cells = read_vtk(results / f"files/{mesh}_vtkhdf/{mesh}.{step:09d}.vtkhdf")
            there = whole(f"{mesh}_m", step) != 0
            hidden = cells.get("vtkGhostType", np.zeros(there.size, np.uint8))
            assert set(np.unique(hidden)) <= {0, 32} and (hidden == 32).sum() == (~there).sum()
            found = (cells["area"] * cells[name])[hidden == 0].sum()
            assert found == pytest.approx((volumes * whole(name, step))[there].sum(), rel=1e-12)


def test_openpmd_has_no_number_where_no_cell_is(results):
    for step in range(program.STEPS):
        with h5py.File(results / f"files/sea_openpmd/sea_{step:09d}.h5") as file:
            found = np.array(file[f"data/{step}/fields/sea_t"]).T
        wet = whole("wet", step) != 0
        np.testing.assert_array_equal(np.isnan(found), ~wet)
        np.testing.assert_array_equal(found[wet], whole("sea_t", step)[wet])


def test_raw_files_have_the_mask_beside(results):
    head = (results / "files/bar.raw.yaml").read_text()
    assert 'mask: "bar_m", weight: "bar_w"' in head and 'name: "bar_m"' in head


REFUSED = [
    ("mask: wet", "mask: wat", "unknown field 'wat'; did you mean 'wet'?"),
    ("mask: wet", "mask: sea_t", "the mask of mesh 'sea' is a field of one integer number"),
    ("weight: part", "weight: wet", "the weight of mesh 'cut' is a field of one real number"),
    ("- flatten: {fields: [sea_t], level: 0}", "- halos: {field: sea_t, thresholds: [[1, 2]]}",
     "some of whose cells do not exist"),
    ("- flatten: {fields: [cut_t], level: 0}", "- power_spectrum: {field: cut_t}",
     "by its weight 'part'; put `flatten` before this stage"),
    ("part: {mesh: cut, type: float64}", "part: {mesh: cut, type: float64, centering: point}",
     "has cells with a weight, where values at points are not supported yet"),
]  # fmt: skip


@pytest.mark.drawn
@pytest.mark.parametrize(("old", "new", "message"), REFUSED)
def test_refusals_of_the_configuration(build, tmp_path, old, new, message):
    assert old in TEXT
    said = run(tmp_path, build, "one", TEXT.replace(old, new), check=False)
    assert message in said, said


@pytest.mark.parametrize("place", ["one", "network"])
def test_a_mask_in_other_boxes_is_refused(build, tmp_path, monkeypatch, place):
    monkeypatch.setenv("CUT_APART", "wet")
    said = run(tmp_path, build, place, TEXT, check=False)
    assert "share 'wet' in the same boxes as the other fields of the mesh" in said, said


@pytest.mark.parametrize("place", ["inside", "network"])
def test_a_weight_above_1_is_refused_on_all_ranks(build, tmp_path, monkeypatch, place):
    monkeypatch.setenv("PARTS_OF", "1.5")
    said = run(tmp_path, build, place, TEXT, check=False)
    assert re.search(r"mesh 'bar', rank \d: the weight 'bar_w' of cell \(\d, \d\) is 1.", said), (
        said
    )
    assert said.count("Error: block") == 3, said
