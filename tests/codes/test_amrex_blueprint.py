# SPDX-License-Identifier: BSD-3-Clause
"""AMReX's own description of its data for Blueprint, compiled unchanged, through Catalyst: levels
of boxes with ghost cells that move at every step, and particles in structs.
"""

import sys
from pathlib import Path

import limits
import numpy as np
import pytest
from conftest import mpirun, read_table

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parent / "conformance"))

from cached_codes import built, needs_codes  # noqa: E402
from catalyst_runs import build_catalyst, environment  # noqa: E402

pytestmark = needs_codes
STEPS, CELLS = 3, 16
STAGES = """
      - statistics: {fields: [phi, psi, mass, position]}
      - python: {call: 'moved.py:moved'}
"""
# Places of cells, from the level and index that arrive, against the values that AMReX put there.
MOVED = """
import numpy as np
import pillion


@pillion.stage("phi", levels=True)
def moved(step):
    worst, most = 0.0, -1
    for block in step.blocks:
        width = 2 / (16 << block.level)
        i, j, k = np.indices(block["phi"].shape)
        x, y, z = (
            first + width * (n + low + 0.5)
            for first, n, low in zip((-1, 0, 2), (i, j, k), block.lo)
        )
        off = abs(block["phi"] - (x + 10 * y + 100 * z + step.index))
        worst, most = max(worst, float(off.max())), max(most, block.level)
    return {"worst": step.max(worst), "levels": step.max(most) + 1}
"""


@pytest.fixture(scope="module")
def program(tmp_path_factory) -> Path:
    amrex = built("amrex", HERE / "build_amrex.sh")
    out = tmp_path_factory.mktemp("blueprint") / "amrex_blueprint"
    script = HERE / "build_amrex_blueprint.sh"
    done = limits.run(
        [script, amrex, build_catalyst(), out], capture_output=True, text=True, timeout=900
    )
    assert done.returncode == 0, done.stderr[-3000:]
    return out


def leaves(step):
    """Centres of all cells that no finer ones cover, along x, and their volumes."""
    first = [None, (2 + 2 * step) * 2, (4 + 2 * step) * 4]
    across = [None, 8, 24]
    for level in range(3):
        n = CELLS << level
        width = 2 / n
        index = np.indices((n, n, n))
        here = np.full((n, n, n), level == 0)
        if level > 0:
            low = (first[level], across[level], across[level])
            here = np.all(
                [(i >= a) & (i < a + 16) for i, a in zip(index, low, strict=True)], axis=0
            )
        if level < 2:
            low = (first[level + 1], across[level + 1], across[level + 1])
            # Half of a finer index is that of the cell below it.
            inside = [(2 * i >= a) & (2 * i < a + 16) for i, a in zip(index, low, strict=True)]
            here = here & ~np.all(inside, axis=0)
        x = -1 + width * (index[0][here] + 0.5)
        yield x, np.full(len(x), width**3)


@pytest.mark.parametrize("ranks", [1, 3])
def test_levels_and_particles_of_amrex(build, program, tmp_path, ranks):
    (tmp_path / "moved.py").write_text(MOVED)
    (tmp_path / "run.yaml").write_text(f"output: results\nanalyses:\n  a:\n    stages:{STAGES}")
    env = environment(build, PILLION_CONFIGURATION="run.yaml")
    done = mpirun(ranks, program, STEPS, env=env, cwd=tmp_path)
    assert "failed" not in done.stdout and "pillion" not in done.stderr, done.stderr
    results = tmp_path / "results/a"
    phi, psi = (read_table(results / f"statistics_{name}.csv") for name in ("phi", "psi"))
    assert phi["step"].tolist() == list(range(STEPS))
    np.testing.assert_allclose(phi["volume"], 8, rtol=1e-12)
    np.testing.assert_allclose(phi["mean"], 310 + np.arange(STEPS), rtol=1e-12)
    for step in range(STEPS):
        x, volume = map(np.concatenate, zip(*leaves(step), strict=True))
        assert psi["count"][step] == len(x)
        np.testing.assert_allclose(psi["mean"][step], np.average(x * x, weights=volume), rtol=1e-12)
    moved = read_table(results / "moved.csv")
    assert moved["levels"].tolist() == [3] * STEPS and moved["worst"].max() < 1e-10
    mass = read_table(results / "statistics_mass.csv")
    assert (
        mass["count"].tolist() == [2 * CELLS**3] * STEPS and mass["mean"].tolist() == [3.5] * STEPS
    )
    place = read_table(results / "statistics_position.csv")
    for axis, low in zip("xyz", (-1, 0, 2), strict=True):
        assert low <= place[f"min_{axis}"].min() < low + 0.01
        assert low + 1.99 < place[f"max_{axis}"].max() <= low + 2
