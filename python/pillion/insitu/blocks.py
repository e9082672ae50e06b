# SPDX-License-Identifier: BSD-3-Clause
"""Blocks of a step as stages see them: NumPy arrays over memory that is lent for the step."""

from collections.abc import Collection
from typing import TYPE_CHECKING, Any

import numpy as np

from pillion.errors import Error

if TYPE_CHECKING:
    from pillion.insitu.plan import Shape
    from pillion.insitu.step import Step


class Lease:
    """Owns every array of a step. If it lives on after the step, somebody has kept an array."""

    __slots__ = ("__weakref__",)


class Block:
    """The part of an input that this rank holds in one piece.

    `block["density"]` is a read-only array over the memory where the values are; nothing is
    copied. Its index order is that of the mesh: `array[i, j, k]` is the cell lo + (i, j, k),
    components last. On a spectral mesh `array[e, k, j, i]` is the value at a point of element e, i
    along the first axis of the reference element; a field with several components is indexed
    `[e, c, k, j, i]`, one that is centred on elements `[e]` or `[e, c]`. It is good for this step
    only: keep copies (`array.copy()`).

    Attributes:
        lo, hi: half-open index range of all cells, ghosts included, where they may lie outside of
            the mesh if it is periodic; empty tuples unless the mesh is uniform.
        inner_lo, inner_hi: the same without ghost cells: what this rank has to work on.
        number: of the block, as shared, or among those of this rank.
        count: cells, particles or elements.
        owned: those that are this rank's own: cells without ghosts; the first so many particles.
    """

    __slots__ = (
        "_arrays",
        "_index",
        "_shape",
        "_step",
        "count",
        "hi",
        "inner_hi",
        "inner_lo",
        "lo",
        "number",
        "owned",
    )

    def __init__(self, step: "Step", shape: "Shape", index: int) -> None:
        found = step._work.block(
            shape.number, index, shape.axes, shape.has_inner, shape.points, step._lease
        )
        self.lo, self.hi, self.inner_lo, self.inner_hi = found[:4]
        self.number, self.count, self.owned, self._arrays = found[4:]
        self._step, self._shape, self._index = step, shape, index

    def __getitem__(self, field: str) -> np.ndarray[Any, Any]:
        """Values of a field; raises KeyError if the input has no such field."""
        try:
            return self._arrays[self._shape.places[field]]  # type: ignore[no-any-return]
        except KeyError:
            known = ", ".join(self._shape.places)
            raise KeyError(f"this input has no field '{field}'; it has {known}") from None

    def inner(self, field: str) -> np.ndarray[Any, Any]:
        """The values without ghost cells; of particles and elements those owned."""
        array = self[field]
        if self._shape.axes == 0:
            return array[: self.owned]
        pairs = zip(self.lo, self.inner_lo, self.inner_hi, strict=True)
        return array[tuple(slice(i - a, j - a) for a, i, j in pairs)]

    def produce(self, name: str) -> np.ndarray[Any, Any]:
        """An uninitialised array to write an output's values of this block to, without ghosts."""
        return self._step._produce(name, self._shape, self._index)


def expect_known(name: str, known: Collection[str]) -> None:
    if name not in known:
        names = ", ".join(known) or "none"
        raise Error(f"this stage declares no output '{name}'; it declares {names}")
