# SPDX-License-Identifier: BSD-3-Clause
"""Datasets of fields, whatever their format: what a format must tell, and the xarray dataset that
follows from it. Fields on a mesh are [step, z, y, x], particles [step, particle], or [particle] if
their number changes; components come last. Elements of spectral meshes are as particles are, and
their points, [point_z, point_y, point_x], come after components.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import xarray as xr

from pillion.datasets.lazy import Chain, Key, Reader, Stack, length, variable
from pillion.datasets.table_datasets import STEP, attrs_of_time, step_values

PARTICLE, ELEMENT = "particle", "element"
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
    elements."""

    steps: Sequence[int]
    times: Sequence[float] | None
    time_units: str
    fields: Mapping[str, StoredField]
    coords: Mapping[str, tuple[np.ndarray, str]]  # along the axis of that name, with units
    attrs: Mapping[str, Any]
    counts: Sequence[int] = field(default=())

    @property
    def is_chain(self) -> bool:
        return len(set(self.counts)) > 1

    @property
    def item_axis(self) -> str:
        """Along which steps follow each other in a chain."""
        return next(iter(self.fields.values())).dims[0]

    def at(self, step: int) -> "Stored":
        """One step alone, which must be there."""
        n = list(self.steps).index(step)
        times = None if self.times is None else [self.times[n]]
        return replace(self, steps=[step], times=times, counts=[*self.counts[n : n + 1]])


def component_axis(components: int) -> str:
    """As datasets of HDF5 have it, where fields may have different numbers of them."""
    return f"component{components}"


def dataset_of(stored: Stored) -> xr.Dataset:
    """An array for each field, over all steps."""
    coords: dict[str, Any] = {
        name: ((name,), values, _attrs(name, units))
        for name, (values, units) in stored.coords.items()
    }
    coords["step"] = _along_steps(stored, step_values(stored.steps), STEP)
    if stored.times is not None:
        times = np.array(stored.times, dtype=np.float64)
        coords["time"] = _along_steps(stored, times, attrs_of_time(stored.time_units))
    data = {name: _variable(stored, name, of) for name, of in stored.fields.items()}
    attrs = dict(stored.attrs)
    if "configuration" in attrs:
        attrs["configuration"] = attrs.pop("configuration")  # which is long, comes last
    found = xr.Dataset(data, coords, attrs)
    indexed = stored.is_chain and sum(stored.counts) <= MOST_INDEXED
    return found.set_xindex("step") if indexed else found


@dataclass(frozen=True)
class _OfStep:
    """Values that are the same for all particles of a step."""

    values: Mapping[int, Any]
    counts: Mapping[int, int]

    def __call__(self, step: int, key: Key) -> np.ndarray:
        return np.full(length(key[0], self.counts[step]), self.values[step])


def _along_steps(stored: Stored, values: np.ndarray, attrs: Mapping[str, Any]) -> xr.Variable:
    if not stored.is_chain:
        return xr.Variable(("step",), values, attrs)
    of_step = dict(zip(stored.steps, values.tolist(), strict=True))
    counts = dict(zip(stored.steps, stored.counts, strict=True))
    chain = Chain(stored.steps, stored.counts, (), values.dtype, _OfStep(of_step, counts))
    return variable((stored.item_axis,), chain, attrs)


def _variable(stored: Stored, name: str, of: StoredField) -> xr.Variable:
    attrs = _attrs(name.replace("_", " "), of.units)
    if stored.is_chain:
        chain = Chain(stored.steps, stored.counts, of.shape[1:], of.dtype, of.read)
        return variable(of.dims, chain, attrs)
    shape = (*stored.counts[:1], *of.shape[1:]) if stored.counts else of.shape
    return variable(("step", *of.dims), Stack(stored.steps, shape, of.dtype, of.read), attrs)


def _attrs(name: str, units: str) -> dict[str, str]:
    return {"long_name": name} | ({"units": units} if units else {})


def attrs_of_origin(origin: Mapping[str, Any], source: str) -> dict[str, Any]:
    """The origin of a product as attributes, in the order of tables; texts and numbers only."""
    found = {k: v for k, v in origin.items() if isinstance(v, str | int | float) and k != "step"}
    for name in ("time", "time_units", "pillion"):
        found.pop(name, None)
    return found | {"source": source}
