# SPDX-License-Identifier: BSD-3-Clause
"""Tables of steps as one dataset that reads a step's file when its values are used.

If all steps have the same x, arrays are [step, x]. If x differs (bins that follow the data), they
are [step, point] or [step, bin], and x is one of them. Lists of things differ in length from step
to step. They become one list, [row], in which `step` is the step of each row (CF: a contiguous
ragged array). The first and the last table decide between these. A table between them that does not
match raises Error when it is read.
"""

from dataclasses import dataclass
from typing import Any, Literal, get_args

import numpy as np
import xarray as xr

from pillion.datasets.kept import rows_of, table_of, time_of
from pillion.datasets.lazy import Chain, Key, Stack, take, variable
from pillion.datasets.listing import Product
from pillion.datasets.table_datasets import (
    ROW,
    STEP,
    Frame,
    attrs_of,
    attrs_of_attribute,
    attrs_of_dataset,
    attrs_of_time,
    frame_of,
    list_frame,
    numbers_of,
    step_values,
)
from pillion.errors import Error
from pillion.report.plots import is_list
from pillion.tables import Table

Rows = Literal["common", "own", "ragged"]
POINT, PUBLICATION = "point", "publication"
TAKEN = ("step", "time", ROW, POINT, PUBLICATION, "row_size")


@dataclass(frozen=True)
class _Column:
    """Reads a column of a step's table, in a frame that is that of `origin`."""

    product: Product
    name: str
    frame: Frame
    origin: Table

    def __call__(self, step: int, key: Key) -> np.ndarray:
        table = table_of(self.product.file(step))
        if not self.frame.fits(table, self.origin):
            raise Error(
                f"{table.path} has not the {self._what(table)} of {self.origin.path.name}: open "
                f"{self.product.key} with rows='ragged', or this step alone with at(…, {step})"
            )
        if self.name not in table.columns:
            return take(np.full(self.frame.rows.shape, np.nan), key)
        return take(self.frame.place(table[self.name]), key)

    def _what(self, table: Table) -> str:
        names = ", ".join(self.frame.keys)
        return f"{self.origin.rows} rows" if table.rows != self.origin.rows else f"same {names}"


@dataclass(frozen=True)
class _RowsOf:
    """Reads rows of a column of a step's table."""

    product: Product
    name: str

    def __call__(self, step: int, key: Key) -> np.ndarray:
        table = table_of(self.product.file(step))
        if self.name not in table.columns:
            return take(np.full(table.rows, np.nan), key)
        return take(table[self.name], key)


@dataclass(frozen=True)
class _Number:
    """Reads an attribute of a step's table that is a number."""

    product: Product
    name: str

    def __call__(self, step: int, key: Key) -> np.ndarray:
        found = table_of(self.product.file(step)).attributes.get(self.name)
        value = found.value if found and isinstance(found.value, int | float) else np.nan
        return np.array(value, dtype=np.float64)


@dataclass(frozen=True)
class _Time:
    """Reads the time of a step from the head of its table."""

    product: Product

    def __call__(self, step: int, key: Key) -> np.ndarray:
        return np.array(time_of(self.product.file(step)))


def rows_like(first: Table, last: Table) -> Rows:
    """How to combine a series of tables that begins with `first` and ends with `last`."""
    frame = frame_of(last)
    if frame.dims == (ROW,) or is_list(first):
        return "ragged"
    if [*first.columns][:2] == [*last.columns][:2] and frame.fits(first, last):
        return "common"
    return "own" if len(frame.dims) == 1 and first.rows == last.rows else "ragged"


def dataset_of_steps(product: Product, rows: Rows | None = None) -> xr.Dataset:
    """Raises Error if tables are broken, or cannot be put together as `rows` says."""
    first, last = (table_of(product.file(step)) for step in (product.steps[0], product.steps[-1]))
    rows = rows_like(first, last) if rows is None else rows
    if rows not in get_args(Rows):
        raise Error(f"rows must be one of {', '.join(get_args(Rows))}, not {rows!r}")
    if rows == "ragged":
        return _ragged(product, first, last)
    frame = frame_of(last)
    if rows == "common" and frame.dims == (ROW,):
        raise Error(f"rows of {product.key} have no x that steps could have in common")
    if rows == "own":
        dim = POINT if frame.dims[0] in last.columns else frame.dims[0]
        frame = Frame((dim,), {}, np.arange(last.rows), ())
    return _stacked(product, first, last, frame)


