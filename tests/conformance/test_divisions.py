# SPDX-License-Identifier: BSD-3-Clause
"""Divisions of uniform and rectilinear meshes (blocks, slabs, pencils, boxes of powers of two, with
ghost cells or without) wherever stages run, however the grid is shared and on however many ranks:
each cell that a stage gets is that of the array that was shared, and each cell is in one block,
without ghosts.
"""

import itertools
import json
import os
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from conftest import read_table
from frames import Frame
from placements import check_report, placements
from pool import results_of_case
from scenes import Placement, Scene


@dataclass(frozen=True)
class Division:
    layout: str
    axis: int = 0
    sides: tuple = (0, 0, 0)
    ghosts: tuple = (0, 0, 0)
    fields: tuple = ("density", "velocity", "level")


@dataclass(frozen=True)
class Grid:
    cells: tuple
    periodic: tuple
    divisions: dict

    @property
    def axes(self) -> int:
        return len(self.cells)


GRIDS = {
    "cube": Grid(
        (9, 8, 11),
        (True, True, True),
        {
            "blocks": Division("blocks"),
            "halo": Division("blocks", ghosts=(1, 2, 1)),
            "far": Division("blocks", ghosts=(19, 0, 12), fields=("level",)),
            "slabs_x": Division("slabs", 0, ghosts=(3, 0, 0)),
            "slabs_z": Division("slabs", 2),
            "pencils_y": Division("pencils", 1),
            "pencils_z": Division("pencils", 2, ghosts=(1, 1, 1), fields=("speed", "density")),
            "cubes": Division("cubes", sides=(1, 0, 0), ghosts=(1, 1, 1)),
            "bricks": Division("powers", sides=(4, 0, 2)),
            "fitted": Division("powers", sides=(-1, -2, 1), ghosts=(1, 0, 0)),
            "fitted_cubes": Division("cubes", sides=(-3, 0, 0)),
        },
    ),
    "mixed": Grid(
        (5, 14, 6),
        (False, True, False),
        {
            "blocks": Division("blocks", ghosts=(2, 2, 2)),
            "slabs_y": Division("slabs", 1, ghosts=(9, 9, 9)),
            "pencils_x": Division("pencils", 0, ghosts=(0, 15, 1)),
            "cubes": Division("cubes", sides=(2, 0, 0), ghosts=(0, 3, 1), fields=("velocity",)),
            "cells": Division("powers", fields=("level",)),
        },
    ),
    "sheet": Grid(
        (37, 20),
        (True, False),
        {
            "blocks": Division("blocks", ghosts=(4, 4, 4)),
            "slabs_x": Division("slabs", 0),
            "pencils_y": Division("pencils", 1, ghosts=(1, 1, 0)),
            "powers": Division("powers", sides=(3, 2, 9), ghosts=(1, 0, 0)),
        },
    ),
    "line": Grid(
        (3,),  # fewer cells than there are ranks
        (True,),
        {
            "blocks": Division("blocks", ghosts=(5, 5, 5)),
            "slabs": Division("slabs", 0),
            "pencils": Division("pencils", 0, ghosts=(1, 0, 0)),
            "cubes": Division("cubes", sides=(1, 1, 1)),
        },
    ),
}
PLACEMENTS = {
    "cube": placements(
        ["slabs", "uneven", "many", "empty"],
        [
            *((1, 0, "slabs"), (3, 0, "uneven"), (4, 0, "many"), (2, 1, "many"), (3, 4, "empty")),
            *((2, 3, "slabs"), (3, 2, "many", "node"), (4, 2, "uneven", "node", 2, 2)),
            *((3, 1, "empty", "node", 2), (2, 2, "many", "separate", 2)),
        ],
    ),
    "mixed": [
        *(Placement(2, 0, "uneven"), Placement(5, 0, "many"), Placement(1, 3, "many")),
        Placement(2, 2, "empty", "node"),
    ],
    "sheet": [
        *(Placement(4, 0, "many"), Placement(2, 3, "uneven")),
        Placement(3, 1, "slabs", "node", 2),
    ],
    "line": [
        *(Placement(1, 0, "slabs"), Placement(5, 0, "slabs"), Placement(2, 4, "empty")),
        Placement(3, 2, "slabs", "node", 2),
    ],
}
# Analyses that agree on a layout: cells go to the sidecars that want them in one hop.
DIRECT = {
    **{name: ("cube", [name]) for name in GRIDS["cube"].divisions if "fitted" not in name},
    "halos": ("cube", ["blocks", "halo", "far"]),
    "sheet_x": ("sheet", ["slabs_x"]),
    "line_pencils": ("line", ["pencils"]),
}
for case, (among, names) in DIRECT.items():
    some = GRIDS[among]
    GRIDS[case] = Grid(some.cells, some.periodic, {n: some.divisions[n] for n in names})
    PLACEMENTS[case] = [Placement(3, 2, "many"), Placement(2, 3, "empty")]

