# SPDX-License-Identifier: BSD-3-Clause
"""Blocks that are zfp streams: without headers, so the dataset's text says how they were made, and
the block's grid what they hold.
"""

import re
from dataclasses import dataclass

import numpy as np

from pillion.errors import Error
from pillion.idx.bitmask import Bitmask, Point
from pillion.idx.codecs import ZFP, expect_readable

KINDS = {"<f4": "type_float", "<f8": "type_double", "<i4": "type_int32", "<i8": "type_int64"}
NUMBER = r"(\d+(?:\.\d*)?(?:[eE][-+]?\d+)?)"


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
    expect_readable(ZFP)
    import zfpy

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
