# SPDX-License-Identifier: BSD-3-Clause
"""Field files of Nek5000, NekRS and Neko, such as `case0.f00012`: elements with values at their
points. They are described as raw files are, so both are read in the same way.

A file has a header of 132 bytes, a number that shows the order of bytes, the ids of its elements,
and then the fields, each element by element. Several files may make up a step.
"""

import math
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from pillion.datasets.kept import Kept
from pillion.datasets.raw_blocks import RawBlock, RawField, RawIndex
from pillion.errors import Error

COORDINATES = "coordinates"
NUMBER = "number"
_NAME = re.compile(r"(?P<case>.*?)(?P<part>\d+)\.f(?P<number>\d+)")
_HEADER, _TAG = 132, 6.54321
_MOST_BLOCKS = 256  # of a file, from which ranks get equal shares


@dataclass(frozen=True)
class NekPart:
    """A file of a step."""

    path: Path
    dtype: np.dtype
    points: tuple[int, int, int]  # of an element along x, y and z
    elements: int
    elements_of_all: int  # files together
    time: float
    step: int
    number: int  # of this file
    count: int  # of the files of the step
    ids: np.ndarray = field(compare=False)  # of the elements
    fields: Mapping[str, int] = field(compare=False)  # components by name, in the file's order

    @property
    def axes(self) -> int:
        return 3 if self.points[2] > 1 else 2

    @property
    def values(self) -> int:
        """The first byte of values."""
        return _HEADER + 4 + 4 * self.elements

    def offsets(self, first: int) -> tuple[int, ...]:
        """The bytes at which fields of an element, and those behind it, begin; last, its id."""
        size = math.prod(self.points) * self.dtype.itemsize
        out, at = [], self.values
        for components in self.fields.values():
            out.append(at + first * components * size)
            at += self.elements * components * size
        return (*out, _HEADER + 4 + 4 * first)

    def inner(self, name: str) -> tuple[int, ...]:
        """The shape of an element's values: its components, then its points."""
        components = self.fields[name]
        points = self.points[: self.axes][::-1]
        return (components, *points) if components > 1 else points


def is_nek(name: str) -> bool:
    """Whether a file may be one, by its name."""
    return _NAME.fullmatch(name) is not None


def case_of(path: Path) -> str:
    """The part of the name that all files of a run have in common."""
    match = _NAME.fullmatch(path.name)
    return str(path.parent / match["case"]) if match else str(path)


def read_part(path: Path) -> NekPart:
    """Raises Error if the header of a file cannot be read."""
    try:
        with path.open("rb") as file:
            words = file.read(_HEADER).split()
            tag = file.read(4)
            if len(words) < 12 or words[0] != b"#std":
                raise Error(
                    f"'{path}' cannot be read: it does not begin as a field file of Nek5000, with "
                    "'#std' and eleven entries"
                )
            order = next((o for o in "<>" if _is_tag(tag, o)), "")
            nx, ny, nz, elements, of_all = map(int, words[2:7])
            dtype = np.dtype(order + {4: "f4", 8: "f8"}[int(words[1])])
            if order == "" or nx < 2 or ny != nx or nz not in (1, nx) or elements < 0:
                raise ValueError("its order of bytes or its numbers of points")
            ids = np.frombuffer(file.read(4 * elements), f"{order}i4")
            if len(ids) < elements:
                raise ValueError("it ends before its elements")
    except OSError as error:
        raise Error(f"'{path}' cannot be read: {error.strerror}") from error
    except (KeyError, ValueError) as error:
        raise Error(f"'{path}' cannot be read: its header is garbled: {error}") from error
    fields = _fields(path, words[11].decode("ascii", "replace"), 3 if nz > 1 else 2)
    return NekPart(
        path,
        dtype,
        (nx, ny, nz),
        elements,
        of_all,
        float(words[7]),
        int(words[8]),
        int(words[9]),
        int(words[10]),
        ids,
        fields,
    )


