# SPDX-License-Identifier: BSD-3-Clause
"""Two commands for authors of a configuration. `pillion check` finds its mistakes, by the program
pillion-check, and prints the JSON Schema for editors; `pillion stages` describes the stages, by
pillion-stages.
"""

import argparse
import os
import re
import sys
from pathlib import Path

from pillion import programs
from pillion.catalogues import NAMES, path_of
from pillion.command import paint
from pillion.errors import Error
from pillion.launch.allocation import Allocation, allocation_of

_REPEATED = ("set", "override")
_SINGLE = ("ranks", "nodes", "sidecars", "catalogue", "restart", "of")


def add_check(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "configuration",
        metavar="CONFIGURATION.yaml",
        nargs="?",
        help="the configuration of a run or of an attached job",
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
        help="another value of an entry of the file, such as sidecars.memory='2 GiB'",
    )
    parser.add_argument(
        "--ranks",
        metavar="N",
        help="number of MPI ranks, sidecars included (default: a batch job's tasks)",
    )
    parser.add_argument(
        "--nodes",
        metavar="N",
        help="number of nodes, with as many ranks on each (default: a batch job's)",
    )
    parser.add_argument(
        "--sidecars", metavar="N", help="number of ranks that are started as sidecars"
    )
    parser.add_argument(
        "--catalogue",
        metavar="FILE|CODE",
        help=f"YAML with the meshes and fields that the program offers; or {' or '.join(NAMES)}, "
        "for what these codes have usually",
    )
    parser.add_argument("--restart", metavar="FOLDER", help="the checkpoint to continue from")
    parser.add_argument(
        "--of", metavar="RUN.yaml", help="the run's configuration, to check what is added to a run"
    )
    parser.add_argument("--json", action="store_true", help="print the findings as JSON")
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
    if not arguments.json:
        _note_memory(arguments)
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
        if name == "catalogue" and value in NAMES and not Path(value).exists():
            value = str(path_of(value))
        if value is not None:
            words += [f"--{name}", value]
    words += _of_job(arguments, allocation_of(os.environ))
    return words + (["--json"] if arguments.json else [])


def _of_job(arguments: argparse.Namespace, allocation: Allocation | None) -> list[str]:
    """Nodes and ranks of the batch job that this runs in, if none are named."""
    if allocation is None or arguments.of or arguments.ranks or arguments.nodes:
        return []
    return ["--nodes", str(allocation.nodes), "--ranks", str(allocation.tasks)]


def _note_memory(arguments: argparse.Namespace) -> None:
    """Notes a budget that is larger than what a node of the batch job has."""
    from pillion.launch.wanted import read_wanted, settings_of

    allocation = allocation_of(os.environ)
    if allocation is None or allocation.memory is None:
        return
    try:
        overrides = settings_of(arguments.override)
        wanted = read_wanted(Path(arguments.configuration), settings_of(arguments.set), overrides)
    except Error:
        return  # pillion-check explains it
    if wanted.memory is not None and wanted.memory > allocation.memory:
        print(
            f"note: `memory` in `sidecars` is {wanted.memory >> 20:,} MiB, and a node of "
            f"{allocation.system} job {allocation.job} has {allocation.memory >> 20:,} MiB",
            file=sys.stderr,
        )


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
    parser.add_argument("name", metavar="NAME", nargs="?", help="a stage: print all about it")
    parser.add_argument("--json", action="store_true", help="print everything as JSON")
    parser.epilog = "Those in the folders of PILLION_STAGE_PATH come before Pillion's own."


def run_stages(arguments: argparse.Namespace) -> int:
    programs.become("pillion-stages", arguments.words)
