# SPDX-License-Identifier: BSD-3-Clause
"""Plotfiles that AMReX itself writes, and AMReX's tools on those of the stage `write_plotfile`. It
is built from the sources in the folder PILLION_CODES, with PILLION_TEST_ALL only.
"""

from pathlib import Path

import limits
import numpy as np
import pytest
from amrex_build import amrex_of, program_of
from cached_codes import needs_codes
from conftest import mpirun, read_table
from datasets import mesh_scene
from pillion.datasets import open_plotfile
from scenes import Placement

pytestmark = needs_codes


def run(*words) -> str:
    done = limits.run(list(map(str, words)), capture_output=True, text=True, timeout=900)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def tools() -> Path:
    return amrex_of() / "build/Tools/Plotfile"


@pytest.fixture(scope="module")
def write_plotfiles(build) -> Path:
    return program_of(build, "write_plotfiles")


# Formats: doubles, singles, singles with the bytes in IEEE's order. Versions: the heads of boxes.
@pytest.mark.parametrize("version", [1, 2, 3, 4])
@pytest.mark.parametrize(("form", "kind"), [(0, "f8"), (1, "f4"), (2, "f4")])
def test_what_amrex_writes(write_plotfiles, tmp_path, form, kind, version):
    path = tmp_path / "plt00042"
    run(write_plotfiles, f"out={path}", f"fmt={form}", f"ver={version}")
    found = open_plotfile(path)
    found.expect_whole()
    assert (found.step, found.time, list(found.fields)) == (42, 3.5, ["phi", "psi"])
    assert (found.origin, found.length) == ((-1, 0, 2), (2, 2, 2))
    assert [level.cells for level in found.levels] == [(16,) * 3, (32,) * 3]
    assert [len(level.boxes) for level in found.levels] == [8, 2]
    for level in found.levels:
        for number, (lo, hi) in enumerate(level.boxes):
            k, j, i = np.ogrid[lo[2] : hi[2], lo[1] : hi[1], lo[0] : hi[0]]
            phi = (i + 100 * j + 10000 * k + 0.25 * level.number).astype(kind)
            np.testing.assert_array_equal(level.read(number, "phi"), phi)
            np.testing.assert_array_equal(level.read(number, "psi"), -0.5 * i - j + k)


def test_amrex_reads_what_the_stage_writes(tools, build, tmp_path):
    scene = mesh_scene("brick", {"a": "write_plotfile: {fields: [density, velocity]}"})
    paths = []
    for ranks, division in ((1, "slabs"), (3, "many")):
        results, _ = scene.run(build, tmp_path / division, Placement(ranks, 0, division))
        paths.append(results / "a/grid_plotfiles/plt000000001")
    text = run(tools / "fextrema", paths[1])
    rows = {line.split()[0]: line.split()[1:] for line in text.splitlines() if line.strip()}
    values = scene.frames[1].values
    for name, wanted in {
        "density": values["density"],
        "velocity_2": values["velocity"][:, 2],
    }.items():
        np.testing.assert_allclose(
            [float(v) for v in rows[name]], [wanted.min(), wanted.max()], 1e-9
        )
    # The two have other boxes, which the tool merges.
    assert "AGREE" in run(tools / "fcompare", "--allow_diff_grids", *paths)


CONFIGURATION = """
output: again
meshes:
  grid:
    {kind: uniform, cells: [16, 16, 16], origin: [-1, 0, 2], length: [2, 2, 2], periodic: true,
     levels: {count: 2, ratio: 2}}
fields: {phi: {mesh: grid, type: float32}, psi: {mesh: grid, type: float32}}
analyses:
  a: {stages: [statistics: {fields: [phi]}, write_plotfile: {fields: [phi, psi], durable: false}]}
"""


def test_replay_of_what_amrex_writes(write_plotfiles, tools, build, tmp_path):
    path = tmp_path / "plt00042"
    run(write_plotfiles, f"out={path}", "fmt=2", "ver=4")
    (tmp_path / "c.yaml").write_text(CONFIGURATION)
    mpirun(3, build / "bin/pillion", "replay", path, "c.yaml", cwd=tmp_path, timeout=60)
    # Leaf cells by brute force, all on the finer level.
    index = np.arange(32)
    k, j, i = np.meshgrid(index, index, index, indexing="ij")
    is_fine = np.zeros((32, 32, 32), bool)
    is_fine[8:16, 8:24, 8:16] = is_fine[8:24, 8:24, 16:24] = True
    fine = (i + 100 * j + 10000 * k + 0.25).astype(np.float32)
    phi = np.where(is_fine, fine, i // 2 + 100 * (j // 2) + 10000 * (k // 2))
    table = read_table(tmp_path / "again/a/statistics_phi.csv")
    assert table["count"] == [is_fine.sum() + (~is_fine).sum() // 8]
    np.testing.assert_allclose(table["mean"], phi.mean(dtype=float), rtol=1e-14)
    written = tmp_path / "again/a/grid_plotfiles/plt000000042"
    text = run(tools / "fcompare", written, path)
    assert "PLOTFILE AGREE" in text and "level = 1" in text
