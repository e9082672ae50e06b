# SPDX-License-Identifier: BSD-3-Clause
"""Fields that consist of others. Files have them whole, as vectors; a session is given their
components, each a field of its own.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from pillion.datasets.file_arrays import Box
from pillion.datasets.raw_blocks import RawArray, RawBlock, RawField
from pillion.insitu.catalogue import Field
from pillion.replay.arrays import Stored
from pillion.replay.frames import Found

Assembled = Mapping[str, list[str]]  # the components of fields, by name


@dataclass(frozen=True)
class ComponentArray(RawArray):
    """A component of an array, which comes behind its items."""

    whole: RawArray | None = None
    items: int = 1  # number of axes
    component: int = 0

    def read_box(self, box: Box, out: np.ndarray) -> None:
        assert self.whole is not None
        one = (self.component, self.component + 1)
        self.whole.read_box(
            [*box[: self.items], one, *box[self.items :]], np.expand_dims(out, self.items)
        )


@dataclass(frozen=True)
class ComponentField(RawField):
    whole: RawField | None = None
    component: int = 0

    def array_of(self, block: RawBlock) -> RawArray:
        assert self.whole is not None
        array, items = self.whole.array_of(block), len(self.box_of(block))
        shape = array.shape[:items] + array.shape[items + 1 :]
        return ComponentArray(
            array.path, array.dtype, shape, array.offset, array, items, self.component
        )


def assembled_in(entries: Mapping[str, Any], fields: Mapping[str, Field]) -> Assembled:
    """The fields of a configuration that consist of others, or that a mesh makes so of the list of
    its coordinates.
    """
    lists = {
        **{f"{name}_coordinates": of for name, of in _lists(entries, "meshes", "coordinates")},
        **dict(_lists(entries, "fields", "components")),
    }
    return {name: parts for name, parts in lists.items() if name in fields}


def _lists(entries: Mapping[str, Any], group: str, key: str) -> Iterable[tuple[str, list[str]]]:
    found = entries.get(group)
    for name, entry in found.items() if isinstance(found, dict) else ():
        of = entry.get(key) if isinstance(entry, dict) else None
        if isinstance(of, list) and all(isinstance(part, str) for part in of):
            yield str(name), of


def components_of(found: Iterable[Found], assembled: Assembled) -> list[Found]:
    """Components that files have as part of a whole, and not by themselves."""
    found = list(found)
    there = {(one.field, one.step) for one in found}
    return [
        replace(one, field=part, stored=_component(one.stored, number))
        for one in found
        for number, part in enumerate(assembled.get(one.field, ()))
        if (part, one.step) not in there
    ]


def _component(stored: Stored, number: int) -> Stored:
    """A component of a stored vector. The shape of anything else is refused later."""
    if len(stored.parts) > 1:
        return replace(stored, parts=(stored.parts[number],), shape=stored.shape[:-1])
    if stored.raw is None:
        return replace(stored, whole=stored, component=number, shape=stored.shape[:-1])
    raw, items = stored.raw, len(stored.shape) - len(stored.raw.inner)
    one = ComponentField(
        raw.name,
        raw.number,
        raw.dtype,
        raw.inner[1:],
        raw.is_partial,
        raw.is_at_points,
        raw.more,
        whole=raw,
        component=number,
    )
    return replace(stored, raw=one, shape=stored.shape[:items] + raw.inner[1:])