def _free(name: str) -> str:
    """A column's name, unless something of ours has that."""
    return f"{name}_of_row" if name in TAKEN else name


def _dim(name: str) -> str:
    return name if name == POINT else _free(name)


def _columns(first: Table, last: Table) -> dict[str, tuple[np.dtype, dict[str, str]]]:
    """Types and attributes of the columns of either; of what one lacks, reals."""
    found = {}
    for table in (first, last):
        for name in table.columns:
            of = [t[name].dtype for t in (first, last) if name in t.columns]
            dtype = of[0] if of == [of[0]] * 2 else np.dtype(np.float64)
            found[name] = dtype, attrs_of(table, name)
    return found


def _stacked(product: Product, first: Table, last: Table, frame: Frame) -> xr.Dataset:
    def stack(dtype: np.dtype, shape: tuple[int, ...], read: Any) -> Stack:
        return Stack(product.steps, shape, dtype, read)

    coords: dict[str, Any] = {
        _free(name): ((_dim(along.dim),), along.values, along.attrs)
        for name, along in frame.coordinates.items()
    }
    dims = ("step", *map(_dim, frame.dims))
    coords["step"] = (("step",), step_values(product.steps), STEP)
    real = np.dtype(np.float64)
    of_time = stack(real, (), _Time(product))
    coords["time"] = variable(("step",), of_time, attrs_of_time(last.time_units))
    data: dict[str, Any] = {}
    own = set() if frame.keys else {*frame_of(last).keys}
    for name, (dtype, attrs) in _columns(first, last).items():
        if name in frame.coordinates or name in frame.keys:
            continue
        array = stack(frame.dtype(dtype), frame.rows.shape, _Column(product, name, frame, last))
        (coords if name in own else data)[_free(name)] = variable(dims, array, attrs)
    return _whole(product, first, last, data, coords)


def _whole(
    product: Product, first: Table, last: Table, data: dict[str, Any], coords: dict[str, Any]
) -> xr.Dataset:
    """With the numbers that each table has as a whole, and what all of it is about."""
    along = PUBLICATION if PUBLICATION in coords else "step"
    taken = {*data, *coords, *TAKEN}
    for table in (first, last):
        for name, attribute in numbers_of(table, taken).items():
            read = _Number(product, attribute.name)
            array = Stack(product.steps, (), np.dtype(np.float64), read)
            data.setdefault(name, variable((along,), array, attrs_of_attribute(attribute)))
    attrs = attrs_of_dataset(last) | {"source": str(product.path / f"{product.name}.STEP.csv")}
    return xr.Dataset(data, coords, attrs)


def _ragged(product: Product, first: Table, last: Table) -> xr.Dataset:
    counts = [rows_of(product.file(step)) for step in product.steps]
    times = [time_of(product.file(step)) for step in product.steps]
    steps = step_values(product.steps)
    data: dict[str, Any] = {
        "row_size": (
            (PUBLICATION,),
            np.array(counts, dtype=np.int64),
            {"long_name": "rows of a step", "sample_dimension": ROW},
        )
    }
    coords: dict[str, Any] = {
        "step": ((ROW,), np.repeat(steps, counts), STEP),
        "time": ((ROW,), np.repeat(np.array(times, float), counts), attrs_of_time(last.time_units)),
        PUBLICATION: ((PUBLICATION,), steps, STEP),
    }
    listed = list_frame(last).coordinates
    with_rows = steps[np.array(counts) > 0].tolist() or product.steps
    ends = [table_of(product.file(step)) for step in (with_rows[0], with_rows[-1])]
    for name, (dtype, attrs) in _columns(*ends).items():
        array = Chain(product.steps, counts, (), dtype, _RowsOf(product, name))
        (coords if name in listed else data)[_free(name)] = variable((ROW,), array, attrs)
    return _whole(product, first, last, data, coords).set_xindex("step")
