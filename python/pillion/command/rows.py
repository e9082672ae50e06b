# SPDX-License-Identifier: BSD-3-Clause
"""Rows of a table product on a terminal, for the commands that show some."""

import numpy as np

from pillion.command import paint
from pillion.tables import Table


def show_rows(table: Table, names: list[str], rows: np.ndarray, most: int) -> None:
    """Prints these rows, but no more than so many if that is above 0."""
    heads = [f"{n} [{u}]" if (u := table.columns[n].units) else n for n in names]
    shown = rows if most <= 0 else rows[:most]
    lines = [[_text(table[n][i].item()) for n in names] for i in shown]
    widths = [max(len(line[c]) for line in [heads, *lines]) for c in range(len(names))]
    print(paint.strong(_aligned(heads, widths)))
    for line in lines:
        print(_aligned(line, widths))
    if len(shown) < len(rows):
        print(f"… {len(rows) - len(shown)} more rows")


def _aligned(texts: list[str], widths: list[int]) -> str:
    return "  ".join(text.rjust(width) for text, width in zip(texts, widths, strict=True))


def _text(value: float | int) -> str:
    return f"{value:.6g}" if isinstance(value, float) else str(value)
