# SPDX-License-Identifier: BSD-3-Clause
"""`pillion grid`: the best process grid for a number of ranks, or pair of grids for two."""

import argparse
import json
import math
import re
import sys
from typing import TYPE_CHECKING

from pillion.command import paint

if TYPE_CHECKING:
    from pillion.grids import Grid, Pair

_EPILOG = """\
pillion grid 1536 512            the best pair of grids for 1536 simulation and 512 analysis ranks
pillion grid 96 --box 10x10x40   the grid of 96 ranks that exchange least on this box

In a pair every dimension of the simulation's grid is a multiple of the analysis's. LAMMPS runs it
as two partitions: lmp -partition 1536 512.

Exit status: 0, also with a warning if the best is poor; 1 if there is no such grid."""


def _three(text: str, kind: type) -> tuple:  # type: ignore[type-arg]
    try:
        values = tuple(kind(part) for part in re.split("[x,]", text))
    except ValueError:
        values = ()
    if len(values) != 3 or not all(math.isfinite(value) and value > 0 for value in values):
        sort = "whole numbers" if kind is int else "lengths"
        example = "512x512x2048" if kind is int else "10x10x40"
        raise argparse.ArgumentTypeError(f"'{text}' is not three {sort} above 0, as {example}")
    return values


def _box(text: str) -> tuple[float, float, float]:
    return _three(text, float)


def _cells(text: str) -> tuple[int, int, int]:
    return _three(text, int)


def _percent(text: str) -> float:
    try:
        value = float(text.removesuffix("%"))
    except ValueError:
        value = math.nan
    if not 0 <= value <= 100:
        raise argparse.ArgumentTypeError(f"'{text}' is not a percentage from 0 to 100")
    return value / 100


def _weight(text: str) -> int:
    if not text.isdigit() or not 1 <= int(text) <= 100:
        raise argparse.ArgumentTypeError(f"'{text}' is not a whole number from 1 to 100")
    return int(text)


def add_grid(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("ranks", metavar="RANKS", type=int, help="number of ranks of the simulation")
    add("analysis", metavar="ANALYSIS", type=int, nargs="?", help="ranks of an analysis beside it")
    add("--box", metavar="LXxLYxLZ", type=_box, help="lengths, in any unit (default: a cube, "
        "or of cubic cells)")  # fmt: skip
    add("--cells", metavar="NXxNYxNZ", type=_cells, help="cells to divide evenly; not for a pair")
    add("--slack", metavar="PERCENT", type=_percent, help="by how much the largest share of cells "
        "may be above the least, for a smaller surface (default: 1)")  # fmt: skip
    add("--weight", metavar="W", type=_weight, help="weight of the simulation's sub-boxes against "
        "the analysis's in a pair (default: 2)")  # fmt: skip
    shape = parser.add_mutually_exclusive_group()
    shape.add_argument("--lammps", action="store_true", help="print the lines `processors`")
    shape.add_argument("--json", action="store_true", help="all of it, for programs")
    parser.set_defaults(refuse=parser.error)
    parser.epilog = _EPILOG


def run_grid(arguments: argparse.Namespace) -> int:
    _check(arguments)
    from pillion.grids import advice

    found, better = _found(arguments)
    remark = advice.remark(found, better)
    if arguments.json:
        print(json.dumps(advice.as_json(found, better)))
    elif arguments.lammps:
        print("\n".join(advice.processors(found)))
        if remark:
            print(paint.note(remark, sys.stderr), file=sys.stderr)
    else:
        _show(found, remark)
    return 0


def _check(arguments: argparse.Namespace) -> None:
    pair = arguments.analysis is not None
    if pair and arguments.cells is not None:
        arguments.refuse("--cells goes with one grid; for a pair give the box, --box LXxLYxLZ")
    if arguments.slack is not None and arguments.cells is None:
        arguments.refuse("--slack goes with --cells")
    if arguments.weight is not None and not pair:
        arguments.refuse("--weight goes with a pair: pillion grid RANKS ANALYSIS")


def _found(arguments: argparse.Namespace) -> "tuple[Grid, list[Grid]] | tuple[Pair, list[Pair]]":
    from pillion.grids import best_grid, best_pair
    from pillion.grids.advice import better_grids, better_pair
    from pillion.grids.grid import CUBE, SLACK

    if arguments.analysis is None:
        slack = SLACK if arguments.slack is None else arguments.slack
        grid = best_grid(arguments.ranks, arguments.box, arguments.cells, slack)
        return grid, better_grids(grid, slack)
    weight = 2 if arguments.weight is None else arguments.weight
    pair = best_pair(arguments.ranks, arguments.analysis, arguments.box or CUBE, weight)
    better = better_pair(pair)
    return pair, [] if better is None else [better]


def _show(found: "Grid | Pair", remark: str) -> None:
    from pillion.grids import Pair, advice

    rows = advice.table(found)
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    lines = ["  ".join(map(str.ljust, row, widths)).rstrip() for row in rows]
    print(paint.strong(lines[0]))
    print("\n".join(lines[1:]))
    if isinstance(found, Pair):
        print("\n".join(advice.explained(found)))
    if remark:
        print(paint.note(remark))
