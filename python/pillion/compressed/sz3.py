# SPDX-License-Identifier: BSD-3-Clause
"""Streams of SZ3, which are chunks as HDF5's filter of it makes them: a file in memory takes one as
the only chunk of a dataset, and what is read of that has come out of the filter."""

from typing import Any
from uuid import uuid4

import numpy as np
from numpy.typing import NDArray

from pillion.errors import Error

_FILTER = 32024  # as registered with the HDF Group
# A mode and four bounds, of which a decoder needs none.
_NUMBERS = (0,) * 9


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
            f"a box cannot be decompressed by SZ3, of which it needs version 3.1; hdf5plugin "
            f"{hdf5plugin.version} is here, 7.1 has it: {reason}"
        ) from None


def _claim(hdf5plugin: Any) -> None:
    """Where HDF5_PLUGIN_PATH is set, h5py's library loads the plug-in before the package does, and
    the plug-in then does not find that library."""
    if hdf5plugin.get_config().registered_filters.get("sz3") == "unknown":
        hdf5plugin.register("sz3")


def _check(dataset: Any) -> None:
    """When a dataset is made, the filter adds extents to its numbers, if it serves h5py's library.
    Without them it returns what it was given."""
    if len(_numbers_of(dataset)) == len(_NUMBERS):
        raise Error(
            "boxes of SZ3 cannot be read in this process, where the plug-in serves another HDF5 "
            "than h5py's, as in simulations that compress by SZ3: read the file in a program of "
            "its own"
        )


def _numbers_of(dataset: Any) -> tuple[int, ...]:
    _, numbers, _ = dataset.id.get_create_plist().get_filter_by_id(_FILTER)
    return tuple(numbers)
