# SPDX-License-Identifier: BSD-3-Clause
"""Writes IDX datasets as the definition of the format says it, one sample after the other: what the
reader is tested with where OpenVisus writes nothing of the kind. Slow, and meant to be.
"""

import struct
import zlib
from itertools import product
from pathlib import Path

import numpy as np


def address(mask, point):
    """HZ address of a sample, bit by bit; `mask` is a text such as V0101."""
    left, z = list(point), 0
    for bit, digit in enumerate(reversed(mask[1:])):
        axis = int(digit)
        z |= (left[axis] & 1) << bit
        left[axis] >>= 1
    assert not any(left), "the point is outside the grid"
    marked = z | 1 << (len(mask) - 1)
    while marked & 1 == 0:
        marked >>= 1
    return marked >> 1


def level(hz):
    return hz.bit_length()


def header(*, mask, box, fields, bits_per_block, per_file, files="./data/%04x.bin", more=""):
    """`box` has pairs [lo, hi); `fields` texts such as "a float32"."""
    ends = " ".join(f"{lo} {hi - 1}" for lo, hi in box)
    return (
        f"(version)\n6\n(box)\n{ends}\n(fields)\n" + "\n+ ".join(fields) + f"\n(bits)\n{mask}\n"
        f"(bitsperblock)\n{bits_per_block}\n(blocksperfile)\n{per_file}\n"
        f"(filename_template)\n{files}\n{more}"
    )


def blocks_of(values, *, mask, low, bits_per_block, finest):
    """Blocks in HZ order by number: `values` is indexed [z, y, x, component]."""
    found = {}
    count = 1 << bits_per_block
    for k, j, i in product(*map(range, values.shape[:3])):
        hz = address(mask, (i + low[0], j + low[1], k + low[2]))
        if level(hz) <= finest:
            block = hz >> bits_per_block
            if block not in found:
                found[block] = np.zeros((count, values.shape[3]), dtype=values.dtype)
            found[block][hz % count] = values[k, j, i]
    return found


def row_major(block, number, mask, bits_per_block):
    """The same samples in order of their coordinates, the first axis fastest."""
    points = {}
    for axes in product(*(range(1 << mask.count(str(a))) for a in (2, 1, 0))):
        hz = address(mask, axes[::-1])
        if hz >> bits_per_block == number:
            points[axes] = hz % (1 << bits_per_block)
    return block[[points[axes] for axes in sorted(points)]]


def write_file(path: Path, blocks, *, first, per_file, zipped=(), in_rows=(), mask=""):
    """One file; `blocks` has for each field the blocks by number."""
    size = 40 + 40 * per_file * len(blocks)
    table, payload = bytearray(size), b""
    for field, of_field in enumerate(blocks):
        for number, block in sorted(of_field.items(), reverse=True):  # any order will do
            flags = 0
            if number in in_rows:
                flags |= 0x10
                block = row_major(block, number, mask, (len(block) - 1).bit_length())
            data = block.astype(block.dtype.newbyteorder("<")).tobytes()
            if number in zipped:
                flags |= 3
                data = zlib.compress(data)
            place = 40 + 40 * (field * per_file + number - first)
            at = size + len(payload)
            struct.pack_into(">4I", table, place + 8, at & 0xFFFFFFFF, at >> 32, len(data), flags)
            payload += data + b"\xff" * 3  # and at any place
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(bytes(table) + payload)


def write_dataset(folder, name, arrays, *, low=(0, 0, 0), left_out=0, steps=None, **about):
    """`arrays[step][field]` is indexed [z, y, x, component]; `steps` is the text of (time)."""
    mask, per_block, per_file = about["mask"], about["bits_per_block"], about["per_file"]
    shape = next(iter(arrays.values()))[0].shape
    box = [(a, a + n) for a, n in zip(low, shape[2::-1], strict=True)]
    more = about.get("more", "") + (f"(levels_left_out)\n{left_out}\n" if left_out else "")
    more += f"(time)\n{steps}\n" if steps else ""
    fields = [
        f"f{n} {a.dtype}[{a.shape[3]}] default_value({about.get('fill', 0)})"
        for n, a in enumerate(next(iter(arrays.values())))
    ]
    text = header(mask=mask, box=box, fields=fields, bits_per_block=per_block, per_file=per_file,
                  more=more)  # fmt: skip
    for step, values in arrays.items():
        found = [
            blocks_of(a, mask=mask, low=low, bits_per_block=per_block,
                      finest=len(mask) - 1 - left_out)
            for a in values
        ]  # fmt: skip
        for first in sorted({b // per_file * per_file for of_field in found for b in of_field}):
            of_file = [{b: v for b, v in f.items() if first <= b < first + per_file} for f in found]
            path = folder / "data" / (f"t{step:03d}" if steps else "") / f"{first:04x}.bin"
            ways = {way: about.get(way, ()) for way in ("zipped", "in_rows")}
            write_file(path, of_file, first=first, per_file=per_file, mask=mask, **ways)
    path = folder / f"{name}.idx"
    path.write_text(text)
    return path
