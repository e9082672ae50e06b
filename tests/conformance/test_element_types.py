# SPDX-License-Identifier: BSD-3-Clause
"""Fields of integers of every size, signed and unsigned, at every placement: stages against NumPy,
files as their libraries read them, and replays of these files."""

import os
from pathlib import Path

import h5py
import numpy as np
import pytest
import types_program as program
from conftest import mpirun, read_table
from programs import results_of, runner
from vtk import vtkHDFReader
from vtk.util.numpy_support import vtk_to_numpy
from vtkmodules.vtkIOXdmf2 import vtkXdmfReader

HERE = Path(__file__).parent
ALL = [*program.TYPES, "wet", "pair"]
CATALOGUE = f"""
meshes:
  grid: {{kind: uniform, cells: {list(program.CELLS)}}}
  atoms: {{kind: particles}}
fields:
  wet: {{mesh: grid, type: uint8}}
  pair: {{mesh: grid, type: uint8, components: 2}}
  position: {{mesh: atoms, type: float64, components: 3}}
  id: {{mesh: atoms, type: int64}}
  charge: {{mesh: atoms, type: int8}}
""" + "".join(f"  {name}: {{mesh: grid, type: {name}}}\n" for name in program.TYPES)
STATISTICS = f"statistics: {{fields: {[*program.TYPES, 'wet']}}}"
TEXT = f"""
output: results
SIDECARS
{CATALOGUE}
analyses:
  means:
    every: 1 steps
    stages:
      - magnitude: {{field: pair, into: size, at: simulation}}
      - {STATISTICS}
      - statistics: {{fields: [size]}}
      - statistics: {{fields: [charge]}}
      - histogram: {{field: uint8, bins: 8, range: [0, 256]}}
      - slice: {{field: int16}}
      - python: {{call: "STAGES/element_types.py:look"}}
      - python: {{call: "STAGES/element_types.py:by_key"}}
      - python: {{call: "STAGES/element_types.py:spatial"}}
      - statistics: {{fields: [half]}}
  never:
    every: 1 steps
    when: max(uint16) > 65535
    stages: [statistics: {{fields: [int8]}}]
  raw:
    every: 1 steps
    stages: [write_raw: {{fields: {ALL}, durable: false}}]
  hdf5:
    every: 1 steps
    stages: [write_hdf5: {{fields: {ALL}, durable: false}}]
  vtkhdf:
    every: 1 steps
    stages: [write_vtkhdf: {{fields: {ALL}, durable: false}}]
  openpmd:
    every: 1 steps
    stages: [write_openpmd: {{fields: {ALL}, durable: false}}]
  idx:
    every: 1 steps
    stages: [write_idx: {{fields: {ALL}, durable: false}}]
  atoms:
    every: 1 steps
    stages: [write_raw: {{fields: [charge, id, position], durable: false}}]
"""
run = runner("types_program.py")


@pytest.fixture(scope="module", params=["inside", "network", "node"])
def results(request, build, tmp_path_factory):
    folder = tmp_path_factory.mktemp("types")
    run(folder, build, request.param, TEXT)
    return results_of(folder, program.STEPS, never="never")


def check(path, make):
    table = read_table(path)
    assert len(table) == program.STEPS
    for step in range(program.STEPS):
        values = make(step).astype(float)
        assert table["count"][step] == values.size
        for column, wanted in [
            ("mean", values.mean()),
            ("min", values.min()),
            ("max", values.max()),
            ("standard_deviation", values.std()),
        ]:
            assert table[column][step] == pytest.approx(wanted, rel=1e-9, abs=1e-9 * values.std())


