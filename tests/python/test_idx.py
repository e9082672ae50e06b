# SPDX-License-Identifier: BSD-3-Clause
"""The IDX reader against datasets written sample by sample, and against ones that are broken."""

import sys
import zlib
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import limits
import numpy as np
import pillion.idx
import pytest
from conftest import PACKAGE
from idx_writer import header, write_dataset
from openvisus_writer import random_field
from pillion.errors import Error

ROOT = Path(__file__).parents[2]
ABOUT = {"mask": "V210210210", "bits_per_block": 3, "per_file": 5}


def arrays(seed=0, shape=(6, 7, 8)):
    return [random_field(seed, shape, "float64", 3), random_field(seed + 9, shape, "int32", 2)]


def test_blocks_in_any_order_and_of_any_kind(tmp_path):
    """HZ order and rows, raw and compressed, in one file."""
    values = arrays()
    path = write_dataset(
        tmp_path, "d", {0: values}, **ABOUT, zipped=range(0, 64, 3), in_rows=range(0, 64, 2)
    )
    dataset = pillion.idx.open(path)
    assert dataset.steps == (0,)
    for name, wanted in zip(dataset, values, strict=True):
        for level in range(10):
            x, y, z = dataset.stride(level)
            np.testing.assert_array_equal(dataset[name][0, level], wanted[::z, ::y, ::x])


def test_levels_left_out(tmp_path):
    """The finest levels are not there, and not asked for."""
    values = arrays(shape=(8, 8, 8))
    path = write_dataset(tmp_path, "d", {0: values}, **ABOUT, left_out=3)
    dataset = pillion.idx.open(path)
    assert dataset.levels == 6
    assert dataset.shape == (8, 8, 8)
    found = dataset["f0"].read()
    assert found.stride == (2, 2, 2)
    np.testing.assert_array_equal(found.values, values[0][::2, ::2, ::2])
    np.testing.assert_array_equal(found.coordinates(0), [0, 2, 4, 6])
    with pytest.raises(Error, match="has the levels 0 to 6; 7 is not there"):
        dataset["f0"].read(level=7)
    path.write_text(path.read_text().replace("(levels_left_out)\n3", "(levels_left_out) 2"))
    assert pillion.idx.open(path).levels == 7


def test_several_ranges_of_steps(tmp_path):
    stored = {step: arrays(step) for step in (0, 4, 8, 9, 10, 12)}
    text = "t%03d/ (0,8,4) (9,10,1) (12,12,1)"
    dataset = pillion.idx.open(write_dataset(tmp_path, "d", stored, **ABOUT, steps=text))
    assert dataset.steps == tuple(stored)
    for step, values in stored.items():
        np.testing.assert_array_equal(dataset["f1"][step], values[1])
    with pytest.raises(Error, match="has no step 5; it has 0, 4, 8, 9, 10, 12"):
        dataset["f1"].read(5)


def test_progressive_reading_reads_nothing_twice(tmp_path):
    path = write_dataset(tmp_path, "d", {0: arrays()}, **ABOUT)
    dataset = pillion.idx.open(path)
    found = list(dataset["f0"].progressive())
    assert [samples.level for samples in found] == list(range(3, 10))
    np.testing.assert_array_equal(found[-1].values, arrays()[0])
    whole = dataset["f0"].read().bytes_read
    assert sum(samples.bytes_read for samples in found) == whole > 42 * 192  # that many blocks
    assert found[0].bytes_read == dataset["f0"].read(0, 3).bytes_read == 192  # one block is enough


def test_few_blocks_are_read_for_a_corner(tmp_path):
    dataset = pillion.idx.open(write_dataset(tmp_path, "d", {0: arrays()}, **ABOUT))
    found = dataset["f0"].read(0, None, ((0, 2), (0, 2), (0, 2)))
    np.testing.assert_array_equal(found.values, arrays()[0][:2, :2, :2])
    assert found.bytes_read == 4 * 192  # block 0, and one of each level that the corner is on


