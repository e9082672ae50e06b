# SPDX-License-Identifier: BSD-3-Clause
"""Datasets that the stage `write_idx` compresses with zfp, read by OpenVisus and by pillion.idx at
every level: the same samples where nothing is to be lost, and within the bound where something is.
"""

import re
from functools import cache
from pathlib import Path

import numpy as np
import pillion.idx
import pytest
from conftest import read_table
from datasets import analyses, listed
from frames import Frame
from placements import cases
from pool import results_of_case
from read_idx import read
from scenes import Placement, Scene
from test_write_idx import header, stride_at

SHAPES = {
    "brick": (22, 36, 22),
    "cube": (32, 32, 32),
    "thin": (48, 5, 3),
    "sheet": (45, 70),
    "flat": (40, 33, 1),
    "line": (300, 1),
}
FIELDS = {"density": 1, "velocity": 3, "level": 1, "ids": 1, "masked": 1}
CATALOGUE = """
meshes:
  grid: {{kind: uniform, cells: [{cells}], length: [{cells}], units: m}}
fields:
  density: {{mesh: grid, type: float64}}
  velocity: {{mesh: grid, type: float32, components: 3}}
  level: {{mesh: grid, type: int32}}
  ids: {{mesh: grid, type: int64}}
  masked: {{mesh: grid, type: float64}}
"""
EVERYTHING = f"fields: [{', '.join(FIELDS)}]"
STAGES = {
    "exact": f"{EVERYTHING}, compression: zfp, bits_per_block: 9, blocks_per_file: 5",
    "near": f"{EVERYTHING}, compression: {{zfp: {{tolerance: 1.0e-3}}}}, bits_per_block: 10",
    "some": f"{EVERYTHING}, compression: {{zfp: {{precision: 20}}}}",
    "each": f"{EVERYTHING}, compression: {{zfp: {{tolerance: {{density: 1e-9}}, "
    "precision: {velocity: 12}}}, bits_per_block: 6, aggregators: 1",
    "tight": "fields: [density], compression: {zfp: {tolerance: 1e-18}}",
    "shared": f"{EVERYTHING}, compression: {{zfp: {{tolerance: 0.5}}}}, phases: 2, "
    "bits_per_block: 8",
    "coarse": "fields: [density], compression: zfp, leave_out: 4, bits_per_block: 5",
}
# What zfp may do to fields of reals; whatever is not here comes back as it was.
TOLERANCES = {("near", "density"): 1e-3, ("near", "velocity"): 1e-3, ("near", "masked"): 1e-3}
TOLERANCES |= {("shared", "density"): 0.5, ("shared", "velocity"): 0.5, ("shared", "masked"): 0.5}
TOLERANCES |= {("each", "density"): 1e-9}
PRECISIONS = {("some", "density"): 20, ("some", "velocity"): 20, ("some", "masked"): 20}
PRECISIONS |= {("each", "velocity"): 12}