def test_stages_read_all_types(results):
    for name in [*program.TYPES, "wet", "charge"]:
        path = results / f"means/statistics_{name}.csv"
        check(path, lambda step, name=name: program.values(name, step))
    sizes = results / "means/statistics_size.csv"
    check(sizes, lambda step: np.sqrt((program.values("pair", step).astype(float) ** 2).sum(-1)))
    halves = results / "means/statistics_half.csv"
    check(halves, lambda step: program.values("uint16", step) // 2)
    for name in ("by_key", "spatial"):
        found = read_table(results / f"means/{name}.csv")["particles"]
        assert list(found) == [program.COUNT] * program.STEPS
    assert not (results / "never").exists() or not list((results / "never").iterdir())
    for step in range(program.STEPS):
        table = read_table(results / f"means/histogram_uint8.{step:09d}.csv")
        wanted, _ = np.histogram(program.values("uint8", step), 8, (0, 256))
        assert list(table["count"]) == list(wanted)
        pixels = read_table(results / f"means/slice_int16_z.{step:09d}.csv")
        middle = program.values("int16", step)[:, :, program.CELLS[2] // 2]
        np.testing.assert_array_equal(pixels["mean"], middle.T.ravel())


def test_files_keep_the_types(results):
    for step in range(program.STEPS):
        for path, group in [
            (results / f"hdf5/grid_hdf5/grid.{step:09d}.h5", ""),
            (results / f"openpmd/grid_openpmd/grid_{step:09d}.h5", f"data/{step}/fields/"),
        ]:
            with h5py.File(path) as file:
                for name in (*program.TYPES, "wet"):
                    wanted = program.values(name, step).T
                    found = file[group + name]
                    assert found.dtype == (np.uint8 if name == "wet" else wanted.dtype), name
                    np.testing.assert_array_equal(found[()], wanted, name)
        reader = vtkHDFReader()
        reader.SetFileName(str(results / f"vtkhdf/grid_vtkhdf/grid.{step:09d}.vtkhdf"))
        reader.Update()
        check_vtk(reader.GetOutputDataObject(0), ALL, step)
        reader = vtkXdmfReader()
        reader.SetFileName(str(results / "hdf5/grid.xmf"))
        reader.UpdateInformation()
        reader.UpdateTimeStep(0.1 * step)
        check_vtk(reader.GetOutputDataObject(0), [name for name in ALL if name != "uint64"], step)


def check_vtk(grid, names, step):
    data = grid.GetCellData()
    for name in names:
        wanted = program.values(name, step)
        found = vtk_to_numpy(data.GetArray(name))
        assert found.dtype == (np.uint8 if name == "wet" else wanted.dtype), name
        shape = (np.prod(program.CELLS), -1)
        rows = np.moveaxis(wanted.reshape(*program.CELLS, -1), [0, 1, 2], [2, 1, 0])
        np.testing.assert_array_equal(found.reshape(shape), rows.reshape(shape), name)


STORED = ["raw/grid.raw.yaml", "hdf5", "vtkhdf", "openpmd", "idx"]


def test_files_are_replayed(results, build, tmp_path):
    env = os.environ | {"PYTHONPATH": f"{build / 'python'}:{HERE}"}
    for number, stored in enumerate(STORED):
        stages = (
            f'{STATISTICS}\n      - python: {{call: "{HERE / "stages/element_types.py"}:look"}}'
        )
        again = f"output: again_{number}\n{CATALOGUE}analyses:\n  means:\n    every: 1 steps\n"
        (tmp_path / "again.yaml").write_text(f"{again}    stages:\n      - {stages}\n")
        words = ("replay", results / stored, "again.yaml")
        done = mpirun(2, build / "bin/pillion", *words, cwd=tmp_path, env=env)
        assert "disabled" not in done.stdout + done.stderr, done.stdout + done.stderr
        for name in (*program.TYPES, "wet"):
            path = tmp_path / f"again_{number}/means/statistics_{name}.csv"
            check(path, lambda step, name=name: program.values(name, step))


REFUSED = [
    ("- slice: {field: int16}", "- halos: {field: uint8, thresholds: [[1, 2]]}",
     "halos are found in fields of int32, int64, float32 or float64"),
    ("- slice: {field: int16}", "- write_plotfile: {fields: [uint8]}",
     "holds integers, and plotfiles hold reals only"),
    ("- slice: {field: int16}", "- write_idx: {fields: [uint8], compression: zfp}",
     "zfp takes int32, int64, float32 and float64; choose zip or lz4"),
    ("  uint8: {mesh: grid, type: uint8}", "  uint8: {mesh: grid, type: bool}",
     "unknown type 'bool'; it is called 'uint8' here"),
    ("  uint8: {mesh: grid, type: uint8}", "  uint8: {mesh: grid, type: int8}",
     "was shared as uint8, but the catalogue says int8"),
]  # fmt: skip


@pytest.mark.parametrize(("old", "new", "message"), REFUSED)
def test_refusals(build, tmp_path, old, new, message):
    assert old in TEXT
    said = run(tmp_path, build, "inside", TEXT.replace(old, new), check=False)
    assert message in said, said
