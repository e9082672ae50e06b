# SPDX-License-Identifier: BSD-3-Clause
"""The answers to the page's requests on a dataset: its description, and slices at a level."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from pillion.errors import Error
from pillion.idx import Dataset
from pillion.idx.dataset import Box
from pillion.idx.origin import field_units, length_units, time_units, times_of

MAGNITUDE = "magnitude"
MOST_SAMPLES = 1 << 24  # of one answer; a screen has fewer


@dataclass(frozen=True)
class Query:
    """A slice through `position` across an axis, or the whole of a dataset that is flat. `window`
    is the part of the plane that is wanted, [lo, hi) for each of its axes.
    """

    field: str
    component: int | str
    step: int
    level: int
    axis: int
    position: int
    window: Box


@dataclass(frozen=True)
class Slice:
    """`values[v, u]`, at coordinates origin + k * stride, in the plane that is nearest below."""

    values: np.ndarray
    origin: tuple[int, int]
    stride: tuple[int, int]
    position: int


def describe(dataset: Dataset) -> dict[str, Any]:
    """The description of a dataset that the page needs before it requests slices; plain values."""
    origin = dataset.origin or {}
    units = field_units(origin)
    return {
        "name": dataset.path.name,
        "title": str(origin.get("title") or dataset.path.stem),
        "fields": [
            {
                "name": name,
                "type": str(dataset[name].dtype),
                "components": dataset[name].components,
                "units": units.get(name, ""),
            }
            for name in dataset.fields
        ],
        "steps": dataset.steps,
        "times": times_of(origin, len(dataset.steps)),
        "time_units": time_units(origin),
        "length_units": length_units(origin, dataset.fields),
        "box": dataset.box,
        "physical_box": dataset.physical_box,
        "strides": [dataset.stride(level) for level in range(dataset.levels + 1)],
    }


def plane_axes(axes: int, axis: int) -> tuple[int, ...]:
    """Axes along the two sides of the picture; a line has but one."""
    return tuple(a for a in range(axes) if a != axis or axes < 3)


def read_slice(dataset: Dataset, query: Query) -> Slice:
    """Raises Error for what is not in the dataset, and for too many samples at once."""
    sides = plane_axes(dataset.axes, query.axis)
    stride = dataset.stride(_level(dataset, query.level))
    box = list(dataset.box)
    for side, window in zip(sides, query.window):
        box[side] = window
    position = query.position
    if dataset.axes == 3:
        position = _plane(position, stride[query.axis], dataset.box[query.axis])
        box[query.axis] = (position, min(position + 1, dataset.box[query.axis][1]))
    count = np.prod([(hi - lo) // s + 1 for (lo, hi), s in zip(box, stride)])
    if count > MOST_SAMPLES:
        raise Error(f"a slice of {count} samples is too much at once; ask for a coarser level")
    found = dataset[query.field].read(query.step, query.level, box)
    with np.errstate(over="ignore"):  # what is too large is shown as infinite
        values = _component(found.values, dataset[query.field].components, query.component).astype(
            "<f4"
        )
    extents = [values.shape[dataset.axes - 1 - side] for side in sides]
    width, height = [*extents, 1][:2] if values.size else (0, 0)
    origin = [*(found.origin[side] for side in sides), 0]
    strides = [*(stride[side] for side in sides), 1]
    return Slice(
        values=values.reshape(height, width),
        origin=(origin[0], origin[1]),
        stride=(strides[0], strides[1]),
        position=position,
    )


def _level(dataset: Dataset, level: int) -> int:
    if not 0 <= level <= dataset.levels:
        raise Error(f"{dataset.path} has the levels 0 to {dataset.levels}; {level} is not there")
    return level


def _plane(position: int, stride: int, span: tuple[int, int]) -> int:
    """The nearest plane of the level at or below a position, or the first above; the end of the
    span if there is none.
    """
    lo, hi = span
    if not lo <= position < hi:
        raise Error(f"there is no slice at {position}; there are {lo} to {hi - 1}")
    below = position - position % stride
    return min(below if below >= lo else below + stride, hi)


def _component(values: np.ndarray, components: int, asked: int | str) -> np.ndarray:
    if components == 1:
        return values
    if asked == MAGNITUDE:
        return np.sqrt(np.sum(np.square(values, dtype=np.float64), axis=-1))
    if not isinstance(asked, int) or not 0 <= asked < components:
        raise Error(f"there is no component {asked}; there are 0 to {components - 1}")
    return values[..., asked]
