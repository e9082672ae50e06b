# SPDX-License-Identifier: BSD-3-Clause
"""How the bytes of a block are stored: as they are, as a zlib stream, or as a bare LZ4 block; as
zfp streams, which take more than their bytes to read, in a file of their own.
"""

import zlib

from pillion.errors import Error

RAW, ZIP, LZ4, ZFP = 0, 3, 7, 8
NOT_READ = {4: "jpg", 6: "png"}


def decode(codec: int, stored: bytes, size: int) -> bytes:
    """The `size` bytes of a block. Raises Error if that is not what is stored."""
    if codec == RAW:
        out = stored
    elif codec == ZIP:
        out = _from_zip(stored, size)
    elif codec == LZ4:
        out = _from_lz4(stored, size)
    else:
        name = NOT_READ.get(codec, f"a codec of number {codec}")
        known = "raw, zip, lz4 and zfp are"
        raise Error(f"it is compressed with {name}, which is not read here ({known})")
    if len(out) != size:
        raise Error(f"it holds {len(out)} bytes where {size} were expected")
    return out


def _from_zip(stored: bytes, size: int) -> bytes:
    stream = zlib.decompressobj()
    try:
        out = stream.decompress(stored, size + 1)  # one more tells a block that is too long
    except zlib.error as error:
        raise Error(f"it cannot be decompressed: {error}") from error
    if len(out) == size and not stream.eof:
        raise Error("it cannot be decompressed: its end is missing")
    return out


def _from_lz4(stored: bytes, size: int) -> bytes:
    try:
        import lz4.block
    except ImportError:
        raise Error(
            "it is compressed with lz4, which needs the Python package lz4: pip install lz4"
        ) from None
    try:
        return lz4.block.decompress(stored, uncompressed_size=size)
    except lz4.block.LZ4BlockError as error:
        raise Error(f"it cannot be decompressed: {error}") from error
