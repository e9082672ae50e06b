# SPDX-License-Identifier: BSD-3-Clause
"""A simulation with a Catalyst adaptor of its own, and the same that writes with ADIOS2, against
these equations in NumPy: every value that arrives, on any number of ranks.
"""

import os
import sys
from pathlib import Path

import numpy as np
import pillion
import pytest
from conftest import mpirun, read_table

sys.path.insert(0, str(Path(__file__).parent.parent / "conformance"))

import adios2_runs
from cached_codes import needs_codes
from catalyst_runs import build_program, environment

pytestmark = needs_codes
NX, NY, STEPS, EVERY = 48, 30, 400, 100


DECLARED = f"""
meshes: {{dish: {{kind: uniform, cells: [{NX}, {NY}], length: [{NX}, {NY}]}}}}
fields: {{concentration: {{mesh: dish, type: float64, components: 2}}}}
"""


@pytest.fixture(scope="module")
def by_catalyst(build, tmp_path_factory):
    program = build_program("gray_scott", tmp_path_factory.mktemp("gray_scott"))
    return program, environment(build, PILLION_CONFIGURATION="run.yaml"), ""


@pytest.fixture(scope="module")
def by_adios2(build, tmp_path_factory):
    folder = tmp_path_factory.mktemp("gray_scott")
    env = {"ADIOS2_PLUGIN_PATH": str(adios2_runs.build_engine(build, folder))}
    return adios2_runs.build_program("gray_scott_adios2", folder), env, DECLARED


@pytest.fixture(scope="module")
def wanted() -> list[np.ndarray]:
    """Both substances in all cells at each step that is analysed."""
    i, j = np.meshgrid(np.arange(NX), np.arange(NY), indexing="ij")
    seed = (abs(i - NX // 2) < NX // 16) & (abs(j - NY // 2) < NY // 8)
    u = np.where(seed, 0.5, 1.0)
    v = np.where(seed, 0.25 + 0.01 * ((7 * i + 3 * j) % 11), 0.0)
    frames = []
    for step in range(STEPS + 1):
        if step % EVERY == 0:
            frames.append(np.stack([u, v], axis=-1))
        reaction = u * v * v
        spread = [
            sum(np.roll(a, s, axis=d) for d in (0, 1) for s in (1, -1)) - 4 * a for a in (u, v)
        ]
        u, v = (
            u + 0.16 * spread[0] - reaction + 0.037 * (1 - u),
            v + 0.08 * spread[1] + reaction - (0.037 + 0.06) * v,
        )
    return frames


@pytest.mark.parametrize("ranks", [1, 4])
@pytest.mark.parametrize("way", ["by_catalyst", "by_adios2"])
def test_every_value_arrives(way, wanted, tmp_path, ranks, request):
    program, env, declared = request.getfixturevalue(way)
    (tmp_path / "adios2.xml").write_text(adios2_runs.engine_of_pillion("run.yaml"))
    (tmp_path / "run.yaml").write_text(
        f"output: results\n{declared}analyses:\n  a:\n    every: {EVERY} steps\n    stages:\n"
        "      - statistics: {fields: [concentration]}\n"
        "      - write_raw: {fields: [concentration], durable: false}\n"
    )
    done = mpirun(ranks, program, NX, NY, STEPS, 10, env=os.environ | env, cwd=tmp_path)
    assert "failed" not in done.stdout and "pillion" not in done.stderr, done.stderr
    steps = list(range(0, STEPS + 1, EVERY))
    table = read_table(tmp_path / "results/a/statistics_concentration.csv")
    assert table["step"].tolist() == steps
    for c, name in enumerate("xy"):
        column = [frame[..., c].mean() for frame in wanted]
        np.testing.assert_allclose(table[f"mean_{name}"], column, rtol=1e-12)
    results = pillion.results(tmp_path / "results")
    found = results["a/dish"]["concentration"]
    for step, frame in zip(steps, wanted, strict=True):
        at = found.sel(step=step).transpose("x", "y", ...)
        np.testing.assert_allclose(at.values, frame, rtol=1e-11, atol=1e-13)
    # Something has happened, and it has not died out.
    assert 0.1 < wanted[-1][..., 1].max() < 0.5