def test_threads_share_a_dataset(tmp_path):
    values = arrays()
    dataset = pillion.idx.open(write_dataset(tmp_path, "d", {0: values}, **ABOUT, zipped=[1, 2]))

    def read(part):
        return dataset["f1"].read(box=((part % 8, 8), (0, 7), (0, 6))).values

    with ThreadPoolExecutor(4) as threads:
        for part, found in enumerate(threads.map(read, range(40))):
            np.testing.assert_array_equal(found, values[1][:, :, part % 8 :])


@pytest.mark.parametrize(("fill", "byte"), [(7, 7), (-1, 255), (256 + 3, 3)])
def test_what_is_absent_is_filled_bytewise(tmp_path, fill, byte):
    values = arrays()
    path = write_dataset(tmp_path, "d", {0: values}, **ABOUT, fill=fill)
    dataset = pillion.idx.open(path)
    (tmp_path / "data/0005.bin").unlink()
    table = bytearray((tmp_path / "data/000a.bin").read_bytes())
    table[40 + 16 : 40 + 20] = bytes(4)  # the size of the first block in it
    (tmp_path / "data/000a.bin").write_bytes(table)
    found, wanted = dataset["f0"][0], values[0]
    filled = np.frombuffer(bytes([byte] * 8), dtype="float64")[0]
    missing = (found != wanted).any(axis=-1)
    assert 0 < missing.sum() < missing.size
    assert (found[missing].view(np.uint8) == byte).all(), filled
    assert not missing[::4, ::4, ::4].any()


def broken(tmp_path, change):
    """A dataset of which a file was changed, and that file."""
    dataset = pillion.idx.open(write_dataset(tmp_path, "d", {0: arrays()}, **ABOUT, zipped=[1]))
    path = tmp_path / "data/0000.bin"
    data = bytearray(path.read_bytes())
    changed = change(data)
    path.write_bytes(data if changed is None else changed)
    return dataset, path


def set_word(place, value):
    def change(data):
        data[place : place + 4] = value.to_bytes(4, "big")

    return change


@pytest.mark.parametrize(
    ("change", "why"),
    [
        (lambda data: data[:300], r"is cut short: it has 300 bytes, its head alone 440"),
        (lambda data: data[:-60], r"block \d of field 'f\d' is cut short: \d+ bytes at"),
        (lambda data: b"", "is cut short"),
        (set_word(40 + 12, 5), "block 0 of field 'f0' is cut short"),
        (set_word(40 + 16, 100), "block 0 of field 'f0' cannot be read: it holds 100 bytes"),
        (set_word(40 + 20, 6), "compressed with png, which is not read here"),
        (set_word(40 + 20, 8), "compressed with zfp, but its field has no default_compression"),
        (set_word(40 + 20, 9), "codec number 9, which is not read here"),
        (set_word(40 + 20, 3), "cannot be decompressed"),
        (set_word(40 + 20, 7), "cannot be decompressed"),
        (set_word(80 + 16, 40), "block 1 of field 'f0' cannot be read"),
    ],
)
def test_broken_files_are_errors_and_no_zeros(tmp_path, change, why):
    dataset, path = broken(tmp_path, change)
    with pytest.raises(Error, match=why) as raised:
        for name in dataset:
            dataset[name].read()
    assert str(path) in str(raised.value)


def test_a_block_of_another_size_once_decompressed(tmp_path):
    dataset, path = broken(tmp_path, lambda data: None)
    too_long, wrong = "it is longer than a block", "bytes where 192 were expected"
    for size, why in ((24 * 8 + 1, too_long), (10, wrong), (1 << 20, too_long)):
        data = bytearray(path.read_bytes())
        stored = zlib.compress(bytes(size))
        for place, value in ((8, len(data)), (12, 0), (16, len(stored)), (20, 3)):
            set_word(40 + place, value)(data)
        path.write_bytes(data + stored)
        dataset.refresh()
        with pytest.raises(Error, match=why):
            dataset["f0"].read(0, 3)


