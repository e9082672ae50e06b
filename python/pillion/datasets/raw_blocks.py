# SPDX-License-Identifier: BSD-3-Clause
"""Blocks of raw files: the YAML index of the blocks, and reading a part of a field from the blocks
that have some of it.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import yaml

from pillion.datasets.file_arrays import Box, read_box
from pillion.datasets.kept import Kept
from pillion.errors import Error
from pillion.yaml_text import ProductLoader, explained


@dataclass(frozen=True)
class RawBlock:
    """A block of a step. Items are cells, particles or elements."""

    path: Path
    box: Box  # of its items: [z, y, x] or, of particles and elements, which they are among all
    offsets: tuple[int, ...]  # in the file, by field
    level: int = 0  # of a mesh with levels: its items are cells of this one

    @property
    def count(self) -> int:
        return math.prod(hi - lo for lo, hi in self.box)


@dataclass(frozen=True)
class RawIndex:
    """The contents of a raw dataset at a step."""

    path: Path
    blocks: tuple[RawBlock, ...]
    domain: Mapping[str, Any] | None  # of particles, as the file has it
    faces: tuple[np.ndarray, ...] = ()  # of a rectilinear mesh, by axis

    @property
    def items(self) -> int:
        return sum(block.count for block in self.blocks)


def read_map(path: Path) -> dict[str, Any]:
    """The head of a dataset or the index of a step. Raises Error if it is none."""
    try:
        found = yaml.load(path.read_text(encoding="utf-8"), Loader=ProductLoader)
    except OSError as error:
        raise Error(f"'{path}' cannot be read: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise Error(f"'{path}' cannot be read: {error}") from error
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        line = f"line {mark.line + 1}: " if mark is not None else ""
        why = explained("", error).partition(": ")[2].removeprefix("not valid YAML: ")
        raise Error(
            f"'{path}' cannot be read: {line}it is not an index of raw files: {why}"
        ) from error
    if not isinstance(found, dict):
        raise Error(f"'{path}' cannot be read: it is not an index of raw files")
    return found


def garbled(path: Path, error: Exception) -> Error:
    """For entries of such a file that are missing or are not what they should be."""
    return Error(f"'{path}' cannot be read: it lacks or garbles an entry: {error!r}")


def _read_index(path: Path) -> RawIndex:
    found = read_map(path)
    try:
        blocks = tuple(_blocks(found, path.parent.parent))
        faces = tuple(np.array(axis, np.float64) for axis in found.get("coordinates") or ())
        return RawIndex(path, blocks, found.get("domain"), faces)
    except (KeyError, TypeError, ValueError, AttributeError, IndexError) as error:
        raise garbled(path, error) from error


def _blocks(index: dict[str, Any], folder: Path) -> list[RawBlock]:
    """Files are named as seen from the folder of the head, which is that above the index."""
    out, before = [], 0
    for entry in index.get("blocks") or []:
        count = int(entry["count"])
        box: list[tuple[int, int]] = [(before, before + count)]
        if "lo" in entry:
            ends = zip(reversed(entry["lo"]), reversed(entry["hi"]), strict=True)
            box = [(int(lo), int(hi)) for lo, hi in ends]
        before += count
        offsets = tuple(int(offset) for offset in entry["offsets"])
        level = int(entry.get("level", 0))
        out.append(RawBlock(folder / str(entry["file"]), tuple(box), offsets, level))
    return out


_indices: Kept[RawIndex] = Kept(_read_index, 4 << 20)


def index_of(path: Path) -> RawIndex:
    """The index of a step. Raises Error if it cannot be read."""
    if not path.exists():
        raise Error(f"'{path}' cannot be read: there is no such file")
    return _indices(path)


@dataclass(frozen=True)
class RawField:
    """A field of such a dataset: which of the blocks' fields it is, and what each item has."""

    name: str
    number: int
    dtype: np.dtype
    inner: tuple[int, ...]  # components if there are several, then points of an element
    is_partial: bool = False  # blocks need not cover the mesh

    def read(self, index: RawIndex, box: Box, out: np.ndarray) -> None:
        """Reads a box of items into an array of its shape and `inner`, of a type that loses
        nothing; of a mesh with levels, cells of the coarsest. Cells that a partial mesh lacks
        become NaN, or 0 if the values are integers. Raises Error if a file cannot be read, or if
        blocks do not cover the box of another mesh.
        """
        if self.is_partial:
            out[...] = np.nan if out.dtype.kind == "f" else 0
        missing = math.prod(hi - lo for lo, hi in box)
        for block in index.blocks:
            common = [(max(a, c), min(b, d)) for (a, b), (c, d) in zip(box, block.box, strict=True)]
            if block.level > 0 or any(lo >= hi for lo, hi in common):
                continue
            ends = zip(common, box, strict=True)
            here = out[tuple(slice(lo - first, hi - first) for (lo, hi), (first, _) in ends)]
            self._read_common(block, common, here)
            missing -= math.prod(hi - lo for lo, hi in common)
        if missing > 0 and not self.is_partial:
            raise Error(f"'{index.path}' cannot be read: blocks of a step do not cover the mesh")

    def read_block(self, block: RawBlock, out: np.ndarray) -> None:
        """Reads all items of a block, as `read` does."""
        self._read_common(block, block.box, out)

    def _read_common(self, block: RawBlock, common: Box, out: np.ndarray) -> None:
        ends = zip(common, block.box, strict=True)
        within = [(lo - first, hi - first) for (lo, hi), (first, _) in ends]
        inner: list[tuple[int, int]] = [(0, extent) for extent in self.inner]
        shape = [hi - lo for lo, hi in block.box] + [*self.inner]
        offset = block.offsets[self.number]
        read_box(block.path, offset, self.dtype, shape, within + inner, out)

    def expect_whole(self, index: RawIndex, shape: Sequence[int]) -> None:
        """Raises Error unless all files have what the blocks of a step should have, and all blocks
        together, of the coarsest level, have as many values as an array of this shape.
        """
        found, each = 0, math.prod(self.inner)
        for block in index.blocks:
            count = block.count * each
            if len(block.offsets) <= self.number or any(lo > hi for lo, hi in block.box):
                raise Error(f"'{index.path}' cannot be read: a block of '{block.path}' is garbled")
            try:
                there = block.path.stat().st_size
            except OSError as error:
                raise Error(f"'{block.path}' cannot be read: {error.strerror}") from error
            needed = block.offsets[self.number] + count * self.dtype.itemsize
            if needed > there:
                raise Error(
                    f"'{block.path}' cannot be read: it is cut short: it has {there} bytes, and "
                    f"field '{self.name}' needs {needed}"
                )
            found += count if block.level == 0 else 0
        wanted = math.prod(shape)
        if found != wanted and not self.is_partial:
            raise Error(
                f"'{index.path}' cannot be read: its blocks have {found} values of field "
                f"'{self.name}', and the mesh {wanted}"
            )
