# SPDX-License-Identifier: BSD-3-Clause
"""The texts of AMReX plotfiles: the header of a plotfile, the list of boxes of a level, and the
line before the values of a box. All of AMReX's versions since the name HyperCLaw-V1.1 are read.

Boxes are half-open here, with x first, and begin at the lower corner of the level's domain.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

import numpy as np

from pillion import shared_files
from pillion.errors import Error

_FORMATS: dict[tuple[int, ...], np.dtype] = {
    (64, 11, 52, 0, 1, 12, 0, 1023): np.dtype(np.float64),
    (32, 8, 23, 0, 1, 9, 0, 127): np.dtype(np.float32),
}
_DESCRIPTOR = re.compile(r"\(\(\d+, \(([\d ]+)\)\),\(\d+, \(([\d ]+)\)\)\)")
_LONGEST_LINE = 1024  # bytes before the values of a box
_BROKEN = (AttributeError, IndexError, KeyError, OverflowError, StopIteration, ValueError)


@dataclass(frozen=True)
class LevelHead:
    """A level as the header of the plotfile has it."""

    lo: tuple[int, ...]  # index of the first cell of the domain
    cells: tuple[int, ...]
    spacing: tuple[float, ...]
    path: str  # of the level's list of boxes, without _H


@dataclass(frozen=True)
class Header:
    names: tuple[str, ...]  # of components
    axes: int
    step: int
    time: float
    origin: tuple[float, ...]
    end: tuple[float, ...]
    levels: tuple[LevelHead, ...]


@dataclass(frozen=True)
class BoxList:
    """The boxes of a level and where their values are."""

    boxes: np.ndarray  # [box, lo or hi, axis]
    ghosts: tuple[int, ...]
    files: tuple[str, ...]
    offsets: np.ndarray
    components: int
    dtype: np.dtype | None  # None if each box says its own


def refusal(path: Path, why: str) -> Error:
    return Error(f"'{path}' cannot be read as a plotfile: {why}")


def read_text(path: Path) -> str:
    try:
        return shared_files.read_text(path)
    except OSError as error:
        raise refusal(path, str(error.strerror)) from error
    except UnicodeDecodeError as error:
        raise refusal(path, "it is not text") from error


def read_header(path: Path) -> Header:
    """Raises Error if the file is not the header of a plotfile."""
    lines = iter(read_text(path).splitlines())
    kind = next(lines, "")
    if not kind.startswith(("HyperCLaw", "NavierStokes", "CartGrid")):
        raise refusal(path, f"its first line is '{kind[:40]}', not HyperCLaw-V1.1")
    try:
        return _header(lines)
    except _BROKEN as error:
        raise refusal(path, f"its header is garbled or cut short: {error!r}") from error


def _header(lines: Iterator[str]) -> Header:
    names = tuple(line.strip() for line in islice(lines, int(next(lines))))
    axes, time, levels = int(next(lines)), float(next(lines)), int(next(lines)) + 1
    if not 1 <= axes <= 3 or levels < 1:
        raise ValueError(f"{axes} axes, {levels} levels")
    origin, end = _reals(next(lines), axes), _reals(next(lines), axes)
    next(lines)  # ratios, which follow from the domains, along each axis
    domains = _boxes(next(lines), axes)
    step = int(next(lines).split()[0])
    spacings = [_reals(next(lines), axes) for _ in range(levels)]
    next(lines), next(lines)  # the kind of coordinates, and cells around the mesh
    heads = []
    for (lo, hi), spacing in zip(domains, spacings, strict=True):
        count = int(next(lines).split()[1])
        next(lines)
        next(islice(lines, count * axes, count * axes), None)  # places, which follow from boxes
        cells = tuple((hi - lo).tolist())
        if min(cells) < 1:
            raise ValueError(f"a domain of {cells} cells")
        heads.append(LevelHead(tuple(lo.tolist()), cells, spacing, next(lines).strip()))
    if len(names) == 0:
        raise ValueError("no fields")
    return Header(names, axes, step, time, origin, end, tuple(heads))


def _reals(line: str, count: int) -> tuple[float, ...]:
    found = tuple(float(word) for word in line.split())
    if len(found) != count:
        raise ValueError(f"{count} numbers expected, found '{line}'")
    return found


def _boxes(text: str, axes: int) -> np.ndarray:
    """Reads texts such as ((0,0,0) (7,7,7) (0,0,0)): [box, lo or hi, axis]."""
    words = re.sub(r"[(),]", " ", text).split()
    found = np.array(words, np.int64).reshape(-1, 3, axes)
    if found[:, 2].any():
        raise ValueError("values lie at points or faces, not in cells")
    return found[:, :2] + np.array([[0], [1]])


def read_box_list(path: Path, head: LevelHead) -> BoxList:
    """Raises Error if the file does not list boxes of that level."""
    lines = iter(read_text(path).splitlines())
    try:
        return _box_list(lines, head)
    except _BROKEN as error:
        raise refusal(path, f"its list of boxes is garbled or cut short: {error!r}") from error


def _box_list(lines: Iterator[str], head: LevelHead) -> BoxList:
    axes = len(head.lo)
    version, _, components = int(next(lines)), next(lines), int(next(lines))
    if not 1 <= version <= 4:
        raise ValueError(f"version {version} is not known")
    widths = [int(word) for word in re.findall(r"\d+", next(lines))]
    ghosts = tuple(widths if len(widths) == axes else widths[:1] * axes)
    count = int(next(lines).strip("(").split()[0])
    boxes = _boxes(" ".join(islice(lines, count)), axes) - np.array(head.lo)
    next(lines)
    if int(next(lines)) != count or len(boxes) != count:
        raise ValueError(f"{count} boxes, but not as many places of their values")
    places = [line.split() for line in islice(lines, count)]
    if len(places) != count:
        raise ValueError("it ends within the places of values")
    files = tuple(place[1] for place in places)
    offsets = np.array([int(place[2]) for place in places], np.int64)
    dtype = None
    if version > 1:  # the boxes have no heads of their own; the last line says the type of all
        rest = [line for line in lines if line.strip()]
        dtype = _real_type(rest[-1])
    if (boxes[:, 0] >= boxes[:, 1]).any() or (offsets < 0).any():
        raise ValueError("a box without cells, or before its file")
    return BoxList(boxes, ghosts, files, offsets, components, dtype)


def _real_type(text: str) -> np.dtype:
    """From AMReX's description of reals: their bits, and the order of their bytes."""
    found = _DESCRIPTOR.search(text)
    if found is None:
        raise ValueError(f"no type of reals in '{text[:80]}'")
    bits, order = (tuple(int(word) for word in group.split()) for group in found.groups())
    dtype, ascending = _FORMATS.get(bits), tuple(range(1, len(order) + 1))
    if dtype is None or len(order) != dtype.itemsize:
        raise ValueError(f"reals of bits {bits} are not read, only IEEE's of 4 and 8 bytes")
    if order not in (ascending, ascending[::-1]):
        raise ValueError(f"reals whose bytes are in the order {order} are not read")
    return dtype.newbyteorder(">" if order == ascending else "<")


def read_box_head(path: Path, offset: int, axes: int) -> tuple[int, np.dtype, np.ndarray, int]:
    """From the line before a box's values: the offset of the first value, the type, the box as its
    file has it, and the number of components.
    """
    try:
        with path.open("rb") as file:
            file.seek(offset)
            line = file.readline(_LONGEST_LINE)
    except OSError as error:
        raise refusal(path, str(error.strerror)) from error
    try:
        text = line.decode("ascii")
        if not text.startswith("FAB ((") or not text.endswith("\n"):
            raise ValueError(f"no box begins with '{text[:20]!r}'")
        *_, rest = text.rpartition(")))((")
        box, _, components = rest.rpartition(")")
        return offset + len(line), _real_type(text), _boxes(box, axes)[0], int(components)
    except _BROKEN as error:
        raise refusal(path, f"the box at byte {offset} is garbled: {error!r}") from error
