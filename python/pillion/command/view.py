# SPDX-License-Identifier: BSD-3-Clause
"""`pillion view`: slices of an IDX dataset in a browser."""

import argparse
from pathlib import Path


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("dataset", type=Path, help="its .idx file")
    parser.add_argument("--port", type=int, default=0, help="default: one that is free")
    parser.add_argument("--no-browser", action="store_true", help="only print where the page is")


def run(arguments: argparse.Namespace) -> int:
    from pillion.view import view

    view(arguments.dataset, arguments.port, not arguments.no_browser)
    return 0
