# SPDX-License-Identifier: BSD-3-Clause
"""Reads the head of a NumPy .npy file (versions 1 to 3 of numpy.lib.format), without reading a
value. The head is a magic word, a version, a length, and a Python dictionary with three entries.
"""

import math
import re
from dataclasses import dataclass
from pathlib import Path

from pillion.errors import Error

BEGIN = 12  # bytes that tell how long the head is
_MAGIC = b"\x93NUMPY"
_LONGEST_HEAD = 1 << 16


@dataclass(frozen=True)
class NpyHead:
    type: str  # as NumPy writes it, such as "<f8"; "records" if it is a list
    fortran: bool  # the first index varies fastest
    shape: tuple[int, ...]
    offset: int  # of the first value


def head_size(begin: bytes, path: Path) -> int:
    """Bytes before the first value, from the first BEGIN bytes. Raises Error if it is no such
    file.
    """
    if len(begin) < BEGIN or not begin.startswith(_MAGIC):
        raise _refusal(path, "it does not begin as such files do")
    version = begin[6]
    if not 1 <= version <= 3:
        raise _refusal(path, f"its version {version} is not known")
    length = 2 if version == 1 else 4
    size = 8 + length + int.from_bytes(begin[8 : 8 + length], "little")
    if size > _LONGEST_HEAD:
        raise _refusal(path, f"its head has {size} bytes")
    return size


def parse_head(head: bytes, path: Path) -> NpyHead:
    """Parses a whole head; values may follow it. Raises Error if it makes no sense."""
    size = head_size(head, path)
    if len(head) < size:
        raise _refusal(path, "it ends within its head")
    text = head[10 if head[6] == 1 else 12 : size].decode("latin-1")
    # Records are written as a list, whatever is in them.
    kind = _entry(text, "descr", r"(?:'([^']*)'|\[)", path) or "records"
    is_fortran = _entry(text, "fortran_order", "(True|False)", path) == "True"
    shape = _entry(text, "shape", r"\(([^)]*)\)", path)
    extents = tuple(int(word) for word in re.findall("[0-9]+", shape))
    if any(extent >= 1 << 63 for extent in extents):
        raise _refusal(path, f"its shape is ({shape})")
    return NpyHead(kind, is_fortran, extents, size)


def read_head(path: Path) -> NpyHead:
    """The head of a file. Raises Error if it cannot be read."""
    try:
        with path.open("rb") as file:
            head = file.read(BEGIN)
            if len(head) < BEGIN:
                raise _refusal(path, "it ends within its head")
            head += file.read(max(0, head_size(head, path) - BEGIN))
    except OSError as error:
        raise Error(f"'{path}' cannot be opened: {error.strerror}") from error
    return parse_head(head, path)


def expect_whole(path: Path, head: NpyHead, size: int) -> None:
    """Raises Error unless the file has all its values, of `size` bytes each."""
    told = head.offset + size * math.prod(head.shape)
    there = path.stat().st_size
    if there < told:
        raise _refusal(
            path, f"it has {there} bytes, but its head tells of {told}; was it written whole?"
        )


def _entry(text: str, key: str, pattern: str, path: Path) -> str:
    """The text that `pattern` matches in an entry of the dictionary."""
    found = re.search(rf"'{key}'\s*:\s*{pattern}", text)
    if found is None:
        raise _refusal(path, f"its head has no '{key}' that is understood: {text}")
    return found[1] or ""


def _refusal(path: Path, why: str) -> Error:
    return Error(f"'{path}' cannot be read as .npy: {why}")