def test_a_block_whose_checksum_is_missing(tmp_path):
    dataset, path = broken(tmp_path, lambda data: None)
    data = bytearray(path.read_bytes())
    stored = zlib.compress(bytes(192))[:-4]
    for place, value in ((8, len(data)), (16, len(stored)), (20, 3)):
        set_word(40 + place, value)(data)
    path.write_bytes(data + stored)
    with pytest.raises(Error, match="its end is missing"):
        dataset["f0"].read(0, 3)


def test_without_the_compiled_module(tmp_path, monkeypatch):
    path = write_dataset(tmp_path, "d", {0: arrays()}, **ABOUT)
    monkeypatch.setitem(sys.modules, "pillion._idx", None)
    with pytest.raises(Error, match="this package has no compiled part for this Python"):
        pillion.idx.open(path)


def test_a_dataset_that_grows(tmp_path):
    stored = {0: arrays(0), 5: arrays(5)}
    path = write_dataset(tmp_path, "d", {0: stored[0]}, **ABOUT, steps="0 0 t%03d/")
    dataset = pillion.idx.open(path)
    field = dataset["f0"]
    assert not dataset.refresh()
    write_dataset(tmp_path, "d", stored, **ABOUT, steps="t%03d/ (0,5,5)")
    assert dataset.steps == (0,)
    assert dataset.refresh()
    assert dataset.steps == (0, 5)
    np.testing.assert_array_equal(field[5], stored[5][0])
    path.unlink()
    with pytest.raises(Error, match=r"cannot read .*d\.idx: No such file"):
        dataset.refresh()
    np.testing.assert_array_equal(field[5], stored[5][0])


def test_boxes_must_be_inside(tmp_path):
    field = pillion.idx.open(write_dataset(tmp_path, "d", {0: arrays()}, **ABOUT))["f0"]
    for box in (((0, 9), (0, 7), (0, 6)), ((-1, 3), (0, 7), (0, 6)), ((4, 3), (0, 7), (0, 6)),
                ((0, 8), (0, 7))):  # fmt: skip
        with pytest.raises(Error, match="is not inside it"):
            field.read(box=box)
    assert field.read(box=((3, 3), (0, 7), (0, 6))).values.shape == (6, 7, 0, 3)
    assert field.read(0, 0, ((1, 8), (0, 7), (0, 6))).values.shape == (1, 1, 0, 3)


PLAIN = {"mask": "V0101", "box": [(0, 4), (0, 3)], "fields": ["a float32"], "bits_per_block": 2,
         "per_file": 4}  # fmt: skip


def written(tmp_path, text):
    path = tmp_path / "d.idx"
    path.write_text(text)
    return path


def test_origin_and_physical_box(tmp_path):
    said = (
        '# analysis: a\n# stage: write\n# title: "Density"\n# time: 1e-05\n'
        '# configuration: "a: b\\n"\n'
        "# columns:\n#   - {name: a, units: K}\n"
    )
    more = "(physic_box)\n0 1.5 -2 2\n(unknown)\nthing\n"
    dataset = pillion.idx.open(written(tmp_path, said + header(**PLAIN, more=more)))
    assert dataset.origin["title"] == "Density"
    assert dataset.origin["time"] == 1e-5
    assert dataset.physical_box == ((0, 1.5), (-2, 2))
    assert (dataset.axes, dataset.shape, dataset.box) == (2, (3, 4), ((0, 4), (0, 3)))


@pytest.mark.parametrize("said", ["", "# by hand\n", "# a: [\n", "# a: b\n"])
def test_other_comments_are_no_origin(tmp_path, said):
    text = header(**PLAIN).replace("(bits)", f"{said}\n(bits)").replace("\n", "\r\n")
    dataset = pillion.idx.open(written(tmp_path, text))
    assert dataset.origin is None
    assert dataset.physical_box is None


def test_axes_that_are_there_for_nothing(tmp_path):
    text = header(**PLAIN).replace("0 3 0 2", "0 3 0 2 0 0 0 0 0 0")
    assert pillion.idx.open(written(tmp_path, text)).axes == 2


