# SPDX-License-Identifier: BSD-3-Clause
"""`pillion table`: a table product's head and rows."""

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from pillion.command import paint
from pillion.errors import Error

if TYPE_CHECKING:
    import numpy as np

    from pillion.tables import Table


def show_rows(table: "Table", names: list[str], rows: "np.ndarray", most: int) -> None:
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


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("file", type=Path, help="OUTPUT/ANALYSIS/NAME.csv")
    parser.add_argument("--columns", help="comma-separated names of the columns to show")
    parser.add_argument("--rows", type=int, default=10, help="rows to show; 0 shows all")


def run(arguments: argparse.Namespace) -> int:
    import numpy as np

    from pillion.tables import read_table

    table = read_table(arguments.file)
    names = _chosen(table, arguments.columns)
    head = f"{table.title or table.name} (analysis {table.analysis}, stage {table.stage})"
    print(paint.strong(head))
    print(f"step {table.step}, time {table.time:g} {table.time_units}".rstrip())
    gaps = [("skipped", table.skipped), ("coarsened", table.coarsened), ("lost", table.lost)]
    missing = "".join(f", {number} {name}" for name, number in gaps if number)
    print(f"{table.publications} publications{missing}")
    for attribute in table.attributes.values():
        print(f"{attribute.name} = {attribute.value} {attribute.units}".rstrip())
    show_rows(table, names, np.arange(table.rows), arguments.rows)
    return 0


def _chosen(table: "Table", names: str | None) -> list[str]:
    if names is None:
        return list(table.columns)
    chosen = [name.strip() for name in names.split(",")]
    for name in chosen:
        if name not in table.columns:
            known = ", ".join(table.columns)
            raise Error(f"{table.path} has no column '{name}'; it has {known}")
    return chosen
