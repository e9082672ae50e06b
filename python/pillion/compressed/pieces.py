# SPDX-License-Identifier: BSD-3-Clause
"""The pieces of a field in a file, each with its checksum; and what is said of damaged files."""

import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from pillion.errors import Error

if TYPE_CHECKING:
    import h5py


def pieces(file: "h5py.File", name: str) -> Iterator[tuple[NDArray[np.uint8], list[int]]]:
    """The bytes of each, and what its row says of it between size and checksum."""
    data = file[name][...]
    at = 0
    for size, *about, checksum in file[f"{name}_pieces"][...].tolist():
        piece = data[at : at + size]
        at += size
        if len(piece) != size or zlib.crc32(piece) != checksum:
            raise Error(f"{file.filename} is damaged: '{name}' is not what was written")
        yield piece, about


@contextmanager
def told_of_damage(path: str | Path) -> Iterator[None]:
    """What libraries stumble over in a file that is not as it was written, as an Error."""
    try:
        yield
    except (ArithmeticError, LookupError, OSError, RuntimeError, TypeError, ValueError) as reason:
        raise Error(f"{path} is damaged, or is not what it seems: {reason}") from reason
