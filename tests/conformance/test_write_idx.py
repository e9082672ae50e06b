# SPDX-License-Identifier: BSD-3-Clause
"""Datasets that the stage `write_idx` makes, read by OpenVisus sample by sample at every level,
wherever they are written and on however many ranks."""

from functools import cache
from pathlib import Path

import numpy as np
import pytest
from conftest import read_table
from datasets import roomy
from frames import Frame
from placements import cases, check_report, placements
from pool import results_of_case
from read_idx import read
from scenes import Placement, Scene

SHAPES = {
    "brick": (22, 36, 22),
    "cube": (32, 32, 32),
    "halls": (30, 60, 60),
    "thin": (48, 5, 3),
    "sheet": (45, 70),
    "flat": (40, 33, 1),
    "edge": (40, 33),  # one box has a single row of the mesh, so nothing of some blocks
}
STAGES = {
    "plain": "write_idx: {fields: [density, velocity, level]}",
    "packed": "write_idx: {fields: [density, level], compression: zip, bits_per_block: 9, "
    "name: packed}",
    "lz4": "write_idx: {fields: [velocity, ids], compression: lz4, bits_per_block: 7, "
    "blocks_per_file: 5, name: lz4}",
    "enlarged": "write_idx: {fields: [density], box: enlarged, aggregators: 1, name: enlarged, "
    "bits_per_block: 6}",
    "gathered": "write_idx: {fields: [density, velocity, level], aggregators: 2, "
    "blocks_per_file: 16, name: gathered}",
    "spread": "write_idx: {fields: [density, velocity, level], blocks_per_file: 16, name: spread}",
    "packed_gathered": "write_idx: {fields: [density, level], compression: zip, "
    "bits_per_block: 9, aggregators: 3, name: packed_gathered}",
    "two_gathered": "write_idx: {fields: [velocity, density], phases: 2, name: two_gathered, "
    "bits_per_block: 8, aggregators: 1}",
    "two": "write_idx: {fields: [velocity, density], phases: 2, name: two, bits_per_block: 8}",
    "one": "write_idx: {fields: [density, level], phases: 1, name: one, bits_per_block: 8, "
    "blocks_per_file: 3}",
    "coarse": "write_idx: {fields: [density], leave_out: 4, name: coarse, bits_per_block: 5}",
    "part": "write_idx: {{fields: [density, level], region: [{region}], name: part, "
    "bits_per_block: 6}}",
    "part_of_two": "write_idx: {{fields: [density], region: [{region}], name: part_of_two, "
    "bits_per_block: 6, phases: 2}}",
    "part_packed": "write_idx: {{fields: [ids], region: [{region}], name: part_packed, "
    "bits_per_block: 6, compression: lz4}}",
}
CATALOGUE = """
meshes:
  grid: {{kind: uniform, cells: [{cells}], length: [{length}], units: m}}
fields:
  density: {{mesh: grid, type: float64, units: kg/m^3}}
  velocity: {{mesh: grid, type: float32, components: 3, units: m/s}}
  level: {{mesh: grid, type: int32}}
  ids: {{mesh: grid, type: int64}}
"""


