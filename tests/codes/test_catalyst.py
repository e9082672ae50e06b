# SPDX-License-Identifier: BSD-3-Clause
"""The Catalyst adapter under Catalyst itself: its own examples, its replay, and meshes of every
kind of Blueprint. Values of these meshes are coordinates, which a stage compares with the places
that arrive; counts, volumes and means are those of the whole body.
"""

import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest
from conftest import mpirun, read_table

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parent / "conformance"))

from cached_codes import built, needs_codes  # noqa: E402
from scenes import SidecarJob, new_run  # noqa: E402

pytestmark = needs_codes
STEPS = 3


@pytest.fixture(autouse=True)
def python_of_stages(build, monkeypatch):
    """Sidecars of a separate job need it, too."""
    monkeypatch.setenv("PYTHONPATH", str(build / "python"))
    monkeypatch.setenv("PILLION_PYTHON", sys.executable)


@pytest.fixture(scope="module")
def catalyst() -> Path:
    return built("catalyst", HERE / "build_catalyst.sh")


@pytest.fixture(scope="module")
def meshes(catalyst, tmp_path_factory) -> Path:
    """The program catalyst_meshes."""
    install, program = catalyst / "install", tmp_path_factory.mktemp("meshes") / "catalyst_meshes"
    source = HERE / "catalyst_meshes.cpp"
    flags = [f"-I{install}/include/catalyst-2.0", f"-L{install}/lib", "-lcatalyst"]
    command = ["mpicxx", "-std=c++17", "-O1", source, *flags, f"-Wl,-rpath,{install}/lib"]
    subprocess.run([*command, "-o", program], check=True)
    return program


def environment(build: Path, **more) -> dict:
    return {
        "CATALYST_IMPLEMENTATION_NAME": "pillion",
        "CATALYST_IMPLEMENTATION_PATHS": build / "lib/catalyst",
        **more,
    }


def configure(folder: Path, stages: str, head: str = "") -> str:
    """The name of the run."""
    run = new_run()
    text = f"output: results\nrun: {run}\n{head}analyses:\n  a:\n    products_every: 1\n"
    (folder / "run.yaml").write_text(f"{text}    stages:\n{stages}")
    return run


def stage(call: str, more: str = "") -> str:
    return f"      - python: {{call: '{HERE / 'catalyst_places.py'}:{call}'{more}}}\n"


def run_meshes(build, meshes, folder, kind, ranks=2, domains=1, *more, check=True, env=None):
    arguments = (kind, STEPS, domains, "run.yaml", *more)
    return mpirun(
        ranks,
        meshes,
        *arguments,
        env=environment(build, **(env or {})),
        cwd=folder,
        check=check,
    )


@dataclass(frozen=True)
class Body:
    """The whole mesh: the mean of its first coordinate, its volume and its number of cells."""

    mean: float
    volume: float
    cells: int
    points: bool = True  # whether it has values at points


BOX = Body(1, 20, 160)
# Sheared: x + y / 4 in the mean.
SHEARED = Body(1 + 3.25 / 4, 20, 160)
# Along an axis face i is at i (1 + i / 8) + axis.
FACES = [[i * (1 + i / 8) + a for i in range(n + 1)] for a, n in enumerate((8, 5, 4))]
EXTENTS = [faces[-1] - faces[0] for faces in FACES]
STRETCHED = Body(FACES[0][-1] / 2, float(np.prod(EXTENTS)), 160, points=False)
MIXED = Body(SHEARED.mean, 20, 240)
# Each cell of each layer, in a pentagon of 7/8 of its area and a triangle.
PENTAGONS = Body(SHEARED.mean + 0.5 * 1.25 / 24, 40, 320)
KINDS = {
    "uniform": BOX,
    "Uniform": BOX,  # the first rank has no domain
    "ghosts": BOX,
    "ascent_ghosts": BOX,
    "rectilinear": STRETCHED,
    "structured": SHEARED,
    "structured_plain": SHEARED,
    "strided": SHEARED,
    "hexahedra": SHEARED,
    "mixed": MIXED,
    "Mixed": MIXED,
    "polyhedra": SHEARED,
    "polygons": PENTAGONS,
    "levels": Body(1, 20, 0, points=False),
}
# Ranks, domains of each, where the stages run.
PLACEMENTS = [(2, 1, ""), (1, 3, ""), (3, 1, "separate")]


