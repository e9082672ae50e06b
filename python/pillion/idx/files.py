# SPDX-License-Identifier: BSD-3-Clause
"""The binary files of an IDX dataset: their names, the tables at their heads, and blocks.

What is not there (a file, a block that a table does not name) is absent; a file that is shorter
than what it claims to hold is broken, and reading it raises Error.
"""

import os
import re
import threading
from collections import OrderedDict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path

import numpy as np

from pillion.errors import Error
from pillion.idx.blocks import extent_of_block
from pillion.idx.codecs import ZFP, decode, expect_readable
from pillion.idx.header import Entry, Header
from pillion.idx.zfp import decode_zfp

PREAMBLE = 40  # bytes before the table, and bytes of each entry of it
ROW_MAJOR = 0x10
TABLES_KEPT = 512


@dataclass(frozen=True)
class Block:
    """Samples of a block, in rows of components, in the order that it is stored in."""

    values: np.ndarray
    row_major: bool
    stored: int  # bytes in the file


def number_in(template: str, number: int) -> str:
    """A template's tokens %0Nx take the hexadecimal digits of a number, the last token the lowest.

    Digits that are left over become folders in front of the first token, as wide as that is.
    """
    width = 0

    def digits(token: re.Match[str]) -> str:
        nonlocal number, width
        width = max(int(token[1] or 1), 1)
        number, taken = divmod(number, 16**width)
        return f"{taken:0{width}x}"

    parts = re.split(r"(%\d*x)", template)
    for at in reversed(range(1, len(parts), 2)):
        token = re.fullmatch(r"%(\d*)x", parts[at])
        parts[at] = digits(token) if token else parts[at]
    while number > 0 and width > 0:
        number, taken = divmod(number, 16**width)
        parts[1] = f"{taken:0{width}x}/{parts[1]}"
    return "".join(parts)


def file_name(header: Header, first_block: int, step: int) -> str:
    """Of the file that begins with this block; the step's folder is before the first token."""
    before, percent, after = header.files.partition("%")
    if not percent:
        return before
    return before + header.steps.folder_of(step) + number_in(percent + after, first_block)


