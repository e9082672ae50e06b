# SPDX-License-Identifier: BSD-3-Clause
"""Stages in Python see the points of a curvilinear mesh."""

import sys
from pathlib import Path

import curvilinear_program as program
import numpy as np
import pytest
from conftest import PACKAGE, mpirun, read_table
from look_at_curvilinear import DIVIDED
from scipy.ndimage import uniform_filter
from test_curvilinear import volumes
from vtkmodules.util.numpy_support import vtk_to_numpy
from vtkmodules.vtkFiltersVerdict import vtkCellSizeFilter
from vtkmodules.vtkIOHDF import vtkHDFReader

LOOK = Path(__file__).parent / "look_at_curvilinear.py"
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
  a:
    stages:
      - python: {{call: "{LOOK}:look_at_curvilinear"}}
      - python: {{call: "{LOOK}:look_at_divided"}}
      - python: {{call: "{LOOK}:smooth"}}
      - statistics: {{fields: [smooth]}}
      - write_vtkhdf: {{fields: [smooth], durable: false}}
"""


@pytest.mark.parametrize(
    ("ranks", "sidecars"), [(2, "{ranks: 0}"), (4, "{ranks: 2, when_full: wait}")]
)
def test_coordinates_of_blocks(tmp_path, ranks, sidecars):
    (tmp_path / "run.yaml").write_text(TEXT.replace("SIDECARS", sidecars), encoding="utf-8")
    folder = Path(program.__file__).parent
    environment = {"PYTHONPATH": f"{PACKAGE}:{folder}", "PILLION_PYTHON": sys.executable}
    mpirun(ranks, sys.executable, program.__file__, cwd=tmp_path, env=environment, timeout=90)
    found = read_table(tmp_path / "results/a/look_at_curvilinear.csv")
    cells = 4 * 12 * 5
    assert found["cells"].tolist() == [cells] * program.STEPS
    divided = read_table(tmp_path / "results/a/look_at_divided.csv")
    for name in DIVIDED:
        assert divided[name].tolist() == [cells] * program.STEPS
    check_smooth(tmp_path / "results/a")


def check_smooth(results):
    """A field that was made in blocks of its own lies on the cells that were shared."""
    statistics = read_table(results / "statistics_smooth.csv")
    for step in range(program.STEPS):
        u = program.values([0] * 3, program.SHELL, step)
        means, weights = uniform_filter(u, 3, mode="nearest"), volumes(program.SHELL, step)
        assert statistics["count"][step] == u.size
        mean = (means * weights).sum() / weights.sum()
        assert statistics["mean"][step] == pytest.approx(mean, rel=1e-11)
        reader = vtkHDFReader()
        reader.SetFileName(str(results / f"shell_vtkhdf/shell.{step:09}.vtkhdf"))
        sizes = vtkCellSizeFilter()
        sizes.SetInputConnection(reader.GetOutputPort())
        sizes.Update()
        parts, found = sizes.GetOutput(), []
        for part in range(parts.GetNumberOfPartitions()):
            data = parts.GetPartition(part).GetCellData()
            columns = [vtk_to_numpy(data.GetArray(name)) for name in ("smooth", "Volume")]
            found += zip(columns[0].round(9), columns[1], strict=True)
        wanted = zip(means.ravel().round(9), weights.ravel(), strict=True)
        np.testing.assert_allclose(sorted(found), sorted(wanted), rtol=1e-9)