@pytest.mark.parametrize(
    ("entry", "dtype", "components", "fill"),
    [
        ("a float32[3] default_value(9)", "float32", 3, 9),
        ("a 3*float64", "float64", 3, 0),
        ("a uint16 min(1e+05) max(2e+09) default_value(-2)", "uint16", 1, 254),
    ],
)
def test_types(tmp_path, entry, dtype, components, fill):
    text = header(**PLAIN | {"fields": [entry, "b int8"]})
    dataset = pillion.idx.open(written(tmp_path, text))
    assert dataset.fields == ["a", "b"]
    field = dataset["a"]
    assert (field.dtype, field.components) == (np.dtype(dtype), components)
    nowhere = field.read().values  # there are no files
    assert set(nowhere.tobytes()) == {fill}


@pytest.mark.parametrize(
    ("old", "new", "why"),
    [
        ("(version)\n6", "(version)\n5", "it is of version 5; 6 is read here"),
        ("(version)\n6", "", r"it has no \(version\)"),
        ("(bits)\nV0101", "", r"it has no \(bits\)"),
        ("V0101", "V0100", r"\(bits\) has too few digits 1"),
        ("V0101", "F0101", "it must begin with V"),
        ("0 3 0 2", "0 3 0", "two numbers for each axis"),
        ("0 3 0 2", "0 3 2 0", "is empty or begins below 0"),
        ("0 3 0 2", "-1 3 0 2", "is empty or begins below 0"),
        ("0 3 0 2", "0 x 0 2", "holds something that is not a number"),
        ("a float32", "", r"it has no \(fields\)"),
        ("a float32", "a float31", "field 'a' is of a type that is not known: float31"),
        ("a float32", "a", "field 'a' has no type"),
        ("a float32", "a float32 + a int8", "has two of the name 'a'"),
        (
            "(blocksperfile)\n4",
            "(blocksperfile)\n0",
            "must be one number from 1",
        ),
        ("(blocksperfile)\n4", "(blocksperfile)\n2.5", "holds something that is not a number: 2.5"),
        ("./data", "", ""),
    ],
)
def test_headers_that_make_no_sense(tmp_path, old, new, why):
    text = header(**PLAIN)
    assert old in text
    if not why:
        assert pillion.idx.open(written(tmp_path, text.replace(old, new))).fields
        return
    with pytest.raises(Error, match=why) as raised:
        pillion.idx.open(written(tmp_path, text.replace(old, new)))
    assert str(raised.value).startswith(f"cannot read the dataset {tmp_path}/d.idx: ")


def test_what_is_no_dataset(tmp_path):
    for data, why in ((b"\xff\xfe", "not UTF-8"), (b"hello", "no .version")):
        (tmp_path / "d.idx").write_bytes(data)
        with pytest.raises(Error, match=why):
            pillion.idx.open(tmp_path / "d.idx")
    with pytest.raises(Error, match=r"cannot read .*: Is a directory"):
        pillion.idx.open(tmp_path)
    dataset = pillion.idx.open(written(tmp_path, header(**PLAIN)))
    with pytest.raises(Error, match="has no field 'b'; it has a"):
        dataset["b"]


def with_steps(tmp_path, text):
    return pillion.idx.open(written(tmp_path, header(**PLAIN, more=f"(time)\n{text}\n")))


@pytest.mark.parametrize(
    ("text", "steps"),
    [
        ("2 4 time%06d/", (2, 3, 4)),
        ("t%d/ (0,4,2) (9,9,1)", (0, 2, 4, 9)),
        ("0 9 t%d/ (0, 4, 2) (3,3,1)", (0, 2, 3, 4)),
    ],
)
def test_steps(tmp_path, text, steps):
    assert with_steps(tmp_path, text).steps == steps


@pytest.mark.parametrize(
    "text", ["* * t%d/", "t%d/", "4 2 t/", "t (0,1,0)", "t (0,99999999,1)", "1 2", "t (1,2"]
)
def test_steps_that_make_no_sense(tmp_path, text):
    with pytest.raises(Error, match=r"\(time\) makes no sense"):
        with_steps(tmp_path, text)