def frame(cells, step: int) -> Frame:
    rng = np.random.default_rng(step)
    count = int(np.prod(cells))
    places = np.indices(cells[::-1]).reshape(len(cells), -1) / 9
    smooth = np.prod(np.cos(places + step), axis=0) * 100 + rng.normal(size=count) * 1e-4
    masked = smooth.copy()
    masked[: count // 3] = np.nan
    masked[-1] = np.inf
    values = {
        "density": smooth,
        "velocity": np.stack([smooth, -smooth, smooth**2], axis=1).astype(np.float32),
        "level": rng.integers(-(2**31), 2**31, count).astype(np.int32),
        "ids": rng.integers(-(2**63), 2**63 - 1, count),
        "masked": masked,
    }
    return Frame(step, 0.5 * step, values)


@cache
def scene(name: str) -> Scene:
    cells = SHAPES[name]
    stages = {key: f"write_idx: {{{words}, name: {key}}}" for key, words in STAGES.items()}
    text = CATALOGUE.format(cells=listed(cells))
    frames = [frame(cells, step) for step in range(2)]
    arguments = ("--cells", ",".join(map(str, cells)))
    return Scene(name, frames, text, analyses(stages), "grid_driver", arguments)


@pytest.fixture(scope="module", autouse=True)
def zfp(build):
    if "PILLION_ZFP:INTERNAL=ON" not in (build / "CMakeCache.txt").read_text():
        pytest.skip("the stage write_idx was built without zfp")


PLACEMENTS = {
    "brick": [
        *(Placement(1, 0, "slabs"), Placement(3, 0, "uneven"), Placement(5, 0, "many")),
        Placement(2, 2, "many"),
    ],
    "cube": [Placement(2, 0, "slabs")],
    "thin": [Placement(3, 0, "slabs")],
    "sheet": [Placement(2, 1, "many")],
    "flat": [Placement(2, 0, "slabs")],
}


@pytest.fixture(scope="module", params=cases(PLACEMENTS))
def played(request, build, tmp_path_factory):
    name, _ = request.param
    _, results = results_of_case(
        request, build, tmp_path_factory, lambda case, _: (scene(case[0]), case[1])
    )
    return name, results


def component(field: str) -> tuple[str, int]:
    name, _, number = field.partition("_")
    return name, int(number or 0)


def expected(name: str, frame: Frame, field: str, stride: list[int]) -> np.ndarray:
    of, number = component(field)
    cells = SHAPES[name]
    values = frame[of].reshape(*cells[::-1], -1)[..., number]
    return values[tuple(slice(None, None, s) for s in stride[: len(cells)][::-1])]


def bound(key: str, field: str, wanted: np.ndarray, axes: int) -> float:
    """The largest error. With a precision of p bits, the bits of each 4 x 4 x 4 samples below
    2^(e - p) are lost, where 2^e is above all of them; transforming back makes of that at most
    2^(2 (axes + 1)) times as much, as the library's own mode of tolerances assumes."""
    of = (key, component(field)[0])
    if of in PRECISIONS:
        exponent = np.frexp(np.abs(wanted[np.isfinite(wanted)]).max())[1]
        return 2.0 ** (exponent - PRECISIONS[of] + 2 * (axes + 1))
    return TOLERANCES.get(of, 0.0)


def check(found: np.ndarray, wanted: np.ndarray, limit: float, what: str) -> None:
    assert found.dtype == wanted.dtype and found.shape == wanted.shape, what
    if limit == 0.0:
        np.testing.assert_array_equal(found, wanted, what)
        return
    finite = np.isfinite(wanted)
    np.testing.assert_array_equal(found[~finite], wanted[~finite], what)
    assert np.abs(found[finite] - wanted[finite]).max(initial=0) <= limit, what


@pytest.mark.parametrize("key", STAGES)
def test_every_sample_of_every_level(played, key):
    name, results = played
    path = results / key / f"{key}.idx"
    head = header(path)
    bits = head["bits"]
    axes = int(max(bits[1:])) + 1
    fields = [line.removeprefix("+ ").split()[0] for line in head["fields"].splitlines()]
    levels = range(len(bits) - int(head.get("levels_left_out", 0)))
    asked = [(field, step, level) for field in fields for step in (0, 1) for level in levels]
    ours = pillion.idx.open(path)
    for one, found in zip(asked, read(path, asked), strict=True):
        field, step, level = one
        values = scene(name).frames[step]
        wanted = expected(name, values, field, stride_at(bits, level))
        limit = bound(key, field, expected(name, values, field, [1, 1, 1]), axes)
        check(found.reshape(wanted.shape), wanted, limit, str(one))
        np.testing.assert_array_equal(ours[field][step, level], found.reshape(wanted.shape))


def flags(path: Path) -> set[int]:
    """Of all blocks that are stored."""
    head = header(path)
    count = len(head["fields"].splitlines()) * int(head["blocksperfile"])
    found = set()
    for file in path.with_suffix("").rglob("*.bin"):
        entries = np.fromfile(file, dtype=">u4", count=10 * (count + 1)).reshape(-1, 10)[1:]
        found |= set(entries[entries[:, 4] > 0, 5].tolist())
    return found


def test_blocks_are_streams(played):
    """In rows, except where something would be lost that must not be."""
    _, results = played
    assert flags(results / "tight" / "tight.idx") == {0}
    assert flags(results / "near" / "near.idx") == {0, 0x18}
    assert 0x18 in flags(results / "exact" / "exact.idx")
    assert flags(results / "coarse" / "coarse.idx") <= {0, 0x18}


def test_text_and_table(played):
    name, results = played
    lines = header(results / "each" / "each.idx")["fields"].splitlines()
    modes = {line.removeprefix("+ ").split()[0]: line for line in lines}
    axes = range(3)
    assert list(modes) == ["density", *(f"velocity_{d}" for d in axes), "level", "ids", "masked"]
    assert "(zfp-accuracy=0.000000001-accuracy=0.000000001)" in modes["density"]
    assert all("(zfp-precision=12-precision=12)" in modes[f"velocity_{d}"] for d in axes)
    assert all("(zfp-reversible-reversible)" in modes[f] for f in ("level", "ids", "masked"))
    tables = {key: read_table(results / key / f"write_{key}.csv") for key in STAGES}
    assert tables["exact"].attributes["split_into_components"] == "velocity"
    if name == "cube":  # others have few samples, or many beyond the mesh
        whole = 32**3 * 8
        assert (tables["tight"]["bytes"] >= whole).all()
        assert (tables["some"]["bytes"] < 0.8 * tables["exact"]["bytes"]).all()


REFUSED = {
    "zip: {}": "unknown key 'zip'",
    "zfp: {rate: 8}": "unknown key 'rate'",
    "zfp: 16": r"expected \{tolerance: …\} or \{precision: …\}",
    "zfp: {tolerance: 0}": "the largest absolute error, above 0, not 0",
    "zfp: {tolerance: .inf}": "expected a number|above 0, not .inf",
    "zfp: {precision: 65}": "a number of bits from 1 to 64, not 65",
    "zfp: {precision: 2.5}": "expected an integer, not '2.5'",
    "zfp: {tolerance: 1, precision: 3}": "'density' can have a tolerance or a precision",
    "zfp: {tolerance: {pressure: 1}}": "'pressure' is not one of the written fields",
    "zfp: {tolerance: {ids: 1}}": "'ids' has integers",
}


@pytest.mark.parametrize("words", REFUSED)
def test_refused(words, build, tmp_path):
    check_refused("brick", f"compression: {{{words}}}", REFUSED[words], build, tmp_path)


@pytest.mark.parametrize("mesh", ["line"])
def test_one_axis_refused(mesh, build, tmp_path):
    """OpenVisus crashes at such streams."""
    message = "zfp needs a mesh with cells along its second or third axis"
    check_refused(mesh, "compression: zfp", message, build, tmp_path)


def test_nobody_compresses_in_one_phase(build, tmp_path):
    check_refused("brick", "compression: zfp, phases: 1", "with `phases: 1`", build, tmp_path)


def check_refused(mesh: str, words: str, message: str, build: Path, folder: Path) -> None:
    cells = SHAPES[mesh]
    stage = f"write_idx: {{fields: [density, ids], {words}}}"
    text = CATALOGUE.format(cells=listed(cells))
    arguments = ("--cells", ",".join(map(str, cells)))
    of = Scene(mesh, [frame(cells, 0)], text, analyses({"a": stage}), "grid_driver", arguments)
    _, done = of.run(build, folder, Placement(1, 0, "slabs"), fails=True)
    assert re.search(message, done.stderr), done.stderr
