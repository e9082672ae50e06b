# SPDX-License-Identifier: BSD-3-Clause
"""The example in Python: its waves decay as those of the discrete heat equation do."""

import sys
from pathlib import Path

import numpy as np
import pytest
from conftest import mpirun, read_table
from insitu import environment, needs_modules

pytestmark = needs_modules
EXAMPLE = Path(__file__).parents[2] / "examples/python"


@pytest.mark.parametrize("sidecars", ["{ranks: 1", "{per_node: 1", None])
def test_waves_decay(build, tmp_path, sidecars):
    text = (EXAMPLE / "pillion.yaml").read_text()
    head = "sidecars: {ranks: 1, when_full: wait}\n"
    assert head in text
    wanted = "" if sidecars is None else head.replace("{ranks: 1", sidecars)
    (tmp_path / "pillion.yaml").write_text(text.replace(head, wanted))
    (tmp_path / "waves.py").symlink_to(EXAMPLE / "waves.py")
    env = environment(build)
    ranks = 2 if sidecars is None else 3
    mpirun(ranks, sys.executable, EXAMPLE / "heat.py", 60, env=env, cwd=tmp_path)
    table = read_table(tmp_path / "results/decay/waves.csv")
    factor = 1 - 0.125 * 2 * (1 - np.cos(2 * np.pi / 48))
    assert table["step"].tolist() == list(range(0, 61, 10))
    for axis in "xyz":
        assert table[axis] == pytest.approx(10 * factor ** table["step"], rel=1e-11)


def test_five_lines():
    marked = [line for line in (EXAMPLE / "heat.py").read_text().splitlines() if "  # " in line]
    assert sum(line.rstrip()[-1].isdigit() and "#" in line[-4:] for line in marked) == 5
