# SPDX-License-Identifier: BSD-3-Clause
"""Cells of every shape in the layouts by place and by key. By place, each cell is once at the peer
in whose part of space its centre is; by key, all cells of a key are at one peer. They come with
their points, faces and values, at every placement. Layers of copies are compared with neighbours
found in NumPy from the points of all cells."""

import json
from itertools import product
from pathlib import Path

import mixed_cells as mixed
import numpy as np
import pytest
from conftest import some
from series_of_test import check_command
from test_unstructured import HERE, PLACES, TEXT, run

ANALYSES = f"""
analyses:
  all:
    every: 1 steps
    stages:
      - python: {{call: '{HERE}/cell_layouts.py:record', at: sidecar}}
      - python: {{call: '{HERE}/cell_layouts.py:record_near', at: sidecar}}
      - python: {{call: '{HERE}/cell_layouts.py:record_far', at: sidecar}}
      - python: {{call: '{HERE}/cell_layouts.py:record_regions', at: sidecar}}
      - python: {{call: '{HERE}/cell_layouts.py:record_zones', at: sidecar}}
      - python: {{call: '{HERE}/cell_layouts.py:record_ids', at: sidecar}}
  made:
    every: 1 steps
    stages:
      - python: {{call: '{HERE}/cell_layouts.py:label', at: simulation}}
      - python: {{call: '{HERE}/cell_layouts.py:record_labels', at: sidecar}}
"""
CPP = """
  compiled:
    every: 1 steps
    stages:
      - cells: {layout: key, key: zone, fields: [zone, u], folder: cpp, at: sidecar}
"""
KEYED = TEXT.replace(
    "  w:", "  region: {mesh: box, type: int64}\n  zone: {mesh: box, type: int32}\n  w:"
)
# By layout: the keys at a step, and how many layers of copies there are.
KEYS = {
    "region": (mixed.regions, 0),
    "zone": (mixed.zones, 1),
    "label": (lambda step: 3 - mixed.zones(step).astype(np.int64), 0),
    "ids": (lambda _: np.arange(len(mixed.mesh()[1])), 0),
}
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
        for path in some(folder.glob(f"cells.0.{step}.*.npz")):
            found, peer = np.load(path), int(path.name.split(".")[3])
            ids, is_copy = found["cell_ids"], found["flags"] == 1
            assert (expected[ids] == peer).all(), path.name
            own += ids[~is_copy].tolist()
            copies += ids[is_copy].tolist()
            check_block(found, step, np.where(is_copy, 1e30, mixed.at_cells(step)[ids]))
        assert sorted(own) == list(range(len(expected)))
        shared = [c for r in range(ranks) for _, some in mixed.blocks(step, r, ranks) for c in some]
        assert sorted(copies) == sorted(shared)


@pytest.fixture(scope="module", params=[*PLACES, "nameless"])
def played(request, build, tmp_path_factory):
    folder, place = tmp_path_factory.mktemp("cells"), request.param
    arguments = [f"nameless:{mixed.STEPS}"] if place == "nameless" else []
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(PLACES, "nameless", (4, 0, ""))
        patch.setenv("PILLION_STAGE_PATH", str(build / "tests/conformance/stages"))
        run(folder, build, place, KEYED + ANALYSES + CPP, *arguments)
        ranks = PLACES[place][0]
    report = json.loads((folder / "results/report.json").read_text())
    for analysis in report["analyses"]:
        assert analysis["publications"] == mixed.STEPS and analysis["disabled"] is None, analysis
    return folder, ranks, PEERS[place]


def test_cells_are_where_their_centres_are(played):
    folder, ranks, peers = played
    check_without_layers(folder, ranks, peers)
    for layers in (1, 2):
        check_layers(folder, layers, peers)


@pytest.mark.drawn
@pytest.mark.parametrize("layout", KEYS)
def test_cells_of_a_key_are_at_one_peer(layout, played):
    """A key is always at one peer, which has its cells in the order of keys and then of ids."""
    folder, _, peers = played
    keys_at, layers = KEYS[layout]
    homes: dict[int, int] = {}
    for step in range(mixed.STEPS):
        keys, seen = keys_at(step), []
        for path in some(folder.glob(f"cells.{layout}.{step}.*.npz")):
            found, peer = np.load(path), int(path.name.split(".")[3])
            ids = found["cell_ids"]
            own = ids[found["flags"] == 0]
            assert found["flags"].tolist() == [0] * len(own) + [1] * (len(ids) - len(own))
            assert len(own) > 0 and path.name.endswith(".0.npz")
            assert {homes.setdefault(int(key), peer) for key in keys[own]} == {peer}
            if layout == "zone":
                assert found["key_zone"].tolist() == keys[ids].tolist()
            assert own.tolist() == own[np.lexsort((own, keys[own]))].tolist()
            is_own = np.isin(np.arange(len(keys)), own)
            assert sorted(ids[len(own) :]) == near(is_own, layers)
            assert len(set(names_of_points(found, step))) == len(found["coordinates"])
            check_block(found, step, mixed.at_cells(step)[ids])
            seen += own.tolist()
        assert sorted(seen) == list(range(len(keys)))
    assert set(homes.values()) <= set(range(peers))
    if layout == "ids":
        assert len(set(homes.values())) == peers


