# SPDX-License-Identifier: BSD-3-Clause
"""Particles put on a mesh with levels, whose boxes are others at every step, against sums over all
particles and all cells of the finest level."""

import json
import os
import sys
from pathlib import Path

import hierarchy
import numpy as np
import pytest
import species
from conftest import mpirun
from plotfile_oracles import read_level
from test_deposit import kernel
from test_levels import CATALOGUE, HERE, PLACES

MESHES, FIELDS = CATALOGUE.split("fields:\n")
WHOLE = MESHES.rstrip() + species.CATALOGUE + "fields:\n" + FIELDS.rstrip() + species.FIELDS
CLOUDS = {"nearest": "ngp", "cloud": "cic", "triangle": "tsc"}
STAGES = "".join(
    f"      - deposit: {{position: electron_position, mesh: grid, like: density, into: {into}, "
    f"cloud: {cloud}, mass: electron_weight}}\n"
    for into, cloud in CLOUDS.items()
)


def launch(build, folder: Path, place: str, stages: str, check: bool = True):
    ranks, more, sidecars = PLACES[place]
    head = f"output: results\nsidecars: {sidecars or '{}'}\n"
    text = f"{head}{WHOLE}scalars: [dt]\nanalyses:\n  all:\n    stages:\n{stages}"
    (folder / "run.yaml").write_text(text)
    env = os.environ | {"PYTHONPATH": f"{build / 'python'}:{HERE}"}
    words = (sys.executable, Path(HERE) / "species_program.py")
    return mpirun(ranks + more, *words, env=env, cwd=folder, timeout=90, check=check)


@pytest.fixture(scope="module", params=PLACES)
def live(request, build, tmp_path_factory):
    folder = tmp_path_factory.mktemp("live")
    written = f"      - write_plotfile: {{fields: {list(CLOUDS)}, durable: false}}\n"
    launch(build, folder, request.param, STAGES + written)
    report = json.loads((folder / "results" / "report.json").read_text())
    (analysis,) = report["analyses"]
    assert analysis["publications"] == hierarchy.STEPS and analysis["disabled"] is None
    return folder / "results/all/grid_plotfiles"


def masses(step: int, cloud: str) -> np.ndarray:
    """In each cell of the finest level, as if a leaf's mass were spread over it evenly; for the
    cells of a particle's own level that is so wherever they are refined."""
    particles = species.values("electrons", step)
    place = particles["electron_position"].astype(float) / hierarchy.CELLS
    leaves = hierarchy.level_of_leaves(step)
    finest = (place * leaves.shape).astype(int)
    level_of = leaves[tuple(finest.T)]
    out = np.zeros(leaves.shape)
    for level in range(hierarchy.LEVELS):
        own = level_of == level
        shares = []
        for d, n in enumerate(hierarchy.shape_of(level)):
            images = (-2, -1, 0, 1, 2) if hierarchy.PERIODIC[d] else (0,)
            centres = np.arange(n) + 0.5
            x = place[own, d] * n
            shares.append(sum(kernel(cloud, x[:, None] + i * n - centres) for i in images))
        found = np.einsum("p,pi,pj,pk->ijk", particles["electron_weight"][own], *shares)
        ratio = tuple(np.prod([(1, 1, 1), *hierarchy.RATIOS[level:]], axis=0))
        out += hierarchy.spread(found, ratio) / np.prod(ratio)
    return out


def summed(array: np.ndarray, level: int) -> np.ndarray:
    ratio = np.prod([(1, 1, 1), *hierarchy.RATIOS[level:]], axis=0)
    for axis, n in enumerate(ratio):
        shape = array.shape
        array = array.reshape(*shape[:axis], shape[axis] // n, n, *shape[axis + 1 :]).sum(axis + 1)
    return array


def test_each_leaf_has_the_sum_over_all_particles(live):
    for step in range(hierarchy.STEPS):
        leaves = hierarchy.level_of_leaves(step)
        totals = np.zeros(len(CLOUDS))
        for level in range(1 + max(box.level for box in hierarchy.boxes(step))):
            ratio = np.prod([(1, 1, 1), *hierarchy.RATIOS[level:]], axis=0)
            is_leaf = leaves[tuple(slice(None, None, n) for n in ratio)] == level
            volume = np.prod(np.divide(hierarchy.CELLS, hierarchy.shape_of(level)))
            for box in read_level(live / f"plt{step:09}", level, 3):
                at = tuple(slice(a, b) for a, b in zip(box["lo"], box["hi"], strict=True))
                for c, cloud in enumerate(CLOUDS.values()):
                    wanted = summed(masses(step, cloud), level)[at] / volume * is_leaf[at]
                    # What finer boxes cover has nothing, for it does not count.
                    found = box["values"][c].T
                    np.testing.assert_allclose(found, wanted, rtol=1e-11, atol=1e-12)
                    totals[c] += found.sum() * volume
        weights = species.values("electrons", step)["electron_weight"]
        assert totals[0] == pytest.approx(weights.sum(), rel=1e-12)
        for c, cloud in enumerate(CLOUDS.values()):
            assert totals[c] == pytest.approx(masses(step, cloud).sum(), rel=1e-12)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("mesh: grid", "name a field on it with `like`"),
        ("mesh: grid, like: heat", "field 'heat' is not on mesh 'grid'"),
        ("mesh: ocean, like: heat", "is not a uniform mesh with three axes"),
    ],
)
def test_refused(build, tmp_path, words, message):
    stage = f"      - deposit: {{position: electron_position, into: n, {words}}}\n"
    done = launch(build, tmp_path, "one", stage, check=False)
    assert done.returncode != 0 and message in done.stdout + done.stderr
