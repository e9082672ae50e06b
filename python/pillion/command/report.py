# SPDX-License-Identifier: BSD-3-Clause
"""`pillion report`: one HTML page of a finished run."""

import argparse
import sys
from pathlib import Path

from pillion.errors import Error


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("output", type=Path, help="the run's output folder, where report.json is")
    parser.add_argument("--to", type=Path, help="the page (default: report.html in that folder)")
    parser.add_argument(
        "--compare",
        type=Path,
        help="a folder with what tables are compared with, such as theory "
        "(default: compare in the output folder)",
    )


def run(arguments: argparse.Namespace) -> int:
    from pillion.command import paint
    from pillion.report.make import make_report

    if arguments.compare is not None and not arguments.compare.is_dir():
        raise Error(f"there is no folder {arguments.compare} to compare with")
    made = make_report(arguments.output, arguments.to, arguments.compare)
    for problem in made.problems:
        print(paint.error(f"pillion: {problem}"), file=sys.stderr)
    print(made.path)
    return 1 if made.problems else 0
