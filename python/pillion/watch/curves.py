# SPDX-License-Identifier: BSD-3-Clause
"""Small curves of table products: which column is worth a look, and a curve in block characters."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import isfinite, log10, nan
from pathlib import Path
from time import monotonic

from pillion.column_roles import Role
from pillion.errors import Error
from pillion.tables import Table, read_table
from pillion.watch.model import Row

_BLOCKS = " ▁▂▃▄▅▆▇█"
_LARGEST = 8 << 20  # bytes of a table that is still read again and again
_SHARE = 20  # times as long as reading takes, a table is not read again
_COURSES = ("step", "time")
_TELLING = ("mean", "standard_deviation", "density", "count")  # more so than others
_CHANGE = 1e-9  # of the largest value; less is round-off
_COORDINATES = ("step", "time", "bin", "id", "lower", "upper", "count_below", "index")


@dataclass(frozen=True)
class Wish:
    """ANALYSIS/NAME:COLUMN; NAME is a product's without step and suffix."""

    analysis: str
    name: str
    column: str


@dataclass(frozen=True)
class Curve:
    """A column of a table."""

    label: str
    column: str
    units: str
    values: tuple[float, ...]
    x: str
    step: int
    log: bool = False  # heights are those of the logarithms

    @property
    def heights(self) -> tuple[float, ...]:
        if not self.log:
            return self.values
        return tuple(log10(v) if v > 0 and isfinite(v) else nan for v in self.values)

    def value_text(self) -> str:
        """The last value of a course, or how high a profile is."""
        finite = [v for v in self.values if isfinite(v)]
        if not finite:
            return ""
        if self.x in _COURSES:
            return f"{finite[-1]:.5g} {self.units}".rstrip()
        return f"max {max(finite):.5g} {self.units}".rstrip()


def read_wish(text: str) -> Wish:
    path, colon, column = text.partition(":")
    analysis, slash, name = path.partition("/")
    if not (colon and slash and column and analysis and name):
        raise Error(f"'{text}' names no column: say ANALYSIS/NAME:COLUMN")
    return Wish(analysis, name, column)


def default_column(table: Table) -> str | None:
    """The column to draw: one that changes, and is not a coordinate. The first column is x."""
    names = list(table.columns)[1:]
    values = [n for n in names if table.columns[n].role is Role.VALUE]
    able = [n for n in values if not n.startswith(_COORDINATES)] or [
        n for n in names if not n.startswith(_COORDINATES)
    ]
    telling = [n for n in _TELLING if n in able]
    floats = [n for n in able if table[n].dtype.kind == "f"]
    changing = (n for n in [*telling, *floats, *able] if _changes(table[n].tolist()))
    return next(changing, able[0] if able else None)


def _changes(values: Sequence[float]) -> bool:
    finite = [v for v in values if isfinite(v)]
    if len(finite) < 2:
        return False
    low, high = min(finite), max(finite)
    return high - low > _CHANGE * max(abs(low), abs(high))


@dataclass(frozen=True)
class _Known:
    """A table as it was read, and for how long that must do."""

    changed: float
    table: Table | None
    good_until: float


class Curves:
    """The curves of the tables in an output folder; a table is read again when it has changed."""

    def __init__(self, folder: Path):
        self._folder = folder
        self._read: dict[Path, _Known] = {}

    def wished(self, rows: Sequence[Row], wishes: Sequence[Wish]) -> list[Curve | str]:
        """A curve for every wish, or why there is none."""
        return [self._of_wish(rows, wish) for wish in wishes]

    def default(self, rows: Sequence[Row]) -> list[Curve]:
        """One for every analysis that has a table."""
        found = (self._first(row) for row in rows)
        return [curve for curve in found if curve is not None]

    def _of_wish(self, rows: Sequence[Row], wish: Wish) -> Curve | str:
        label = f"{wish.analysis}/{wish.name}"
        row = next((r for r in rows if r.name == wish.analysis), None)
        if row is None:
            known = ", ".join(r.name for r in rows)
            return f"{label}: there is no such analysis; there are {known}"
        table = next((t for t in self._tables(row) if t.name == wish.name), None)
        if table is None:
            names = ", ".join(t.name for t in self._tables(row))
            return f"{label}: no such table yet" + (f"; there are {names}" if names else "")
        if wish.column not in table.columns:
            return f"{label} has no column {wish.column}; it has {', '.join(table.columns)}"
        return _curve(table, wish.column)

    def _first(self, row: Row) -> Curve | None:
        for table in self._tables(row):
            column = default_column(table)
            if column is not None:
                return _curve(table, column)
        return None

    def _tables(self, row: Row) -> list[Table]:
        found = (self._table(self._folder / p) for p in row.products if p.endswith(".csv"))
        return [table for table in found if table is not None]

    def _table(self, path: Path) -> Table | None:
        try:
            status = path.stat()
        except OSError:
            return None
        known, now = self._read.get(path), monotonic()
        if known is None or (known.changed != status.st_mtime and now >= known.good_until):
            try:
                table = read_table(path) if status.st_size <= _LARGEST else None
            except Error:
                table = None
            took = monotonic() - now
            known = _Known(status.st_mtime, table, now + _SHARE * took)
            self._read[path] = known
        return known.table


def _curve(table: Table, column: str) -> Curve:
    return Curve(
        label=f"{table.analysis}/{table.name}",
        column=column,
        units=table.columns[column].units,
        values=tuple(float(v) for v in table[column]),
        x=next(iter(table.columns)),
        step=table.step,
        log=_is_log(table, column),
    )


def _is_log(table: Table, column: str) -> bool:
    """Spectra and their like, as the report draws them: with bins of equal ratios, above 0."""
    scale = table.attributes.get("scale")
    return scale is not None and scale.value == "log" and bool((table[column] >= 0).all())


def resampled(values: Sequence[float], width: int) -> list[float]:
    """`width` values: means of neighbours, or the nearest if there are fewer. Means leave out
    values that are not finite.
    """
    out = []
    for i in range(width if values else 0):
        first = i * len(values) // width
        group = values[first : max(first + 1, (i + 1) * len(values) // width)]
        finite = [v for v in group if isfinite(v)]
        out.append(sum(finite) / len(finite) if finite else float("nan"))
    return out


def sparkline(values: Sequence[float], width: int, height: int = 1) -> list[str]:
    """Lines of block characters, from top to bottom; the lowest value still has a foot."""
    points = resampled(values, width)
    finite = [v for v in points if isfinite(v)]
    low, high = min(finite, default=0.0), max(finite, default=0.0)
    levels = 8 * height

    def level(value: float) -> int:
        if not isfinite(value):
            return 0
        if high == low:
            return levels // 2
        # Halves do not overflow.
        return 1 + round((levels - 1) * ((value / 2 - low / 2) / (high / 2 - low / 2)))

    heights = [level(v) for v in points]
    return [
        "".join(_BLOCKS[min(8, max(0, h - 8 * row))] for h in heights)
        for row in reversed(range(height))
    ]
