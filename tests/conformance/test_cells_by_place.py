# SPDX-License-Identifier: BSD-3-Clause
"""Cells of every shape in the layout by place: each cell is once at the peer in whose part of space
its centre is, with its points, faces and values, at every placement. Layers of copies are compared
with neighbours found in NumPy from the points of all cells."""

import json
from itertools import product
from pathlib import Path

import mixed_cells as mixed
import numpy as np
import pytest
from series_of_test import check_command
from test_unstructured import HERE, PLACES, TEXT, run

ANALYSES = """
analyses:
  all:
    every: 1 steps
    stages:
      - python: {call: "FOLDER/cells_by_place.py:record", at: sidecar}
      - python: {call: "FOLDER/cells_by_place.py:record_near", at: sidecar}
      - python: {call: "FOLDER/cells_by_place.py:record_far", at: sidecar}
"""
PEERS = {"nameless": 4, "inside": 3, "one": 1, "network": 2, "node": 1, "spill": 1}


def owners(step: int, peers: int) -> np.ndarray:
    """A prime number of peers divides the longest axis alone, and 4 divide the two longest."""
    at = mixed.positions(step)
    centres = np.array([at[cell.points].mean(axis=0) for cell in mixed.mesh()[1]])
    lo, hi = centres.min(axis=0), centres.max(axis=0)
    parts = np.ones(3, int)
    parts[np.argsort(lo - hi)[: 2 if peers == 4 else 1]] = 2 if peers == 4 else peers
    places = np.minimum(((centres - lo) / (hi - lo) * parts).astype(int), parts - 1)
    return places @ [1, parts[0], parts[0] * parts[1]]


def names_of_points(found, step: int) -> np.ndarray:
    if "point_ids" in found:
        return found["point_ids"]
    places = {tuple(place): p for p, place in enumerate(mixed.positions(step))}
    return np.array([places[tuple(place)] for place in found["coordinates"]])


def check_cell(found, c: int, step: int) -> None:
    number = found["cell_ids"][c]
    expected = mixed.mesh()[1][number]
    names = names_of_points(found, step)
    used = found["points"][found["offsets"][c] : found["offsets"][c + 1]]
    assert found["types"][c] == expected.type
    assert names[used].tolist() == expected.points
    if expected.faces:
        offsets = found["polyhedron_offsets"]
        faces = found["polyhedron_faces"][offsets[c] : offsets[c + 1]]
        ends = found["face_offsets"]
        points = [found["face_points"][ends[f] : ends[f + 1]] for f in faces]
        assert [names[p].tolist() for p in points] == expected.faces


def check_block(found, step: int, u: np.ndarray) -> None:
    # Points that no cell of a block has do not come.
    names = names_of_points(found, step)
    assert np.unique(found["points"]).tolist() == list(range(len(names)))
    np.testing.assert_array_equal(found["coordinates"], mixed.positions(step)[names])
    np.testing.assert_array_equal(found["w"], mixed.at_points(step)[names])
    np.testing.assert_array_equal(found["u"], u)
    for c in range(len(found["cell_ids"])):
        check_cell(found, c, step)


def near(own: np.ndarray, layers: int) -> list[int]:
    """Cells within so many layers of `own`, which share a point with one of the layer before."""
    cells = mixed.mesh()[1]
    has = np.zeros((len(cells), len(mixed.mesh()[0])), bool)
    for c, cell in enumerate(cells):
        has[c, cell.points] = True
    reached = own
    for _ in range(layers):
        reached = has[:, has[reached].any(axis=0)].any(axis=1)
    return np.flatnonzero(reached & ~own).tolist()


def check_layers(folder: Path, layers: int, peers: int) -> None:
    for step in range(mixed.STEPS):
        of_cells = owners(step, peers)
        for peer in range(peers):
            (path,) = folder.glob(f"cells.{layers}.{step}.{peer}.*.npz")  # one block of all
            found = np.load(path)
            ids, own = found["cell_ids"], int((of_cells == peer).sum())
            assert found["flags"].tolist() == [0] * own + [1] * (len(ids) - own)
            assert sorted(ids[:own]) == np.flatnonzero(of_cells == peer).tolist()
            assert sorted(ids[own:]) == near(of_cells == peer, layers)
            assert len(set(names_of_points(found, step))) == len(found["coordinates"])
            check_block(found, step, mixed.at_cells(step)[ids])


