# SPDX-License-Identifier: BSD-3-Clause
"""The boundary of a mesh, with its patches: what files have of it, and statistics of one patch."""

import os
import re
import sys

import pytest
from conftest import mpirun, read_table
from series_of_test import check_command
from test_write_vtkhdf import file_of, joined, opened, parts_of, points_of
from vtkhdf_steps import check_run

BOUNDARY = """
import numpy as np
import pillion

with pillion.open("run.yaml") as session:
    rank = session.communicator.rank
    square = np.array([[0, 0, 0], [1, 0, 0], [1, 1, 0], [0, 1, 0], [2, 0.5, 1]])
    session.share_points("skin", square + [3.0 * rank, 0, 0])
    session.share_cells("skin", [0, 1, 2, 3, 1, 4, 2], [0, 4, 7],
                        types=np.array([9, 5], np.uint8), parents=np.array([7, 8]) + rank,
                        patches=np.array([1, 0], np.int32))
    session.share("stress", np.array([1.5, 2.5]) + rank)
    session.step(0, 0.25)
    session.step(1, 0.75)
"""
BOUNDARY_TEXT = """
output: results
meshes:
  box: {kind: unstructured, units: m}
  skin: {kind: unstructured, dimensions: 2, of: box, patches: [inlet, wall], units: m}
fields: {stress: {mesh: skin, type: float64}}
analyses: {a: {stages: [write_vtkhdf: {fields: [stress]}]}}
"""
FILES = "write_vtkhdf: {fields: [stress]}"
WALL = "statistics: {fields: [stress], patches: [wall]}"


def play(build, folder, program: str, ranks: int = 2):
    (folder / "program.py").write_text(program)
    env = os.environ | {"PYTHONPATH": str(build / "python")}
    return mpirun(ranks, sys.executable, "program.py", env=env, cwd=folder)


def test_files(build, tmp_path):
    if "HDF5_WORKS:INTERNAL=1" not in (build / "CMakeCache.txt").read_text():
        pytest.skip("the stage write_vtkhdf was not built")
    (tmp_path / "run.yaml").write_text(BOUNDARY_TEXT)
    play(build, tmp_path, BOUNDARY)
    check_run(tmp_path / "results" / "a", "skin", 2)
    path = file_of(tmp_path / "results" / "a", "skin", 0)
    parts = parts_of(path)
    types = [part.GetCellType(c) for part in parts for c in range(part.GetNumberOfCells())]
    assert types == [9, 5, 9, 5]
    found = joined(parts, "GetCellData")
    assert found["stress"].tolist() == [1.5, 2.5, 2.5, 3.5]
    assert found["patch"].tolist() == [1, 0, 1, 0] and found["parent"].tolist() == [7, 8, 8, 9]
    assert points_of(parts)[9].tolist() == [5, 0.5, 1]
    names = opened(path).GetFieldData().GetAbstractArray("patch_names")
    assert [names.GetValue(n) for n in range(names.GetNumberOfValues())] == ["inlet", "wall"]


@pytest.mark.parametrize("sidecars", [0, 1])
def test_statistics_of_a_patch(build, tmp_path, sidecars):
    head = f"sidecars: {{ranks: {sidecars}, when_full: wait}}"
    (tmp_path / "run.yaml").write_text(head + BOUNDARY_TEXT.replace(FILES, WALL))
    play(build, tmp_path, BOUNDARY, 2 + sidecars)
    # The squares, each of area 1, have 1.5 and 2.5; the triangles are the inlet.
    wall = read_table(tmp_path / "results/a/statistics_stress.csv")
    columns = ("count", "volume", "min", "max", "mean")
    assert [wall[name].tolist() for name in columns] == [[x] * 2 for x in (2, 2, 1.5, 2.5, 2)]


def test_patches_that_cannot_be_chosen(build, tmp_path):
    whole = BOUNDARY_TEXT.replace(FILES, WALL)
    whole = whole.replace("fields: {", "fields: {u: {mesh: box, type: float64}, ", 1)
    for told, message in {
        "[stress], patches: [wall, wal]": "mesh 'skin' has no patch 'wal'; it has 'inlet', 'wall'",
        "[u], patches: wall": "mesh 'box' of field 'u' names no patches",
    }.items():
        text = whole.replace("[stress], patches: [wall]", told)
        (tmp_path / "run.yaml").write_text(text)
        done = check_command(build, tmp_path / "run.yaml")
        assert done.returncode == 1 and message in done.stdout + done.stderr
    (tmp_path / "run.yaml").write_text(BOUNDARY_TEXT.replace(FILES, WALL))
    without = re.sub(r",\n +patches=[^\n]*\)\n", ")\n", BOUNDARY)
    assert without != BOUNDARY
    done = play(build, tmp_path, without)
    assert "was shared without the patches of its cells" in done.stderr
