# SPDX-License-Identifier: BSD-3-Clause
"""Two commands for authors of a configuration. `pillion check` finds its mistakes, by the program
pillion-check, and prints the JSON Schema for editors; `pillion stages` describes the stages, by
pillion-stages.
"""

import argparse
import re
import sys

from pillion import programs
from pillion.command import paint
from pillion.errors import Error

_REPEATED = ("set", "override")
_SINGLE = ("ranks", "nodes", "sidecars", "catalogue", "restart", "of")


def add_check(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "configuration",
        metavar="CONFIGURATION.yaml",
        nargs="?",
        help="of a run, or of an attached job",
    )
    parser.add_argument(
        "--set",
        metavar="NAME=VALUE",
        action="append",
        default=[],
        help="value of a parameter $NAME; may be given several times",
    )
    parser.add_argument(
        "--override",
        metavar="KEY=YAML",
        action="append",
        default=[],
        help="what goes before the file's own, such as sidecars.memory='2 GiB'",
    )
    parser.add_argument("--ranks", metavar="N", help="of the whole job, sidecars included")
    parser.add_argument("--nodes", metavar="N", help="that the ranks are on, evenly")
    parser.add_argument(
        "--sidecars", metavar="N", help="number of ranks that are started as sidecars"
    )
    parser.add_argument(
        "--catalogue",
        metavar="FILE",
        help="YAML with the meshes and fields that the program offers",
    )
    parser.add_argument("--restart", metavar="FOLDER", help="the checkpoint to continue from")
    parser.add_argument(
        "--of", metavar="RUN.yaml", help="the run's configuration, to check what is added to a run"
    )
    parser.add_argument("--json", action="store_true", help="what was found, for programs")
    parser.add_argument(
        "--schema", action="store_true", help="print a JSON Schema for editors and leave"
    )
    parser.epilog = "Status: 0 if all is well, 1 if there are mistakes."


def run_check(arguments: argparse.Namespace) -> int:
    if arguments.schema:
        return _print_schema()
    if arguments.configuration is None:
        print(paint.error("pillion check: which configuration?"), file=sys.stderr)
        return 2
    words = _words(arguments)
    if arguments.json or not paint.has_colours(sys.stdout):
        programs.become("pillion-check", words)
    return _print_painted(words)


def _words(arguments: argparse.Namespace) -> list[str]:
    words = [arguments.configuration]
    for name in _REPEATED:
        for value in getattr(arguments, name):
            words += [f"--{name}", value]
    for name in _SINGLE:
        value = getattr(arguments, name)
        if value is not None:
            words += [f"--{name}", value]
    return words + (["--json"] if arguments.json else [])


def _print_schema() -> int:
    import json

    from pillion.schema import schema

    print(json.dumps(schema(), indent=2, ensure_ascii=False))
    return 0


def _print_painted(words: list[str]) -> int:
    import subprocess

    command = [str(programs.find("pillion-check")), *words]
    try:
        done = subprocess.run(command, stdout=subprocess.PIPE, errors="replace", check=False)
    except OSError as error:
        raise Error(f"cannot start {command[0]}: {error.strerror}") from error
    is_good = done.returncode == 0
    for line in done.stdout.splitlines():
        print(_painted(line, is_good))
    return done.returncode


def _painted(line: str, is_good: bool) -> str:
    """Mistakes stand out, the lines that they are on less so."""
    if line.startswith("note: "):
        return paint.note("note: ") + line.removeprefix("note: ")
    if is_good:
        return paint.good(line) if line.endswith(": no mistakes") else line
    if re.match(r" +\d+ \| ", line):
        return paint.faint(line)
    if re.search(r": \d+ mistakes?$", line):
        return paint.error(line, sys.stdout)
    place, colon, sentence = line.partition(": ")
    return paint.strong(place + colon) + sentence


def add_stages(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("name", metavar="NAME", nargs="?", help="of a stage, to read all about it")
    parser.add_argument("--json", action="store_true", help="all of it, for programs")
    parser.epilog = "Those in the folders of PILLION_STAGE_PATH come before Pillion's own."


def run_stages(arguments: argparse.Namespace) -> int:
    programs.become("pillion-stages", arguments.words)
