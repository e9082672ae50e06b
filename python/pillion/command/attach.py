# SPDX-License-Identifier: BSD-3-Clause
"""`pillion attach`: joins a run that goes on on this node; done by the program pillion-attach."""

import argparse

from pillion import programs


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("run", metavar="RUN", help="name or id of a run; `pillion runs` lists them")
    parser.add_argument(
        "analyses", metavar="ANALYSES.yaml", nargs="?", help="with `analyses:` to add to the run"
    )
    parser.add_argument("--name", help="of these analyses, for their report (default: the file's)")
    parser.add_argument(
        "--set", metavar="NAME=VALUE", action="append", help="value of a parameter $NAME"
    )
    parser.add_argument(
        "--wait", metavar="SECONDS", help="how long to wait for the run to be there (default: 10)"
    )
    parser.add_argument("--quiet", action="store_true", help="say only what is wrong")
    parser.epilog = "Several ranks: mpirun -n 4 pillion attach RUN"


def run(arguments: argparse.Namespace) -> int:
    programs.become("pillion-attach", arguments.words)
