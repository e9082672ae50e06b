# SPDX-License-Identifier: BSD-3-Clause
"""The command `pillion`: `report` makes the HTML page of a run, `table` shows a table product,
`query` finds halos in a merge tree, `view` shows a multiresolution dataset in a browser, and
`doctor` says what is found on the machine.

Exit status: 0 if all went well, 1 if a file was missing or broken (the reason is on standard
error) or the doctor missed something, 2 if the command line was wrong.
"""

import argparse
import csv
import sys
from collections.abc import Sequence
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import numpy as np

from pillion.doctor import Verdict, findings, lines_of
from pillion.errors import Error
from pillion.tables import Table, read_table
from pillion.trees import Thresholds, halos_of


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
    report.add_argument(
        "--compare",
        type=Path,
        help="a folder with what tables are compared with, such as theory "
        "(default: compare in the output folder)",
    )
    table = commands.add_parser("table", help="show a table product: head and rows")
    table.add_argument("file", type=Path)
    table.add_argument("--columns", help="comma-separated names of the columns to show")
    table.add_argument("--rows", type=int, default=10, help="rows to show; 0 shows all")
    query = commands.add_parser("query", help="find halos in a merge tree that a run has kept")
    query.add_argument("tree", type=Path, help="a table halo_tree_FIELD.STEP.csv")
    query.add_argument(
        "--threshold",
        nargs=2,
        type=float,
        action="append",
        required=True,
        metavar=("BOUNDARY", "PEAK"),
        help="in multiples of the field's mean; may be given several times",
    )
    query.add_argument("--absolute", action="store_true", help="thresholds are in field units")
    query.add_argument("--rows", type=int, default=10, help="halos to show; 0 shows all")
    query.add_argument("--to", type=Path, help="a CSV file for all of them, instead of showing")
    commands.add_parser("doctor", help="say what is found on this machine, and what is missing")
    view = commands.add_parser("view", help="show slices of an IDX dataset in a browser")
    view.add_argument("dataset", type=Path, help="its .idx file")
    view.add_argument("--port", type=int, default=0, help="default: one that is free")
    view.add_argument("--no-browser", action="store_true", help="only print where the page is")
    return parser


def _report(arguments: argparse.Namespace) -> int:
    from pillion.report import make_report  # takes Matplotlib, which other commands do without

    if arguments.compare is not None and not arguments.compare.is_dir():
        raise Error(f"there is no folder {arguments.compare} to compare with")
    made = make_report(arguments.output, arguments.to, arguments.compare)
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
    _show(table, names, np.arange(table.rows), arguments.rows)
    return 0


def _text(value: float | int) -> str:
    return f"{value:.6g}" if isinstance(value, float) else str(value)


def _show(table: Table, names: list[str], rows: np.ndarray, most: int) -> None:
    """These rows, but no more than so many if that is above 0."""
    heads = [f"{n} [{u}]" if (u := table.columns[n].units) else n for n in names]
    shown = rows if most <= 0 else rows[:most]
    lines = [[_text(table[n][i].item()) for n in names] for i in shown]
    widths = [max(len(line[c]) for line in [heads, *lines]) for c in range(len(names))]
    for line in [heads, *lines]:
        print("  ".join(text.rjust(width) for text, width in zip(line, widths, strict=True)))
    if len(shown) < len(rows):
        print(f"… {len(rows) - len(shown)} more rows")


def _query(arguments: argparse.Namespace) -> int:
    tree = read_table(arguments.tree)
    asked = [Thresholds(b, p, not arguments.absolute) for b, p in arguments.threshold]
    found = [halos_of(tree, thresholds) for thresholds in asked]
    if arguments.to is not None:
        _write_halos(arguments.to, tree, asked, found)
        return 0
    names = [name for name in tree.columns if not name.startswith("saddle")]
    units = tree.columns["peak"].units
    print(f"{tree.title}: step {tree.step}, time {tree.time:g} {tree.time_units}".rstrip())
    for thresholds, rows in zip(asked, found, strict=True):
        boundary, peak = thresholds.of(tree)
        print(f"{len(rows)} halos of boundary {boundary:g}, peak {peak:g} {units}".rstrip())
        _show(tree, names, rows, arguments.rows)
    return 0


def _write_halos(path: Path, tree: Table, asked: list[Thresholds], found: list[np.ndarray]) -> None:
    """All halos in one file, which says of each what was asked for."""
    names = [name for name in tree.columns if not name.startswith("saddle")]
    try:
        with path.open("w", encoding="utf-8", newline="") as file:
            writer = csv.writer(file, lineterminator="\n")
            writer.writerow(["boundary", "peak_threshold", *names])
            for thresholds, rows in zip(asked, found, strict=True):
                columns = [tree[name][rows].tolist() for name in names]
                writer.writerows([*thresholds.of(tree), *row] for row in zip(*columns, strict=True))
    except OSError as error:
        raise Error(f"cannot write {path}: {error.strerror}") from error


def _view(arguments: argparse.Namespace) -> int:
    from pillion.view import view  # takes Matplotlib too

    view(arguments.dataset, arguments.port, not arguments.no_browser)
    return 0


def _doctor(_: argparse.Namespace) -> int:
    found = list(findings())
    for finding in found:
        print("\n".join(lines_of(finding)))
    return 1 if any(finding.verdict is Verdict.BAD for finding in found) else 0


def main(argv: Sequence[str] | None = None) -> int:
    arguments = _parser().parse_args(argv)
    try:
        commands = {
            "report": _report,
            "table": _table,
            "query": _query,
            "view": _view,
            "doctor": _doctor,
        }
        return commands[arguments.command](arguments)
    except Error as error:
        print(f"pillion: {error}", file=sys.stderr)
        return 1