def test_codecs_that_are_not_known_are_no_matter_for_blocks_of_others(tmp_path):
    path = write_dataset(tmp_path, "d", {0: arrays()}, **ABOUT)
    text = path.read_text().replace("default_value", "default_compression(png) default_value")
    path.write_text(text)
    np.testing.assert_array_equal(pillion.idx.open(path)["f0"][0], arrays()[0])


def test_the_example_of_the_docs_runs(tmp_path):
    folder = tmp_path / "results/snapshots"
    folder.mkdir(parents=True)
    values = random_field(1, (8, 8, 8, 1), "float64", 1)
    path = write_dataset(folder, "gas", {0: [values], 7: [values]}, **ABOUT, steps="t%03d/ (0,7,7)")
    path.write_text(path.read_text().replace("f0 ", "density "))
    done = limits.run(
        [sys.executable, ROOT / "docs/examples/read_dataset.py"],
        cwd=tmp_path,
        env={"PYTHONPATH": str(PACKAGE)},
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert lines[0] == "['density'] (0, 7) (8, 8, 8) 9"
    assert lines[1] == "(2, 2, 2) (1, 8, 8)"
    assert lines[-1] == f"9 {values.mean()} (0, 0, 0) (1, 1, 1)"


@pytest.mark.parametrize("missing", [False, True])
def test_reading_into_an_array(tmp_path, missing):
    """Of any strides, of a type that loses nothing; what is nowhere is the fill value."""
    values = arrays()
    path = write_dataset(tmp_path, "d", {0: values}, **ABOUT)
    if missing:
        for file in sorted(tmp_path.rglob("*.bin"))[2:]:
            file.unlink()
    dataset = pillion.idx.open(path)
    box = ((1, 7), (0, 5), (2, 6))
    wanted = dataset["f1"].read(box=box).values
    out = np.zeros((2, 6, 5, 4)).T[..., 1]
    room = np.zeros((4, 5, 6, 2))
    samples = dataset["f1"].read(box=box, out=room)
    assert samples.values is room and samples.bytes_read > 0
    np.testing.assert_array_equal(room, wanted)
    if not missing:
        np.testing.assert_array_equal(wanted, values[1][2:6, 0:5, 1:7])
    for odd in (out, np.zeros((4, 5, 6, 2), np.float32), np.zeros((4, 5, 6, 2), np.int16)):
        with pytest.raises(Error, match=r"'f1' was asked for in an array .*; it is int32\[4, 5"):
            dataset["f1"].read(box=box, out=odd)
    strided = np.zeros((2, 6, 5, 4)).T
    dataset["f1"].read(box=box, out=strided)
    np.testing.assert_array_equal(strided, wanted)


def test_a_step_that_is_whole_or_not(tmp_path):
    path = write_dataset(tmp_path, "d", {0: arrays()}, **ABOUT)
    field = pillion.idx.open(path)["f1"]
    field.expect_whole(0)
    last = sorted(tmp_path.rglob("*.bin"))[-1]
    data = bytearray(last.read_bytes())
    last.write_bytes(data[:-300])
    with pytest.raises(Error, match=r"block \d+ of field 'f1' is cut short: 64 bytes at \d+ end"):
        field.expect_whole(0)
    last.unlink()
    with pytest.raises(Error, match="step 0 is not whole: there is no "):
        field.expect_whole(0)
    first = sorted(tmp_path.rglob("*.bin"))[0]
    data = bytearray(first.read_bytes())
    entry = 40 + 5 * 40  # of the second field's first block
    for place, value, said in ((20, 4, "compressed with jpg"), (16, 0, "block 0 .* is missing")):
        data[entry + place : entry + place + 4] = value.to_bytes(4, "big")
        first.write_bytes(data)
        with pytest.raises(Error, match=said):
            field.expect_whole(0)


def test_a_box_without_a_sample_of_the_first_block(tmp_path):
    """Which need not be there then."""
    values = [random_field(1, (3, 3, 3, 1), "int32", 1)]
    path = write_dataset(tmp_path, "d", {0: values}, **ABOUT, low=(5, 5, 5))
    pillion.idx.open(path)["f0"].expect_whole(0)
