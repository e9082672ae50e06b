# SPDX-License-Identifier: BSD-3-Clause
"""The command `pillion`: `report` makes the HTML page of a run, `table` shows a table product.

Exit status: 0 if all went well, 1 if a file was missing or broken (the reason is on standard
error), 2 if the command line was wrong.
"""

import argparse
import sys
from collections.abc import Sequence
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from pillion.errors import Error
from pillion.report import make_report
from pillion.tables import Table, read_table


def _version() -> str:
    try:
        return version("pillion")
    except PackageNotFoundError:
        return "not installed"


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="pillion", description="Looks at what a run with Pillion left behind."
    )
    parser.add_argument("--version", action="version", version=f"pillion {_version()}")
    commands = parser.add_subparsers(dest="command", required=True)
    report = commands.add_parser("report", help="make one HTML page of a finished run")
    report.add_argument("output", type=Path, help="the run's output folder, where report.json is")
    report.add_argument("--to", type=Path, help="the page (default: report.html in that folder)")
    table = commands.add_parser("table", help="show a table product: head and rows")
    table.add_argument("file", type=Path)
    table.add_argument("--columns", help="comma-separated names of the columns to show")
    table.add_argument("--rows", type=int, default=10, help="rows to show; 0 shows all")
    return parser


def _report(arguments: argparse.Namespace) -> int:
    made = make_report(arguments.output, arguments.to)
    for problem in made.problems:
        print(f"pillion: {problem}", file=sys.stderr)
    print(made.path)
    return 1 if made.problems else 0


def _chosen(table: Table, names: str | None) -> list[str]:
    if names is None:
        return list(table.columns)
    chosen = [name.strip() for name in names.split(",")]
    for name in chosen:
        if name not in table.columns:
            known = ", ".join(table.columns)
            raise Error(f"{table.path} has no column '{name}'; it has {known}")
    return chosen


def _table(arguments: argparse.Namespace) -> int:
    table = read_table(arguments.file)
    names = _chosen(table, arguments.columns)
    print(f"{table.title or table.name} (analysis {table.analysis}, stage {table.stage})")
    print(f"step {table.step}, time {table.time:g} {table.time_units}".rstrip())
    gaps = [("skipped", table.skipped), ("coarsened", table.coarsened), ("lost", table.lost)]
    missing = "".join(f", {number} {name}" for name, number in gaps if number)
    print(f"{table.publications} publications{missing}")
    for attribute in table.attributes.values():
        print(f"{attribute.name} = {attribute.value} {attribute.units}".rstrip())
    heads = [f"{n} [{u}]" if (u := table.columns[n].units) else n for n in names]
    shown = table.rows if arguments.rows <= 0 else min(arguments.rows, table.rows)
    rows = [[f"{table.columns[n].values[i]:.6g}" for n in names] for i in range(shown)]
    widths = [max(len(line[c]) for line in [heads, *rows]) for c in range(len(names))]
    for line in [heads, *rows]:
        print("  ".join(text.rjust(width) for text, width in zip(line, widths, strict=True)))
    if shown < table.rows:
        print(f"… {table.rows - shown} more rows")
    return 0


def main(argv: Sequence[str] | None = None) -> int:
    arguments = _parser().parse_args(argv)
    try:
        return _report(arguments) if arguments.command == "report" else _table(arguments)
    except Error as error:
        print(f"pillion: {error}", file=sys.stderr)
        return 1