def _is_tag(tag: bytes, order: str) -> bool:
    return len(tag) == 4 and abs(float(np.frombuffer(tag, f"{order}f4")[0]) - _TAG) < 1e-4


def _fields(path: Path, letters: str, axes: int) -> dict[str, int]:
    match = re.fullmatch(r"(X?)(U?)(P?)(T?)(?:S(\d\d))?", letters)
    if match is None:
        raise Error(
            f"'{path}' cannot be read: it lists its fields as '{letters}', which is not a "
            "selection of XUPTS in this order"
        )
    names = ((COORDINATES, axes), ("velocity", axes), ("pressure", 1), ("temperature", 1))
    out = {
        name: components
        for letter, (name, components) in zip(match.groups(""), names, strict=False)
        if letter
    }
    return out | {f"scalar_{n + 1}": 1 for n in range(int(match[5] or 0))}


def parts_of(path: Path) -> list[NekPart]:
    """All files of a step, given one. Raises Error if one is missing or does not belong to it."""
    first = _parts(path)
    match = _NAME.fullmatch(path.name)
    if first.count == 1 or match is None:
        return [first]
    out = []
    for number in range(first.count):
        name = f"{match['case']}{number:0{len(match['part'])}}.f{match['number']}"
        part = _parts(path.parent / name)
        same = ("dtype", "points", "elements_of_all", "step", "count")
        if any(getattr(part, what) != getattr(first, what) for what in same):
            raise Error(f"'{part.path}' cannot be read with '{path}': their headers differ")
        out.append(part)
    found = sum(part.elements for part in out)
    if found != first.elements_of_all:
        raise Error(
            f"'{path}' cannot be read: the files of its step have {found} elements, and the mesh "
            f"{first.elements_of_all}"
        )
    return out


def catalogue_of_nek(paths: Iterable[str]) -> str:
    """YAML with the mesh and the fields of such files among others.

    Names are those of the Nek5000 adapter, so a configuration needs analyses alone. "" if there are
    no such files, or if they have different elements.
    """
    parts = [_parts(Path(path)) for path in paths if is_nek(Path(path).name)]
    if not parts or any(part.points != parts[0].points for part in parts):
        return ""
    fields = {name: count for part in parts for name, count in part.fields.items()}
    entries = [f"kind: spectral, order: {parts[0].points[0] - 1}, dimensions: {parts[0].axes}"]
    if COORDINATES in fields:
        entries.append(f"coordinates: {COORDINATES}")
    lines = ["meshes:", f"  fluid: {{{', '.join(entries)}}}", "fields:"]
    lines.append(f"  {NUMBER}: {{mesh: fluid, type: int32, centering: cell}}")
    lines += [
        f"  {name}: {{mesh: fluid, type: float64, components: {count}}}"
        for name, count in fields.items()
    ]
    return "\n".join(lines) + "\n"


def index_of_nek(path: Path) -> RawIndex:
    """The elements of a step in blocks, whose fields are in the order of the first file."""
    return _indices(path)


def nek_fields(part: NekPart) -> list[RawField]:
    """The fields of a step, and the number of each element. Items are elements."""
    fields = [
        RawField(name, number, part.dtype, part.inner(name))
        for number, name in enumerate(part.fields)
    ]
    return [*fields, RawField(NUMBER, len(fields), part.ids.dtype, ())]


def _read_index(path: Path) -> RawIndex:
    blocks: list[RawBlock] = []
    before = 0
    for part in parts_of(path):
        length = max(1, -(-part.elements // _MOST_BLOCKS))
        for first in range(0, part.elements, length):
            count = min(length, part.elements - first)
            box = ((before + first, before + first + count),)
            blocks.append(RawBlock(part.path, box, part.offsets(first), id=len(blocks)))
        before += part.elements
    return RawIndex(path, tuple(blocks), None)


_parts: Kept[NekPart] = Kept(read_part)
_indices: Kept[RawIndex] = Kept(_read_index)
