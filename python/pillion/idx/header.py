# SPDX-License-Identifier: BSD-3-Clause
"""The text file of an IDX dataset, version 6: its box, fields, bitmask and blocks, and its time
steps with the folders that their files are in.

Lines that begin with a parenthesis are keys, the lines after each are its value. Comment lines may
hold the YAML document that Pillion writes at the head of its products.
"""

import math
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import yaml

from pillion.errors import Error
from pillion.idx.bitmask import AXES, Bitmask
from pillion.idx.grid import Box
from pillion.idx.zfp import Loss, read_loss
from pillion.yaml_text import ProductLoader

MOST = 10_000_000
RANGE = re.compile(r"\(\s*(-?\d+)\s*,\s*(-?\d+)\s*,\s*(\d+)\s*\)")
KINDS = {
    f"{kind}{8 * size}": f"<{kind[0]}{size}" for kind in ("uint", "int") for size in (1, 2, 4, 8)
}
BITS_PER_BLOCK = 16  # where a header does not say it


@dataclass(frozen=True)
class Steps:
    """Numbers in increasing order, and a template such as "time%06d/"."""

    numbers: tuple[int, ...]
    folder: str

    def folder_of(self, step: int) -> str:
        """The template with the step in it, as printf would have it."""
        return re.sub(r"%(0?)(\d*)d", lambda m: f"{step:{m[1]}{m[2]}d}", self.folder, count=1)


def read_steps(text: str) -> Steps:
    """Of "FIRST LAST FOLDER", or "FOLDER (A,B,STEP) …" with those two in front or not.

    Without text there is step 0 alone, and no folder.
    """
    if not text:
        return Steps((0,), "")
    ranges = [(int(a), int(b), int(step)) for a, b, step in RANGE.findall(text)]
    words = RANGE.sub("", text).split()
    if len(words) == 3 and all(re.fullmatch(r"-?\d+", word) for word in words[:2]):
        ranges = ranges or [(int(words[0]), int(words[1]), 1)]
    elif len(words) != 1 or not ranges:
        raise Error(f"(time) makes no sense: {text}")
    for first, last, step in ranges:
        if step < 1 or last < first or (last - first) // step >= MOST:
            raise Error(f"(time) has a range that makes no sense: {text}")
    numbers = {n for first, last, step in ranges for n in range(first, last + 1, step)}
    return Steps(tuple(sorted(numbers)), words[-1])


KINDS |= {"float32": "<f4", "float64": "<f8"}


@dataclass(frozen=True)
class Entry:
    """A field, as the header describes it."""

    name: str
    dtype: np.dtype  # of a component, little-endian
    components: int
    fill: int  # byte of samples that are nowhere
    loss: Loss | None  # by zfp, if that is what its blocks are compressed with

    @property
    def sample_size(self) -> int:
        return self.dtype.itemsize * self.components


@dataclass(frozen=True)
class Header:
    axes: int
    box: Box  # of three axes, [0, 1) where there are fewer
    fields: dict[str, Entry]
    mask: Bitmask
    bits_per_block: int
    blocks_per_file: int
    files: str  # template of their names
    steps: Steps
    physical_box: tuple[tuple[float, float], ...] | None
    left_out: int  # number of finest levels that are not stored
    origin: dict[str, Any] | None

    @property
    def finest(self) -> int:
        return self.mask.bits - self.left_out

    @property
    def block_samples(self) -> int:
        return 1 << self.bits_per_block


