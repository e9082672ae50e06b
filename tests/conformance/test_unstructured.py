# SPDX-License-Identifier: BSD-3-Clause
"""Cells of every shape at every placement, against NumPy with volumes that are known; bytes that
move only when they change; and meshes that are refused."""

import json
import os
import sys
from pathlib import Path

import mixed_cells as mixed
import numpy as np
import pytest
from conftest import mpirun, read_table

HERE = Path(__file__).parent
TEXT = """
output: results
SIDECARS
meshes: {box: {kind: unstructured, units: m}}
fields:
  u: {mesh: box, type: float64}
  w: {mesh: box, type: float32, components: 3, centering: point}
"""
ANALYSES = """
analyses:
  all:
    every: 1 steps
    stages:
      - statistics: {fields: [u]}
      - histogram: {field: u, bins: 6, range: [-1.0, 1.0]}
  points:
    every: 1 steps
    stages:
      - magnitude: {field: w, into: speed}
      - statistics: {fields: [w, speed]}
  split:
    every: 1 steps
    stages:
      - magnitude: {field: w, into: speed, at: simulation}
      - statistics: {fields: [speed], at: sidecar}
"""
PLACES = {
    "inside": (3, 0, ""),
    "one": (1, 0, ""),
    "network": (3, 2, "{ranks: 2, when_full: wait}"),
    "node": (2, 1, "{per_node: 1, when_full: wait, memory: 4 MiB}"),
    "spill": (2, 1, "{per_node: 1, when_full: spill, memory: 128 KiB}"),
}


def run(folder: Path, build: Path, place: str, text: str, *arguments: str) -> str:
    ranks, more, sidecars = PLACES[place]
    if not sidecars:
        text = text.replace(", at: simulation", "").replace(", at: sidecar", "")
    text = text.replace("SIDECARS", f"sidecars: {sidecars}" if sidecars else "")
    (folder / "run.yaml").write_text(text)
    env = os.environ | {"PYTHONPATH": f"{build / 'python'}:{HERE}"}
    program = HERE / "unstructured_program.py"
    done = mpirun(ranks + more, sys.executable, program, *arguments, env=env, cwd=folder)
    return done.stdout + done.stderr


@pytest.fixture(scope="module", params=PLACES)
def played(request, build, tmp_path_factory):
    folder = tmp_path_factory.mktemp("cells")
    run(folder, build, request.param, TEXT + ANALYSES)
    report = json.loads((folder / "results/report.json").read_text())
    for analysis in report["analyses"]:
        assert analysis["publications"] == mixed.STEPS, analysis
        assert analysis["dropped"] == 0 and analysis["disabled"] is None, analysis
    return request.param, folder / "results"


def test_cells_weigh_by_volume(played):
    _, results = played
    table = read_table(results / "all/statistics_u.csv")
    for step in range(mixed.STEPS):
        u, v = mixed.at_cells(step), mixed.volumes(step)
        mean = (u * v).sum() / v.sum()
        expected = {
            "count": len(u),
            "volume": v.sum(),
            "mean": mean,
            "standard_deviation": np.sqrt((v * (u - mean) ** 2).sum() / v.sum()),
            "min": u.min(),
            "max": u.max(),
        }
        for column, value in expected.items():
            assert table[column][step] == pytest.approx(value, rel=1e-12), column
        bins = read_table(results / f"all/histogram_u.{step:09}.csv")
        counts, edges = np.histogram(u, 6, (-1, 1))
        assert bins["count"].tolist() == counts.tolist()
        np.testing.assert_allclose(bins["volume"], np.histogram(u, edges, weights=v)[0], rtol=1e-12)


