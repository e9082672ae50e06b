# SPDX-License-Identifier: BSD-3-Clause
"""IDX datasets as NumPy arrays, coarse levels first if that is what one wants.

A dataset is a grid of samples over time. Level L of it has the samples whose coordinates are
multiples of the level's strides, which are halved from level to level until they are 1. Reading a
coarse level, or a part, touches only the blocks that hold it.
"""

import threading
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from pillion.errors import Error
from pillion.idx.blocks import blocks_of_level, first_block, numbers_within, order_of_block
from pillion.idx.files import Block, Files
from pillion.idx.grid import Box, Grid, grid_within, overlap
from pillion.idx.header import Header, read_header

Span = tuple[int, int]


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
        """Of all samples along an axis: 0 for x, 1 for y, 2 for z."""
        count = self.values.shape[len(self.origin) - 1 - axis]
        return self.origin[axis] + self.stride[axis] * np.arange(count)


class Dataset:
    """A dataset; `dataset["density"]` is a field. Threads may share it.

    It may still grow: `refresh` looks for new steps.
    """

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)
        self._lock = threading.Lock()
        self._state = self._read()

    def _read(self) -> tuple[Header, Files]:
        header = read_header(self.path)
        return header, Files(header, self.path.parent)

    def refresh(self) -> bool:
        """Reads the header again; true if it says other steps than before."""
        state = self._read()
        with self._lock:
            before = self._state
            if before[0] != state[0]:
                self._state = state
        return before[0].steps != state[0].steps

    @property
    def header(self) -> Header:
        return self._state[0]

    @property
    def fields(self) -> list[str]:
        """Names of the fields."""
        return list(self.header.fields)

    def __getitem__(self, name: str) -> "Field":
        if name not in self.header.fields:
            known = ", ".join(self.fields)
            raise Error(f"{self.path} has no field '{name}'; it has {known}")
        return Field(self, name)

    def __iter__(self) -> Iterator[str]:
        return iter(self.fields)

    def __contains__(self, name: object) -> bool:
        return name in self.header.fields

    @property
    def steps(self) -> tuple[int, ...]:
        return self.header.steps.numbers

    @property
    def axes(self) -> int:
        return self.header.axes

    @property
    def box(self) -> Box:
        """[lo, hi) of the coordinates along x, y, z."""
        return self.header.box[: self.axes]

    @property
    def shape(self) -> tuple[int, ...]:
        """Of an array of all samples: [z, y, x]."""
        return tuple(hi - lo for lo, hi in reversed(self.box))

    @property
    def levels(self) -> int:
        """The finest level that is stored."""
        return self.header.finest

    @property
    def physical_box(self) -> tuple[tuple[float, float], ...] | None:
        """Lower and upper edge along x, y, z, if the dataset says them."""
        return self.header.physical_box

    @property
    def origin(self) -> dict[str, Any] | None:
        """By what it was written, and from what, if the dataset says it."""
        return self.header.origin

    def stride(self, level: int) -> tuple[int, ...]:
        """Distances between samples along x, y, z at a level."""
        return self.header.mask.stride(level)[: self.axes]


class Field:
    """A field of a dataset. `field[step, level, box]` is an array; level and box may be missing."""

    def __init__(self, dataset: Dataset, name: str) -> None:
        entry = dataset.header.fields[name]
        self.dataset = dataset
        self.name = name
        self.dtype = entry.dtype.newbyteorder("=")
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
        reading = _Reading(self, step, None)
        reading.expect_whole()

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
        first = min(reading.header.bits_per_block, reading.header.finest)
        wanted = range(first, reading.header.finest + 1) if levels is None else sorted(set(levels))
        found = None
        for level in wanted:
            found = reading.refine(found, reading.level(level))
            yield found