RECTILINEAR = {"mixed", "sheet", "sheet_x"}

CASES = [pytest.param((g, p), id=f"{g}-{p}") for g, those in PLACEMENTS.items() for p in those]


@cache
def frames_of(name: str) -> list[Frame]:
    rng = np.random.default_rng(len(name))
    count = int(np.prod(GRIDS[name].cells))
    return [
        Frame(
            step,
            0.5 * step,
            {
                "density": rng.normal(0, 1, count),
                "velocity": rng.normal(0, 1, (count, 3)).astype(np.float32),
                "level": rng.permutation(count).astype(np.int32),
            },
        )
        for step in range(4)
    ]


def flow(values) -> str:
    return "[" + ", ".join(map(str, values)) + "]"


def scene(name: str, folder: Path) -> Scene:
    grid = GRIDS[name]
    periodic = flow("true" if p else "false" for p in grid.periodic)
    length = flow([1] * grid.axes)
    kind = f"kind: uniform, cells: {flow(grid.cells)}, length: {length}"
    if name in RECTILINEAR:
        faces = [np.cumsum(np.arange(1.0, n + 2)).tolist() for n in grid.cells]
        kind = f"kind: rectilinear, coordinates: {faces}"
    catalogue = (
        f"meshes:\n  grid: {{{kind}, periodic: {periodic}}}\nfields:\n"
        "  density: {mesh: grid, type: float64}\n"
        "  velocity: {mesh: grid, type: float32, components: 3}\n"
        "  level: {mesh: grid, type: int32}\n"
    )
    analyses = "analyses:\n"
    for analysis, division in grid.divisions.items():
        analyses += f"  {analysis}:\n    every: 1 steps\n    stages:\n"
        if "speed" in division.fields:
            analyses += "      - magnitude: {field: velocity, into: speed, at: simulation}\n"
        analyses += (
            f"      - cells: {{folder: {folder / analysis}, fields: {flow(division.fields)}, "
            f"layout: {division.layout}, axis: {division.axis}, sides: {flow(division.sides)}, "
            f"ghosts: {flow(division.ghosts)}}}\n"
        )
    analyses += "  roughness: {every: 1 steps, stages: [roughness: {field: density}]}\n" * (
        name not in DIRECT
    )
    arguments = ("--cells", ",".join(map(str, grid.cells)))
    return Scene(name, frames_of(name), catalogue, analyses, "grid_driver", arguments)


@dataclass
class Block:
    peer: int
    number: int
    lo: np.ndarray
    hi: np.ndarray
    inner_lo: np.ndarray
    inner_hi: np.ndarray
    values: dict  # by field, axes in the order of the mesh, then components


def whole(frame: Frame, cells: tuple, field: str) -> np.ndarray:
    """A field of a frame as an array with an index per axis and one for components."""
    if field == "speed":
        squares = frame["velocity"].astype(np.float64) ** 2
        values = np.sqrt(squares.sum(axis=1)).astype(np.float32)
    else:
        values = frame[field]
    shape = (*cells, *[1] * (3 - len(cells)))
    return values.reshape((*shape, -1), order="F")


def read(path: Path, fields: tuple, frame: Frame) -> tuple[int, list[Block]]:
    data = path.read_bytes()
    at = 0

    def integers(count: int) -> np.ndarray:
        nonlocal at
        at += 8 * count
        return np.frombuffer(data, np.int64, count, at - 8 * count)

    peers, count = integers(2)
    blocks = []
    for _ in range(count):
        number, cells, owned = integers(3)
        lo, hi, inner_lo, inner_hi = integers(12).reshape(4, 3)
        assert np.prod(hi - lo) == cells and np.prod(inner_hi - inner_lo) == owned
        block = Block(int(path.name.split("-")[1]), number, lo, hi, inner_lo, inner_hi, {})
        for field in fields:
            like = whole(frame, (frame.count,), field)
            values = np.frombuffer(data, like.dtype, cells * like.shape[-1], at)
            at += values.nbytes
            # Third axis slowest, components fastest.
            block.values[field] = values.reshape((*(hi - lo)[::-1], -1)).transpose(2, 1, 0, 3)
        blocks.append(block)
    assert at == len(data)
    return int(peers), blocks


