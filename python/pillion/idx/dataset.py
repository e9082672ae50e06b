# SPDX-License-Identifier: BSD-3-Clause
"""IDX datasets as NumPy arrays, coarse levels first if that is what one wants.

A dataset is a grid of samples over time. Level L of it has the samples whose coordinates are
multiples of the level's strides, which are halved from level to level until they are 1. Reading a
coarse level, or a part, touches only the blocks that hold it. The C++ library `pillion::idx` reads
and decodes them, while other threads of Python run.
"""

import threading
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import yaml

from pillion import shared_files
from pillion.errors import Error
from pillion.yaml_text import ProductLoader

if TYPE_CHECKING:
    from pillion._idx import Reader

Span = tuple[int, int]
Box = tuple[Span, ...]  # [lo, hi) of each axis
Point = tuple[int, int, int]


@dataclass(frozen=True)
class Grid:
    """Samples at origin + k * stride, 0 <= k < extent, for x, y and z; axes that the dataset has
    not have one sample.
    """

    origin: Point
    extent: Point
    stride: Point

    @property
    def shape(self) -> Point:
        """The shape of an array indexed [z, y, x]."""
        return self.extent[2], self.extent[1], self.extent[0]


@dataclass(frozen=True)
class Samples:
    """Samples of a box at a level: `values[z, y, x]`, or `values[z, y, x, component]`, without the
    axes that the dataset has not. Sample k along an axis is at coordinate origin + k * stride;
    `origin` and `stride` are in the order (x, y, z).
    """

    values: np.ndarray
    step: int
    level: int
    origin: tuple[int, ...]
    stride: tuple[int, ...]
    bytes_read: int = 0  # from files

    def coordinates(self, axis: int) -> np.ndarray:
        """Coordinates of all samples along an axis: 0 for x, 1 for y, 2 for z."""
        count = self.values.shape[len(self.origin) - 1 - axis]
        return self.origin[axis] + self.stride[axis] * np.arange(count)


@dataclass(frozen=True)
class _Entry:
    """A field, as the header describes it."""

    number: int
    dtype: np.dtype
    components: int


@dataclass(frozen=True)
class _State:
    """A header as it was read."""

    text: str
    reader: "Reader"
    fields: dict[str, _Entry]
    steps: tuple[int, ...]
    origin: dict[str, Any] | None

    @classmethod
    def read(cls, path: Path) -> "_State":
        try:
            text = shared_files.read_text(path)
        except OSError as error:
            raise Error(f"cannot read {path}: {error.strerror}") from error
        except UnicodeDecodeError as error:
            raise Error(f"{path} is not an IDX dataset: it is not UTF-8 text") from error
        try:
            from pillion._idx import Reader
        except ImportError as error:
            raise Error(
                f"cannot read the dataset {path}: this package has no compiled part for this "
                f"Python ({error}): install it with `pip install .`, or use the package in the "
                "folder `python` of a build"
            ) from error
        reader = Reader(str(path), text)
        fields = {
            field.name: _Entry(number, np.dtype(field.type), field.components)
            for number, field in enumerate(reader.fields)
        }
        return cls(text, reader, fields, tuple(reader.steps), _origin(text))

    @property
    def box(self) -> Box:
        """Three axes; the missing ones of a flat dataset are [0, 1)."""
        return tuple(zip(self.reader.lo, self.reader.hi, strict=True))

    def grid(self, box: Box, level: int) -> Grid:
        """The samples of a box of three axes at a level."""
        (x, y, z), (x_end, y_end, z_end) = zip(*box)
        origin, extent = self.reader.samples((x, y, z), (x_end, y_end, z_end), level)
        return Grid(origin, extent, self.reader.stride(level))


def _origin(text: str) -> dict[str, Any] | None:
    """The YAML in the comment lines that Pillion writes; None for other comments."""
    lines = [line[2:] for line in text.split("\n") if line.startswith("#")]
    try:
        found = yaml.load("\n".join(lines), Loader=ProductLoader)  # the loader is a safe one
    except yaml.YAMLError:
        return None
    return found if isinstance(found, dict) and {"analysis", "stage"} <= found.keys() else None