def check_without_layers(folder: Path, ranks: int, peers: int) -> None:
    for step in range(mixed.STEPS):
        expected = owners(step, peers)
        own, copies = [], []
        for path in sorted(folder.glob(f"cells.0.{step}.*.npz")):
            found, peer = np.load(path), int(path.name.split(".")[3])
            ids, is_copy = found["cell_ids"], found["flags"] == 1
            assert (expected[ids] == peer).all(), path.name
            own += ids[~is_copy].tolist()
            copies += ids[is_copy].tolist()
            check_block(found, step, np.where(is_copy, 1e30, mixed.at_cells(step)[ids]))
        assert sorted(own) == list(range(len(expected)))
        shared = [c for r in range(ranks) for _, some in mixed.blocks(step, r, ranks) for c in some]
        assert sorted(copies) == sorted(shared)


@pytest.mark.parametrize("place", [*PLACES, "nameless"])
def test_cells_are_where_their_centres_are(place, build, tmp_path, monkeypatch):
    monkeypatch.setitem(PLACES, "nameless", (4, 0, ""))
    arguments = [f"nameless:{mixed.STEPS}"] if place == "nameless" else []
    run(tmp_path, build, place, TEXT + ANALYSES.replace("FOLDER", str(HERE)), *arguments)
    report = json.loads((tmp_path / "results/report.json").read_text())
    (analysis,) = report["analyses"]
    assert analysis["publications"] == mixed.STEPS and analysis["disabled"] is None, analysis
    check_without_layers(tmp_path, PLACES[place][0], PEERS[place])
    for layers in (1, 2):
        check_layers(tmp_path, layers, PEERS[place])


@pytest.mark.parametrize("place", ["inside", "network", "node"])
def test_values_move_alone_while_the_mesh_stays(place, build, tmp_path):
    """One mesh for all steps, shared again at each of them. Otherwise it changes at each step."""
    text = TEXT + ANALYSES.replace("FOLDER", str(HERE))
    for how, expected in (("fixed", 1), ("nameless", mixed.STEPS)):
        run(tmp_path, build, place, text, f"{how}:{mixed.STEPS}")
        for layers, peer in product((0, 1, 2), range(PEERS[place])):
            versions = set()
            for step in range(mixed.STEPS):
                path = sorted(tmp_path.glob(f"cells.{layers}.{step}.{peer}.*.npz"))[0]
                found = np.load(path)
                versions.add(tuple(found["versions"]))
                is_own = found["flags"] == 0
                np.testing.assert_array_equal(
                    found["u"][is_own], mixed.at_cells(step)[found["cell_ids"][is_own]]
                )
                if how == "fixed":
                    at = mixed.at_points(step)[found["point_ids"]]
                    np.testing.assert_array_equal(found["w"], at)
            assert len(versions) == expected and (0, 0) not in versions, versions
        for path in tmp_path.glob("cells.*.npz"):
            path.unlink()


REFUSED = {
    'layout="spatial", halo=0.5': "a number of layers of cells: 0, 1, 2 or more; it is 0.5",
    'layout="spatial", position="w"': "needs particles with the positions 'w'",
    'layout="spatial", select="n", values=[1]': "cells of a mesh cannot be selected from",
    'layout="by_key", key="n"': "which comes as shared or by place only",
}


@pytest.mark.parametrize("layout", REFUSED)
def test_refused(layout, build, tmp_path):
    (tmp_path / "some.py").write_text(
        f'import pillion\n\n\n@pillion.stage("u", {layout})\ndef some(step):\n    pass\n'
    )
    text = TEXT.replace("SIDECARS", "").replace("  w:", "  n: {mesh: box, type: int64}\n  w:")
    text += f"""
analyses:
  all:
    every: 1 steps
    stages:
      - python: {{call: "{tmp_path}/some.py:some"}}
"""
    (tmp_path / "run.yaml").write_text(text)
    done = check_command(build, tmp_path / "run.yaml")
    assert done.returncode == 1, done.stdout
    assert REFUSED[layout] in " ".join((done.stdout + done.stderr).split())
