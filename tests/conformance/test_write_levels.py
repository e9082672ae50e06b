# SPDX-License-Identifier: BSD-3-Clause
"""Plotfiles and raw files of meshes with levels of refinement and with missing cells, whose boxes
are others at every step: as NumPy and yt read them, and replayed.
"""

import itertools
import json
import os
import shutil
import sys
from pathlib import Path

import hierarchy
import numpy as np
import pillion
import pytest
from conftest import mpirun, read_table
from datasets import read_raw
from placements import EVERYTHING
from plotfile_oracles import numbers, read_level
from test_levels import CATALOGUE, HERE, PLACES

NAMES = ["density", "velocity_0", "velocity_1"]
WRITTEN = """
  plotfile:
    stages:
      - write_plotfile: {fields: [density, velocity], durable: false}
      - write_plotfile: {fields: [heat], durable: false}
  raw:
    stages:
      - write_raw: {fields: [density, velocity], durable: false}
      - write_raw: {fields: [heat], durable: false}
"""
OPENPMD = """
  openpmd:
    stages:
      - write_openpmd: {fields: [density, velocity], durable: false}
      - write_openpmd: {fields: [heat], durable: false}
"""
SCIENCE = """
  science:
    stages:
      - statistics: {fields: [density, velocity]}
      - statistics: {fields: [heat]}
      - histogram: {field: density, range: [-4, 8], bins: 12}
"""


@pytest.fixture(scope="module", params=["inside", "node"] if not EVERYTHING else PLACES)
def live(request, build, tmp_path_factory):
    folder = tmp_path_factory.mktemp("live")
    ranks, more, sidecars = PLACES[request.param]
    head = f"output: results\nsidecars: {sidecars or '{}'}\n"
    written = WRITTEN + OPENPMD * (build / "stages" / "write_openpmd.so").exists()
    (folder / "run.yaml").write_text(head + CATALOGUE + "analyses:" + written + SCIENCE)
    env = os.environ | {"PYTHONPATH": f"{build / 'python'}:{HERE}"}
    mpirun(ranks + more, sys.executable, HERE / "hierarchy_program.py", env=env, cwd=folder)
    report = json.loads((folder / "results" / "report.json").read_text())
    for analysis in report["analyses"]:
        assert analysis["publications"] == hierarchy.STEPS and analysis["disabled"] is None
    return folder / "results"


def plotfile(live: Path, mesh: str, step: int) -> Path:
    return live / f"plotfile/{mesh}_plotfiles/plt{step:09}"


def wanted_of(name: str, step: int, level: int) -> np.ndarray:
    """[x, y, z]."""
    field, _, component = name.partition("_")
    values = hierarchy.values(field, step, level)
    return values[..., int(component)] if component else values


def test_every_box(live):
    for step in range(hierarchy.STEPS):
        boxes = hierarchy.boxes(step)
        folder = plotfile(live, "grid", step)
        levels = 1 + max(box.level for box in boxes)
        assert len(list(folder.glob("Level_*"))) == levels
        for level in range(levels):
            found = read_level(folder, level, 3)
            corners = sorted((*box["lo"], *box["hi"]) for box in found)
            assert corners == sorted((*b.lo, *b.hi) for b in boxes if b.level == level)
            for box in found:
                at = tuple(slice(a, b) for a, b in zip(box["lo"], box["hi"], strict=True))
                for name, values in zip(NAMES, box["values"], strict=True):
                    np.testing.assert_array_equal(values.T, wanted_of(name, step, level)[at])
        domains = numbers((folder / "Header").read_text().splitlines()[2 + len(NAMES) + 6])
        shapes = [hierarchy.shape_of(level) for level in range(levels)]
        ends = np.array(domains).reshape(levels, 3, 3)[:, 1] + 1
        np.testing.assert_array_equal(ends, shapes)


def test_missing_cells(live):
    for step in range(hierarchy.STEPS):
        found = read_level(plotfile(live, "ocean", step), 0, 2)
        boxes = hierarchy.ocean(step)
        assert len(found) == len(boxes)
        for box in found:
            at = tuple(slice(a, b) for a, b in zip(box["lo"], box["hi"], strict=True))
            np.testing.assert_array_equal(box["values"][0].T, hierarchy.heat(step)[at])


def test_raw_blocks(live):
    for step, (_, blocks) in read_raw(live / "raw", "grid.raw.yaml").items():
        boxes = hierarchy.boxes(step)
        found = sorted((b["level"], *b["lo"], *b["hi"]) for b in blocks)
        assert found == sorted((b.level, *b.lo, *b.hi) for b in boxes)
        for block in blocks:
            at = tuple(slice(a, b) for a, b in zip(block["lo"], block["hi"], strict=True))
            wanted = hierarchy.values("velocity", step, block["level"])[at]
            values = block["velocity"].reshape(*wanted.shape[2::-1], 2)
            np.testing.assert_array_equal(values.transpose(2, 1, 0, 3), wanted)


