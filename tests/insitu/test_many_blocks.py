# SPDX-License-Identifier: BSD-3-Clause
"""What a block costs that is published without a copy does not grow with the number of blocks."""

import sys

import pytest
from conftest import mpirun
from insitu import PROGRAMS, environment, needs_modules

pytestmark = [needs_modules, pytest.mark.alone]

CONFIGURATION = """
output: out
meshes: {{line: {{kind: uniform, cells: [{cells}]}}}}
fields: {{density: {{mesh: line, type: float64}}}}
analyses: {{a: {{stages: [statistics: {{fields: [density]}}]}}}}
sidecars: {{per_node: 1, memory: 256 MiB, when_full: wait, deadline: 30 s}}
"""


def step_seconds(build, folder, blocks: int) -> float:
    folder.mkdir()
    (folder / "run.yaml").write_text(CONFIGURATION.format(cells=8 * blocks))
    words = [sys.executable, PROGRAMS / "many_blocks.py", blocks]
    done = mpirun(2, *words, env=environment(build), cwd=folder, timeout=60)
    return float(done.stdout)


def test_ten_times_the_blocks_take_no_thirty_times_as_long(build, tmp_path):
    few = step_seconds(build, tmp_path / "few", 1_000)
    many = step_seconds(build, tmp_path / "many", 10_000)
    print(few, many)
    assert many < 30 * few
