# SPDX-License-Identifier: BSD-3-Clause
"""The command `pillion`: one roof over everything that is done with runs.

The command NAME has two functions in a module of this package: `add_NAME(parser)` adds its
arguments, and `run_NAME(arguments)` returns the exit status. Modules import what takes time inside
functions, so that every command starts quickly and works where only what it needs is installed.

Exit status: 0 if all went well, 1 if something was wrong (the reason is on standard error), 2 if
the command line was. Commands that start programs end with their status.
"""

import argparse
import os
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from importlib import import_module

from pillion.command import paint
from pillion.errors import Error


@dataclass(frozen=True)
class Command:
    """A command's name, its module and a summary."""

    name: str
    module: str
    summary: str
    reads_words: bool = False  # by itself: of many ranks only the first reports wrong ones

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        self._function("add")(parser)

    def run(self, arguments: argparse.Namespace) -> int:
        return int(self._function("run")(arguments))

    def _function(self, what: str):  # type: ignore[no-untyped-def]
        return getattr(import_module(self.module, "pillion.command"), f"{what}_{self.name}")


COMMANDS = [
    Command("check", ".check", "find mistakes in a configuration before anything runs"),
    Command("run", ".run", "start a simulation with its sidecars, and report the result"),
    Command("advise", ".advise", "find the best placement of analyses by short runs"),
    Command("watch", ".live", "follow an active run in the terminal"),
    Command("attach", ".live", "join an active run, as its sidecars or with analyses of your own"),
    Command("runs", ".live", "list the active runs of this node"),
    Command(
        "replay",
        ".replay",
        "compute from stored fields what a run would have computed",
        reads_words=True,
    ),
    Command(
        "plan", ".plan", "place ranks and sidecars on a machine, and write files for launchers"
    ),
    Command("report", ".products", "make one HTML page of a finished run"),
    Command("table", ".products", "show a table product: head and rows"),
    Command("query", ".products", "find halos in a merge tree that a run has kept"),
    Command("view", ".products", "show slices of an IDX dataset in a browser"),
    Command("decode", ".products", "read back what the stage encode has compressed"),
    Command("stages", ".check", "list the stages, or describe one"),
    Command(
        "grid", ".grid", "find the best process grids for a simulation, or one and its analysis"
    ),
    Command("doctor", ".doctor", "list what this machine has and what is missing"),
    Command("completion", "pillion.command", "print a script for completion in a shell"),
]


def version_text() -> str:
    from pillion.programs import version

    return f"pillion {version()}"


class _Version(argparse.Action):
    """Looks for the version only if it is asked for."""

    def __call__(self, parser, *_):  # type: ignore[no-untyped-def]
        print(version_text())
        parser.exit()


class _Prefix(argparse.Action):
    def __call__(self, parser, *_):  # type: ignore[no-untyped-def]
        from pillion.programs import prefix

        print(prefix())
        parser.exit()


class Parser(argparse.ArgumentParser):
    """Reports errors in the form that all of Pillion uses."""

    def error(self, message: str):  # type: ignore[no-untyped-def]
        print(paint.error(f"{self.prog}: {message}"), file=sys.stderr)
        print(f"`{self.prog} --help` tells more", file=sys.stderr)
        raise SystemExit(2)


def parser(only: str | None = None) -> Parser:
    """The parser of all commands, or with the arguments of one of them alone."""
    top = Parser(
        prog="pillion",
        description="Analysis that rides along with your simulation.",
        epilog="`pillion COMMAND --help` tells more about a command.",
    )
    top.add_argument("--version", action=_Version, nargs=0, help="print the version and leave")
    top.add_argument(
        "--prefix",
        action=_Prefix,
        nargs=0,
        help="print the folder in which Pillion is installed and leave",
    )
    commands = top.add_subparsers(
        dest="command", required=True, metavar="COMMAND", title="commands", parser_class=Parser
    )
    for command in COMMANDS:
        sentence = command.summary[0].upper() + command.summary[1:] + "."
        inner = commands.add_parser(
            command.name,
            help=command.summary,
            description=sentence,
            formatter_class=argparse.RawDescriptionHelpFormatter,
        )
        if only in (None, command.name):
            command.add_arguments(inner)
    return top


_COMPLETION_EPILOG = """\
Bash:  pillion completion bash > ~/.local/share/bash-completion/completions/pillion
Zsh:   pillion completion zsh > FOLDER/_pillion, FOLDER being one of those in $fpath"""


def add_completion(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("shell", choices=["bash", "zsh", "tcsh"])
    parser.epilog = _COMPLETION_EPILOG


def run_completion(arguments: argparse.Namespace) -> int:
    try:
        import shtab
    except ImportError as error:
        raise Error("completion needs the package shtab: pip install shtab") from error
    print(shtab.complete(parser(), shell=arguments.shell))
    return 0


def _refuse_unknown(word: str) -> int:
    from difflib import get_close_matches

    near = get_close_matches(word, [command.name for command in COMMANDS], 1)
    hint = f"; did you mean '{near[0]}'?" if near else ""
    print(paint.error(f"pillion: there is no command '{word}'{hint}"), file=sys.stderr)
    print("`pillion --help` lists them", file=sys.stderr)
    return 2


# Packages whose modules are called otherwise.
_PACKAGES = {"yaml": "PyYAML"}


def _lacking(command: str, module: str) -> str:
    package = _PACKAGES.get(module, module)
    return (
        f"{command} needs the package {package}, which the Python {sys.executable} does not have: "
        f"pip install {package}, or name another Python in PILLION_PYTHON; `pillion doctor` lists "
        "all that is missing"
    )


def main(argv: Sequence[str] | None = None) -> int:
    words = list(sys.argv[1:] if argv is None else argv)
    if words and words[0] == "help":
        words = [*words[1:], "--help"]
    name = words[0] if words and not words[0].startswith("-") else ""
    command = next((c for c in COMMANDS if c.name == name), None)
    if name and command is None:
        return _refuse_unknown(name)
    try:
        if command is not None and command.reads_words:
            return command.run(argparse.Namespace(words=words[1:]))
        arguments = parser(only=name).parse_args(words)  # which leaves if there is no command
        assert command is not None
        arguments.words = words[1:]
        return command.run(arguments)
    except Error as error:
        print(paint.error(f"pillion: {error}"), file=sys.stderr)
        return 1
    except ModuleNotFoundError as error:
        package = (error.name or "").partition(".")[0]
        if package in ("", "pillion"):
            raise
        print(paint.error(f"pillion: {_lacking(name, package)}"), file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return 130
    except BrokenPipeError:  # the reader of our output has closed the pipe
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
