# SPDX-License-Identifier: BSD-3-Clause
"""`pillion stages`: which stages there are, from their own descriptions; by pillion-stages."""

import argparse

from pillion import programs


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("name", metavar="NAME", nargs="?", help="of a stage, to read all about it")
    parser.add_argument("--json", action="store_true", help="all of it, for programs")
    parser.epilog = "Those in the folders of PILLION_STAGE_PATH come before Pillion's own."


def run(arguments: argparse.Namespace) -> int:
    programs.become("pillion-stages", arguments.words)
