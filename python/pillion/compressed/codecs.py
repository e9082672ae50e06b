# SPDX-License-Identifier: BSD-3-Clause
"""How the bytes of files are decoded: the lossless codes, each by a package of its own, and streams
of SZ3. These are chunks as HDF5's filter makes them: a file in memory takes one as the only chunk
of a dataset, and reading that dataset runs the filter.
"""

import bz2
import lzma
import zlib
from collections.abc import Callable
from importlib import import_module
from typing import Any
from uuid import uuid4

import numpy as np
from numpy.typing import NDArray

from pillion.errors import Error

_FILTER = 32024  # as registered with the HDF Group
# A mode and four bounds; a decoder needs none of them.
_NUMBERS = (0,) * 9


def _package(name: str, package: str) -> Any:
    try:
        return import_module(name)
    except ImportError:
        raise Error(
            f"the file needs the Python package '{package}': pip install {package}"
        ) from None


def _zstd(data: bytes, size: int) -> bytes:
    made: bytes = _package("zstandard", "zstandard").decompress(data, max_output_size=size)
    return made


def _lz4(data: bytes, size: int) -> bytes:
    made: bytes = _package("lz4.block", "lz4").decompress(data, uncompressed_size=size)
    return made


_CODECS: dict[str, Callable[[bytes, int], bytes]] = {
    "zstd": _zstd,
    "xz": lambda data, _: lzma.decompress(data),
    "bzip2": lambda data, _: bz2.decompress(data),
    "zip": lambda data, _: zlib.decompress(data),
    "lz4": _lz4,
}


def decoded(codec: str, data: bytes, size: int) -> bytes:
    """Decodes `data` into `size` bytes. Raises Error if the codec is unknown or the data are
    damaged.
    """
    if codec not in _CODECS:
        raise Error(f"there is no code '{codec}' that this version of Pillion knows")
    try:
        out = _CODECS[codec](data, size)
    except Error:
        raise
    except Exception as reason:  # each library has its own
        raise Error(f"compressed bytes are damaged: {reason}") from None
    if len(out) != size:
        raise Error(f"compressed bytes are damaged: {len(out)} come out of them, not {size}")
    return out


def of_sz3(stream: bytes, shape: list[int], dtype: np.dtype[Any]) -> NDArray[Any]:
    """The values of a box of that shape."""
    try:
        import h5py
        import hdf5plugin
    except ImportError:
        raise Error(
            "the file needs the Python package 'hdf5plugin': pip install hdf5plugin"
        ) from None
    _claim(hdf5plugin)
    extents = tuple(n for n in shape if n != 1)
    try:
        # Files in memory that are open at once need names of their own.
        with h5py.File(uuid4().hex, "w", driver="core", backing_store=False) as file:
            dataset = file.create_dataset(
                "box",
                extents,
                dtype,
                chunks=extents,
                compression=_FILTER,
                compression_opts=_NUMBERS,
            )
            _check(dataset)
            dataset.id.write_direct_chunk((0,) * len(extents), stream)
            return np.asarray(dataset[...]).reshape(shape)
    except (OSError, ValueError, RuntimeError) as reason:
        raise Error(
            f"SZ3 cannot decompress a box; it needs version 3.1, which hdf5plugin 7.1 has; "
            f"hdf5plugin {hdf5plugin.version} is installed: {reason}"
        ) from None


def _claim(hdf5plugin: Any) -> None:
    """Registers the filter of SZ3 with h5py. If HDF5_PLUGIN_PATH is set, h5py's library loads the
    plug-in before the package does, and the plug-in then does not find that library.
    """
    if hdf5plugin.get_config().registered_filters.get("sz3") == "unknown":
        hdf5plugin.register("sz3")


def _check(dataset: Any) -> None:
    """When a dataset is made, the filter adds extents to its numbers, if it serves h5py's library.
    Without them it returns what it was given."""
    if len(_numbers_of(dataset)) == len(_NUMBERS):
        raise Error(
            "boxes of SZ3 cannot be read in this process: its plug-in serves another HDF5 library "
            "than h5py's, as in a simulation that compresses by SZ3. Read the file in a separate "
            "program"
        )


def _numbers_of(dataset: Any) -> tuple[int, ...]:
    _, numbers, _ = dataset.id.get_create_plist().get_filter_by_id(_FILTER)
    return tuple(numbers)
