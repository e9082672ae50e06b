# SPDX-License-Identifier: BSD-3-Clause
"""Curves on the terminal: a name, the last value, and below them the curve. Pure."""

from collections.abc import Sequence

from rich.box import ROUNDED
from rich.console import Group, RenderableType
from rich.panel import Panel
from rich.table import Table
from rich.text import Text

from pillion.watch.curves import Curve, sparkline

_HIGHEST = 4  # rows of a curve
_SIDE_BY_SIDE = 110  # columns from which on there are two beside each other
_COLOURS = ("bright_blue", "bright_magenta", "bright_cyan", "bright_green")


def _title(shown: Curve, width: int, colour: str) -> Text:
    name = Text.assemble((shown.label, "bold"), (f"  {shown.column}", colour))
    name.append(f"  over {shown.x}", "bright_black")
    value = Text(shown.value_text(), "bold")
    name.truncate(max(1, width - len(value) - 2), overflow="ellipsis")
    return name.append(" " * (width - len(name) - len(value))).append_text(value)


def _pane(shown: Curve | str, width: int, height: int, colour: str) -> RenderableType:
    if isinstance(shown, str):
        text = Text(shown, "yellow", no_wrap=True, overflow="ellipsis")
        return Group(text, *[Text("")] * height)
    title = _title(shown, width, colour)
    return Group(title, *(Text(line, colour) for line in sparkline(shown.values, width, height)))


def curves(shown: Sequence[Curve | str], width: int, rows: int, turn: int) -> Panel | None:
    """As many as fit in so many rows, as high as they can be; the others have their turn later."""
    room = rows - 2
    if not shown or room < 2:
        return None
    beside = 2 if width >= _SIDE_BY_SIDE and len(shown) > 1 else 1
    lines = min(-(-len(shown) // beside), room // 2)
    airy = (room + 1) // lines - 2  # with a blank row between
    height = min(_HIGHEST, airy if airy >= 2 else room // lines - 1)
    number = min(len(shown), lines * beside)
    first = turn * number % len(shown) if number < len(shown) else 0
    chosen = [(first + i) % len(shown) for i in range(number)]
    inner = width - 4
    each = (inner - 3 * (beside - 1)) // beside
    grid = Table.grid(padding=(0, 3, 0, 0))
    panes = [_pane(shown[i], each, height, _COLOURS[i % len(_COLOURS)]) for i in chosen]
    for begin in range(0, number, beside):
        if begin and airy >= 2:
            grid.add_row()
        grid.add_row(*panes[begin : begin + beside])
    more = len(shown) - number
    return Panel(
        grid,
        title=Text("results", "bold"),
        title_align="left",
        subtitle=Text(f"{more} more", "bright_black") if more else None,
        subtitle_align="right",
        box=ROUNDED,
        border_style="bright_black",
        padding=(0, 1),
        width=width,
    )