class _Reading:
    """One reading of a field, from a dataset as it is now."""

    def __init__(self, field: Field, step: int | None, box: Sequence[Span] | None) -> None:
        self._dataset = field.dataset
        self.header, self._files = field.dataset._state
        if field.name not in self.header.fields:
            raise Error(f"{self._dataset.path} has a field '{field.name}' no more")
        self._entry = self.header.fields[field.name]
        self._step = self._known_step(step)
        self._box = self.header.box if box is None else self._known_box(box)

    def _known_step(self, step: int | None) -> int:
        steps = self.header.steps.numbers
        if step is None:
            return steps[0]
        if step not in steps:
            some = ", ".join(map(str, steps if len(steps) <= 8 else [*steps[:6], "…", steps[-1]]))
            raise Error(f"{self._dataset.path} has no step {step}; it has {some}")
        return int(step)

    def _known_box(self, box: Sequence[Span]) -> Box:
        whole = self.header.box[: self.header.axes]
        asked = tuple((int(lo), int(hi)) for lo, hi in box)
        inside = all(a <= lo <= hi <= b for (lo, hi), (a, b) in zip(asked, whole))
        if len(asked) != len(whole) or not inside:
            raise Error(f"{self._dataset.path} has the box {whole}; {asked} is not inside it")
        return asked + self.header.box[self.header.axes :]

    def level(self, level: int | None) -> int:
        finest = self.header.finest
        if level is not None and not 0 <= level <= finest:
            raise Error(f"{self._dataset.path} has the levels 0 to {finest}; {level} is not there")
        return finest if level is None else int(level)

    def expect_whole(self) -> None:
        header = self.header
        numbers = numbers_within(header.mask, header.bits_per_block, header.finest, header.box)
        try:
            self._files.expect_whole(self._entry, self._step, numbers)
        except Error as error:
            raise Error(f"cannot read the dataset {self._dataset.path}: {error}") from error

    def refine(self, coarse: Samples | None, level: int, out: np.ndarray | None = None) -> Samples:
        """Samples up to a level; what `coarse` has is taken from there."""
        axes, entry = self.header.axes, self._entry
        grid = grid_within(self._box, self.header.mask.stride(level))
        shape = grid.shape[3 - axes :] + (() if entry.components == 1 else (entry.components,))
        if out is None:
            out = np.empty(shape, dtype=entry.dtype.newbyteorder("="))
        elif out.shape != shape or not np.can_cast(entry.dtype, out.dtype):
            raise Error(
                f"{self._dataset.path}: field '{entry.name}' was asked for in an array "
                f"{out.dtype}{list(out.shape)}; it is {entry.dtype}{list(shape)}"
            )
        values = out[(None,) * (3 - axes) + (...,) + ((None,) if entry.components == 1 else ())]
        if coarse is not None:
            before = grid_within(self._box, self.header.mask.stride(coarse.level))
            if both := overlap(grid, before):
                old = coarse.values.reshape(*before.shape, entry.components)
                values[both[0]] = old[both[1]]
        read = self._fill(values, grid, -1 if coarse is None else coarse.level, level)
        return Samples(out, self._step, level, grid.origin[:axes], grid.stride[:axes], read)

    def _fill(self, values: np.ndarray, grid: Grid, after: int, up_to: int) -> int:
        """Reads the samples of the levels above `after`, up to `up_to`. Returns how many bytes it
        took from files.
        """
        mask, per_block = self.header.mask, self.header.bits_per_block
        grids: dict[int, tuple[Grid, int]] = {}
        read = 0
        if grid.size == 0:
            return read
        if after < per_block:
            grids[0] = (first_block(mask, per_block), 0)
        for level in range(max(after, per_block) + 1, up_to + 1):
            found = blocks_of_level(mask, per_block, level, self._box)
            grids.update((number, (block, level)) for number, block in found)
        for number, block in self._files.blocks(self._entry, self._step, grids):
            self._copy(values, grid, block, *grids[number])
            read += 0 if block is None else block.stored
        return read

    def _copy(
        self, values: np.ndarray, grid: Grid, block: Block | None, of: Grid, level: int
    ) -> None:
        both = overlap(of, grid)
        if both is None:
            return
        if block is None:
            dtype = self._entry.dtype
            fill = bytes([self._entry.fill]) * dtype.itemsize
            values[both[1]] = np.frombuffer(fill, dtype)[0]
        elif block.row_major:
            values[both[1]] = block.values.reshape(*of.shape, -1)[both[0]]
        elif block.values.shape[1] == 1:  # a third of the time of the general case
            order = order_of_block(self.header.mask, self.header.bits_per_block, level)
            values[both[1]] = block.values[:, 0].take(order[both[0]])[..., None]
        else:
            order = order_of_block(self.header.mask, self.header.bits_per_block, level)
            values[both[1]] = block.values.take(order[both[0]], axis=0)
