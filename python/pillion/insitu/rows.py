# SPDX-License-Identifier: BSD-3-Clause
"""The results that a stage in Python returns at each publication, as a table over time."""

import json
import math
import zlib
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from pillion.errors import Error
from pillion.insitu.step import MAX, SUM, Step

_SPECIAL = {1: math.nan, 2: math.inf, 3: -math.inf}
_KINDS = {"nan": 1, "inf": 2, "-inf": 3}


class _Column:
    """Numbers that are added one by one, as an array without a copy."""

    def __init__(self, kind: type, values: Iterable[float] = ()) -> None:
        self._array: np.ndarray[Any, Any] = np.array(list(values), kind)
        self._size = len(self._array)

    def append(self, value: float) -> None:
        if self._size == len(self._array):
            # Twice as much, so that copies are in proportion to what is added.
            room = np.empty(max(16, self._size), self._array.dtype)
            self._array = np.concatenate([self._array, room])
        self._array[self._size] = value
        self._size += 1

    @property
    def values(self) -> np.ndarray[Any, Any]:
        return self._array[: self._size]


class Rows:
    """Columns by name, `step` and `time` before all others, of the stage `name`."""

    def __init__(self, name: str, defaults: Mapping[str, float | str] | None = None) -> None:
        self._name = name
        self._defaults = dict(defaults or {})
        self._columns: dict[str, _Column] = {}

    def __bool__(self) -> bool:
        return bool(self._columns)

    def take(self, step: Step, returned: Any) -> None:
        """Adds a row, or nothing for None. [peers] Raises Error on every peer unless all return the
        same kind.
        """
        row = None if returned is None else self._checked(returned)
        self._agree(step, row)
        if row is not None:
            self._add(step, row)

    def write(self, step: Step) -> None:
        columns = {name: column.values for name, column in self._columns.items()}
        units = {"time": step.units("time")}
        step.table(self._name, columns, units=units, attributes=self._defaults, growing=True)

    def dumped(self) -> bytes:
        lists = {name: column.values.tolist() for name, column in self._columns.items()}
        return json.dumps(lists).encode()

    def load(self, text: bytes) -> None:
        lists = json.loads(text)
        self._columns = {name: _Column(_kind_of(name), values) for name, values in lists.items()}

    def _checked(self, row: Any) -> dict[str, float]:
        if not isinstance(row, Mapping) or not row:
            raise Error(
                f"'{self._name}' returned {shown(row)}; a stage returns nothing, or a mapping from "
                "names to numbers"
            )
        values = {}
        for name, value in row.items():
            try:
                values[str(name)] = float(value)
            except (TypeError, ValueError):
                raise Error(
                    f"'{self._name}' returned {shown(value)} as '{name}', which is not a number"
                ) from None
        taken = {"step", "time"} & set(values)
        if taken:
            raise Error(f"'{self._name}' returned '{taken.pop()}', which every row has already")
        return values

    def _agree(self, step: Step, row: dict[str, float] | None) -> None:
        """Raises Error on every peer unless all return the same columns."""
        mark = 0 if row is None else 1 + zlib.crc32("\n".join(row).encode())
        both = np.array([mark, -mark], np.int64)
        step.reduce_in_place(both, MAX)
        if both[0] != -both[1]:
            raise Error(f"'{self._name}' did not return the same columns on every rank")
        if row is not None and self._columns and list(self._columns)[2:] != list(row):
            before = ", ".join(list(self._columns)[2:])
            raise Error(f"'{self._name}' returned {', '.join(row)}, and {before} before")

    def _add(self, step: Step, row: dict[str, float]) -> None:
        # A number counts only on the first peer: elsewhere it might differ.
        here = [v if step.peer == 0 else 0.0 for v in row.values()]
        finite = [v if math.isfinite(v) else 0.0 for v in here]
        kinds = np.array([0 if math.isfinite(v) else _KINDS[str(v)] for v in here], np.int64)
        sums = np.array(finite)
        step.reduce_in_place(kinds, SUM)
        step.reduce_in_place(sums, SUM)
        values = [_SPECIAL[k] if k else float(v) for k, v in zip(kinds, sums, strict=True)]
        for name, value in zip(
            ("step", "time", *row), (step.index, step.time, *values), strict=True
        ):
            self._columns.setdefault(name, _Column(_kind_of(name))).append(value)


def _kind_of(name: str) -> type:
    return np.int64 if name == "step" else np.float64


def shown(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 80 else f"{text[:77]}..."
