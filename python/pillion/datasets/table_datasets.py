# SPDX-License-Identifier: BSD-3-Clause
"""A table as a dataset. Its frame defines its axes, and the place of each row in an array along
them. Columns become arrays along these axes, numeric attributes become variables without axes, and
texts become attributes. The step and the time of the table are coordinates.

As in the report's plots, the first column is x, or the first two are edges of bins. Histograms of
two fields have two axes of bins, slices two of x, y and z. Lists of things with an id have rows
without a place on an axis.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
import xarray as xr

from pillion.report.planes import is_plane, is_slice
from pillion.report.plots import abscissa, bin_edges, called, is_list, subject
from pillion.tables import Attribute, Table

ROW = "row"
STEP = {"long_name": "step"}
ABOUT = ("title", "analysis", "stage", "name", "version")
GAPS = ("publications", "skipped", "coarsened", "lost")


@dataclass(frozen=True)
class Along:
    """A coordinate along one axis."""

    dim: str
    values: np.ndarray
    attrs: dict[str, str]


@dataclass(frozen=True)
class Frame:
    """Axes `dims`, with coordinates by name; `rows`, of that shape, has the number of the table's
    row for every place, -1 where there is none. `keys` are the columns that all of it follows from.
    """

    dims: tuple[str, ...]
    coordinates: dict[str, Along]
    rows: np.ndarray
    keys: tuple[str, ...]

    def fits(self, table: Table, origin: Table) -> bool:
        """Whether it is the frame of this table, too, if it is that of `origin`."""
        return table.rows == origin.rows and all(
            name in table.columns and np.array_equal(table[name], origin[name], equal_nan=True)
            for name in self.keys
        )

    def dtype(self, column: np.dtype) -> np.dtype:
        """The type of a column here. Missing values are NaN, so integers become float64."""
        return np.dtype(np.float64) if (self.rows < 0).any() else column

    def place(self, values: np.ndarray) -> np.ndarray:
        """A column's values in the frame."""
        if not (self.rows < 0).any():
            return values[self.rows]
        return np.where(self.rows < 0, np.nan, values[np.maximum(self.rows, 0)])


def frame_of(table: Table) -> Frame:
    """The frame of any table."""
    if is_list(table):
        return list_frame(table)
    if is_slice(table) and table.rows > 0:
        return _slice_frame(table)
    if is_plane(table):
        return _plane_frame(table) or list_frame(table)
    if edges := bin_edges(table):
        return _bin_frame(table, edges)
    return _curve_frame(table)


def list_frame(table: Table) -> Frame:
    """Rows as they come."""
    names = (next(iter(table.columns)),) if is_list(table) else ()
    found = {name: Along(ROW, table[name], attrs_of(table, name)) for name in names}
    return Frame((ROW,), found, np.arange(table.rows), ())


def _curve_frame(table: Table) -> Frame:
    x, taken = next(iter(table.columns)), abscissa(table)[1]
    keys = tuple(name for name in table.columns if name in taken)
    found = {name: Along(x, table[name], attrs_of(table, name)) for name in keys}
    return Frame((x,), found, np.arange(table.rows), keys)


def _bin_frame(table: Table, edges: tuple[str, str]) -> Frame:
    found = _bins(table, "bin", edges, subject(table), is_log(table, "scale"))
    return Frame(("bin",), found, np.arange(table.rows), edges)


def _bins(
    table: Table, dim: str, edges: tuple[str, str], name: str, log: bool, of: Any = slice(None)
) -> dict[str, Along]:
    """Centres, as the index, and edges of bins; geometric centres of those of equal ratio."""
    low, high = (table[edge][of] for edge in edges)
    centres = np.sqrt(low) * np.sqrt(high) if log else low + (high - low) / 2
    attrs = attrs_of(table, edges[0])
    return {
        dim: Along(dim, centres, attrs | {"long_name": name}),
        edges[0]: Along(dim, low, attrs | {"long_name": f"lower edge of {name}"}),
        edges[1]: Along(dim, high, attrs | {"long_name": f"upper edge of {name}"}),
    }