def test_points(played):
    """A point weighs what its cells share among their points; cells that are copies do not count,
    nor points that have only these."""
    place, results = played
    ranks = PLACES[place][0]
    components = read_table(results / "points/statistics_w.csv")
    norm = read_table(results / "points/statistics_speed.csv")
    split = read_table(results / "split/statistics_speed.csv")
    cells = mixed.mesh()[1]
    for step in range(mixed.STEPS):
        volumes, points, weights = mixed.volumes(step), [], []
        for rank in range(ranks):
            for own, _ in mixed.blocks(step, rank, ranks):
                of_block = {}
                for n in own:
                    for p in cells[n].points:
                        part = volumes[n] / len(cells[n].points)
                        of_block[p] = of_block.get(p, 0) + part
                points += of_block
                weights += of_block.values()
        assert sum(weights) == pytest.approx(volumes.sum(), rel=1e-12)
        w = mixed.at_points(step)[points].astype(float)
        # One that several blocks have counts once, since points have ids.
        distinct = len(set(points))
        assert components["count_x"][step] == norm["count"][step] == distinct
        mean = np.average(w[:, 1], weights=weights)
        assert components["mean_y"][step] == pytest.approx(mean, rel=1e-12)
        assert components["max_z"][step] == w[:, 2].max()
        speed = np.linalg.norm(w, axis=1).astype(np.float32).astype(float)
        for table in norm, split:
            assert table["max"][step] == pytest.approx(speed.max(), rel=1e-7)
            mean = np.average(speed, weights=weights)
            assert table["mean"][step] == pytest.approx(mean, rel=1e-6)


FAULTS = {
    "dangling": "has point 1000, but the block has",
    "type": "cell 1 has VTK's type 99, which is not known",
    "inverted": " that is inverted: its volume is -",
}


@pytest.mark.drawn
@pytest.mark.parametrize("place", ["inside", "network", "node"])
@pytest.mark.parametrize("fault", FAULTS)
def test_faults_are_found_on_all_ranks_alike(fault, place, build, tmp_path):
    out = run(tmp_path, build, place, TEXT + ANALYSES, f"{fault}0")
    ranks = PLACES[place][0]
    for rank in range(ranks):
        lines = [line for line in out.splitlines() if line.startswith(f"rank {rank}: ")]
        assert len(lines) == 1 and FAULTS[fault] in lines[0], out
        assert f"block 1 of mesh 'box', rank {ranks - 1}" in lines[0], out


@pytest.mark.parametrize("place", ["inside", "network", "node"])
def test_a_fault_drops_one_publication(place, build, tmp_path):
    run(tmp_path, build, place, TEXT + ANALYSES, "dangling1")
    report = json.loads((tmp_path / "results/report.json").read_text())
    for analysis in report["analyses"]:
        assert analysis["publications"] == mixed.STEPS - 1 and analysis["dropped"] == 1, analysis
        assert analysis["disabled"] is None, analysis
    table = read_table(tmp_path / "results/all/statistics_u.csv")
    assert table["step"].tolist() == [0, 2, 3]


def test_cells_that_stay_move_once(build, tmp_path):
    """Over the network, each publication after the first moves the values alone."""
    moved = {}
    for how in ("still:2", "still:5", "again:5"):
        folder = tmp_path / how.replace(":", "_")
        folder.mkdir()
        run(folder, build, "network", TEXT + ANALYSES, how)
        report = json.loads((folder / "results/report.json").read_text())
        for analysis in report["analyses"]:
            assert analysis["publications"] == int(how[-1]) and analysis["disabled"] is None
            moved[how, analysis["name"]] = analysis["bytes_moved"]
        table = read_table(folder / "results/all/statistics_u.csv")
        assert (table["volume"] == table["volume"][0]).all()
    values = 8 * sum(
        len(own) + len(copies)
        for rank in range(PLACES["network"][0])
        for own, copies in mixed.blocks(0, rank, PLACES["network"][0])
    )
    assert moved["still:5", "all"] - moved["still:2", "all"] == 3 * values
    assert moved["still:2", "all"] > 10 * values
    for name in ("all", "points", "split"):
        assert moved["again:5", name] == moved["still:5", name]
