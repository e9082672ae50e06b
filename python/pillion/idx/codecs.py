# SPDX-License-Identifier: BSD-3-Clause
"""How the bytes of a block are stored: as they are, as a zlib stream, or as a bare LZ4 block; as
zfp streams, which take more than their bytes to read, in a file of their own.
"""

import zlib
from importlib.util import find_spec

from pillion.errors import Error

RAW, ZIP, LZ4, ZFP = 0, 3, 7, 8
NOT_READ = {4: "jpg", 6: "png"}
PACKAGES = {LZ4: ("lz4", "lz4"), ZFP: ("zfp", "zfpy")}  # what they need beside this package


def expect_readable(codec: int) -> None:
    """Raises Error if blocks of this codec cannot be read here."""
    if codec not in (RAW, ZIP, LZ4, ZFP):
        name = NOT_READ.get(codec, f"a codec of number {codec}")
        known = "raw, zip, lz4 and zfp are"
        raise Error(f"it is compressed with {name}, which is not read here ({known})")
    name, package = PACKAGES.get(codec, ("", ""))
    if package and find_spec(package) is None:
        raise Error(
            f"it is compressed with {name}, which needs the Python package {package}: "
            f"pip install {package}"
        )


def decode(codec: int, stored: bytes, size: int) -> bytes:
    """The `size` bytes of a block. Raises Error if that is not what is stored. zfp is not for this
    function.
    """
    if codec == ZIP:
        out = _from_zip(stored, size)
    elif codec == LZ4:
        out = _from_lz4(stored, size)
    else:
        expect_readable(codec)
        out = stored
    if len(out) != size:
        raise Error(f"it holds {len(out)} bytes where {size} were expected")
    return out


def _from_zip(stored: bytes, size: int) -> bytes:
    stream = zlib.decompressobj()
    try:
        out = stream.decompress(stored, size + 1)  # one more tells a block that is too long
    except zlib.error as error:
        raise Error(f"it cannot be decompressed: {error}") from error
    if len(out) <= size and not stream.eof:
        raise Error("it cannot be decompressed: its end is missing")
    return out


def _from_lz4(stored: bytes, size: int) -> bytes:
    expect_readable(LZ4)
    import lz4.block

    try:
        return lz4.block.decompress(stored, uncompressed_size=size)
    except lz4.block.LZ4BlockError as error:
        raise Error(f"it cannot be decompressed: {error}") from error