def test_stages_in_cpp_get_the_same(played):
    """The cells of every peer, in the order of keys, but without the layer of copies."""
    folder, _, peers = played
    for step, peer in product(range(mixed.STEPS), range(peers)):
        data = (folder / f"cpp/{step}-{peer}").read_bytes()
        seen_peers, blocks = np.frombuffer(data, np.int64, 2)
        paths = list(folder.glob(f"cells.zone.{step}.{peer}.*.npz"))
        assert (seen_peers, blocks) == (peers, len(paths))
        for path in paths:
            found = np.load(path)
            own = found["flags"] == 0
            count = int(own.sum())
            head = np.frombuffer(data, np.int64, 15, 16)  # number, cells, owned, four corners
            assert head[:3].tolist() == [0, count, count]
            zones = np.frombuffer(data, np.int32, count, 16 + head.nbytes)
            assert zones.tolist() == found["key_zone"][own].tolist()
            u = np.frombuffer(data, np.float64, count, 16 + head.nbytes + zones.nbytes)
            assert u.tolist() == found["u"][own].tolist()


def check_values(found, step: int, with_points: bool) -> tuple[int, int]:
    is_own = found["flags"] == 0
    at = mixed.at_cells(step)[found["cell_ids"][is_own]]
    np.testing.assert_array_equal(found["u"][is_own], at)
    if with_points:
        np.testing.assert_array_equal(found["w"], mixed.at_points(step)[found["point_ids"]])
    return tuple(found["versions"].tolist())


@pytest.mark.parametrize("place", ["inside", "network", "node"])
def test_values_move_alone_while_the_mesh_stays(place, build, tmp_path):
    """One mesh for all steps, shared again at each of them. Otherwise it changes at each step. Keys
    change at every other step."""
    for how in ("fixed", "nameless"):
        run(tmp_path, build, place, KEYED + ANALYSES, f"{how}:{mixed.STEPS}")
        for layout, peer in product((0, 1, 2, *KEYS), range(PEERS[place])):
            versions = set()
            expected = mixed.STEPS
            if how == "fixed":
                expected = mixed.STEPS // 2 if layout != "ids" and layout in KEYS else 1
            for step in range(mixed.STEPS):
                for path in sorted(tmp_path.glob(f"cells.{layout}.{step}.{peer}.*.npz"))[:1]:
                    versions.add(check_values(np.load(path), step, how == "fixed"))
            if layout in KEYS and layout != "ids" and not versions:
                continue  # no key is this peer's
            assert len(versions) == expected and (0, 0) not in versions, versions
        for path in tmp_path.glob("cells.*.npz"):
            path.unlink()


def test_cells_without_ids_have_no_keys(build, tmp_path):
    """One rank of three lacks ids; all ranks disable the stage, and the run continues."""
    text = (
        KEYED
        + f"""
analyses:
  regions:
    every: 1 steps
    stages: [python: {{call: '{HERE}/cell_layouts.py:record_regions'}}]
  ids:
    every: 1 steps
    stages: [python: {{call: '{HERE}/cell_layouts.py:record_ids'}}]
"""
    )
    said = run(tmp_path, build, "inside", text, f"partly:{mixed.STEPS}")
    regions, ids = json.loads((tmp_path / "results/report.json").read_text())["analyses"]
    assert regions["publications"] == mixed.STEPS and regions["disabled"] is None
    assert ids["publications"] == 0 and ids["dropped"] == mixed.STEPS, ids
    assert "of block 0 of mesh 'box' came without ids, which are their keys" in said


REFUSED = {
    'layout="spatial", halo=0.5': "a number of layers of cells: 0, 1, 2 or more; it is 0.5",
    'layout="spatial", position="w"': "needs particles with the positions 'w'",
    'layout="spatial", select="n", values=[1]': "cells of a mesh cannot be selected from",
    'layout="by_key", key="n", halo=-1': "a number of layers of cells: 0, 1, 2 or more; it is -1",
    'layout="by_key", key="n", select="n", values=[1]': "cells of a mesh cannot be selected from",
    'layout="by_key", key="u"': "field 'u' must be one int32 or int64 at each cell of mesh "
    "'box' to be their key, it is float64 x 1 at each cell",
    'layout="by_key", key="p"': "to be their key, it is int64 x 1 at each point",
    'layout="by_key", key="other"': "field 'other' is on mesh 'more', and 'u' on mesh 'box'",
    'layout="by_key", key="nothing"': "unknown field 'nothing'",
}


@pytest.mark.parametrize("layout", REFUSED)
def test_refused(layout, build, tmp_path):
    (tmp_path / "some.py").write_text(
        f'import pillion\n\n\n@pillion.stage("u", {layout})\ndef some(step):\n    pass\n'
    )
    more = ["n: {mesh: box, type: int64}", "p: {mesh: box, type: int64, centering: point}"]
    more.append("other: {mesh: more, type: int64}")
    text = TEXT.replace("SIDECARS", "").replace(
        "  w:", "\n".join(f"  {one}" for one in more) + "\n  w:"
    )
    text = text.replace("units: m}}", "units: m}, more: {kind: unstructured}}")
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
