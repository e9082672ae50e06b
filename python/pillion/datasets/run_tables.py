# SPDX-License-Identifier: BSD-3-Clause
"""A table as a dataset: columns along its axes, attributes that are numbers as variables without
axes, texts as attributes, and the step and time of what is in it as coordinates.
"""

from collections.abc import Iterable
from typing import Any

import numpy as np
import xarray as xr

from pillion.datasets.frames import Frame, attrs_of, frame_of
from pillion.tables import Attribute, Table

STEP = {"long_name": "step"}
ABOUT = ("title", "analysis", "stage", "name", "version")
GAPS = ("publications", "skipped", "coarsened", "lost")


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
