# SPDX-License-Identifier: BSD-3-Clause
"""`pillion run`: starts a simulation with its sidecars, and reports how it went."""

import argparse
import json
import os
import re
import secrets
import shlex
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pillion.errors import Error

if TYPE_CHECKING:
    from pillion.launch.plan import Plan, Wishes
    from pillion.launch.wanted import Wanted

_MAY_BE_THE_PROGRAMS = re.compile(r"unknown (field|mesh) '")
_MAY_BE_A_SCALAR = re.compile(r"cannot read the condition .*' is not known")
_MAY_BE_SET = re.compile(r"parameter '\$[^']*' has no value")
_PATIENCE = 60  # seconds for pillion-check
_EPILOG = """\
Sidecars come on top of -n. CONFIG sets their number and place under `sidecars:`; --sidecars changes
the number: on every node if CONFIG has per_node or `job: separate`, or else of all.

Several programs in one MPI job: PROGRAM ARGS : -n 2 PROGRAM ARGS. The last ranks become sidecars.
If the program cannot serve as one, use --sidecar-program pillion-sidecar.

The program's output passes through untouched; messages of this command go to standard error.
Ctrl-C and SIGTERM are forwarded once; a second one kills. SIGUSR1 and SIGUSR2 are forwarded if the
program handles them, as for a checkpoint before a time limit.

Exit status: that of the program; 1 if CONFIG is refused or nothing could be started. With --strict
it is 3 if the program ends well, but an analysis was disabled or has lost publications, or there is
no report. It is also 3 if the sidecars of a job of their own did not join the run, and all that
they had to compute is lost."""

_INCOMPLETE = 3
BATCH_SYSTEMS = ("slurm", "pbs", "lsf")
_SUBMITS = {"sbatch": "slurm", "qsub": "pbs", "bsub": "lsf"}


def _count(text: str) -> int:
    if not text.isdigit():
        raise argparse.ArgumentTypeError(f"'{text}' is not a number of ranks")
    return int(text)


def _at_least_one(text: str) -> int:
    if _count(text) == 0:
        raise argparse.ArgumentTypeError("at least one rank must simulate")
    return _count(text)


def _minutes(text: str) -> int:
    found = re.fullmatch(r"(\d{1,4}):([0-5]\d)", text)
    minutes = int(found[1]) * 60 + int(found[2]) if found else 0
    if minutes == 0:
        raise argparse.ArgumentTypeError(f"'{text}' is not a time in hours and minutes, as 12:30")
    return minutes