class Files:
    """Blocks of a dataset. Tables are read once and kept while files
    are as they were; threads may share this."""

    def __init__(self, header: Header, folder: Path) -> None:
        self._header = header
        self._folder = folder
        self._number = {name: n for n, name in enumerate(header.fields)}
        self._tables: OrderedDict[tuple[object, ...], np.ndarray] = OrderedDict()
        self._lock = threading.Lock()

    def path(self, first_block: int, step: int) -> Path:
        """Names that begin with ./ are seen from the header's folder."""
        name = file_name(self._header, first_block, step)
        return self._folder / name if name.startswith("./") else Path(name)

    def blocks(
        self, entry: Entry, step: int, numbers: Iterable[int]
    ) -> Iterator[tuple[int, Block | None]]:
        """Blocks of these numbers, file by file; None for those that are absent."""
        per_file = self._header.blocks_per_file
        for file, group in groupby(sorted(numbers), lambda number: number // per_file):
            path = self.path(file * per_file, step)
            try:
                descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
            except FileNotFoundError:
                yield from ((number, None) for number in group)
                continue
            except OSError as error:
                raise Error(f"cannot read {path}: {error.strerror}") from error
            try:
                table = self._table(descriptor, path, entry)
                for number in group:
                    row = table[number % per_file].tolist()
                    yield number, self._block(descriptor, path, entry, number, row)
            except OSError as error:
                raise Error(f"cannot read {path}: {error.strerror}") from error
            finally:
                os.close(descriptor)

    def _block(
        self, descriptor: int, path: Path, entry: Entry, number: int, row: list[int]
    ) -> Block | None:
        """`row` is the block's in the table."""
        offset, size, flags = row[3] << 32 | row[2], row[4], row[5]
        if offset == 0 or size == 0:
            return None
        stored = os.pread(descriptor, size, offset)
        what = f"{path}: block {number} of field '{entry.name}'"
        if len(stored) != size:
            raise Error(f"{what} is cut short: {len(stored)} bytes of {size} at {offset} are there")
        try:
            data = self._decoded(flags & 0xF, stored, entry, number)
        except Error as error:
            raise Error(f"{what} cannot be read: {error}") from error
        values = np.frombuffer(data, dtype=entry.dtype).reshape(-1, entry.components)
        return Block(values, bool(flags & ROW_MAJOR), size)

    def expect_whole(self, entry: Entry, step: int, numbers: np.ndarray) -> None:
        """Looks at the tables of all files that have these blocks, which must be in order. Raises
        Error if a block is missing, cut short or of a codec that is not read.
        """
        per_file = self._header.blocks_per_file
        ends = np.flatnonzero(np.diff(numbers // per_file)) + 1
        for of_file in np.split(numbers, ends):
            path = self.path(int(of_file[0]) // per_file * per_file, step)
            try:
                descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
            except FileNotFoundError:
                raise Error(f"step {step} is not whole: there is no {path}") from None
            except OSError as error:
                raise Error(f"cannot read {path}: {error.strerror}") from error
            try:
                rows = self._table(descriptor, path, entry)[of_file % per_file]
                size = os.fstat(descriptor).st_size
            finally:
                os.close(descriptor)
            self._expect_rows(rows.astype(np.int64), of_file, size, f"cannot read {path}", entry)

    def _expect_rows(
        self, rows: np.ndarray, numbers: np.ndarray, there: int, where: str, entry: Entry
    ) -> None:
        """Of blocks of one file, which has so many bytes."""
        offsets, sizes = rows[:, 3] << 32 | rows[:, 2], rows[:, 4]
        missing = (offsets == 0) | (sizes == 0)
        short = (offsets < 0) | (offsets + sizes > there)
        for bad in np.flatnonzero(missing | short)[:1]:
            what = f"{where}: block {numbers[bad]} of field '{entry.name}'"
            if missing[bad]:
                raise Error(f"{what} is missing")
            raise Error(
                f"{what} is cut short: {sizes[bad]} bytes at {offsets[bad]} are told of, and the "
                f"file has {there}"
            )
        codecs, first = np.unique(rows[:, 5] & 0xF, return_index=True)
        for codec, at in zip(codecs.tolist(), first.tolist()):
            try:
                expect_readable(codec)
            except Error as error:
                what = f"{where}: block {numbers[at]} of field '{entry.name}'"
                raise Error(f"{what} cannot be read: {error}") from error

    def _decoded(self, codec: int, stored: bytes, entry: Entry, number: int) -> bytes:
        mask, per_block = self._header.mask, self._header.bits_per_block
        if codec != ZFP:
            return decode(codec, stored, self._header.block_samples * entry.sample_size)
        extent = extent_of_block(mask, per_block, number)
        return decode_zfp(stored, entry.dtype, entry.components, entry.loss, mask, extent)

    def _table(self, descriptor: int, path: Path, entry: Entry) -> np.ndarray:
        """Ten words for each block of the file, of one field."""
        field, now = self._number[entry.name], os.fstat(descriptor)
        key = (path, field, now.st_ino, now.st_mtime_ns, now.st_size)
        with self._lock:
            if key in self._tables:
                self._tables.move_to_end(key)
                return self._tables[key]
        table = self._read_table(descriptor, path, field)
        with self._lock:
            self._tables[key] = table
            if len(self._tables) > TABLES_KEPT:
                self._tables.popitem(last=False)
        return table

    def _read_table(self, descriptor: int, path: Path, field: int) -> np.ndarray:
        size = PREAMBLE * self._header.blocks_per_file
        whole = PREAMBLE + size * len(self._number)
        there = os.fstat(descriptor).st_size
        if there < whole:
            raise Error(f"{path} is cut short: it has {there} bytes, its table alone {whole}")
        data = os.pread(descriptor, size, PREAMBLE + size * field)
        if len(data) != size:
            raise Error(f"{path} was cut short while its table was read")
        return np.frombuffer(data, dtype=">u4").reshape(-1, 10)
