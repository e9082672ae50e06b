# SPDX-License-Identifier: BSD-3-Clause
"""Cells of every kind, shared by programs in each language, as a stage in Python sees them."""

import json
import sys
from pathlib import Path

import numpy as np
import pytest
from cell_sample import CELLS, CONFIGURATION, FACES, IDS, SKIN, SKIN_IDS, coordinates
from conftest import PACKAGE, mpirun

HERE = Path(__file__).parent
pytestmark = pytest.mark.skipif(
    not any((PACKAGE / "pillion").glob("_stage*.so")), reason="no modules for Python"
)
ENVIRONMENT = {"PYTHONPATH": str(PACKAGE), "PILLION_PYTHON": sys.executable}
PROGRAMS = {
    "python": [sys.executable, HERE / "share_cells.py"],
    "cpp": ["tests/cells/share_cells_cpp"],
    "fortran": ["tests/cells/share_cells_fortran"],
}
PLACES = {
    "in place": (2, "{ranks: 0}"),
    "network": (3, "{ranks: 1, when_full: wait}"),
    "node": (3, "{per_node: 1, when_full: wait}"),
    "two sidecars": (4, "{ranks: 2, when_full: wait}"),
}


@pytest.fixture(
    scope="module",
    params=[(p, "in place") for p in PROGRAMS] + [("python", p) for p in PLACES if p != "in place"],
    ids=str,
)
def seen(request, build, tmp_path_factory):
    """What the stage saw, by step and mesh: the blocks by their numbers on the simulation ranks."""
    language, place = request.param
    program = PROGRAMS[language]
    if language != "python":
        program = [build / program[0]]
        if not program[0].exists():
            pytest.skip(f"this build has no programs in {language}")
    folder = tmp_path_factory.mktemp("cells")
    ranks, sidecars = PLACES[place]
    text = CONFIGURATION.replace("SIDECARS", sidecars)
    text = text.replace("STAGE", str(HERE / "look_at_cells.py"))
    (folder / "run.yaml").write_text(text, encoding="utf-8")
    mpirun(ranks, *program, cwd=folder, env=ENVIRONMENT, timeout=90)
    steps = {}
    for step in range(3):
        found = [
            json.loads(path.read_text(encoding="utf-8"))
            for path in (folder / "results/a").glob(f"{step}.*.json")
        ]
        assert all(one["patches"] == ["wall", "inlet"] for one in found)
        steps[step] = {
            mesh: sorted((b for one in found for b in one[mesh]), key=first_point)
            for mesh in ("fluid", "skin")
        }
    return steps


def first_point(block):
    """Blocks of rank 0 begin with point 0, those of rank 1 with point 1."""
    return block["connectivity"]["point_ids"]["values"][0]


def flat(lists):
    return [value for one in lists for value in one]


def offsets(lists):
    return np.cumsum([0, *map(len, lists)]).tolist()


def values(listed, kind="int64"):
    assert listed["type"] == kind
    return listed["values"]


def test_cells_of_every_kind(seen):
    for step, meshes in seen.items():
        assert len(meshes["fluid"]) == 2
        for rank, block in enumerate(meshes["fluid"]):
            cells, found = CELLS[rank], block["connectivity"]
            assert block["cells"] == {"owned": 2 + rank, "total": 3} and block["count"] == 3
            assert block["points"] == {"owned": len(IDS[rank]), "total": len(IDS[rank])}
            assert values(found["types"], "uint8") == [cell[1] for cell in cells]
            assert values(found["offsets"]) == offsets([cell[2] for cell in cells])
            points = np.array(IDS[rank])[values(found["points"])]
            assert points.tolist() == flat(cell[2] for cell in cells)
            assert values(found["point_ids"]) == IDS[rank]
            assert values(found["cell_ids"]) == [cell[0] for cell in cells]
            assert found["parents"] is None and found["patches"] is None
            flags = block["flags"]
            assert flags is None if rank == 1 else values(flags, "uint8") == [0, 1, 0]
            np.testing.assert_array_equal(
                values(block["coordinates"], "float64"), coordinates(IDS[rank], step)
            )


def test_polyhedra(seen):
    names = ["face_offsets", "face_points", "polyhedron_offsets", "polyhedron_faces"]
    for meshes in seen.values():
        without, found = (block["connectivity"] for block in meshes["fluid"])
        assert all(without[name] is None for name in names)
        assert values(found["face_offsets"]) == offsets(FACES)
        assert np.array(IDS[1])[values(found["face_points"])].tolist() == flat(FACES)
        assert values(found["polyhedron_offsets"]) == [0, 0, 0, 6]
        assert values(found["polyhedron_faces"]) == [*range(6)]


def test_a_boundary(seen):
    for meshes in seen.values():
        assert len(meshes["skin"]) == 2
        for rank, block in enumerate(meshes["skin"]):
            cells, found = SKIN[rank], block["connectivity"]
            assert block["flags"] is None and block["cells"]["owned"] == len(cells)
            assert values(found["types"], "uint8") == [cell[0] for cell in cells]
            points = np.array(SKIN_IDS[rank])[values(found["points"])]
            assert points.tolist() == flat(cell[1] for cell in cells)
            assert values(found["parents"]) == [cell[2] for cell in cells]
            assert values(found["patches"], "int32") == [cell[3] for cell in cells]
            assert found["cell_ids"] is None and found["face_offsets"] is None
            np.testing.assert_array_equal(
                values(block["coordinates"], "float64"), coordinates(SKIN_IDS[rank], 0)
            )


def test_values(seen):
    for step, meshes in seen.items():
        for rank, block in enumerate(meshes["fluid"]):
            ids, fields = np.array([cell[0] for cell in CELLS[rank]]), block["fields"]
            pressure = 10 * ids + step
            assert values(fields["pressure"], "float64") == pressure.tolist()
            assert values(fields["number"], "int32") == np.stack([ids, -ids], 1).tolist()
            np.testing.assert_array_equal(
                values(fields["velocity"], "float32"), 2 * coordinates(IDS[rank], step)
            )
            owned = [cell[3] == 0 for cell in CELLS[rank]]
            assert block["owned"] == pressure[owned].tolist()
        for rank, block in enumerate(meshes["skin"]):
            stress = [100 * cell[2] + cell[3] for cell in SKIN[rank]]
            assert values(block["fields"]["stress"], "float64") == stress
