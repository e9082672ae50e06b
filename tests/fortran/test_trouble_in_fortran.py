# SPDX-License-Identifier: BSD-3-Clause
"""Mistakes of programs in Fortran: those that ask for a status get it with the message that the
library has for every language; those that do not are stopped, with all ranks, even if one rank
alone makes the mistake. A failed checkpoint is no mistake, and stops nobody.
"""

import pytest
from conftest import mpirun

CONFIGURATION = """
output: results
meshes:
  line: {kind: uniform, cells: [12], length: [1]}
fields:
  height: {mesh: line, type: float64}
analyses:
  heights:
    every: 1 steps
    stages:
      - statistics: {fields: [height], at: simulation}
"""
OF_THE_HEIGHT = "block 0 of field 'height' "
# The mistake, its status, its message, and how many ranks of three are told.
MISTAKES = {
    "file": (2, "cannot read 'absent.yaml': No such file", 3),
    "shape": (3, OF_THE_HEIGHT + "was shared as an array of shape (3), where (4) is expected", 3),
    "axes": (3, OF_THE_HEIGHT + "was shared with 2 indices, but mesh 'line' has 1 axes", 3),
    "box": (3, OF_THE_HEIGHT + "was shared as box [9,13), which does not lie in mesh 'line' of "
            "[0,12)", 3),
    "type": (3, OF_THE_HEIGHT + "was shared as int32, but the catalogue says float64", 3),
    "name": (3, "field 'heigth' was shared, but the catalogue does not have it; did you mean "
             "'height'?", 3),
    "ends": (3, OF_THE_HEIGHT + "was shared with 0 indices, but mesh 'line' has 1 axes", 3),
    "strides": (3, OF_THE_HEIGHT + "was shared with 0 indices, but mesh 'line' has 1 axes", 3),
    "indices": (3, OF_THE_HEIGHT + "was shared with 2 indices, but mesh 'line' has 1 axes", 3),
    "size": (1, "18446744073709551615 bytes were asked for field 'height'", 1),
    "swap": (8, OF_THE_HEIGHT + "has no memory from pillion_allocate", 1),
    "folder": (7, "cannot make the folder 'pillion.yaml/.folder.partial'", 3),
    "calls": (8, "do not make the same calls: rank 0 is in pillion_ready or its first "
              "pillion_step, rank 2 in pillion_close", 3),
    "number": (1, "there is no field number 6, counted from 0; the catalogue has 1", 3),
}  # fmt: skip


@pytest.fixture
def program(build, tmp_path):
    path = build / "tests/fortran/trouble"
    if not path.exists():
        pytest.skip("this build has no Fortran modules")
    (tmp_path / "pillion.yaml").write_text(CONFIGURATION, encoding="utf-8")
    return path


@pytest.mark.parametrize("mistake", MISTAKES)
def test_who_asks_is_told(program, tmp_path, mistake):
    status, message, ranks = MISTAKES[mistake]
    # A rank that fails alone leaves, so there must be no other that waits for it.
    done = mpirun(ranks, program, mistake, "asks", cwd=tmp_path)
    told = [line for line in done.stdout.splitlines() if line.startswith(f"{status} ")]
    assert len(told) == ranks, done.stdout + done.stderr
    assert all(message in line for line in told), told


@pytest.mark.parametrize("mistake", ["file", "shape", "swap"])
def test_who_does_not_ask_is_stopped(program, tmp_path, mistake):
    _, message, _ = MISTAKES[mistake]
    done = mpirun(3, program, mistake, cwd=tmp_path, check=False, timeout=30)
    assert done.returncode != 0
    assert "pillion, rank " in done.stderr and message in done.stderr, done.stderr
    assert "closed" not in done.stdout


def test_a_failed_checkpoint_stops_nobody(program, tmp_path):
    done = mpirun(3, program, "folder", cwd=tmp_path)
    assert done.stdout.split() == ["closed"] * 3
    assert done.stderr.count(MISTAKES["folder"][1]) == 3, done.stderr
    assert "pillion, rank 2: " in done.stderr


def test_without_a_mistake_nothing_is_said(program, tmp_path):
    done = mpirun(3, program, "none", cwd=tmp_path)
    assert done.stdout.split() == ["closed"] * 3 and done.stderr == ""