@pytest.fixture(scope="module", params=CASES)
def played(request, build, tmp_path_factory):
    name, placement = request.param
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PILLION_STAGE_PATH", str(build / "tests" / "conformance" / "stages"))
        folder, results = results_of_case(
            request, build, tmp_path_factory, lambda case, to: (scene(case[0], to), case[1])
        )
    check_report(scene(name, folder), placement, results)
    report = json.loads((results / "report.json").read_text())
    assert (report["sidecars"]["direct_bytes"] > 0) == (name in DIRECT)
    return GRIDS[name], placement, folder, frames_of(name)


def all_blocks(played):
    """For every analysis and step: the division, the frame, and the blocks of all peers."""
    grid, _, folder, frames = played
    for analysis, division in grid.divisions.items():
        for frame in frames:
            files = sorted((folder / analysis).glob(f"{frame.step}-*"))
            found = [read(path, division.fields, frame) for path in files]
            assert {peers for peers, _ in found} == {len(files)}
            yield division, frame, len(files), [b for _, blocks in found for b in blocks]


def test_it_ran_on_all_peers(played):
    _, placement, _, _ = played
    per_run = {"network": 1, "node": placement.nodes, "separate": 1}[placement.through]
    expected = placement.sidecars * per_run or placement.simulation
    assert {peers for _, _, peers, _ in all_blocks(played)} == {expected}


def test_each_cell_has_its_own_value(played):
    grid = played[0]
    cells = (*grid.cells, *[1] * (3 - grid.axes))
    seen = 0
    for division, frame, _, blocks in all_blocks(played):
        for block in blocks:
            indices = [np.arange(block.lo[d], block.hi[d]) % cells[d] for d in range(3)]
            for field, values in block.values.items():
                expected = whole(frame, grid.cells, field)[np.ix_(*indices)]
                if field == "speed":
                    np.testing.assert_allclose(values, expected, rtol=1e-6)
                else:
                    np.testing.assert_array_equal(values, expected)
                seen += values.size
        assert {*division.fields} == {*blocks[0].values}
    assert seen > 0


def test_inner_blocks_are_the_mesh_once(played):
    grid = played[0]
    for _, _, _, blocks in all_blocks(played):
        times = np.zeros((*grid.cells, *[1] * (3 - grid.axes)), int)
        for block in blocks:
            assert (block.inner_lo >= 0).all() and (block.inner_hi > block.inner_lo).all()
            times[tuple(map(slice, block.inner_lo, block.inner_hi))] += 1
        assert (times == 1).all()


def test_ghosts_are_as_wide_as_asked_for(played):
    """And end at the mesh's where it is not periodic."""
    grid = played[0]
    for division, _, _, blocks in all_blocks(played):
        for block, d in itertools.product(blocks, range(3)):
            width = division.ghosts[d] if d < grid.axes else 0
            low, high = block.inner_lo[d] - width, block.inner_hi[d] + width
            if d < grid.axes and not grid.periodic[d]:
                low, high = max(low, 0), min(high, grid.cells[d])
            assert (block.lo[d], block.hi[d]) == (low, high)


