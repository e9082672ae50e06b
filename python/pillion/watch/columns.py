# SPDX-License-Identifier: BSD-3-Clause
"""The table of analyses: columns give way one after the other where a terminal is narrow. Pure."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from rich.box import SIMPLE_HEAD
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from pillion.units import seconds, size
from pillion.watch.model import Row

_WHERE = {"simulation": "simulation", "sidecar": "sidecars", "hybrid": "both", "auto": "auto"}


def count(value: int | None) -> str:
    return "–" if value is None else f"{value:,}".replace(",", " ")


def duration(value: float) -> str:
    """As a clock shows it."""
    whole = int(value)
    hours, minutes, rest = whole // 3600, whole // 60 % 60, whole % 60
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"


def _status(row: Row) -> Text:
    if row.disabled:
        return Text("disabled", "bold red")
    if row.has_left:
        return Text("left", "bright_black")
    if row.busy is not None:
        return Text(f"busy {duration(row.busy)}" if row.busy >= 2 else "busy", "green")
    return Text("waits" if row.publications == 0 else "idle", "bright_black")


def _counts(pairs: Sequence[tuple[int, str]]) -> Text:
    parts = [f"{count(number)} {word}" for number, word in pairs if number]
    return Text(", ".join(parts) or "–", "yellow" if parts else "bright_black")


def _left_out(row: Row) -> Text:
    return _counts([(row.skipped, "skipped"), (row.lost, "lost")])


def _changed(row: Row) -> Text:
    return _counts([(row.coarsened, "coarsened"), (row.spilled, "spilled")])


def _some(value: float | None) -> Text:
    return Text(seconds(value)) if value else Text("–", "bright_black")


def _bytes(value: int) -> Text:
    return Text(size(value)) if value else Text("–", "bright_black")


@dataclass(frozen=True)
class Column:
    """A column of the table; the higher its rank, the sooner it gives way."""

    title: str
    rank: int
    cell: Callable[[Row], Text]
    right: bool = True


_NAME = Column("analysis", 0, lambda r: Text(r.name, "bold"), False)
_PLACE = Column("where", 5, lambda r: Text(r.attached_job or _WHERE[r.placement], "cyan"), False)
_DONE = Column("done", 1, lambda r: Text(count(r.publications)))
_MEAN_LAG = Column("mean lag", 8, lambda r: _some(r.mean_lag))
_STALL = Column("stall", 4, lambda r: _some(r.stall))
_HERE = Column("in sim.", 7, lambda r: _some(r.simulation))
_THERE = Column("in side.", 7, lambda r: _some(r.sidecar))
_MOVED = Column("moved", 4, lambda r: _bytes(r.bytes_moved))
_LEFT_OUT = Column("left out", 3, lambda r: _left_out(r), False)
_CHANGED = Column("changed", 9, lambda r: _changed(r), False)

LIVE = [
    _NAME,
    _PLACE,
    Column("every", 6, lambda r: Text(r.every, "bright_black"), False),
    Column("step", 1, lambda r: Text(count(r.step))),
    _DONE,
    Column("lag", 2, lambda r: _some(r.lag)),
    _MEAN_LAG,
    _STALL,
    _HERE,
    _THERE,
    _MOVED,
    _LEFT_OUT,
    _CHANGED,
    Column("state", 0, _status, False),
]
FINAL = [
    _NAME,
    _PLACE,
    _DONE,
    Column("in simulation", 2, _HERE.cell),
    Column("in sidecars", 2, _THERE.cell),
    _STALL,
    _MEAN_LAG,
    _MOVED,
    _LEFT_OUT,
    _CHANGED,
]


def columns_for(columns: Sequence[Column], rows: Sequence[Row], width: int) -> list[Column]:
    """The columns that fit, in order; the least important are left out first."""
    changed = any(row.coarsened or row.spilled for row in rows)
    left = [column for column in columns if changed or column is not _CHANGED]

    def needed(column: Column) -> int:
        return max([len(column.title), *(len(column.cell(row).plain) for row in rows)]) + 2

    while len(left) > 2 and sum(map(needed, left)) > width - 1:
        left.remove(max(left, key=lambda column: (column.rank, needed(column))))
    return left


def analyses(
    columns: Sequence[Column], rows: Sequence[Row], width: int, most: int
) -> RenderableType:
    """A table of at most `most` analyses, and a line that counts the rest."""
    shown = rows[: max(1, most)]
    table = Table(
        box=SIMPLE_HEAD,
        width=width,
        padding=(0, 1, 0, 0),
        header_style="bright_black",
        border_style="bright_black",
    )
    left = columns_for(columns, shown, width)
    for column in left:
        table.add_column(
            column.title,
            justify="right" if column.right else "left",
            no_wrap=True,
            overflow="ellipsis",
            ratio=1 if column is _NAME else None,
        )
    for row in shown:
        table.add_row(*(column.cell(row) for column in left))
    hidden = len(rows) - len(shown)
    return Group(table, Text(f"  and {hidden} more", "bright_black")) if hidden else table
