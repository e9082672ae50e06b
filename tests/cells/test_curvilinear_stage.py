# SPDX-License-Identifier: BSD-3-Clause
"""Stages in Python see the points of a curvilinear mesh."""

import sys
from pathlib import Path

import curvilinear_program as program
import pytest
from conftest import PACKAGE, mpirun, read_table

HERE = Path(__file__).parent
pytestmark = pytest.mark.skipif(
    not any((PACKAGE / "pillion").glob("_stage*.so")), reason="no modules for Python"
)
TEXT = f"""
output: results
sidecars: SIDECARS
meshes:
  ring: {{kind: curvilinear, cells: {list(program.RING)}, coordinates: ring_x}}
  shell:
    kind: curvilinear
    cells: {list(program.SHELL)}
    coordinates: [shell_x, shell_y, shell_z]
fields:
  ring_u: {{mesh: ring, type: float64}}
  ring_x: {{mesh: ring, type: float64, components: 2, centering: point}}
  shell_u: {{mesh: shell, type: float64}}
  shell_x: {{mesh: shell, type: float64, centering: point}}
  shell_y: {{mesh: shell, type: float64, centering: point}}
  shell_z: {{mesh: shell, type: float64, centering: point}}
analyses:
  a: {{stages: [python: {{call: "{HERE / "look_at_curvilinear.py"}:look_at_curvilinear"}}]}}
"""


@pytest.mark.parametrize(
    ("ranks", "sidecars"), [(2, "{ranks: 0}"), (3, "{ranks: 1, when_full: wait}")]
)
def test_coordinates_of_blocks(tmp_path, ranks, sidecars):
    (tmp_path / "run.yaml").write_text(TEXT.replace("SIDECARS", sidecars), encoding="utf-8")
    folder = Path(program.__file__).parent
    environment = {"PYTHONPATH": f"{PACKAGE}:{folder}", "PILLION_PYTHON": sys.executable}
    mpirun(ranks, sys.executable, program.__file__, cwd=tmp_path, env=environment, timeout=90)
    found = read_table(tmp_path / "results/a/look_at_curvilinear.csv")
    assert found["cells"].tolist() == [4 * 12 * 5] * program.STEPS
