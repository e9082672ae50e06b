# SPDX-License-Identifier: BSD-3-Clause
"""Meshes of every kind of Blueprint, through Catalyst. Their values are coordinates, which a stage
compares with the places that arrive; counts, volumes and means are those of the whole body.
"""

import sys
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest
from conftest import read_table

sys.path.insert(0, str(Path(__file__).parent.parent / "conformance"))

from cached_codes import needs_codes
from catalyst_runs import (
    STEPS,
    build_program,
    expect_exact,
    run_placed,
    stage,
)

pytestmark = needs_codes


@pytest.fixture(scope="module")
def meshes(tmp_path_factory) -> Path:
    return build_program("catalyst_meshes", tmp_path_factory.mktemp("meshes"))


@pytest.fixture(autouse=True)
def python_of_stages(build, monkeypatch):
    """Sidecars of a separate job need it, too."""
    monkeypatch.setenv("PYTHONPATH", str(build / "python"))
    monkeypatch.setenv("PILLION_PYTHON", sys.executable)


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
