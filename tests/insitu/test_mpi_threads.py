# SPDX-License-Identifier: BSD-3-Clause
"""What the report says of MPI's thread level. Without MPI_THREAD_MULTIPLE, large messages leave
only in calls of the program, so analyses begin late.
"""

import json

import pytest
from conftest import mpirun
from insitu import environment, needs_modules

pytestmark = needs_modules

CONFIGURATION = """
sidecars: {ranks: 1, when_full: wait, receive: 1 GiB}
meshes: {grid: {kind: uniform, cells: [1048576]}}
fields: {density: {mesh: grid, type: float64}}
analyses: {one: {every: 10 steps, stages: [{python: {call: 'slow.py:f'}}]}}
"""
# Meanwhile the sidecar takes nothing in, for it has no thread either.
STAGE = """
import time, pillion
@pillion.stage("density")
def f(step):
    time.sleep(1)
"""
PROGRAM = """
import sys, time
import mpi4py
mpi4py.rc.thread_level = sys.argv[1]
from mpi4py import MPI
import numpy as np, pillion

density = np.ones(1048576)
with pillion.open("run.yaml") as s:
    s.share("density", density)
    for step in range(31):
        s.step(step, 0.1 * step)
        time.sleep(0.02)
print("level", MPI.Query_thread() == MPI.THREAD_MULTIPLE)
"""


@pytest.mark.parametrize("level", ["single", "multiple"])
def test_the_report_says_why_analyses_begin_late(build, tmp_path, level):
    (tmp_path / "run.yaml").write_text(CONFIGURATION)
    (tmp_path / "slow.py").write_text(STAGE)
    (tmp_path / "program.py").write_text(PROGRAM)
    env = environment(build)
    done = mpirun(2, env["PILLION_PYTHON"], "program.py", level, cwd=tmp_path, env=env, timeout=90)
    is_multiple = "level True" in done.stdout
    if is_multiple != (level == "multiple"):
        pytest.skip(f"this MPI does not start with thread level '{level}'")
    report = json.loads((tmp_path / "results/report.json").read_text())
    assert report["run"]["mpi_threads"] == level
    late = [text for text in report["remarks"] if "begin up to one step late" in text]
    assert len(late) == (0 if is_multiple else 1)
    for text in late:
        assert "initialise MPI with it" in text
