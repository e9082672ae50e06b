# SPDX-License-Identifier: BSD-3-Clause
"""`pillion query`: halos of any thresholds in a merge tree that a run has kept."""

import argparse
import csv
from pathlib import Path
from typing import TYPE_CHECKING

from pillion.errors import Error

if TYPE_CHECKING:
    import numpy as np

    from pillion.tables import Table
    from pillion.trees import Thresholds


def add_arguments(parser: argparse.ArgumentParser) -> None:
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


def run(arguments: argparse.Namespace) -> int:
    from pillion.command.table import show_rows
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
        show_rows(tree, names, rows, arguments.rows)
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
