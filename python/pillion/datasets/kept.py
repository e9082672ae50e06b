# SPDX-License-Identifier: BSD-3-Clause
"""Tables that were read are kept for a while: a dataset has many columns of one file, and asks for
them one by one. Files that have changed since are read again.
"""

import re
import threading
from collections import OrderedDict
from collections.abc import Callable
from pathlib import Path
from typing import Generic, TypeVar

from pillion import shared_files
from pillion.errors import Error
from pillion.run_files import entry_of_head
from pillion.tables import Table, read_table

MOST_BYTES = 256 << 20
Stamp = tuple[int, int, int]
Value = TypeVar("Value")


def stamp_of(path: Path) -> Stamp:
    """A value that differs when the file has changed. Raises Error if there is no such file."""
    try:
        found = path.stat()
    except OSError as error:
        raise Error(f"cannot read {path}: {error.strerror}") from error
    return found.st_ino, found.st_mtime_ns, found.st_size


class Kept(Generic[Value]):
    """A cache of the results of `read`, by file. The least recently used are removed first when
    their total size is too large. Threads may share it.
    """

    def __init__(self, read: Callable[[Path], Value], most_bytes: int = MOST_BYTES) -> None:
        self._read = read
        self._most = most_bytes
        self._bytes = 0
        self._items: OrderedDict[Path, tuple[Stamp, Value]] = OrderedDict()
        self._lock = threading.Lock()

    def __call__(self, path: Path) -> Value:
        stamp = stamp_of(path)
        with self._lock:
            kept = self._items.get(path)
            if kept is not None and kept[0] == stamp:
                self._items.move_to_end(path)
                return kept[1]
        value = self._read(path)
        with self._lock:
            self._drop(path)
            self._items[path] = stamp, value
            self._bytes += stamp[2]
            while len(self._items) > 1 and self._bytes > self._most:
                self._drop(next(iter(self._items)))
        return value

    def _drop(self, path: Path) -> None:
        if path in self._items:
            self._bytes -= self._items.pop(path)[0][2]


def _time(path: Path) -> float:
    entry = entry_of_head(path, "time")
    try:
        return float(entry) if entry is not None else table_of(path).time
    except ValueError:
        return table_of(path).time


def _rows(path: Path) -> int:
    try:
        text = shared_files.read_bytes(path)
    except OSError as error:
        raise Error(f"cannot read {path}: {error.strerror}") from error
    head = len(re.findall(rb"^#.*\n", text, re.MULTILINE)) + 1  # also rows that are being added
    return max(0, text.count(b"\n") - head)


table_of: Kept[Table] = Kept(read_table)
time_of: Kept[float] = Kept(_time, 1 << 62)  # of a table's step, from the first lines of its head
rows_of: Kept[int] = Kept(_rows, 1 << 62)  # of a table, without reading what is in them