def run_placed(build, meshes, folder, stages, kind, placement):
    ranks, domains, job = placement
    if kind[0].isupper():
        ranks += 1
    head = "sidecars: {job: separate, when_full: wait}\n" if job else ""
    run = configure(folder, stages, head)
    if not job:
        return run_meshes(build, meshes, folder, kind, ranks, domains)
    go = folder / "go"
    sidecars = SidecarJob(build, folder, run, 1)
    try:
        with ThreadPoolExecutor() as pool:
            simulation = pool.submit(
                run_meshes, build, meshes, folder, kind, ranks, domains, env={"AWAITED": go}
            )
            try:
                sidecars.await_joined()
            finally:
                go.touch()
            done = simulation.result()
        sidecars.await_end()
    finally:
        sidecars.stop()
    return done


def expect_exact(table, column, count):
    assert table[column].tolist() == [count] * STEPS
    assert table["worst"].max() <= 1e-12


@pytest.mark.parametrize("placement", PLACEMENTS, ids=str)
@pytest.mark.parametrize("kind", KINDS)
def test_meshes_of_every_kind(build, meshes, tmp_path, kind, placement):
    body = KINDS[kind]
    stages = "      - statistics: {fields: [apart, joined, mixed, single]}\n" + stage("at_cells")
    if body.points:
        stages += stage("at_points")
    done = run_placed(build, meshes, tmp_path, stages, kind, placement)
    assert "status" not in done.stdout and "warning" not in done.stderr, done.stderr
    results = tmp_path / "results/a"
    steps = np.arange(STEPS)
    for name in ("apart", "joined", "mixed"):
        table = read_table(results / f"statistics_{name}.csv")
        assert table["step"].tolist() == steps.tolist()
        np.testing.assert_array_equal(table["time"], 0.25 * steps)
        np.testing.assert_allclose(table["mean_x"], body.mean + steps, rtol=1e-12)
        if "volume" in table.columns:
            np.testing.assert_allclose(table["volume"], body.volume, rtol=1e-12)
    single = read_table(results / "statistics_single.csv")
    np.testing.assert_allclose(single["mean"], body.mean + steps, rtol=1e-6)
    assert single.units["mean"] == "m"
    # Cells of a coarse level that finer ones cover are left out.
    ranks, domains, _ = placement
    covered = 8 * 2 * 2
    cells = body.cells or 160 - covered + 8 * covered
    expect_exact(read_table(results / "at_cells.csv"), "cells", cells)
    if body.points:
        parts = ranks * domains
        points = 160 * 6 if kind == "polygons" else (8 + parts) * 6 * 5
        expect_exact(read_table(results / "at_points.csv"), "points", points)


@pytest.mark.parametrize("placement", PLACEMENTS, ids=str)
@pytest.mark.parametrize("kind", ["points", "point_cells", "points_with_ghosts", "Points"])
def test_particles(build, meshes, tmp_path, kind, placement):
    stages = "      - statistics: {fields: [position, mixed]}\n" + stage("at_particles")
    done = run_placed(build, meshes, tmp_path, stages, kind, placement)
    assert "status" not in done.stdout and "warning" not in done.stderr, done.stderr
    count = 80 if kind == "points_with_ghosts" else 160
    expect_exact(read_table(tmp_path / "results/a/at_particles.csv"), "cells", count)
    table = read_table(tmp_path / "results/a/statistics_position.csv")
    assert table["count_x"].tolist() == [count] * STEPS
