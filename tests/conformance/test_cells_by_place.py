# SPDX-License-Identifier: BSD-3-Clause
"""Cells of every shape in the layout by place: each cell is once at the peer in whose part of space
its centre is, with its points, faces and values, at every placement."""

import json

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
"""
PEERS = {"inside": 3, "one": 1, "network": 2, "node": 1, "spill": 1}


def owners(step: int, peers: int) -> np.ndarray:
    """The mesh is longest along an axis, and a prime number of peers divides that alone."""
    at = mixed.positions(step)
    centres = np.array([at[cell.points].mean(axis=0) for cell in mixed.mesh()[1]])
    lo, hi = centres.min(axis=0), centres.max(axis=0)
    axis = np.argmax(hi - lo)
    place = (centres[:, axis] - lo[axis]) / (hi - lo)[axis] * peers
    return np.minimum(place.astype(int), peers - 1)


def check_cell(found, c: int, step: int) -> None:
    number = found["cell_ids"][c]
    expected = mixed.mesh()[1][number]
    used = found["points"][found["offsets"][c] : found["offsets"][c + 1]]
    assert found["types"][c] == expected.type
    assert found["point_ids"][used].tolist() == expected.points
    u = mixed.at_cells(step)[number] if found["flags"][c] == 0 else 1e30
    assert found["u"][c] == u
    if expected.faces:
        offsets = found["polyhedron_offsets"]
        faces = found["polyhedron_faces"][offsets[c] : offsets[c + 1]]
        ends = found["face_offsets"]
        points = [found["face_points"][ends[f] : ends[f + 1]] for f in faces]
        assert [found["point_ids"][p].tolist() for p in points] == expected.faces


@pytest.mark.parametrize("place", PLACES)
def test_cells_are_where_their_centres_are(place, build, tmp_path):
    run(tmp_path, build, place, TEXT + ANALYSES.replace("FOLDER", str(HERE)))
    report = json.loads((tmp_path / "results/report.json").read_text())
    (analysis,) = report["analyses"]
    assert analysis["publications"] == mixed.STEPS and analysis["disabled"] is None, analysis
    ranks = PLACES[place][0]
    for step in range(mixed.STEPS):
        expected = owners(step, PEERS[place])
        own, copies = [], []
        for path in sorted(tmp_path.glob(f"cells.{step}.*.npz")):
            found, peer = np.load(path), int(path.name.split(".")[2])
            ids, is_copy = found["cell_ids"], found["flags"] == 1
            assert (expected[ids] == peer).all(), path.name
            own += ids[~is_copy].tolist()
            copies += ids[is_copy].tolist()
            # Points that no cell of a block has do not come.
            assert np.unique(found["points"]).tolist() == list(range(len(found["point_ids"])))
            at = found["point_ids"]
            np.testing.assert_array_equal(found["coordinates"], mixed.positions(step)[at])
            np.testing.assert_array_equal(found["w"], mixed.at_points(step)[at])
            for c in range(len(ids)):
                check_cell(found, c, step)
        assert sorted(own) == list(range(len(expected)))
        shared = [c for r in range(ranks) for _, some in mixed.blocks(step, r, ranks) for c in some]
        assert sorted(copies) == sorted(shared)


REFUSED = {
    'layout="spatial", halo=0.5': "the halo must be 0, it is 0.5",
    'layout="spatial", position="w"': "needs particles with the positions 'w'",
    'layout="spatial", select="n", values=[1]': "cells of a mesh cannot be selected from",
    'layout="by_key", key="n"': "which comes as shared or by place only",
}


@pytest.mark.parametrize("layout", REFUSED)
def test_refused(layout, build, tmp_path):
    (tmp_path / "some.py").write_text(
        f'import pillion\n\n\n@pillion.stage("u", {layout})\ndef some(step):\n    pass\n'
    )
    text = TEXT.replace("SIDECARS", "").replace(
        "  w:", "  n: {mesh: box, type: int64}\n  w:"
    ) + ANALYSES.replace("FOLDER/cells_by_place.py:record", f"{tmp_path}/some.py:some").replace(
        ", at: sidecar", ""
    )
    (tmp_path / "run.yaml").write_text(text)
    done = check_command(build, tmp_path / "run.yaml")
    assert done.returncode == 1, done.stdout
    assert REFUSED[layout] in " ".join((done.stdout + done.stderr).split())
