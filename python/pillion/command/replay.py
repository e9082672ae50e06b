# SPDX-License-Identifier: BSD-3-Clause
"""`pillion replay`: analyses of stored fields; done by the program pillion-replay, on as many ranks
as are asked for.
"""

import argparse

from pillion import programs

_EPILOG = """\
FILES are FIELD.STEP.npy (or FIELD.npy: step 0), NAME_STEP.h5 or .hdf5 with datasets named after
fields, NAME.idx and NAME.raw.yaml as the stage `write` leaves them, or folders of such files.

Options go before what files say. Without times the time of a step is its number. Whatever the
configuration says, reading waits for sidecars, so nothing is left out, and they are ranks of this
job."""


def _ranks(text: str) -> int:
    if not text.isdigit() or int(text) == 0:
        raise argparse.ArgumentTypeError(f"-n needs a number of ranks, found '{text}'")
    return int(text)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("-n", dest="ranks", metavar="RANKS", type=_ranks, help="start that many ranks")
    add("files", metavar="FILES", nargs="+", help="what is stored; and last the configuration")
    add("--set", metavar="NAME=VALUE", action="append", help="value of a parameter $NAME")
    add("--output", metavar="FOLDER", help="where products go, whatever the configuration says")
    add("--name", metavar="FIELD=NAME", action="append", help="files call the field NAME")
    add("--axes", metavar="ORDER", help="how grids are indexed: zyx, which is [z, y, x], or xyz")
    add("--steps", metavar="LIST", help="only these, such as 0,20..100")
    add("--time-per-step", metavar="T", help="the time of a step is T times its number")
    add("--domain", metavar="MESH=LX,LY,LZ", action="append", help="of particles, periodic")
    add("--about", metavar="FILE", help="YAML with `parameters`, `domains` and `steps`")
    parser.usage = "pillion replay [-n RANKS] [OPTIONS] FILES... CONFIGURATION.yaml"
    parser.epilog = _EPILOG


def run(arguments: argparse.Namespace) -> int:
    words = list(arguments.words)
    if arguments.ranks is None:
        programs.become("pillion-replay", words)
    at = next(i for i, word in enumerate(words) if word.startswith("-n"))
    del words[at : at + (2 if words[at] == "-n" else 1)]
    from pillion.launch.facts import find_facts
    from pillion.launch.plan import line_for

    program = str(programs.find("pillion-replay"))
    programs.replace_by(line_for(find_facts(None), [program, *words], arguments.ranks))