class Dataset:
    """A dataset; `dataset["density"]` is a field. Threads may share it.

    It may still grow: `refresh` looks for new steps.
    """

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)
        self._lock = threading.Lock()
        self._state = _State.read(self.path)

    def refresh(self) -> bool:
        """Reads the header again; true if it says other steps than before."""
        state = _State.read(self.path)
        with self._lock:
            before = self._state
            if before.text != state.text:
                self._state = state
        return before.steps != state.steps

    @property
    def fields(self) -> list[str]:
        """Names of the fields."""
        return list(self._state.fields)

    def __getitem__(self, name: str) -> "Field":
        if name not in self._state.fields:
            known = ", ".join(self.fields)
            raise Error(f"{self.path} has no field '{name}'; it has {known}")
        return Field(self, name)

    def __iter__(self) -> Iterator[str]:
        return iter(self.fields)

    def __contains__(self, name: object) -> bool:
        return name in self._state.fields

    @property
    def steps(self) -> tuple[int, ...]:
        """Numbers of the steps, in increasing order."""
        return self._state.steps

    @property
    def axes(self) -> int:
        """1, 2 or 3."""
        return self._state.reader.axes

    @property
    def box(self) -> Box:
        """[lo, hi) of the coordinates along x, y, z."""
        return self._state.box[: self.axes]

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of an array of all samples: [z, y, x]."""
        return tuple(hi - lo for lo, hi in reversed(self.box))

    @property
    def levels(self) -> int:
        """The finest level that is stored."""
        return self._state.reader.finest

    @property
    def left_out(self) -> int:
        """How many levels, finer than these, are not stored."""
        return self._state.reader.left_out

    @property
    def physical_box(self) -> tuple[tuple[float, float], ...] | None:
        """Lower and upper edge along x, y, z, if the dataset says them."""
        edges = self._state.reader.physical_box
        return tuple(zip(edges[::2], edges[1::2]))[: self.axes] if edges else None

    @property
    def origin(self) -> dict[str, Any] | None:
        """The analysis and the run that wrote it, if the dataset names them."""
        return self._state.origin

    def stride(self, level: int) -> tuple[int, ...]:
        """Distances between samples along x, y, z at a level."""
        return self._state.reader.stride(level)[: self.axes]

    def grid(self, level: int) -> Grid:
        """The places of the samples of all levels up to this one."""
        return self._state.grid(self._state.box, level)


class Field:
    """A field of a dataset. `field[step, level, box]` is an array; level and box may be missing."""

    def __init__(self, dataset: Dataset, name: str) -> None:
        entry = dataset._state.fields[name]
        self.dataset = dataset
        self.name = name
        self.dtype = entry.dtype
        self.components = entry.components

    def __getitem__(self, key: Any) -> np.ndarray:
        return self.read(*(key if isinstance(key, tuple) else (key,))).values

    def read(
        self,
        step: int | None = None,
        level: int | None = None,
        box: Sequence[Span] | None = None,
        *,
        out: np.ndarray | None = None,
    ) -> Samples:
        """Samples of all levels up to `level` in `box`, a pair [lo, hi) for x, y and z.

        By default the first step, the finest level that is stored, and the dataset's box. They are
        written to `out`, if that is given: of the shape of the result, with any strides, and of a
        type that loses nothing. Raises Error if these are not in the dataset, and if a file is
        broken.
        """
        reading = _Reading(self, step, box)
        level = reading.level(level)
        return reading.refine(None, level, out)

    def expect_whole(self, step: int) -> None:
        """Looks at the tables of all files of a step. Raises Error if a block that has samples in
        the dataset's box is missing, where reading gives the fill value, or is cut short.
        """
        _Reading(self, step, None).expect_whole()

    def progressive(
        self,
        step: int | None = None,
        box: Sequence[Span] | None = None,
        levels: Iterable[int] | None = None,
    ) -> Iterator[Samples]:
        """The same, coarse to fine: at these levels, or at all of them from the finest that costs
        no more than one block. Each sample is read once.
        """
        reading = _Reading(self, step, box)
        reader = reading.reader
        first = min(reader.bits_per_block, reader.finest)
        wanted = range(first, reader.finest + 1) if levels is None else sorted(set(levels))
        found = None
        for level in wanted:
            found = reading.refine(found, reading.level(level))
            yield found


class _Reading:
    """One reading of a field, from a dataset as it is now."""

    def __init__(self, field: Field, step: int | None, box: Sequence[Span] | None) -> None:
        self._path = field.dataset.path
        self._state = state = field.dataset._state
        if field.name not in state.fields:
            raise Error(f"{self._path} has a field '{field.name}' no more")
        self.reader = state.reader
        self._name = field.name
        self._entry = state.fields[field.name]  # which may be of another type by now
        self._step = self._known_step(step)
        self._box = state.box if box is None else self._known_box(box)

    def _known_step(self, step: int | None) -> int:
        steps = self._state.steps
        if step is None:
            return steps[0]
        if step not in steps:
            some = ", ".join(map(str, steps if len(steps) <= 8 else [*steps[:6], "…", steps[-1]]))
            raise Error(f"{self._path} has no step {step}; it has {some}")
        return int(step)

    def _known_box(self, box: Sequence[Span]) -> Box:
        axes = self.reader.axes
        whole = self._state.box[:axes]
        asked = tuple((int(lo), int(hi)) for lo, hi in box)
        inside = all(a <= lo <= hi <= b for (lo, hi), (a, b) in zip(asked, whole))
        if len(asked) != len(whole) or not inside:
            raise Error(f"{self._path} has the box {whole}; {asked} is not inside it")
        return asked + self._state.box[axes:]

    def level(self, level: int | None) -> int:
        finest = self.reader.finest
        if level is not None and not 0 <= level <= finest:
            raise Error(f"{self._path} has the levels 0 to {finest}; {level} is not there")
        return finest if level is None else int(level)

    def expect_whole(self) -> None:
        self.reader.expect_whole(self._entry.number, self._step)

    def refine(self, coarse: Samples | None, level: int, out: np.ndarray | None = None) -> Samples:
        """Samples up to a level; what `coarse` has is taken from there."""
        axes, entry = self.reader.axes, self._entry
        grid = self._state.grid(self._box, level)
        shape = grid.shape[3 - axes :] + (() if entry.components == 1 else (entry.components,))
        if out is None:
            out = np.empty(shape, dtype=entry.dtype)
        elif out.shape != shape or not np.can_cast(entry.dtype, out.dtype):
            raise Error(
                f"{self._path}: field '{self._name}' was asked for in an array "
                f"{out.dtype}{list(out.shape)}; it is {entry.dtype}{list(shape)}"
            )
        values = out[(None,) * (3 - axes) + (...,) + ((None,) if entry.components == 1 else ())]
        direct = (
            values if _can_be_filled(values, entry.dtype) else np.empty(values.shape, entry.dtype)
        )
        if coarse is not None:
            before = self._state.grid(self._box, coarse.level)
            direct[_places(before, grid)] = coarse.values.reshape(*before.shape, entry.components)
        read = self._fill(direct, grid, -1 if coarse is None else coarse.level, level)
        if direct is not values:
            values[...] = direct
        return Samples(out, self._step, level, grid.origin[:axes], grid.stride[:axes], read)

    def _fill(self, values: np.ndarray, grid: Grid, after: int, up_to: int) -> int:
        """Reads the samples of the levels above `after`, up to `up_to`. Returns how many bytes it
        took from files.
        """
        if values.size == 0:
            return 0
        (x, y, z), (x_end, y_end, z_end) = zip(*self._box)
        lo, hi = (x, y, z), (x_end, y_end, z_end)
        return self.reader.read(self._entry.number, self._step, lo, hi, after, up_to, values)


def _can_be_filled(values: np.ndarray, dtype: np.dtype) -> bool:
    """Whether the reader can write to this array, whose last axis is that of components."""
    size = dtype.itemsize
    packed = values.shape[-1] == 1 or values.strides[-1] == size
    whole = all(stride % size == 0 for stride in values.strides)
    return values.dtype == dtype and packed and whole and bool(values.flags.writeable)


def _places(coarse: Grid, fine: Grid) -> tuple[slice, ...]:
    """The places of a coarse grid's samples in an array [z, y, x] of a finer one."""
    axes = reversed(range(3))
    steps = {axis: coarse.stride[axis] // fine.stride[axis] for axis in axes}
    first = {a: (coarse.origin[a] - fine.origin[a]) // fine.stride[a] for a in steps}
    return tuple(
        slice(first[a], first[a] + coarse.extent[a] * step, step) for a, step in steps.items()
    )
