# SPDX-License-Identifier: BSD-3-Clause
"""The time of a resumed run begins with its first step after the checkpoint, idle or not: rates of
steps and shares of attached jobs follow from it.
"""

import json
import sys

import pytest
from heat_runs import run_pillion

PROGRAM = """\
import sys, time
import numpy as np, pillion

first, last, restart = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3]
with pillion.open("line.yaml", restart=restart) as session:
    h = np.zeros(1000)
    session.share("h", h)
    session.ready()
    begin = time.monotonic()
    for step in range(first, last + 1):
        session.step(step, float(step))
        time.sleep(0.001)
    rate = (last - first) / (time.monotonic() - begin)
    print("ratio", session.progress.steps_per_second / rate)
    if not restart:
        session.checkpoint("saved")
"""
LINE = """\
output: line
sidecars: {job: separate, memory: 16 MiB}
meshes: {line: {kind: uniform, cells: [1000]}}
fields: {h: {mesh: line, type: float64}}
analyses: {waves: {every: 100 steps, stages: [statistics: {fields: [h], at: simulation}]}}
"""


@pytest.mark.parametrize("again", [0, 1])
def test_the_rate_of_a_resumed_run(build, tmp_path, again):
    """`again`: the program offers the checkpoint's step once more, as LAMMPS does, or the next."""
    (tmp_path / "line.yaml").write_text(LINE)
    (tmp_path / "program.py").write_text(PROGRAM)

    def run(*words):
        program = [sys.executable, "program.py", *words]
        words = ["run", "--sidecars", 0, "-n", 1, "line.yaml", "--", *program]
        done = run_pillion(build, *words, cwd=tmp_path)
        assert done.returncode == 0, done.stderr
        return float(done.stdout.split()[1])

    fresh = run(0, 50, "")
    resumed = run(51 - again, 350, "saved")
    assert 0.5 < fresh < 2 and 0.5 < resumed < 2, (fresh, resumed)
    facts = json.loads((tmp_path / "line/report.json").read_text())["run"]
    assert (facts["first_step"], facts["last_step"], facts["steps"]) == (0, 350, 351)
