# SPDX-License-Identifier: BSD-3-Clause
"""What OpenVisus writes is read here: every sample of every level."""

import json
import sys
from dataclasses import asdict, dataclass
from pathlib import Path

import idx_writer
import limits
import numpy as np
import pillion.idx
import pytest

WRITER = Path(__file__).with_name("openvisus_writer.py")


@dataclass(frozen=True)
class Case:
    name: str
    shape: tuple
    mask: str
    fields: tuple = (("a", "float32", 1),)
    low: tuple = ()
    bits_per_block: int = 8
    per_file: int = 16
    options: str = ""
    steps: tuple = (0,)

    @property
    def header(self):
        low = self.low or (0,) * len(self.shape)
        box = [(lo, lo + n) for lo, n in zip(low, reversed(self.shape), strict=True)]
        fields = [f"{n} {t}{f'[{c}]' if c > 1 else ''} {self.options}" for n, t, c in self.fields]
        more = f"(time)\n{self.steps[0]} {self.steps[-1]} t%02d/\n" if len(self.steps) > 1 else ""
        return idx_writer.header(
            mask=self.mask,
            box=box,
            fields=fields,
            bits_per_block=self.bits_per_block,
            per_file=self.per_file,
            files=f"./{self.name}/%02x/%02x.bin",
            more=more,
        )


HZ, ROWS = "default_layout(hzorder)", "default_layout(row_major)"
ZIP, LZ4 = "default_compression(zip)", "default_compression(lz4)"
ZFP = "default_compression(zfp-reversible-reversible)"
EVERY_TYPE = tuple(
    (t, t, 1) for t in ("uint8", "int8", "uint16", "int16", "uint32", "int32", "uint64", "int64")
) + (("float32", "float32", 1), ("float64", "float64", 1), ("vector", "float64", 3))
SCALARS = tuple((t, t, 1) for t in ("int32", "int64", "float32", "float64"))
CASES = [
    Case("irregular", (22, 36, 22), "V0120120120120121", EVERY_TYPE, options=HZ),
    Case("rows", (22, 36, 22), "V0120120120120121", EVERY_TYPE, options=ROWS, bits_per_block=9),
    Case("steps", (16, 16, 16), "V012012012012", steps=(3, 4, 5), options=f"{HZ} {ZIP}"),
    Case("lz4", (22, 36, 22), "V1012012012012012", (("v", "float32", 3),), options=f"{ROWS} {LZ4}"),
    Case("zip", (13, 40, 9), "V11012012012012", (("v", "int16", 3),), options=f"{ROWS} {ZIP}"),
    Case("boxes", (24, 48, 48), "V01012210210210210", bits_per_block=6, per_file=5, options=HZ),
    Case("boxes_last", (20, 24, 40), "V0001112222102100", bits_per_block=7, options=HZ),
    Case("plane", (45, 60), "V010101010101", (("p", "float64", 1), ("q", "uint8", 3))),
    Case("plane_long", (5, 100), "V0000101010", bits_per_block=3, per_file=3, options=HZ),
    Case("offset", (7, 9, 11), "V012012012012012", low=(17, 5, 20), bits_per_block=5, options=HZ),
    Case("offset_rows", (7, 9, 11), "V012012012012012", low=(17, 5, 20), options=f"{ROWS} {LZ4}"),
    Case("zfp", (22, 36, 22), "V0120120120120121", SCALARS, options=f"{ROWS} {ZFP}"),
    Case("zfp_flat", (3, 40, 9), "V111012012010", SCALARS, options=f"{ROWS} {ZFP}"),
    Case("zfp_plane", (45, 60), "V010101010101", SCALARS, options=f"{ROWS} {ZFP}"),
    Case("one_block", (16, 16, 16), "V012012012012", bits_per_block=16, per_file=1, options=ROWS),
]  # fmt: skip


@pytest.fixture(scope="module")
def written(tmp_path_factory):
    folder = tmp_path_factory.mktemp("openvisus")
    cases = [
        asdict(case) | {"header": case.header, "low": case.low or (0,) * len(case.shape)}
        for case in CASES
    ]
    (folder / "cases.json").write_text(json.dumps(cases))
    done = limits.run(
        [sys.executable, WRITER, folder, folder / "cases.json"],
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-2000:]
    return folder


def expected(values, low, stride):
    """The samples at multiples of the strides, picked one by one from the definition."""
    picks = [
        [k for k in range(n) if (k + lo) % s == 0]
        for n, lo, s in zip(values.shape, reversed(low), reversed(stride))
    ]
    return values[np.ix_(*picks, *(range(n) for n in values.shape[len(low) :]))]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_every_sample_of_every_level(written, case):
    dataset = pillion.idx.open(written / f"{case.name}.idx")
    low = case.low or (0,) * len(case.shape)
    assert dataset.shape == case.shape
    assert dataset.steps == case.steps
    assert dataset.levels == len(case.mask) - 1
    for name, dtype, components in case.fields:
        field = dataset[name]
        assert (field.dtype, field.components) == (np.dtype(dtype), components)
        for step in case.steps:
            values = np.load(written / f"{case.name}.{name}.{step}.npy")
            for level in range(dataset.levels + 1):
                found = field.read(step, level)
                np.testing.assert_array_equal(
                    found.values, expected(values, low, found.stride), strict=True
                )
            np.testing.assert_array_equal(field[step], values)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_parts_coarse_to_fine(written, case):
    dataset = pillion.idx.open(written / f"{case.name}.idx")
    name, step = case.fields[-1][0], case.steps[-1]
    values = np.load(written / f"{case.name}.{name}.{step}.npy")
    low = case.low or (0,) * len(case.shape)
    rng = np.random.default_rng(1)
    for _ in range(4):
        box = [tuple(sorted(rng.integers(lo, hi + 1, 2).tolist())) for lo, hi in dataset.box]
        box[0] = box[0] if box[0][0] < box[0][1] else dataset.box[0]
        part = tuple(slice(a - lo, b - lo) for (a, b), lo in zip(box, low, strict=True))[::-1]
        for found in dataset[name].progressive(step, box, range(dataset.levels + 1)):
            wanted = expected(values[part], [a for a, _ in box], found.stride)
            np.testing.assert_array_equal(found.values, wanted, strict=True)
            if found.values.size:
                corner = tuple(o - lo for o, lo in zip(found.origin, low))[::-1]
                np.testing.assert_array_equal(found.values[(0,) * len(low)], values[corner])


def test_blocks_are_stored_as_asked(written):
    """Else the cases would not be what their names say."""
    flags = {}
    for case in CASES:
        table = np.fromfile(next((written / case.name).rglob("00.bin")), dtype=">u4", count=20)
        flags[case.name] = int(table[15])
    assert flags["irregular"] == 0 or flags["irregular"] & 0x10 == 0
    assert flags["rows"] == 0x10
    assert flags["steps"] == 3
    assert flags["lz4"] == 0x17
    assert flags["zip"] == 0x13
    assert flags["zfp"] == flags["zfp_flat"] == flags["zfp_plane"] == 0x18
