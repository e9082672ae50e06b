# SPDX-License-Identifier: BSD-3-Clause
"""`pillion watch`: a live view of a run in the terminal."""

import argparse
from pathlib import Path

_EPILOG = """\
RUN is the run's output folder, or its name if it goes on on this node. The view ends when the run
has; q or Ctrl-C leave it earlier, and the run goes on.

Exit status: 0 if the run went on or has ended well, 1 if it has failed or is gone."""


def _seconds(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = 0.0
    if not 0.05 <= value <= 3600:
        raise argparse.ArgumentTypeError(f"'{text}' is no number of seconds from 0.05 to 3600")
    return value


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("run", metavar="RUN", help="an output folder, or a run on this node")
    parser.add_argument("--once", action="store_true", help="show how it is now, and leave")
    parser.add_argument(
        "--interval", metavar="S", type=_seconds, default=0.5, help="seconds between two looks"
    )
    parser.add_argument(
        "--plot",
        metavar="ANALYSIS/NAME:COLUMN",
        action="append",
        default=[],
        help="a column of a table to show as a curve, instead of one of each analysis",
    )
    parser.epilog = _EPILOG


def run(arguments: argparse.Namespace) -> int:
    from pillion.watch.curves import read_wish
    from pillion.watch.terminal import Watcher

    wishes = [read_wish(text) for text in arguments.plot]
    watcher = Watcher(Path(arguments.run), wishes, arguments.interval)
    return watcher.once() if arguments.once else watcher.follow()
