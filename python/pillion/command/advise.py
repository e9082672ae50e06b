# SPDX-License-Identifier: BSD-3-Clause
"""`pillion advise`: the best placement of analyses, found by short runs of the program itself."""

import argparse
import math
import os
import signal
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from pillion.errors import Error

if TYPE_CHECKING:
    from pillion.advise.advice import Advice
    from pillion.advise.placement import Placement
    from pillion.advise.short_runs import Runner
    from pillion.advise.trace import ShortRun
    from pillion.launch.launchers import Facts

_EPILOG = """\
PROGRAM is run several times, a few seconds each, in this folder: with all analyses in the
simulation on N ranks and on fewer, and with sidecars at each possible cut. CONFIG stays as it is,
and the products of these runs are deleted, except for files that PROGRAM itself writes. The OUTPUT
of a finished run holds less information, and the advice lists what is missing.

Exit status: 0 if there is advice; 1 if there is none, since PROGRAM does not run on N ranks. Other
numbers of ranks on which it does not run are reported."""


def _at_least_one(text: str) -> int:
    if not text.isdigit() or int(text) == 0:
        raise argparse.ArgumentTypeError(f"'{text}' is not a number of ranks")
    return int(text)


def _seconds(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = 0.0
    if not 0 < value < math.inf:
        raise argparse.ArgumentTypeError(f"'{text}' is not a number of seconds above 0")
    return value


def _numbers(text: str) -> list[int]:
    return [_at_least_one(part) for part in text.split(",")]


def _add_options(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("-n", "--ranks", type=_at_least_one, metavar="N", help="ranks that simulate where none are "
        "sidecars (default: as many as have cores of their own)")  # fmt: skip
    add("--sidecars", type=_numbers, metavar="S,S", help="to consider, on every node if "
        "CONFIG sets `per_node` (default: 1, 2, 4, …)")  # fmt: skip
    add("--seconds", type=_seconds, default=5.0, metavar="T", help="for each run (default: 5)")
    add("--rounds", type=_at_least_one, default=2, metavar="R", help="how often the runs of "
        "all placements are interleaved (default: 2)")  # fmt: skip
    add("--set", metavar="NAME=VALUE", action="append", default=[], help="a parameter $NAME")
    add("--launcher", metavar="mpirun|srun", help="default: srun in a Slurm job, MPIEXEC or mpirun")
    add(
        "--launcher-option",
        metavar="OPTION",
        action="append",
        default=[],
        help="handed on",
    )
    add("--json", action="store_true", help="for programs")
    add("--to", metavar="FILE", type=Path, help="a page with the curve: .html, or .svg alone")


def add_advise(parser: argparse.ArgumentParser) -> None:
    _add_options(parser)
    parser.add_argument("configuration", metavar="CONFIG", type=Path, help="the YAML file to use")
    parser.add_argument("program", nargs=argparse.REMAINDER, help=argparse.SUPPRESS)
    parser.usage = (
        "pillion advise [OPTIONS] CONFIG -- PROGRAM [ARGUMENTS]\n       pillion advise OUTPUT"
    )
    parser.epilog = _EPILOG


def run_advise(arguments: argparse.Namespace) -> int:
    words = _program(arguments)
    if arguments.to is not None:
        _check_to(arguments.to)
    if arguments.configuration.is_dir():
        if words:
            raise Error(f"{arguments.configuration} is the output of a run; that takes no program")
        advice = _of_a_run(arguments)
    else:
        runner = _runner(arguments, words)
        with _ending_what_was_started():
            advice = _by_short_runs(arguments, runner)
    _say(advice, arguments)
    return 0


def _check_to(file: Path) -> None:
    """Said before the runs, which take minutes, and not after them."""
    if not file.parent.is_dir():
        raise Error(f"cannot write {file}: there is no folder {file.parent}")
    if file.is_dir():
        raise Error(f"cannot write {file}: it is a folder")
    if not os.access(file.parent, os.W_OK):
        raise Error(f"cannot write {file}: {file.parent} may not be written to")


@contextmanager
def _ending_what_was_started() -> Iterator[None]:
    """Also at SIGTERM and SIGHUP: the short runs are in sessions of their own, which would outlive
    this process.
    """

    def leave(number: int, _: object) -> None:
        raise SystemExit(128 + number)

    # A signal that is ignored, as under nohup, stays ignored.
    asked = [
        number
        for number in (signal.SIGTERM, signal.SIGHUP)
        if signal.getsignal(number) is not signal.SIG_IGN
    ]
    before = [signal.signal(number, leave) for number in asked]
    try:
        yield
    finally:
        for number, handler in zip(asked, before):
            signal.signal(number, handler)


def _of_a_run(arguments: argparse.Namespace) -> "Advice":
    from pillion.advise import placement
    from pillion.advise.advice import advise
    from pillion.advise.trace import NOTE, read_finished_run
    from pillion.launch.facts import cores_here

    finished, chains, kind, memory = read_finished_run(arguments.configuration)
    ranks = arguments.ranks or finished.placement.simulation
    sidecars = arguments.sidecars or placement.numbers_of_sidecars(ranks)
    considered = placement.candidates(ranks, sidecars, chains.all)
    # It may have been on a larger machine than this.
    cores = max(cores_here(), finished.placement.ranks)
    advice = advise([finished], chains.all, cores, memory, considered, kind)
    return replace(advice, notes=[NOTE, *advice.notes])


def _by_short_runs(arguments: argparse.Namespace, runner: "Runner") -> "Advice":
    from pillion.advise import placement
    from pillion.advise.advice import advise, finalists
    from pillion.advise.short_runs import Attempts, interleaved, plan_runs

    chains, cores = runner.chains.all, runner.facts.room
    ranks = arguments.ranks or cores
    given = [number * runner.counted for number in arguments.sidecars or ()]
    sidecars = given or placement.numbers_of_sidecars(ranks, runner.counted)
    attempts = Attempts()

    def planned() -> "list[Placement]":
        return plan_runs(ranks, sidecars, chains, cores, attempts.refused)

    short_runs = interleaved(runner, planned, arguments.rounds, attempts)
    memory = runner.chains.memory(runner.facts.nodes)
    considered = placement.candidates(ranks, sidecars, chains)

    def advice(finals: "Sequence[ShortRun]" = ()) -> "Advice":
        left = [p for p in considered if not attempts.leaves_out(p)]
        return advise(short_runs, chains, cores, memory, left, runner.kind, finals)

    nearly = finalists(advice().predictions)
    finals = interleaved(
        runner, lambda: nearly, arguments.rounds, attempts, " of those nearly alike"
    )
    found = advice(finals)
    notes = [*found.notes, *_threads(runner.facts), *attempts.notes(considered, chains)]
    return replace(found, nodes=runner.counted, notes=notes)


def _threads(facts: "Facts") -> list[str]:
    if facts.threads == 1:
        return []
    return [
        f"each rank, of sidecars too, has {facts.threads} threads, as OMP_NUM_THREADS says, so "
        f"that {facts.room} of them have cores of their own"
    ]


def _program(arguments: argparse.Namespace) -> list[str]:
    words = list(arguments.program)
    if words and words[0] != "--" and words[0].startswith("-"):
        # Options that were given after CONFIG.
        end = words.index("--") if "--" in words else len(words)
        late = argparse.ArgumentParser(prog="pillion advise", add_help=False)
        _add_options(late)
        late.parse_args(words[:end], arguments)
        words = words[end:]
    return words[1:] if words and words[0] == "--" else words


def _runner(arguments: argparse.Namespace, words: list[str]) -> "Runner":
    from pillion import programs
    from pillion.advise.placement import Chains
    from pillion.advise.short_runs import Runner, kind_of
    from pillion.launch.facts import find_facts
    from pillion.launch.plan import Wishes, parts_of
    from pillion.launch.wanted import read_wanted, settings_of
    from pillion.yaml_text import read_text

    settings = settings_of(arguments.set)
    wanted = read_wanted(arguments.configuration, settings)
    text = read_text(arguments.configuration)
    wishes = Wishes(
        configuration=str(arguments.configuration),
        parts=parts_of(words),
        launcher_options=tuple(arguments.launcher_option),
        settings=settings,
    )
    try:
        attach = str(programs.find("pillion-attach"))
    except Error:
        attach = "pillion-attach"
    chains = Chains(text, str(arguments.configuration), settings)
    facts = find_facts(arguments.launcher)
    kind = kind_of(wanted.kind)
    return Runner(wishes, chains, facts, kind, attach, arguments.seconds)


def _say(advice: "Advice", arguments: argparse.Namespace) -> None:
    import json

    from rich.console import Console

    from pillion.advise.advice import for_programs, shown

    if arguments.to is not None:
        from pillion.advise.picture import write

        write(advice, arguments.to)
    if arguments.json:
        print(json.dumps(for_programs(advice), indent=1, ensure_ascii=False))
        return
    width = None if sys.stdout.isatty() else 110
    Console(highlight=False, width=width).print(shown(advice))
