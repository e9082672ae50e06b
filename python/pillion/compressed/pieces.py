# SPDX-License-Identifier: BSD-3-Clause
"""The pieces of a field in a file, each with its checksum, and the error for a damaged file. On
uniform meshes a piece is a box. It is stored as a stream of zfp or SZ3, or as the values
themselves.
"""

import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from pillion.compressed.codecs import of_sz3
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
    """Turns exceptions that libraries raise on a damaged file into an Error."""
    try:
        yield
    except (ArithmeticError, LookupError, OSError, RuntimeError, TypeError, ValueError) as reason:
        raise Error(f"{path} is damaged, or is not what it seems: {reason}") from reason


def read_uniform(
    file: "h5py.File", name: str, components: int, dtype: np.dtype[Any]
) -> NDArray[Any]:
    cells = [int(c) for c in file.attrs["cells"]]
    axes = len(cells)
    out = np.zeros((*cells[::-1], components), dtype)
    codec = str(file[name].attrs["codec"])
    for piece, (coded, component, *box) in pieces(file, name):
        lo, hi = box[:axes], box[3 : 3 + axes]
        shape = [b - a for a, b in zip(lo, hi)][::-1]
        values = _decoded(codec, piece, shape, dtype) if coded else piece.view(dtype)
        cells_of_piece = [slice(a, b) for a, b in zip(lo, hi)][::-1]
        where: tuple[slice | int, ...] = (*cells_of_piece, component)
        out[where] = values.reshape(shape)
    return out if components > 1 else out[..., 0]


def _decoded(
    codec: str, stream: NDArray[np.uint8], shape: list[int], dtype: np.dtype[Any]
) -> NDArray[Any]:
    if codec == "zfp":
        return _of_zfp(stream)
    if codec == "sz3":
        return of_sz3(stream.tobytes(), shape, dtype)
    raise Error(f"there is no code '{codec}' that this version of Pillion knows")


def _of_zfp(stream: NDArray[np.uint8]) -> NDArray[Any]:
    try:
        import zfpy
    except ImportError:
        raise Error("the file needs the Python package 'zfpy': pip install zfpy") from None
    return np.asarray(zfpy.decompress_numpy(stream.tobytes()))
