# SPDX-License-Identifier: BSD-3-Clause
"""The lossless codes of files: which package undoes which."""

import bz2
import lzma
import zlib
from collections.abc import Callable
from importlib import import_module
from typing import Any

from pillion.errors import Error


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
    """The bytes that were coded, of which there were so many."""
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
