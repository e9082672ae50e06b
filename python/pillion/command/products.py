# SPDX-License-Identifier: BSD-3-Clause
"""Commands that show products: `pillion report`, `table`, `query`, `view` and `decode`."""

import argparse
import csv
import sys
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from pillion.command import paint
from pillion.errors import Error

if TYPE_CHECKING:
    import numpy as np

    from pillion.compressed import CompressedFile
    from pillion.tables import Table
    from pillion.trees import Thresholds


def add_report(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("output", type=Path, help="the run's output folder, where report.json is")
    parser.add_argument("--to", type=Path, help="the page (default: report.html in that folder)")
    parser.add_argument(
        "--compare",
        type=Path,
        help="a folder with what tables are compared with, such as theory "
        "(default: compare in the output folder)",
    )


def run_report(arguments: argparse.Namespace) -> int:
    from pillion.liveness import settled
    from pillion.report.make import make_report

    if arguments.compare is not None and not arguments.compare.is_dir():
        raise Error(f"there is no folder {arguments.compare} to compare with")
    with suppress(Error):  # which the report explains
        settled(arguments.output, lambda text: print(f"pillion report: {text}", file=sys.stderr))
    made = make_report(arguments.output, arguments.to, arguments.compare)
    for problem in made.problems:
        print(paint.error(f"pillion: {problem}"), file=sys.stderr)
    print(made.path)
    return 1 if made.problems else 0


def add_table(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("file", type=Path, help="OUTPUT/ANALYSIS/NAME.csv")
    parser.add_argument("--columns", help="comma-separated names of the columns to show")
    parser.add_argument("--rows", type=int, default=10, help="rows to show; 0 shows all")


def run_table(arguments: argparse.Namespace) -> int:
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
    _show_rows(table, names, np.arange(table.rows), arguments.rows)
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


def _show_rows(table: "Table", names: list[str], rows: "np.ndarray", most: int) -> None:
    """Prints these rows, at most `most` of them if that is above 0."""
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


def add_query(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("tree", type=Path, help="a table halo_tree_FIELD.STEP.csv")
    parser.add_argument(
        "--threshold",
        nargs=2,
        type=float,
        action="append",
        required=True,
        metavar=("BOUNDARY", "PEAK"),
        help="in multiples of the field's mean; may be given several times",
    )
    parser.add_argument("--absolute", action="store_true", help="thresholds are in field units")
    parser.add_argument("--rows", type=int, default=10, help="halos to show; 0 shows all")
    parser.add_argument("--to", type=Path, help="a CSV file for all of them, instead of showing")


def run_query(arguments: argparse.Namespace) -> int:
    from pillion.tables import read_table
    from pillion.trees import Thresholds, halos_of

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
        _show_rows(tree, names, rows, arguments.rows)
    return 0


def _write_halos(
    path: Path, tree: "Table", asked: list["Thresholds"], found: list["np.ndarray"]
) -> None:
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


def add_view(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("dataset", type=Path, help="its .idx file")
    parser.add_argument("--port", type=int, default=0, help="default: one that is free")
    parser.add_argument("--no-browser", action="store_true", help="only print where the page is")


def run_view(arguments: argparse.Namespace) -> int:
    from pillion.view import view

    view(arguments.dataset, arguments.port, not arguments.no_browser)
    return 0


def add_decode(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("file", type=Path, help="NAME_compressed/NAME.STEP.h5")
    parser.add_argument("--field", help="which one; not needed if there is but one")
    parser.add_argument(
        "--to",
        type=Path,
        help="file for the values: *.npy for NumPy, NAME0.f00001 for a field file of Nek5000 with "
        "all fields. Any other name is for bare values, element after element, in the order of "
        "Fortran's u(n, n, n, components, elements). Without it, the contents are listed",
    )
    parser.add_argument(
        "--average",
        action=argparse.BooleanOptionalAction,
        help="points where elements meet get one value; without the option fields that were "
        "declared continuous do",
    )


def run_decode(arguments: argparse.Namespace) -> int:
    import pillion.compressed

    with pillion.compressed.open(arguments.file) as file:
        if arguments.to is None:
            _tell(file)
        else:
            _write(file, arguments)
    return 0


def _tell(file: "CompressedFile") -> None:
    what = f"elements of order {file.order}" if file.order > 0 else "cells"
    print(paint.strong(f"{file.mesh}: {what}, step {file.step}, time {file.time:g}"), end=" ")
    print(file.time_units)
    for field in file.fields.values():
        shape = f"{field.dtype} x {field.components}"
        bound = f"{field.norm} error {field.error:.3g} of {field.bound:.3g} {field.units}".rstrip()
        print(f"  {field.name}: {shape}, {field.ratio:.1f} times smaller ({field.codec}), {bound}")


def _write(file: "CompressedFile", arguments: argparse.Namespace) -> None:
    import numpy as np

    from pillion.datasets.nek_files import is_nek

    average = arguments.average
    if is_nek(arguments.to.name):
        _write_nek(file, arguments, average)
        return
    name = arguments.field
    if name is None:
        if len(file.fields) != 1:
            raise Error(f"which field? {file.path} has {', '.join(file.fields)}: --field NAME")
        name = next(iter(file.fields))
    values = file.read(name, average=average)
    try:
        if arguments.to.suffix == ".npy":
            np.save(arguments.to, values)
        else:
            values.tofile(arguments.to)
    except OSError as reason:
        raise Error(f"cannot write {arguments.to}: {reason}") from None


def _write_nek(file: "CompressedFile", arguments: argparse.Namespace, average: bool | None) -> None:
    from pillion.datasets.nek_writing import write_file

    if file.order == 0:
        raise Error(
            f"{file.path} has cells of a uniform mesh, and field files of Nek5000 hold elements; "
            "write another file"
        )
    names = list(file.fields) if arguments.field is None else [arguments.field]
    fields = {name: file.read(name, average=average) for name in names}
    write_file(arguments.to, file.step, file.time, file.coordinates, fields)
