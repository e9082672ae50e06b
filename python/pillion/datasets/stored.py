# SPDX-License-Identifier: BSD-3-Clause
"""Datasets of fields, whatever their format: what a format must tell, and the xarray dataset that
follows from it. Fields on a mesh are [step, z, y, x], particles [step, particle], or [particle] if
their number changes; components come last. Elements of spectral meshes are as particles are, and
their points, [point_z, point_y, point_x], come after components. Cells and points of unstructured
meshes are as particles are. Values at points of other meshes are [step, point_z, point_y,
point_x].
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import xarray as xr

from pillion.datasets.lazy import Chain, Key, Reader, Stack, length, variable
from pillion.datasets.table_datasets import STEP, attrs_of_time, step_values

PARTICLE, ELEMENT, CELL, POINT = "particle", "element", "cell", "point"
POINTS = ("point_z", "point_y", "point_x")
AXES = ("z", "y", "x")
MOST_INDEXED = 1 << 24  # particles whose step is found by an index in memory


@dataclass(frozen=True)
class StoredField:
    """A field at one step: `shape` along `dims`; `read` gives a part of it. Along particles and
    elements, `shape` has no meaning if their number changes.
    """

    dtype: np.dtype
    dims: tuple[str, ...]
    shape: tuple[int, ...]
    units: str
    read: Reader


@dataclass(frozen=True)
class Stored:
    """All steps of a dataset that have all cells: `counts` are the numbers of particles or
    elements, or of cells of an unstructured mesh; `more_counts` those along another axis, its
    points.
    """

    steps: Sequence[int]
    times: Sequence[float] | None
    time_units: str
    fields: Mapping[str, StoredField]
    coords: Mapping[str, tuple[np.ndarray, str]]  # along the axis of that name, with units
    attrs: Mapping[str, Any]
    counts: Sequence[int] = field(default=())
    more_counts: Mapping[str, Sequence[int]] = field(default_factory=dict)

    @property
    def is_chain(self) -> bool:
        return any(len(set(counts)) > 1 for counts in (self.counts, *self.more_counts.values()))

    @property
    def item_axis(self) -> str:
        """Along which steps follow each other in a chain."""
        axes = (of.dims[0] for of in self.fields.values())
        return next(axis for axis in axes if axis not in self.more_counts)

    def counts_along(self, axis: str) -> Sequence[int]:
        return self.more_counts.get(axis, self.counts)

    def at(self, step: int) -> "Stored":
        """One step alone, which must be there."""
        n = list(self.steps).index(step)
        times = None if self.times is None else [self.times[n]]
        more = {axis: [counts[n]] for axis, counts in self.more_counts.items()}
        counts = [*self.counts[n : n + 1]]
        return replace(self, steps=[step], times=times, counts=counts, more_counts=more)


def free_name(name: str, taken: Collection[str]) -> str:
    """A field's name, unless an axis or a coordinate has that."""
    return f"{name}_of_field" if name in taken else name


def component_axis(components: int) -> str:
    """As datasets of HDF5 have it, where fields may have different numbers of them."""
    return f"component{components}"


def dataset_of(stored: Stored) -> xr.Dataset:
    """An array for each field, over all steps."""
    coords: dict[str, Any] = {
        name: ((name,), values, _attrs(name, units))
        for name, (values, units) in stored.coords.items()
    }
    along = {"": stored.item_axis if stored.is_chain else ""}
    along |= {f"{axis}_": axis for axis in stored.more_counts if stored.is_chain}
    for prefix, axis in along.items():
        coords[f"{prefix}step"] = _along_steps(stored, axis, step_values(stored.steps), STEP)
        if stored.times is not None:
            times, attrs = np.array(stored.times, np.float64), attrs_of_time(stored.time_units)
            coords[f"{prefix}time"] = _along_steps(stored, axis, times, attrs)
    taken = {*coords, *(axis for of in stored.fields.values() for axis in of.dims)}
    data = {
        free_name(name, taken): _variable(stored, name, of) for name, of in stored.fields.items()
    }
    of_dataset = dict(stored.attrs)
    if "configuration" in of_dataset:
        of_dataset["configuration"] = of_dataset.pop("configuration")  # which is long, comes last
    found = xr.Dataset(data, coords, of_dataset)
    indexed = stored.is_chain and sum(stored.counts) <= MOST_INDEXED
    return found.set_xindex("step") if indexed else found


@dataclass(frozen=True)
class _OfStep:
    """Values that are the same for all particles of a step."""

    values: Mapping[int, Any]
    counts: Mapping[int, int]

    def __call__(self, step: int, key: Key) -> np.ndarray:
        return np.full(length(key[0], self.counts[step]), self.values[step])


def _along_steps(
    stored: Stored, axis: str, values: np.ndarray, attrs: Mapping[str, Any]
) -> xr.Variable:
    """A value for each step or, in a chain, for each item along this axis."""
    if not axis:
        return xr.Variable(("step",), values, attrs)
    of_step = dict(zip(stored.steps, values.tolist(), strict=True))
    counts = stored.counts_along(axis)
    of_item = _OfStep(of_step, dict(zip(stored.steps, counts, strict=True)))
    return variable((axis,), Chain(stored.steps, counts, (), values.dtype, of_item), attrs)


def _variable(stored: Stored, name: str, of: StoredField) -> xr.Variable:
    attrs = _attrs(name.replace("_", " "), of.units)
    counts = stored.counts_along(of.dims[0])
    if stored.is_chain:
        chain = Chain(stored.steps, counts, of.shape[1:], of.dtype, of.read)
        return variable(of.dims, chain, attrs)
    shape = (*counts[:1], *of.shape[1:]) if counts else of.shape
    return variable(("step", *of.dims), Stack(stored.steps, shape, of.dtype, of.read), attrs)


def _attrs(name: str, units: str) -> dict[str, str]:
    return {"long_name": name} | ({"units": units} if units else {})


def attrs_of_origin(origin: Mapping[str, Any], source: str) -> dict[str, Any]:
    """The origin of a product as attributes, in the order of tables; texts and numbers only."""
    found = {k: v for k, v in origin.items() if isinstance(v, str | int | float) and k != "step"}
    for name in ("time", "time_units", "pillion"):
        found.pop(name, None)
    return found | {"source": source}
