# SPDX-License-Identifier: BSD-3-Clause
"""`pillion replay`: analyses of stored fields, on as many ranks as are asked for. With -n this
process becomes the launcher of that many ranks; each of them is this command without -n.
"""

import argparse
import os
import sys

from pillion import programs
from pillion.errors import Error

_EPILOG = """\
FILES are FIELD.STEP.npy (or FIELD.npy: step 0), or NAME_STEP.h5 or .hdf5 with datasets named after
fields. They may also be NAME.idx and NAME.raw.yaml of the stages `write_idx` and `write_raw`, AMReX
plotfiles, or folders of such files.

Options go before what files say. Without times the time of a step is its number. Whatever the
configuration says, reading waits for sidecars, so nothing is left out, and they are ranks of this
job."""


def add_replay(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("-n", dest="ranks", metavar="RANKS", help="start that many ranks")
    add("files", metavar="FILES", nargs="+", help="the stored files, and last the configuration")
    add("--set", metavar="NAME=VALUE", action="append", help="value of a parameter $NAME")
    add("--output", metavar="FOLDER", help="where products go, whatever the configuration says")
    add("--name", metavar="FIELD=NAME", action="append", help="files call the field NAME")
    add("--axes", metavar="ORDER", help="how grids are indexed: zyx, which is [z, y, x], or xyz")
    add("--steps", metavar="LIST", help="only these, such as 0,20..100")
    add("--time-per-step", metavar="T", help="the time of a step is T times its number")
    add(
        "--domain",
        metavar="MESH=LX,LY,LZ",
        action="append",
        help="lengths of the periodic domain of particles",
    )
    add("--about", metavar="FILE", help="YAML with `parameters`, `domains` and `steps`")
    parser.usage = "pillion replay [-n RANKS] [OPTIONS] FILES... CONFIGURATION.yaml"
    parser.epilog = _EPILOG


def run_replay(arguments: argparse.Namespace) -> int:
    from pillion.replay.options import Options, read_options

    try:
        options = read_options(arguments.words)
    except Error:  # which the first rank says
        options = Options()
    if options.help:
        from pillion.command import parser

        parser("replay").parse_args(["replay", "--help"])
    if options.ranks is not None:
        from pillion.launch.facts import find_facts
        from pillion.launch.plan import line_for

        words = [*_command(), "replay", *options.rest]
        programs.replace_by(line_for(find_facts(None), words, options.ranks))
    from pillion.replay.program import run as run_rank

    return run_rank(arguments.words)


def _command() -> list[str]:
    """The command `pillion` of this installation."""
    path = programs.folder() / "pillion"
    return [str(path)] if os.access(path, os.X_OK) else [sys.executable, "-m", "pillion"]
