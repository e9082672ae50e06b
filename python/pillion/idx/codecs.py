# SPDX-License-Identifier: BSD-3-Clause
"""How the bytes of a block are stored: as they are, as a zlib stream, as a bare LZ4 block, or as
zfp streams. These have no headers: the dataset's text says how they were made, and the block's grid
what they hold.
"""

import re
import zlib
from dataclasses import dataclass

import numpy as np

from pillion.errors import Error
from pillion.idx.order import Bitmask, Point

KINDS = {"<f4": "type_float", "<f8": "type_double", "<i4": "type_int32", "<i8": "type_int64"}
NUMBER = r"(\d+(?:\.\d*)?(?:[eE][-+]?\d+)?)"
RAW, ZIP, LZ4, ZFP = 0, 3, 7, 8
NOT_READ = {4: "jpg", 6: "png"}


@dataclass(frozen=True)
class Loss:
    """What was kept of samples: everything if both are 0."""

    precision: int = 0  # bit planes
    tolerance: float = 0.0  # the largest absolute error


def read_loss(compression: str) -> Loss | None:
    """From `zfp`, or `zfp-WRITE-READ`, each reversible, precision=BITS or accuracy=TOLERANCE; None
    for anything else.
    """
    if compression in ("zfp", "zfp-reversible-reversible"):
        return Loss()
    if found := re.fullmatch(r"zfp-[^-]+-precision=(\d+)", compression):
        return Loss(precision=int(found[1])) if int(found[1]) > 0 else None
    if found := re.fullmatch(rf"zfp-[^-]+-accuracy={NUMBER}", compression):
        return Loss(tolerance=float(found[1])) if float(found[1]) > 0 else None
    return Loss() if re.fullmatch(r"zfp-[^-]+-reversible", compression) else None


def decode_zfp(
    stored: bytes, dtype: np.dtype, components: int, loss: Loss | None, mask: Bitmask, extent: Point
) -> bytes:
    """The samples of a block, in rows. The mask is the dataset's: streams have as many axes as it
    has, even where a block is flat.
    """
    try:
        import zfpy
    except ImportError:
        raise Error(
            "it is compressed with zfp, which needs the Python package zfpy: pip install zfpy"
        ) from None
    if loss is None:
        raise Error("it is compressed with zfp, and the dataset's text does not say how")
    if dtype.str not in KINDS or components != 1:
        raise Error(f"zfp has no streams of {components} components of type {dtype}")
    shape = extent[max(mask.axes, default=0) :: -1]
    kind = getattr(zfpy, KINDS[dtype.str])
    padded = stored.ljust(_most(shape, dtype.itemsize), b"\0")
    try:
        values = zfpy._decompress(
            padded, kind, shape, tolerance=loss.tolerance or -1, precision=loss.precision or -1
        )
    except ValueError as error:
        raise Error(f"it cannot be decompressed: {error}") from error
    return values.astype(dtype, copy=False).tobytes()


def _most(shape: tuple[int, ...], size: int) -> int:
    """More bytes than any stream of such samples has: zfp does not look where one ends."""
    samples = size
    for extent in shape:
        samples *= -(-extent // 4) * 4
    return 2 * samples + 64


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