def part_of(cells: tuple[int, ...]) -> list[tuple[int, int]]:
    """Cells that begin and end inside of boxes, where the mesh is thick enough."""
    return [(n // 3, n - n // 7) for n in cells]


def filled(stage: str, cells: tuple[int, ...]) -> str:
    region = ", ".join(f"[{lo}, {hi}]" for lo, hi in part_of(cells))
    return stage.format(region=region) if "{region}" in stage else stage


@cache
def scene(name: str) -> Scene:
    cells = SHAPES[name]
    rng = np.random.default_rng(len(name))
    count = int(np.prod(cells))
    frames = [
        Frame(
            step,
            0.5 * step,
            {
                "density": rng.lognormal(size=count),
                "velocity": rng.normal(size=(count, 3)).astype(np.float32),
                "level": rng.integers(-9, 9, count).astype(np.int32),
                "ids": rng.integers(-(2**60), 2**60, count),
            },
        )
        for step in range(2)
    ]
    analyses = "".join(
        f"  {key}:\n    every: 1 steps\n    stages:\n      - {filled(stage, cells)}\n"
        for key, stage in STAGES.items()
    )
    lengths = ", ".join(str(n / 4) for n in cells)
    text = CATALOGUE.format(cells=", ".join(map(str, cells)), length=lengths)
    arguments = ("--cells", ",".join(map(str, cells)))
    return Scene(name, frames, text, f"analyses:\n{analyses}", "grid_driver", arguments)


PLACEMENTS = {
    "brick": placements(
        ["slabs", "uneven", "many", "empty"],
        [
            *((1, 0, "slabs"), (3, 0, "uneven"), (5, 0, "many")),
            *((2, 3, "empty"), (2, 1, "many", "node", 1, 0, "wait", "4 MiB")),
        ],
    ),
    "cube": [Placement(2, 0, "many"), Placement(8, 0, "slabs")],
    "halls": [Placement(8, 0, "many")],
    "thin": [Placement(3, 0, "slabs")],
    "sheet": [Placement(2, 2, "many")],
    "flat": [Placement(3, 0, "slabs")],
    "edge": [Placement(2, 0, "many"), Placement(3, 0, "empty")],
}


@pytest.fixture(
    scope="module", params=cases({name: roomy(those) for name, those in PLACEMENTS.items()})
)
def played(request, build, tmp_path_factory):
    if not (build / "stages" / "write_idx.so").exists():
        pytest.skip("the stage write_idx was not built: zlib or LZ4 was not found")
    name, placement = request.param
    _, results = results_of_case(
        request, build, tmp_path_factory, lambda case, _: (scene(case[0]), case[1])
    )
    check_report(scene(name), placement, results)
    return name, results


def expected(
    name: str, frame: Frame, field: str, stride: list[int], box: list[tuple[int, int]]
) -> np.ndarray:
    """Samples of the box on the lattice of a level, whose anchor is the mesh's first cell."""
    cells = SHAPES[name]
    values = frame[field]
    values = values.reshape(*cells[::-1], *values.shape[1:])
    slices = [
        slice(-(-lo // step) * step, hi, step) for (lo, hi), step in zip(box, stride, strict=False)
    ]
    return values[tuple(slices[::-1])]


def stride_at(bits: str, level: int) -> list[int]:
    return [2 ** bits[level + 1 :].count(str(axis)) for axis in range(3)]


def header(path: Path) -> dict[str, str]:
    lines = [line for line in path.read_text().splitlines() if not line.startswith("#")]
    keys = [n for n, line in enumerate(lines) if line.startswith("(")]
    ends = [*keys[1:], len(lines)]
    return {lines[k][1:-1]: "\n".join(lines[k + 1 : e]) for k, e in zip(keys, ends, strict=True)}


@pytest.mark.parametrize("key", STAGES)
def test_every_sample_of_every_level(played, key):
    name, results = played
    dataset = "grid" if key == "plain" else key
    path = results / key / f"{dataset}.idx"
    head = header(path)
    bits = head["bits"]
    fields = [line.removeprefix("+ ").split()[0] for line in head["fields"].splitlines()]
    left_out = int(head.get("levels_left_out", 0))
    levels = range(len(bits) - left_out)
    cells = SHAPES[name]
    box = part_of(cells) if key.startswith("part") else [(0, n) for n in cells]
    ends = [int(word) for word in head["box"].split()]
    assert list(zip(ends[::2], (n + 1 for n in ends[1::2]), strict=True)) == box
    # OpenVisus refuses to read a level of which there is no sample.
    levels = [
        level
        for level in levels
        if all(
            -(-lo // n) * n < hi for (lo, hi), n in zip(box, stride_at(bits, level), strict=False)
        )
    ]
    asked = [(field, step, level) for field in fields for step in (0, 1) for level in levels]
    for one, found in zip(asked, read(path, asked), strict=True):
        field, step, level = one
        wanted = expected(name, scene(name).frames[step], field, stride_at(bits, level), box)
        assert found.dtype == wanted.dtype
        np.testing.assert_array_equal(found.reshape(wanted.shape), wanted, str(one))


def files_below(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*.bin")}


@pytest.mark.parametrize(
    ("few", "all_ranks"),
    [("gathered", "spread"), ("packed_gathered", "packed"), ("two_gathered", "two")],
)
def test_aggregators_write_the_same_files(played, few, all_ranks):
    """Few ranks write all blocks, each file is opened once, and every byte is the same."""
    _, results = played
    found = files_below(results / few / few)
    assert found == files_below(results / all_ranks / all_ranks)
    table = read_table(results / few / f"write_{few}.csv")
    assert table["files"].sum() == len(found)
    assert table.attributes["aggregators"] <= {"gathered": 2, "packed_gathered": 3}.get(few, 1)


def test_the_table_tells_what_was_chosen(played):
    _, results = played
    table = read_table(results / "plain" / "write_grid.csv")
    assert table["step"].tolist() == [0, 1]
    assert table.attributes["bits"] == header(results / "plain" / "grid.idx")["bits"]
    assert (table["bytes"] > 0).all()