def _plane_frame(table: Table) -> Frame | None:
    """Bins with finite edges; None if these are not all there."""
    own, other = ("lower", "upper"), ("against_lower", "against_upper")
    inside = np.logical_and.reduce([np.isfinite(table[name]) for name in (*own, *other)])
    shape = tuple(len(np.unique(table[edges[0]][inside])) for edges in (own, other))
    if inside.sum() != shape[0] * shape[1] or not inside.any():
        return None
    order = np.flatnonzero(inside)
    order = order[np.lexsort((table["against_lower"][order], table["lower"][order]))]
    rows = order.reshape(shape)
    against = table.attributes.get("against")
    against_name = str(against.value).replace("_", " ") if against else "against"
    name = subject(table).removesuffix(f" against {against_name}")
    found = _bins(table, "bin", own, name, is_log(table, "scale"), rows[:, 0])
    found |= _bins(
        table, "against_bin", other, against_name, is_log(table, "against_scale"), rows[0]
    )
    return Frame(("bin", "against_bin"), found, rows, (*own, *other))


def _slice_frame(table: Table) -> Frame:
    """[y, x] of a table whose first two columns are x and y, whatever these axes are called."""
    x, y = list(table.columns)[:2]
    at_x, at_y = np.unique(table[x]), np.unique(table[y])
    rows = np.full((len(at_y), len(at_x)), -1)
    rows[np.searchsorted(at_y, table[y]), np.searchsorted(at_x, table[x])] = np.arange(table.rows)
    found = {y: Along(y, at_y, attrs_of(table, y)), x: Along(x, at_x, attrs_of(table, x))}
    return Frame((y, x), found, rows, (x, y))


def is_log(table: Table, name: str) -> bool:
    attribute = table.attributes.get(name)
    return attribute is not None and attribute.value == "log"


def attrs_of(table: Table, column: str) -> dict[str, str]:
    """The attributes of a column: its name for readers, and its units if it has some."""
    words = column.split("_")
    name = column.replace("_", " ")
    if (whole := called(table, words[0])) != words[0]:
        name = ", ".join(filter(None, [whole, "–".join(words[1:])]))
    elif len(table.columns) == 3 and is_slice(table) and column not in list(table.columns)[:2]:
        name = subject(table)[:-2]  # which ends with the axis
    units = table.columns[column].units
    if column == "time" and not units:
        units = table.time_units
    found = {"long_name": name} | ({"units": units} if units else {})
    about = [other.name for other in table.columns.values() if other.of == column]
    return found | ({"ancillary_variables": " ".join(about)} if about else {})


def dataset_of_table(table: Table, frame: Frame | None = None) -> xr.Dataset:
    """All of a table. Its step and time are coordinates without axes, where it has none along."""
    frame = frame_of(table) if frame is None else frame
    coords: dict[str, Any] = {
        name: ((along.dim,), along.values, along.attrs) for name, along in frame.coordinates.items()
    }
    taken = {*coords, *frame.keys}
    data: dict[str, Any] = {
        name: (frame.dims, frame.place(column.values), attrs_of(table, name))
        for name, column in table.columns.items()
        if name not in taken
    }
    for name, attribute in numbers_of(table, {*data, *taken}).items():
        data[name] = ((), float(attribute.value), attrs_of_attribute(attribute))
    for name, moment, attrs in (
        ("step", table.step, STEP),
        ("time", table.time, attrs_of_time(table.time_units)),
    ):
        if "step" not in frame.dims and name not in taken and name not in data:
            coords[name] = ((), moment, attrs)
    return xr.Dataset(data, coords, attrs_of_dataset(table))


def numbers_of(table: Table, taken: Iterable[str]) -> dict[str, Attribute]:
    """Attributes that are numbers, by names that are not taken."""
    taken = {*taken}
    return {
        f"{a.name}_of_table" if a.name in taken else a.name: a
        for a in table.attributes.values()
        if isinstance(a.value, int | float)
    }


def attrs_of_attribute(attribute: Attribute) -> dict[str, str]:
    units = {"units": attribute.units} if attribute.units else {}
    return {"long_name": attribute.name.replace("_", " ")} | units


def attrs_of_time(units: str) -> dict[str, str]:
    return {"long_name": "time"} | ({"units": units} if units else {})


def attrs_of_dataset(table: Table) -> dict[str, Any]:
    """Texts that hold for the whole, and where it is from; the configuration of the run last."""
    texts = {a.name: a.value for a in table.attributes.values() if isinstance(a.value, str)}
    found: dict[str, Any] = {name: getattr(table, name) for name in ABOUT}
    found |= {"run": table.run} if table.run else {}
    found |= {name: getattr(table, name) for name in GAPS}
    found |= {name: text for name, text in texts.items() if name not in found}
    found["source"] = str(table.path)
    if table.parameters:
        found["parameters"] = ", ".join(f"{n}={v}" for n, v in table.parameters.items())
    return found | {"configuration": table.configuration}


def step_values(steps: Iterable[int]) -> np.ndarray:
    return np.array(list(steps), dtype=np.int64)
