# SPDX-License-Identifier: BSD-3-Clause
"""Masks, units and axes that come with an array, and whether a program still uses it.

Libraries attach masks, units and names of axes to arrays, which numbers alone do not show. A
program may compute in another array (`a = step(a)`) while the session keeps the one that was
shared, whose values never change again.
"""

import sys
from collections.abc import Container, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from pillion.errors import Error
from pillion.insitu.catalogue import BOXES, Field

_AXES = ("x", "y", "z")


def numbers_of(field: Field, array: Any) -> Any:
    """The array that has the numbers, in the order of the mesh's axes. Raises Error if a mask or
    units say that they mean something else.
    """
    if isinstance(array, np.ma.MaskedArray):
        _expect_no_mask(field, array)
        return array.data
    _expect_units(field, _units_of(array))
    dims = getattr(array, "dims", None)
    if isinstance(dims, tuple) and all(isinstance(dim, str) for dim in dims):
        return _in_order(field, array, dims)
    magnitude = getattr(array, "magnitude", None)  # of Pint
    return array if magnitude is None or isinstance(array, np.ndarray) else magnitude


def _expect_no_mask(field: Field, array: np.ma.MaskedArray) -> None:
    if np.ma.is_masked(array):
        raise Error(
            f"field '{field.name}' was shared as a masked array, in which "
            f"{np.ma.count_masked(array)} of {array.size} values are masked, and analyses would "
            "use these; give the mesh a `mask` in the configuration, or share an array without one"
        )


def _units_of(array: Any) -> str:
    """As text; "" if the array says nothing of them."""
    attributes = getattr(array, "attrs", None)
    given = attributes.get("units") if isinstance(attributes, dict) else None
    if given is None:
        given = getattr(array, "units", None) or getattr(array, "unit", None)
    return "" if given is None or callable(given) else str(given)


def _expect_units(field: Field, units: str) -> None:
    def plain(text: str) -> str:
        return text.replace("**", "^").replace(" ", "")

    if not units or not field.units or plain(units) == plain(field.units):
        return
    raise Error(
        f"field '{field.name}' is in {field.units}, and the array that was shared in {units}; "
        "convert it, or share its values alone if both mean the same"
    )


def _in_order(field: Field, array: Any, dims: Sequence[str]) -> Any:
    """An array with named axes, those of the mesh first. Raises Error if their names are others."""
    if field.mesh_kind not in BOXES:
        return array
    axes = _AXES[: len(field.cells)]
    if not set(dims) & set(_AXES):
        return array  # names that say nothing of the mesh
    rest = [dim for dim in dims if dim not in axes]
    if not set(axes) <= set(dims) or len(rest) > 1:
        raise Error(
            f"field '{field.name}' was shared with the axes {', '.join(dims)}; mesh "
            f"'{field.mesh}' has {', '.join(axes)}, and components come last"
        )
    return array.transpose(*axes, *rest)


class Held(NamedTuple):
    """An array as the program shared it, its views, and how many steps had been due by then."""

    array: Any
    views: list[np.ndarray]
    due: int = 0


Block = tuple[str, int]


def new_abandoned(
    shared: Mapping[Block, Held],
    allocated: Container[Block],
    fields: Mapping[str, Field],
    known: set[str],
    due: int,
) -> list[str]:
    """Warnings about fields whose arrays the program has given up, as `a = step(a)` does. Adds
    these fields to `known`, so that each has one warning. Arrays in memory of the session are left
    out. A program may share a copy each time, so arrays must have been there at the due step before
    this one, number `due`.
    """
    texts = []
    for name in {name for name, _ in shared} - known:
        field = fields[name]
        blocks = [block for block in shared if block[0] == name]
        if field.is_constant or not field.used or any(block in allocated for block in blocks):
            continue
        if all(shared[b].due < due - 1 and is_abandoned(shared[b]) for b in blocks):
            known.add(name)
            texts.append(
                f"the array that was shared as field '{name}' is no longer used by the program, so "
                "analyses see the same values until another is shared: write to it in place, as in "
                "`a[...] = step(a)`, or share the new array before each step; a field that never "
                "changes is `constant: true` in the configuration"
            )
    return texts


def is_abandoned(held: Held) -> bool:
    """Whether nothing but this tuple of an array, and of the list of its views, refers to the array
    and its memory. False where the memory belongs to another library.
    """
    members: dict[int, np.ndarray] = {}
    inside: dict[int, int] = {}  # references from members, from the tuple and from lists
    parts: Sequence[Any] = (held.array,)
    if isinstance(held.array, (list, tuple)):  # of components; a program may use the list itself
        parts = held.array if sys.getrefcount(held.array) == 3 else ()
    for top in (*parts, *held.views):
        if not isinstance(top, np.ndarray):
            return False
        inside[id(top)] = inside.get(id(top), 0) + 1
        while id(top) not in members:
            members[id(top)] = top
            if top.base is None:
                break
            if not isinstance(top.base, np.ndarray):
                return False
            inside[id(top.base)] = inside.get(id(top.base), 0) + 1
            top = top.base
    del top, parts
    return all(_references(members, key) == inside[key] for key in members)


def _references(members: dict[int, np.ndarray], key: int) -> int:
    """References to a member from elsewhere than `members` and this call."""
    return sys.getrefcount(members[key]) - 2
