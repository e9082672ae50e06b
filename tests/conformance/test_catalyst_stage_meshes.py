# SPDX-License-Identifier: BSD-3-Clause
"""Meshes of all kinds in the stage `catalyst`: ParaView has the cells, sizes and integrals that
NumPy finds, whether the first peer gathers all or each has a piece, and pictures are the same.
With ParaView and Xvfb only."""

import os
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import curvilinear_program as rings
import mixed_cells as mixed
import numpy as np
import pytest
from conftest import mpirun
from frames import Frame
from placements import EVERYTHING
from programs import HERE
from scenes import Placement, Scene, SidecarJob, new_run, wait_for
from test_catalyst import analysis, with_paraview
from test_catalyst_parallel import different_pixels
from test_curvilinear import TEXT as RINGS
from test_curvilinear import volumes as ring_volumes
from test_unstructured import TEXT as MIXED

pytestmark = [
    with_paraview,
    pytest.mark.skipif(not EVERYTHING, reason="takes long: with PILLION_TEST_ALL=1"),
]
SCRIPT = HERE / "stages" / "paraview_mesh.py"
CELLS = (9, 8, 11)
PEERS = 3


def told(folder: Path, field: str, more: str) -> str:
    folder.mkdir(parents=True)
    script = folder / "script.py"
    script.write_text(SCRIPT.read_text().replace("FIELD", field))
    return analysis(f"script: '{script}', fields: [{field}]{more}")


def play(build, folder: Path, program: str, text: str, sidecars: int) -> Path:
    """A program in Python; it waits for the sidecars, if there are any, before its first step."""
    run, meet = new_run(), folder / "meet"
    head = f"run: {run}\n" + "sidecars: {job: separate, when_full: wait}\n" * bool(sidecars)
    (folder / "run.yaml").write_text(head + text)
    if not sidecars:
        meet.touch()
    env = os.environ | {"PYTHONPATH": f"{build / 'python'}:{HERE}"}
    words = [sys.executable, HERE / "waiting.py", meet, HERE / program]
    with ThreadPoolExecutor() as pool:
        playing = pool.submit(mpirun, 3, *words, env=env, cwd=folder, timeout=180)
        if sidecars:
            here = meet.with_suffix(".here")
            wait_for(lambda: here.exists() or playing.done(), "the program waits")
            job = SidecarJob(build, folder, run, sidecars)
            try:
                job.await_joined()
                meet.touch()
                playing.result()
                job.await_end()
            finally:
                meet.touch()
                job.stop()
        playing.result()
    return folder / "results" / "look"


def check(whole: Path, split: Path, step: int, values: np.ndarray, volumes: np.ndarray) -> None:
    """`values` and `volumes` of all cells, in any order."""
    (alone,) = [np.load(path) for path in whole.glob(f"mesh.{step}.*.npz")]
    pieces = [np.load(split / f"mesh.{step}.{peer}.npz") for peer in range(PEERS)]
    owned = np.concatenate([piece["values"][piece["owned"]] for piece in pieces])
    assert np.array_equal(np.sort(alone["values"]), np.sort(values.ravel()))
    assert np.array_equal(np.sort(owned), np.sort(values.ravel()))
    assert all(0 < piece["owned"].sum() < values.size / 2 for piece in pieces)
    compared = 0
    for name in alone.files:
        if not name.startswith(("total", "contour")):
            continue
        seen = np.concatenate([piece[name] for piece in pieces])
        assert seen == pytest.approx(alone[name], rel=1e-6), name
        compared += len(seen)
    assert compared >= 3, "a size, an integral, and the size of the contour"
    (size,) = [*alone["total.Volume"], *alone["total.Area"]]
    assert size == pytest.approx(volumes.sum(), rel=1e-6)
    (field,) = [name for name in alone.files if name.startswith("total") and name[6].islower()]
    assert alone[field] == pytest.approx([(values * volumes).sum()], rel=1e-5)
    for name in ("mesh", "contour"):
        picture = f"{name}.{step}.png"
        assert different_pixels(whole / picture, split / picture) <= 30, picture


def test_rectilinear(build, tmp_path):
    faces = [(np.arange(n + 1.0) ** 1.3 - 2).tolist() for n in CELLS]
    catalogue = f"""
meshes: {{grid: {{kind: rectilinear, units: m, coordinates: {faces}}}}}
fields: {{u: {{mesh: grid, type: float64}}}}
"""
    at = np.indices(CELLS)
    values = np.sin(0.5 * at[0] + 0.4 * at[1]) * np.cos(0.3 * at[2])
    frame = Frame(0, 0, {"u": values.ravel(order="F")})
    cells = ("--cells", ",".join(map(str, CELLS)))
    looks = []
    for sidecars, more in [(0, ""), (PEERS, ", parallel: true")]:
        text = told(tmp_path / f"{sidecars}", "u", more)
        scene = Scene("grid", [frame], catalogue, text, "grid_driver", cells)
        placement = Placement(2, sidecars, "slabs", "separate" if sidecars else "network")
        results, _ = scene.run(build, tmp_path / f"run{sidecars}", placement)
        looks.append(results / "look")
    x, y, z = (np.diff(of) for of in faces)
    check(*looks, 0, values, np.einsum("i,j,k->ijk", x, y, z))


def pair(build, tmp_path, program: str, text: str, field: str) -> list[Path]:
    out = []
    for sidecars, more in [(0, ""), (PEERS, ", parallel: true")]:
        folder = tmp_path / f"{sidecars}"
        out.append(play(build, folder, program, text + told(folder, field, more), sidecars))
    return out


@pytest.mark.parametrize("mesh", ["ring", "shell"])
def test_curvilinear(build, tmp_path, mesh):
    text = RINGS.split("analyses:")[0].replace("SIDECARS", "")
    looks = pair(build, tmp_path, "curvilinear_program.py", text, f"{mesh}_u")
    cells = {"ring": rings.RING, "shell": rings.SHELL}[mesh]
    for step in range(rings.STEPS):
        values = rings.values([0] * len(cells), cells, step)
        check(*looks, step, values, ring_volumes(cells, step))


def test_unstructured(build, tmp_path):
    text = MIXED.replace("SIDECARS", "")
    looks = pair(build, tmp_path, "unstructured_program.py", text, "u")
    for step in range(mixed.STEPS):
        check(*looks, step, mixed.at_cells(step), mixed.volumes(step))
