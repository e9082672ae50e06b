# SPDX-License-Identifier: BSD-3-Clause
"""Arrays as they are shared: anything that NumPy sees without copying it, and whether its shape and
strides suit a field.
"""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from pillion.errors import Error
from pillion.insitu.catalogue import BOXES, Field

_ITEMS = {"particles": "particles", "spectral": "elements", "unstructured": "cells or points"}


def view_of(array: Any, field: str) -> np.ndarray:
    """The array itself if it is one of NumPy's. Booleans are seen as the uint8 that they are."""
    view = _seen_as_array(array, field)
    return view.view(np.uint8) if view.dtype == bool else view


def _seen_as_array(array: Any, field: str) -> np.ndarray:
    if isinstance(array, np.ndarray):
        return array
    if isinstance(array, (list, tuple, int, float)):
        raise Error(f"field '{field}' was shared as a {type(array).__name__}; share an array")
    try:
        return np.from_dlpack(array)
    except (AttributeError, TypeError, RuntimeError, BufferError):
        pass
    view, again = np.asarray(array), np.asarray(array)
    if address_of(view) != address_of(again) or view.dtype == object:
        # NumPy had to make a copy, which would never change.
        raise Error(f"field '{field}' was shared as a {type(array).__name__}; share an array")
    return view


def without_ghosts(
    field: Field, view: np.ndarray, ghosts: int | Sequence[int]
) -> np.ndarray[Any, Any]:
    """The part of an array between its ghost cells, in the same memory. `ghosts` is their number at
    both ends of each axis. Raises Error if there is no such part.
    """
    axes = len(field.cells)
    widths = [ghosts] * axes if isinstance(ghosts, int) else [int(width) for width in ghosts]
    said = f"field '{field.name}' was shared with ghosts={ghosts}"
    if field.mesh_kind not in BOXES:
        raise Error(f"{said}; only boxes of cells have ghost cells")
    if len(widths) != axes or min(widths) < 0:
        raise Error(
            f"{said}; give a number, or one for each of the {axes} axes of mesh '{field.mesh}': "
            "how many ghost cells are at each end, 0 or more"
        )
    _expect_box(field, view, axes)
    for axis, width in enumerate(widths):
        if width > 0 and view.shape[axis] <= 2 * width:
            raise Error(
                f"{said} as an array of shape {view.shape}, which along axis {axis} has no cells "
                f"between {width} ghost cells at each end; the shape includes ghost cells"
            )
    return view[
        tuple(slice(width, n - width) for n, width in zip(view.shape, widths, strict=False))
    ]


def address_of(view: np.ndarray) -> int:
    return int(view.__array_interface__["data"][0])


def _elements_of(view: np.ndarray, stride: int, field: str) -> int:
    count, rest = divmod(stride, view.itemsize)
    if rest:
        raise Error(
            f"field '{field}' was shared with a stride of {stride} bytes, which is not a whole "
            f"number of elements of {view.itemsize} bytes"
        )
    return count


def box_of(
    field: Field, view: np.ndarray, lo: Sequence[int] | None
) -> tuple[list[int], list[int], list[int]]:
    """The place of a block in a mesh of boxes: lo, hi, and strides in elements. Raises Error if the
    array does not suit.
    """
    axes = len(field.cells)
    _expect_box(field, view, axes)
    first = [0] * axes if lo is None else [int(x) for x in lo]
    if len(first) != axes:
        raise Error(
            f"field '{field.name}' was shared with lo={tuple(first)}; mesh '{field.mesh}' has "
            f"{axes} axes"
        )
    extents = [n - (field.point_axes >> axis & 1) for axis, n in enumerate(view.shape[:axes])]
    last = [a + n for a, n in zip(first, extents, strict=True)]
    strides = [_elements_of(view, stride, field.name) for stride in view.strides]
    return first, last, [*strides, 1][: axes + 1]


def _expect_box(field: Field, view: np.ndarray, axes: int) -> None:
    suits = view.ndim == axes + 1 and view.shape[-1] == field.components
    if suits or (view.ndim == axes and field.components == 1):
        return
    raise Error(
        f"field '{field.name}' was shared as an array of shape {view.shape}; give one extent "
        f"for each of the {axes} axes of mesh '{field.mesh}'"
        + (f", and {field.components} components last" if field.components > 1 else "")
    )


def expect_items(field: Field, view: np.ndarray, lo: Sequence[int] | None) -> None:
    """Raises Error unless the array is one of particles, elements, cells or points with all their
    values.
    """
    what = _ITEMS[field.mesh_kind]
    if lo is not None:
        raise Error(f"field '{field.name}' is of {what}, which have no lo")
    shape = field.of_item
    suit = {shape, (1, *shape)} if field.components == 1 else {shape}
    if view.ndim == 0 or view.shape[1:] not in suit:
        wanted = ", ".join(["count", *map(str, shape)])
        raise Error(
            f"field '{field.name}' was shared as an array of shape {view.shape}; give "
            f"({wanted}{'' if shape else ','})"
        )
    if not view.flags.c_contiguous:
        raise Error(
            f"field '{field.name}' of {what} was shared with gaps (strides {view.strides}); "
            "give an array in one piece, such as numpy.ascontiguousarray makes, and share it "
            "again when it changes"
        )


def expect_components(field: Field, views: list[np.ndarray]) -> None:
    """Raises Error unless there is an array for each component, with the same strides."""
    if len(views) != field.components:
        raise Error(
            f"field '{field.name}' was shared as {len(views)} arrays; give one for each of its "
            f"{field.components} components"
        )
    for component, view in enumerate(views):
        for what in ("dtype", "shape", "strides"):
            ours, others = getattr(view, what), getattr(views[0], what)
            if ours != others:
                raise Error(
                    f"field '{field.name}' was shared as arrays of different {what}: component "
                    f"{component} has {ours}, component 0 has {others}; all must have the same"
                )


def items_of(field: Field, view: np.ndarray, lo: Sequence[int] | None) -> list[int]:
    """Strides in elements, between particles or elements and between the points of one, of an array
    of one component.
    """
    if view.ndim == 1 and not field.of_item and lo is None:
        return [_elements_of(view, view.strides[0], field.name), 1]
    expect_items(field, view, lo)
    return [math.prod(view.shape[1:]), 1]


def strides_for(field: Field, extents: Sequence[int]) -> list[int]:
    """Strides in elements of an array in the library's preferred order. On a uniform mesh the first
    axis is fastest, with components together; else all is in one piece as NumPy has it.
    """
    axes = len(field.cells)
    if field.mesh_kind not in BOXES:
        return [math.prod(extents[i + 1 :]) for i in range(len(extents))]
    strides = [field.components * math.prod(extents[:i]) for i in range(min(axes, len(extents)))]
    return strides + [1] * (len(extents) - axes)