def read_header(path: Path) -> Header:
    """Raises Error if the file is missing, lacks something or makes no sense."""
    try:
        text = path.read_text(encoding="utf-8")
    except OSError as error:
        raise Error(f"cannot read {path}: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise Error(f"{path} is no IDX dataset: it is not UTF-8 text") from error
    try:
        return _header(_Values(text), _origin(text))
    except Error as error:
        raise Error(f"cannot read the dataset {path}: {error}") from error


class _Values:
    """The text as values by key."""

    def __init__(self, text: str) -> None:
        self._texts: dict[str, str] = {}
        key = ""
        for line in text.split("\n"):
            if line.startswith("("):
                key, _, line = line[1:].partition(")")
                self._texts[key] = ""
            if key and not line.startswith("#"):
                self._texts[key] = f"{self._texts[key]} {line}".strip()

    def __contains__(self, key: str) -> bool:
        return key in self._texts

    def text(self, key: str) -> str:
        if not self._texts.get(key):
            raise Error(f"it has no ({key})")
        return self._texts[key]

    def numbers(self, key: str) -> list[float]:
        try:
            values = [float(word) for word in self.text(key).split()]
        except ValueError:
            values = [math.nan]
        if not all(map(math.isfinite, values)):
            raise Error(f"({key}) holds something that is no number: {self.text(key)}")
        return values

    def pairs(self, key: str) -> list[tuple[float, float]]:
        values = self.numbers(key)
        if len(values) % 2 != 0:
            raise Error(f"({key}) needs two numbers for each axis, not {self.text(key)}")
        return list(zip(values[::2], values[1::2], strict=True))

    def number(self, key: str, least: int, most: int) -> int:
        values = self.numbers(key)
        if len(values) != 1 or not least <= values[0] <= most or values[0] % 1 != 0:
            raise Error(f"({key}) must be one from {least} to {most}, not {self.text(key)}")
        return int(values[0])


def _header(values: _Values, origin: dict[str, Any] | None) -> Header:
    version = values.text("version").partition(".")[0]
    if version != "6":
        raise Error(f"it is of version {version}; 6 is read here")
    if "arco" in values and values.text("arco") != "0":
        raise Error("it has a file for each block (arco), which is not read here")
    mask = Bitmask.parse(values.text("bits"))
    axes, box = _box(values, mask)
    bits_per_block = BITS_PER_BLOCK
    if "bitsperblock" in values:
        bits_per_block = values.number("bitsperblock", 1, 30)
    left_out = values.number("levels_left_out", 0, mask.bits) if "levels_left_out" in values else 0
    of_all = "physical_box_of_all_axes"
    key = of_all if of_all in values else "physic_box"
    physical = values.pairs(key) if key in values else None
    return Header(
        axes=axes,
        box=box,
        fields={entry.name: entry for entry in _fields(values.text("fields"))},
        mask=mask,
        bits_per_block=min(bits_per_block, mask.bits),
        blocks_per_file=values.number("blocksperfile", 1, 1 << 40),
        files=values.text("filename_template"),
        steps=read_steps(values.text("time") if "time" in values else ""),
        physical_box=tuple(physical[:axes]) if physical and len(physical) >= axes else None,
        left_out=left_out,
        origin=origin,
    )


def _box(values: _Values, mask: Bitmask) -> tuple[int, Box]:
    """Axes beyond the third are those that some writers add for nothing."""
    pairs = values.pairs("box")
    axes = len(pairs) if len(pairs) <= AXES else max(mask.axes, default=0) + 1
    box = [(int(lo), int(hi) + 1) for lo, hi in pairs[:axes]]
    box += [(0, 1)] * (AXES - axes)
    for axis, ((lo, hi), extent) in enumerate(zip(box, mask.extents, strict=True)):
        if not 0 <= lo < hi:
            raise Error(f"(box) is empty or begins below 0: {values.text('box')}")
        if hi > extent:
            raise Error(f"(bits) has too few digits {axis} for the box: {mask}")
    return axes, tuple(box)


def _fields(text: str) -> list[Entry]:
    """Entries are set apart by +, which within parentheses is part of a number."""
    entries = [_entry(part) for part in re.split(r"\+(?![^(]*\))", text) if part.strip()]
    names = [entry.name for entry in entries]
    if not entries or len(set(names)) < len(names):
        raise Error(f"(fields) names no field, or two alike: {text}")
    return entries


def _entry(text: str) -> Entry:
    name, _, rest = text.strip().partition(" ")
    kind = re.match(r"\s*(?:(\d+)\*)?([a-z]+\d+)(?:\[(\d+)\])?(?=\s|$)", rest)
    components = int(kind[1] or kind[3] or 1) if kind else 0
    if kind is None or kind[2] not in KINDS or components < 1:
        raise Error(f"field '{name}' is of a type that is not known: {rest.strip()}")
    fill = re.search(r"default_value\(\s*([-+]?\d+)", rest)
    compression = re.search(r"default_compression\(\s*(.*?)\s*\)", rest)
    return Entry(
        name=name,
        dtype=np.dtype(KINDS[kind[2]]),
        components=components,
        fill=int(fill[1]) & 255 if fill else 0,
        loss=read_loss(compression[1]) if compression else None,
    )


def _origin(text: str) -> dict[str, Any] | None:
    """What comment lines say, if it is what Pillion writes."""
    lines = [line[2:] for line in text.split("\n") if line.startswith("#")]
    try:
        found = yaml.load("\n".join(lines), Loader=ProductLoader)  # the loader is a safe one
    except yaml.YAMLError:
        return None
    return found if isinstance(found, dict) and {"analysis", "stage"} <= found.keys() else None