def test_results_by_level(live):
    """Of raw files the coarsest, of plotfiles and openPMD any."""
    results = pillion.results(live)
    keys = [key for key in ("plotfile/grid", "openpmd/grid") if key in results]
    for level, key in itertools.product(range(hierarchy.LEVELS), keys):
        found = results.open(key, level=level)
        assert found.attrs["levels"] == hierarchy.LEVELS and found["velocity"].dtype == "f4"
        for step in range(hierarchy.STEPS):
            wanted = np.full((*hierarchy.shape_of(level), 2), np.nan)
            for box in hierarchy.boxes(step):
                if box.level == level:
                    wanted[box.cells] = hierarchy.values("velocity", step, level)[box.cells]
            values = found["velocity"].sel(step=step).values.transpose(2, 1, 0, 3)
            np.testing.assert_array_equal(values, wanted)
    raw, ocean = results["raw/grid"]["density"], results["raw/ocean"]["heat"]
    for step in range(hierarchy.STEPS):
        wanted = np.full(hierarchy.OCEAN, np.nan)
        for box in hierarchy.ocean(step):
            wanted[box.cells] = hierarchy.heat(step)[box.cells]
        np.testing.assert_array_equal(ocean.sel(step=step).values.T, wanted)
        np.testing.assert_array_equal(
            raw.sel(step=step).values.T, hierarchy.values("density", step, 0)
        )


@pytest.mark.parametrize(("stored", "ranks"), [("plotfile", 3), ("raw", 2), ("openpmd", 3)])
def test_replayed(live, build, tmp_path, stored, ranks):
    if not (live / stored).exists():
        pytest.skip("the stage write_openpmd was not built")
    (tmp_path / "c.yaml").write_text("output: again\n" + CATALOGUE + "analyses:" + SCIENCE)
    words = ("--output", "again", live / stored, "c.yaml")
    mpirun(ranks, build / "bin" / "pillion", "replay", *words, cwd=tmp_path, timeout=90)
    tables = sorted((live / "science").glob("*.csv"))
    assert len(tables) == 3 + hierarchy.STEPS
    for path in tables:
        one, other = read_table(path), read_table(tmp_path / "again/science" / path.name)
        assert list(one.columns) == list(other.columns)
        for name, column in one.columns.items():
            np.testing.assert_allclose(other[name], column, rtol=1e-11, atol=1e-13, err_msg=name)


def test_levels_of_openpmd_without_boxes_are_refused(live, build, tmp_path):
    """As other programs write it."""
    if not (live / "openpmd").exists():
        pytest.skip("the stage write_openpmd was not built")
    import h5py

    for path in (live / "openpmd/grid_openpmd").glob("*.h5"):
        shutil.copy(path, tmp_path)
        with h5py.File(tmp_path / path.name, "r+") as file:
            (step,) = file["data"].values()
            del step["boxes"]
    science = "\n  a: {stages: [statistics: {fields: [density]}]}\n"
    (tmp_path / "c.yaml").write_text("output: again\n" + CATALOGUE + "analyses:" + science)
    words = ("replay", *tmp_path.glob("*.h5"), "c.yaml")
    done = mpirun(2, build / "bin" / "pillion", *words, cwd=tmp_path, timeout=90, check=False)
    assert done.returncode == 1 and "does not list the boxes of mesh 'grid'" in done.stderr


@pytest.mark.parametrize("stored", ["plotfile", "raw"])
def test_a_mesh_without_missing_cells_is_refused(live, build, tmp_path, stored):
    catalogue = CATALOGUE.replace(", covered: partial", "")
    science = "\n  a: {stages: [statistics: {fields: [heat]}]}\n"
    (tmp_path / "c.yaml").write_text("output: again\n" + catalogue + "analyses:" + science)
    words = ("replay", live / stored, "c.yaml")
    done = mpirun(2, build / "bin" / "pillion", *words, cwd=tmp_path, timeout=90, check=False)
    assert done.returncode == 1 and "`covered: partial`" in done.stderr


@pytest.mark.skipif(not EVERYTHING, reason="yt is large: only with PILLION_TEST_ALL")
def test_as_yt_reads_it(live):
    """One ratio for all axes of a level is all that yt knows: of the coarsest level, whole."""
    import yt

    yt.set_log_level(40)
    for step in range(hierarchy.STEPS):
        if max(box.level for box in hierarchy.boxes(step)) > 1:
            continue
        found = yt.load(str(plotfile(live, "grid", step)))
        assert tuple(found.periodicity) == hierarchy.PERIODIC
        for grid in found.index.grids:
            along = (grid.LeftEdge - found.domain_left_edge) / found.domain_width
            lo = np.rint(along.v * hierarchy.shape_of(grid.Level)).astype(int)
            shape = tuple(int(n) for n in grid.ActiveDimensions)
            at = tuple(slice(a, a + n) for a, n in zip(lo, shape, strict=True))
            wanted = hierarchy.values("density", step, grid.Level)[at]
            np.testing.assert_array_equal(grid["boxlib", "density"].v, wanted)
