# SPDX-License-Identifier: BSD-3-Clause
"""A program in Fortran that halts at floating-point exceptions gets the products of one that does
not, and still halts afterwards."""

import pytest
from conftest import mpirun

CONFIGURATION = """
output: {output}
meshes: {{line: {{kind: uniform, cells: [12], length: [1]}}}}
fields: {{height: {{mesh: line, type: float64}}}}
analyses:
  heights:
    every: 1 steps
    when: max(height) > 1
    stages:
      - statistics: {{fields: [height]}}
      - histogram: {{field: height, range: auto, bins: 4}}
"""


def rows(folder) -> dict:
    tables = {
        path.name: [line for line in path.read_text().splitlines() if not line.startswith("#")]
        for path in folder.rglob("*.csv")
    }
    assert len(tables) == 5  # the condition holds from the second step on
    return tables


def test_a_program_that_halts(build, tmp_path):
    program = build / "tests/fortran/halting"
    if not program.exists():
        pytest.skip("this build has no Fortran modules")
    said = []
    for output, words in (("usual", ["usual"]), ("halting", [])):
        text = CONFIGURATION.format(output=output)
        (tmp_path / "pillion.yaml").write_text(text, encoding="utf-8")
        said += mpirun(1, program, *words, cwd=tmp_path).stdout.split()
    assert said == ["halting", "F", "halting", "T"]
    assert rows(tmp_path / "halting") == rows(tmp_path / "usual")
