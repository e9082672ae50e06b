# SPDX-License-Identifier: BSD-3-Clause
"""Commands for a run while it computes: `pillion watch` follows it in the terminal, `runs`
lists the runs on this node and the ways to others, and `attach` joins one. The program
pillion-attach finds and joins runs on this node.
"""

import argparse
import os
import shutil
import subprocess
from pathlib import Path

from pillion import programs

_WATCH_EPILOG = """\
RUN is the run's output folder, or its name if it is active on this node. The view ends with the
run; q or Ctrl-C leave the view earlier, and the run continues.

The run may be on another node, if its output folder is shared. It is active as long as its files
change, and gone if they have not changed for some seconds. The clocks of the two nodes may differ.

Exit status: 0 if the run is active or has ended well, 1 if it has failed, is gone, or has shown no
sign of life for so long."""


_RUNS_EPILOG = """\
Lists the runs on this node that can be attached to. It also looks for runs on other nodes that
write to FOLDER or to folders in it, and prints their nodes and the command that attaches to them.
If there are none, it lists the nodes of this user's Slurm jobs."""


def _seconds(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = 0.0
    if not 0.05 <= value <= 3600:
        raise argparse.ArgumentTypeError(f"'{text}' is not a number of seconds from 0.05 to 3600")
    return value


def add_watch(parser: argparse.ArgumentParser) -> None:
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
    parser.epilog = _WATCH_EPILOG


def run_watch(arguments: argparse.Namespace) -> int:
    from pillion.watch.curves import read_wish
    from pillion.watch.terminal import Watcher

    wishes = [read_wish(text) for text in arguments.plot]
    watcher = Watcher(Path(arguments.run), wishes, arguments.interval)
    return watcher.once() if arguments.once else watcher.follow()


def add_runs(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "folder",
        metavar="FOLDER",
        nargs="?",
        type=Path,
        default=Path(),
        help="where to look for output folders of runs on other nodes (default: the present one)",
    )
    parser.epilog = _RUNS_EPILOG


def run_runs(arguments: argparse.Namespace) -> int:
    from pillion import whereabouts
    from pillion.launch.facts import mpi_of_srun
    from pillion.progress import State

    program = str(programs.find("pillion-attach"))
    status = subprocess.run([program], check=False).returncode
    elsewhere = whereabouts.runs_elsewhere(arguments.folder)
    mpi = (mpi_of_srun(None, os.environ) or "") if elsewhere and shutil.which("srun") else ""
    for run in elsewhere:
        print(f"elsewhere: {whereabouts.description(run)}")
        if run.state is State.RUNNING:
            print(f"  {whereabouts.way_to(run, mpi)}")
    if not elsewhere:
        for job in whereabouts.slurm_jobs():
            print(f"elsewhere: {job}")
    return status


def add_attach(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("run", metavar="RUN", help="name or id of a run; `pillion runs` lists them")
    parser.add_argument(
        "analyses", metavar="ANALYSES.yaml", nargs="?", help="with `analyses:` to add to the run"
    )
    parser.add_argument(
        "--name", help="name of these analyses in their report (default: the file's)"
    )
    parser.add_argument(
        "--set", metavar="NAME=VALUE", action="append", help="value of a parameter $NAME"
    )
    parser.add_argument(
        "--wait", metavar="SECONDS", help="how long to wait for the run to be there (default: 10)"
    )
    parser.add_argument("--quiet", action="store_true", help="say only what is wrong")
    parser.epilog = "Several ranks: mpirun -n 4 pillion attach RUN"


def run_attach(arguments: argparse.Namespace) -> int:
    programs.become("pillion-attach", arguments.words)