def test_blocks_have_the_shape_of_their_layout(played):
    grid = played[0]
    cells = np.array((*grid.cells, *[1] * (3 - grid.axes)))
    for division, _, peers, blocks in all_blocks(played):
        numbers = [(b.peer, b.number) for b in blocks]
        assert len(numbers) == len(set(numbers))
        extents = np.array([b.inner_hi - b.inner_lo for b in blocks])
        if division.layout in ("powers", "cubes"):
            sides = [division.sides[0]] * 3 if division.layout == "cubes" else division.sides
            sides = [*sides[: grid.axes], *[0] * (3 - grid.axes)]
            # What follows from the blocks of the simulation is at least a power of two.
            longest = np.ceil(np.log2(extents.max(0))).astype(int)
            side = 2 ** np.where(np.array(sides) < 0, longest, sides)
            assert len(blocks) == np.prod(-(-cells // side))
            for block, extent in zip(blocks, extents, strict=True):
                assert (block.inner_lo % side == 0).all()
                assert (extent == np.minimum(side, cells - block.inner_lo)).all()
            per_peer = np.bincount([b.peer for b in blocks], minlength=peers)
            assert per_peer.max() - per_peer.min() <= 1
            continue
        assert max(b.peer for b in blocks) < peers
        assert len({b.peer for b in blocks}) == len(blocks)  # one per peer at most
        if not (division.layout == "pencils" and grid.axes == 1):
            assert len(blocks) == peers or max(cells) < 2 * peers
        for d in range(3):
            assert extents[:, d].max() - extents[:, d].min() <= 1
            uncut = {"slabs": d != division.axis, "pencils": d == division.axis, "blocks": False}
            if uncut[division.layout]:
                assert (extents[:, d] == cells[d]).all()


def beside(values: np.ndarray, axis: int, side: int, periodic: bool) -> np.ndarray:
    """Each cell's neighbour on one side; NaN where there is none."""
    shifted = np.roll(values, -side, axis)
    if not periodic:
        edge = [slice(None)] * values.ndim
        edge[axis] = -1 if side > 0 else 0
        shifted[tuple(edge)] = np.nan
    return shifted


def test_a_stage_that_looks_at_neighbours(played):
    grid, _, folder, frames = played
    if not (folder / "run" / "results" / "roughness").exists():
        pytest.skip("not in this run")
    table = read_table(folder / "run" / "results" / "roughness" / "roughness.csv")
    expected = []
    for frame in frames:
        values = frame["density"].reshape(grid.cells, order="F")
        around = [
            beside(values, d, side, grid.periodic[d]) for d in range(grid.axes) for side in (-1, 1)
        ]
        expected.append(np.sqrt(((values - np.nanmean(around, axis=0)) ** 2).mean()))
    np.testing.assert_allclose(table["roughness"], expected, rtol=1e-12)


WRONG = {
    "no such axis": ("layout: slabs, axis: 2", "has no axis 2 to divide by; its axes are 0 to 1"),
    "negative axis": ("layout: pencils, axis: -1", "has no axis -1"),
    "negative ghosts": ("ghosts: [0, -3, 0]", "-3 ghost cells along axis 1"),
    "large side": ("layout: powers, sides: [2, 4, 0]", "exponent is at most 3"),
    "negative side": ("layout: cubes, sides: [-5, 0, 0]", "exponent is at least 0"),
    "ghosts as shared": ("layout: shared, ghosts: [1, 0, 0]", "not in other layouts"),
}


def wrong_scene(folder: Path, fields: str, parameters: str) -> Scene:
    rng = np.random.default_rng(1)
    frames = [Frame(step, step, {"density": rng.normal(size=30)}) for step in range(2)]
    catalogue = (
        "meshes:\n  grid: {kind: uniform, cells: [5, 6], length: [1, 1]}\n"
        "  atoms: {kind: particles}\n"
        "fields:\n  density: {mesh: grid, type: float64}\n"
        "  mass: {mesh: atoms, type: float64}\n"
    )
    analyses = (
        "analyses:\n  good:\n    every: 1 steps\n    stages:\n      - statistics: "
        "{fields: density}\n  bad:\n    every: 1 steps\n    stages:\n"
        f"      - cells: {{folder: {folder / 'seen'}, fields: {fields}, {parameters}}}\n"
    )
    return Scene("wrong", frames, catalogue, analyses, "grid_driver", ("--cells", "5,6"))


def fail(build, folder, fields, parameters, placement, monkeypatch):
    monkeypatch.setenv("PILLION_STAGE_PATH", str(build / "tests" / "conformance" / "stages"))
    return wrong_scene(folder, fields, parameters).run(build, folder, placement, fails=True)


@pytest.mark.parametrize("name", WRONG)
@pytest.mark.parametrize("sidecars", [0, 1])
def test_wrong_requests_are_refused_at_their_line(build, tmp_path, monkeypatch, name, sidecars):
    parameters, expected = WRONG[name]
    place = Placement(2, sidecars, "slabs")
    _, done = fail(build, tmp_path, "density", parameters, place, monkeypatch)
    lines = (tmp_path / "pillion.yaml").read_text().splitlines()
    line = next(n for n, text in enumerate(lines, 1) if "- cells:" in text)
    errors = [e for e in done.stderr.splitlines() if expected in e]
    assert len(errors) >= 2, done.stderr
    assert all(f"pillion.yaml:{line}: " in e for e in errors)
    assert not (tmp_path / "seen").exists()


def test_particles_cannot_be_divided(build, tmp_path, monkeypatch):
    _, done = fail(build, tmp_path, "mass", "layout: blocks", Placement(2, 0, "slabs"), monkeypatch)
    assert (
        "needs a uniform, rectilinear or curvilinear mesh, and field 'mass' is on particles 'atoms'"
        in done.stderr
    )


def test_nothing_is_produced_on_blocks_of_another_layout(build, tmp_path, monkeypatch):
    """The analysis loses its publications, and the others go on."""
    place = Placement(2, 0, "slabs")
    results, _ = fail(build, tmp_path, "density", "into: other", place, monkeypatch)
    report = json.loads((results / "report.json").read_text())
    text = json.dumps(report["warnings"])
    assert "can only be produced on blocks as they are shared" in text
    bad = next(analysis for analysis in report["analyses"] if analysis["name"] == "bad")
    assert (bad["publications"], bad["dropped"]) == (0, 2), bad
    assert os.path.exists(results / "good" / "statistics_density.csv")
