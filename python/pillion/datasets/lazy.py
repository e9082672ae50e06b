# SPDX-License-Identifier: BSD-3-Clause
"""Arrays that are read when their values are used, and only the part that is used.

Both kinds go over steps: a stack has an array of one shape for each of them, a chain has arrays of
different lengths one after the other. A request of xarray reaches readers as a tuple of slices and
of arrays of indices, one for each axis of a step's array (outer indexing).
"""

from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import Any

import numpy as np
import xarray as xr
from xarray.backends import BackendArray
from xarray.core import indexing

from pillion.errors import Error

Index = slice | np.ndarray
Key = tuple[Index, ...]
Reader = Callable[[int, Key], np.ndarray]  # of a step, and a part of its array


def variable(
    dims: Sequence[Hashable], array: BackendArray, attrs: Mapping[str, Any]
) -> xr.Variable:
    """A variable that reads `array` when it is used, and then keeps what it has read."""
    kept: Any = indexing.MemoryCachedArray(indexing.LazilyIndexedArray(array))
    return xr.Variable(dims, indexing.CopyOnWriteArray(kept), dict(attrs))


def length(index: Index, size: int) -> int:
    """How many an index takes of an axis of this size."""
    return len(range(*index.indices(size))) if isinstance(index, slice) else len(index)


def bounds(index: Index, size: int) -> tuple[int, int, Index]:
    """The least range [lo, hi) that holds what is asked for, and the index into that."""
    if length(index, size) == 0:
        return 0, 0, slice(0, 0)
    if not isinstance(index, slice):
        lo = int(index.min())
        return lo, int(index.max()) + 1, index - lo
    asked = range(*index.indices(size))
    lo, hi = min(asked[0], asked[-1]), max(asked[0], asked[-1]) + 1
    return lo, hi, slice(None, None, asked.step)


def take(values: np.ndarray, key: Key) -> np.ndarray:
    """Outer indexing of what is in memory."""
    for axis, index in enumerate(key):
        values = values[(slice(None),) * axis + (index,)]
    return values


class _OverSteps(BackendArray):
    """Reads through `_outer`, which gets no numbers, but arrays of one index in their place."""

    shape: tuple[int, ...]
    dtype: np.dtype
    read: Reader

    def __getitem__(self, key: indexing.ExplicitIndexer) -> Any:
        support = indexing.IndexingSupport.OUTER
        return indexing.explicit_indexing_adapter(key, self.shape, support, self._get)

    def _get(self, key: tuple[Any, ...]) -> np.ndarray:
        indices = tuple(_positive(k, size) for k, size in zip(key, self.shape, strict=True))
        found = self._outer(indices)
        return found[
            tuple(0 if np.ndim(k) == 0 and not isinstance(k, slice) else slice(None) for k in key)
        ]

    def _outer(self, key: Key) -> np.ndarray:
        raise NotImplementedError

    def _read(self, step: int, key: Key, shape: tuple[int, ...]) -> np.ndarray:
        found = self.read(step, key)
        if found.shape != shape:
            raise Error(
                f"step {step} has a shape of {found.shape} where {shape} was expected: its files "
                "have been replaced; ask the results for the product again"
            )
        if not np.can_cast(found.dtype, self.dtype, "same_kind"):
            raise Error(f"step {step} has values of type {found.dtype}, others have {self.dtype}")
        return found


def _positive(index: Any, size: int) -> Index:
    if isinstance(index, slice):
        return index
    found = np.atleast_1d(np.asarray(index, dtype=np.int64))
    return np.where(found < 0, found + size, found)


class Stack(_OverSteps):
    """An array [step, …] of arrays of one shape."""

    def __init__(
        self, steps: Sequence[int], shape: tuple[int, ...], dtype: np.dtype, read: Reader
    ) -> None:
        self.steps = tuple(steps)
        self.shape = (len(self.steps), *shape)
        self.dtype = dtype
        self.read = read

    def _outer(self, key: Key) -> np.ndarray:
        chosen = np.arange(self.shape[0])[key[0]]
        inner = tuple(length(k, n) for k, n in zip(key[1:], self.shape[1:], strict=True))
        out = np.empty((len(chosen), *inner), dtype=self.dtype)
        for place, number in enumerate(chosen):
            out[place] = self._read(self.steps[number], key[1:], inner)
        return out


class Chain(_OverSteps):
    """An array of the rows of all steps, of each as many as `counts` says; rows may have axes."""

    def __init__(
        self,
        steps: Sequence[int],
        counts: Sequence[int],
        shape: tuple[int, ...],
        dtype: np.dtype,
        read: Reader,
    ) -> None:
        self.steps = tuple(steps)
        self.ends = np.cumsum(counts, dtype=np.int64)
        self.shape = (int(self.ends[-1]) if len(self.ends) else 0, *shape)
        self.dtype = dtype
        self.read = read

    def _outer(self, key: Key) -> np.ndarray:
        rows = key[0]
        if isinstance(rows, slice):
            rows = np.arange(*rows.indices(self.shape[0]))
        inner = tuple(length(k, n) for k, n in zip(key[1:], self.shape[1:], strict=True))
        out = np.empty((len(rows), *inner), dtype=self.dtype)
        of = np.searchsorted(self.ends, rows, side="right")
        for number in np.unique(of):
            places = np.flatnonzero(of == number)
            begin = self.ends[number - 1] if number > 0 else 0
            key_of_step = (rows[places] - begin, *key[1:])
            out[places] = self._read(self.steps[number], key_of_step, (len(places), *inner))
        return out