def _add_options(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("-n", "--ranks", type=_at_least_one, metavar="N", help="simulation ranks (default: 1, "
        "or what the batch job has set aside)")  # fmt: skip
    add("--sidecars", type=_count, metavar="S", help="instead of what CONFIG says")
    add("--set", metavar="NAME=VALUE", action="append", default=[], help="a parameter $NAME")
    add(
        "--override", metavar="KEY=YAML", action="append", default=[],
        help="another value of an entry of CONFIG, such as sidecars.memory='2 GiB'",
    )  # fmt: skip
    add("--launcher", metavar="mpirun|srun", help="default: srun in a Slurm job, MPIEXEC or mpirun")
    add(
        "--launcher-option", metavar="OPTION", action="append", default=[],
        help="handed to the launcher as it is; such as --launcher-option=--hostfile=hosts",
    )  # fmt: skip
    add(
        "--sidecar-program",
        metavar="PROGRAM",
        help="program of the sidecar ranks, with its arguments",
    )
    add("--dry-run", action="store_true", help="print what would be started, for a shell")
    add("--write", metavar="FILE", type=Path, help="write a batch script, and start nothing")
    add(
        "--nodes",
        metavar="N",
        type=_at_least_one,
        default=1,
        help="number of nodes of the batch script",
    )
    add(
        "--time", metavar="H:MM", type=_minutes, default=60, help="limit of the batch script (1:00)"
    )
    add("--batch", choices=BATCH_SYSTEMS, help="its batch system; default: the one that is here")
    add(
        "--strict",
        action="store_true",
        help="fail if an analysis is disabled or has lost publications, or without a report",
    )
    add("--no-check", action="store_true", help="start without checking CONFIG first")


def add_run(parser: argparse.ArgumentParser) -> None:
    _add_options(parser)
    parser.add_argument("configuration", metavar="CONFIG", type=Path, help="the YAML file to use")
    parser.add_argument("program", nargs=argparse.REMAINDER, help=argparse.SUPPRESS)
    parser.usage = "pillion run [OPTIONS] CONFIG -- PROGRAM [ARGUMENTS]"
    parser.epilog = _EPILOG


def run_run(arguments: argparse.Namespace) -> int:
    from pillion.launch.facts import find_facts
    from pillion.launch.launchers import Launcher
    from pillion.launch.plan import make_plan, overrides_for
    from pillion.launch.wanted import read_wanted

    wishes = _wishes(arguments)
    said = read_wanted(arguments.configuration, wishes.settings, wishes.overrides)
    overrides = {**wishes.overrides, **overrides_for(said, wishes.sidecars)}
    wanted = read_wanted(arguments.configuration, wishes.settings, overrides)
    if arguments.write:
        return _write(arguments, wishes, wanted)
    facts = find_facts(arguments.launcher)
    plan = make_plan(wishes, wanted, facts, _program("pillion-attach"))
    if arguments.dry_run:
        print("\n".join(plan.lines()))
        return 0
    if not arguments.no_check:
        _check(wishes, plan, overrides, facts.nodes, wanted.has_fields)
    return _start(plan, wanted, arguments.strict, facts.launcher is Launcher.SRUN)


def _write(arguments: argparse.Namespace, wishes: "Wishes", wanted: "Wanted") -> int:
    """Writes the script that runs the same command, without the options for it, in a batch job."""
    from pillion.launch.batch import request_for, script_for
    from pillion.launch.facts import threads_of
    from pillion.launch.wanted import Kind

    system = arguments.batch or next((s for c, s in _SUBMITS.items() if shutil.which(c)), "slurm")
    if arguments.ranks is None:
        raise Error("how many simulation ranks? A batch script needs -n")
    each = wanted.sidecars if wishes.sidecars is None else wishes.sidecars
    others = sum(part.ranks or 0 for part in wishes.parts[1:])
    request = request_for(
        wanted.run,
        arguments.ranks + others,
        each,
        wanted.kind in (Kind.PER_NODE, Kind.SEPARATE),
        arguments.nodes,
        threads_of(os.environ),
        arguments.time,
        _same_command(arguments),
    )
    _write_script(arguments.write, script_for(system, request))
    submit = next(command for command, name in _SUBMITS.items() if name == system)
    redirected = "< " if system == "lsf" else ""
    nodes = "1 node" if request.nodes == 1 else f"{request.nodes} nodes"
    print(f"{arguments.write}: {nodes} of {request.tasks} tasks, sidecars included")
    print(f"next: {submit} {redirected}{arguments.write}")
    return 0


def _write_script(path: Path, text: str) -> None:
    """Users complete the script, with modules for example: what they wrote stays."""
    try:
        if path.is_file() and path.read_text(encoding="utf-8", errors="replace") != text:
            raise Error(f"{path} is there already, and differs; remove it, or give another name")
        path.write_text(text, encoding="utf-8")
        path.chmod(0o755)
    except OSError as error:
        raise Error(f"cannot write {path}: {error.strerror}") from error


def _same_command(arguments: argparse.Namespace) -> list[str]:
    words = ["pillion", "run", "-n", str(arguments.ranks)]
    if arguments.sidecars is not None:
        words += ["--sidecars", str(arguments.sidecars)]
    for setting in arguments.set:
        words += ["--set", setting]
    for override in arguments.override:
        words += ["--override", override]
    if arguments.launcher:
        words += ["--launcher", arguments.launcher]
    words += [f"--launcher-option={option}" for option in arguments.launcher_option]
    if arguments.sidecar_program:
        words += ["--sidecar-program", arguments.sidecar_program]
    words += ["--strict"] * arguments.strict + ["--no-check"] * arguments.no_check
    program = list(arguments.program)
    program = program[program.index("--") + 1 :] if "--" in program else program
    return [*words, str(arguments.configuration), "--", *program]


def _wishes(arguments: argparse.Namespace) -> "Wishes":
    from pillion.launch.plan import Wishes, parts_of
    from pillion.launch.wanted import settings_of

    words = list(arguments.program)
    if words and words[0] != "--" and words[0].startswith("-"):
        # Options that were given after CONFIG.
        end = words.index("--") if "--" in words else len(words)
        late = argparse.ArgumentParser(prog="pillion run", add_help=False)
        _add_options(late)
        late.parse_args(words[:end], arguments)
        words = words[end:]
    parts = parts_of(words[1:] if words and words[0] == "--" else words)
    helper = shlex.split(arguments.sidecar_program or "")
    if helper:
        helper[0] = _program(helper[0])
    return Wishes(
        configuration=str(arguments.configuration),
        parts=parts,
        ranks=arguments.ranks,
        sidecars=arguments.sidecars,
        sidecar_program=tuple(helper),
        launcher_options=tuple(arguments.launcher_option),
        settings=settings_of(arguments.set),
        overrides=settings_of(arguments.override),
        run_id=secrets.token_hex(8),
    )


def _program(name: str) -> str:
    """A program of this installation by its path; others as they are called."""
    from pillion import programs

    try:
        return str(programs.find(name)) if name.startswith("pillion-") else name
    except Error:
        return name


def _as_typed(word: str) -> str:
    """A program of Pillion without its folder, if a shell would find the same."""
    name = Path(word).name
    return name if name.startswith("pillion-") and shutil.which(name) == word else word


def _check(
    wishes: "Wishes", plan: "Plan", overrides: dict[str, str], nodes: int, has_fields: bool
) -> None:
    """Raises Error if the configuration cannot work, and shows why."""
    from pillion import programs

    try:
        program = programs.find("pillion-check")
    except Error:
        return
    words = [str(program), wishes.configuration, "--nodes", str(nodes)]
    total = plan.simulation_ranks + (0 if plan.sidecars else plan.sidecar_ranks)
    words += ["--ranks", str(total)]
    for option, entries in (("--set", wishes.settings), ("--override", overrides)):
        for name, value in entries.items():
            words += [option, f"{name}={value}"]
    try:
        found = _answer([*words, "--json"])
    except subprocess.TimeoutExpired:
        print(
            f"pillion run: pillion-check gave no answer within {_PATIENCE} s; starting without it",
            file=sys.stderr,
        )
        return
    if found.returncode == 1 and certain(_mistakes(found.stdout), has_fields):
        try:
            done = _answer(words)
            print((done.stdout + done.stderr).rstrip(), file=sys.stderr)
        except subprocess.TimeoutExpired:
            print(found.stdout, file=sys.stderr)
        raise Error("nothing was started; correct the configuration, or take --no-check")
    for note in _notes(found.stdout):
        print(f"pillion run: note: {note}", file=sys.stderr)


def certain(mistakes: Sequence[Mapping[str, Any]], has_fields: bool) -> list[str]:
    """Messages of mistakes that no program can make good. A program may offer fields and set
    parameters that the configuration lacks. `has_fields` says whether the configuration has a
    catalogue of its own, so that a field that is not in it is a mistake.
    """
    messages = [str(mistake["message"]) for mistake in mistakes]
    return [
        message
        for message in messages
        if not _MAY_BE_SET.search(message)
        and not _MAY_BE_A_SCALAR.search(message)
        and (has_fields or not _MAY_BE_THE_PROGRAMS.search(message))
    ]


def _answer(words: list[str]) -> subprocess.CompletedProcess[str]:
    return subprocess.run(words, capture_output=True, errors="replace", timeout=_PATIENCE)


def _notes(text: str) -> list[str]:
    """Notes of the check, if it found no mistakes. A program may offer fields that the file lacks,
    and the check then knows too little.
    """
    try:
        found = json.loads(text)
        places = [(note["file"], note.get("line"), note["message"]) for note in found["notes"]]
        is_known = not found["mistakes"]
    except (ValueError, KeyError, TypeError):
        return []
    lines = [f"{file}{f':{line}' if line else ''}: {message}" for file, line, message in places]
    return lines if is_known else []


def _mistakes(text: str) -> list[dict[str, object]]:
    try:
        return list(json.loads(text)["mistakes"])
    except (ValueError, KeyError, TypeError):
        return []  # it could not say; the program will


def _start(plan: "Plan", wanted: "Wanted", strict: bool, by_srun: bool) -> int:
    from rich.console import Console

    from pillion.launch.ending import are_all_lost, ending, faults
    from pillion.launch.job import Job
    from pillion.launch.left_over import LeftOver
    from pillion.launch.line import Follower

    width = None if sys.stderr.isatty() else 110
    console = Console(stderr=True, highlight=False, width=width)
    follower = Follower(Path(wanted.output))
    # Without srun there may be no steps while the program still works.
    job = Job(plan, follower, LeftOver(follower.has_ended) if by_srun else lambda: False)
    follower.sessions = job.sessions
    for command in plan.started(_as_typed):
        console.print(f"+ {command}", style="bright_black", soft_wrap=True, markup=False)
    status = job.run()
    view = follower.look()
    report = follower.report()
    console.print()
    shown = ending(report, view, follower.folder, status, job.signalled, console.width)
    console.print(shown, soft_wrap=True)
    if job.signalled is not None:
        return 128 + job.signalled
    found = faults(report, view) if strict and status == 0 else []
    for fault in found:
        print(f"pillion run --strict: {fault}", file=sys.stderr)
    if status == 0 and job.sidecar_status and are_all_lost(report):
        found.append("sidecars did not join")
        print(
            f"pillion run: the sidecars did not join the run, and ended with status "
            f"{job.sidecar_status}; all that they had to compute is lost",
            file=sys.stderr,
        )
    return _INCOMPLETE if found else status
