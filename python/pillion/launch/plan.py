# SPDX-License-Identifier: BSD-3-Clause
"""Which command lines start a simulation with its sidecars, given what the user wishes, what the
configuration wants, and what there is to start it with. Pure.
"""

import re
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum

from pillion.errors import Error
from pillion.launch.wanted import Kind, Wanted

_PATIENCE = 60  # seconds for which sidecars of another job wait for the simulation
_PINNING = re.compile(r"-{1,2}(bind-to|map-by|rank-by|cpu-bind|cpu_bind|cpu-set|distribution)\b")


class Launcher(Enum):
    """The kind of program that starts ranks."""

    OPEN_MPI = "Open MPI"
    HYDRA = "MPICH"  # and what descends from it
    SRUN = "srun"
    OTHER = "another mpirun"


@dataclass(frozen=True)
class Facts:
    """The launcher and the cores that are available."""

    launcher: Launcher
    command: str = "mpirun"
    cores: int = 1  # of this node, which others are taken to be like
    nodes: int = 1
    threads: int = 1  # that each rank will use
    is_root: bool = False
    tasks: int | None = None  # that a batch system has set aside

    @property
    def room(self) -> int:
        """Ranks that have cores of their own, one for each thread; at least one on each node."""
        return max(1, self.cores // self.threads) * self.nodes


@dataclass(frozen=True)
class Part:
    """A program with its arguments, and how many ranks it is to have."""

    words: tuple[str, ...]
    ranks: int | None = None


@dataclass(frozen=True)
class Wishes:
    """The user's wishes from the command line."""

    configuration: str
    parts: tuple[Part, ...]
    ranks: int | None = None
    sidecars: int | None = None
    sidecar_program: tuple[str, ...] = ()
    launcher_options: tuple[str, ...] = ()
    settings: Mapping[str, str] = field(default_factory=dict)
    overrides: Mapping[str, str] = field(default_factory=dict)  # of the configuration's entries
    environment: Mapping[str, str] = field(default_factory=dict)  # for ranks to find, too


@dataclass(frozen=True)
class Plan:
    """Command lines, and what they find in the environment. Ranks are of all nodes."""

    simulation: tuple[str, ...]
    sidecars: tuple[str, ...] | None  # only where they are a job of their own
    environment: dict[str, str]
    simulation_ranks: int
    sidecar_ranks: int

    def lines(self) -> list[str]:
        """For a shell, which starts the same with them."""
        given = " ".join(f"{name}={shlex.quote(v)}" for name, v in self.environment.items())
        simulation = f"{given} {shlex.join(self.simulation)}"
        if self.sidecars is None:
            return [simulation]
        return [f"{simulation} &", shlex.join(self.sidecars), "wait"]


def parts_of(words: Sequence[str]) -> tuple[Part, ...]:
    """`PROGRAM ARGS : -n 2 PROGRAM ARGS`; raises Error if a program is missing."""
    parts: list[Part] = []
    rest = list(words)
    while True:
        end = rest.index(":") if ":" in rest else len(rest)
        mine, ranks = rest[:end], None
        if parts and len(mine) > 1 and mine[0] in ("-n", "-np") and mine[1].isdigit():
            ranks, mine = int(mine[1]), mine[2:]
        if not mine or (parts and not ranks):
            raise Error(
                "which program? Give PROGRAM ARGS after '--', and more as ': -n RANKS PROGRAM ARGS'"
            )
        parts.append(Part(tuple(mine), ranks))
        if end == len(rest):
            return tuple(parts)
        rest = rest[end + 1 :]


def overrides_for(wanted: Wanted, sidecars: int | None) -> dict[str, str]:
    """The overrides of the configuration that --sidecars stands for."""
    if sidecars is None or wanted.kind is Kind.SEPARATE:
        return {}
    key = "per_node" if wanted.kind is Kind.PER_NODE else "ranks"
    return {f"sidecars.{key}": str(sidecars)}


def make_plan(wishes: Wishes, wanted: Wanted, facts: Facts, attach: str) -> Plan:
    """`attach` is the program that sidecars of a job of their own run."""
    each = wanted.sidecars if wishes.sidecars is None else wishes.sidecars
    on_nodes = wanted.kind in (Kind.PER_NODE, Kind.SEPARATE)
    sidecars = each * facts.nodes if on_nodes else each
    separate = wanted.kind is Kind.SEPARATE
    within = 0 if separate else sidecars
    others = sum(part.ranks or 0 for part in wishes.parts[1:])
    ranks = wishes.ranks or max(1, (facts.tasks or 1) - sidecars - others)
    parts = _with_sidecars(wishes, ranks, within)
    total = sum(part.ranks or 0 for part in parts)
    environment = _environment(wishes, wanted, separate and sidecars > 0)
    options = wishes.launcher_options
    pinned = not separate and not any(_PINNING.match(option) for option in options)
    first = _line(facts, parts, options, list(environment), pinned)
    second = None
    if separate and sidecars:
        words = (attach, wanted.run, "--wait", str(_PATIENCE))
        overlap = ("--overlap",) if facts.launcher is Launcher.SRUN else ()
        spread = _one_per_node(facts, each)
        second = _line(facts, [Part(words, sidecars)], (*overlap, *spread), [], False)
    return Plan(first, second, environment, total - within, sidecars)


def line_for(facts: Facts, words: Sequence[str], ranks: int) -> tuple[str, ...]:
    """The command line that starts `ranks` ranks of one program."""
    return _line(facts, [Part(tuple(words), ranks)], (), (), True)


def _with_sidecars(wishes: Wishes, ranks: int, within: int) -> list[Part]:
    """The last ranks become sidecars, so the last program gets those, or one of their own does."""
    first, *rest = wishes.parts
    parts = [Part(first.words, ranks), *rest]
    if within and wishes.sidecar_program:
        return [*parts, Part(wishes.sidecar_program, within)]
    last = parts.pop()
    return [*parts, Part(last.words, (last.ranks or 0) + within)]


def _environment(wishes: Wishes, wanted: Wanted, comes: bool) -> dict[str, str]:
    """`comes`: sidecars of another job are started too, and may come after a short simulation."""

    def lines(entries: Mapping[str, str]) -> str:
        return "\n".join(f"{name}={value}" for name, value in entries.items())

    out = {"PILLION_CONFIGURATION": wishes.configuration}
    if wishes.settings:
        out["PILLION_SET"] = lines(wishes.settings)
    overrides = {**wishes.overrides, **overrides_for(wanted, wishes.sidecars)}
    if overrides:
        out["PILLION_OVERRIDE"] = lines(overrides)
    if comes:
        out["PILLION_AWAIT_SIDECARS"] = "1"
    return {**out, **wishes.environment}


def _line(
    facts: Facts,
    parts: Sequence[Part],
    options: Sequence[str],
    variables: Sequence[str],
    pinned: bool,
) -> tuple[str, ...]:
    total = sum(part.ranks or 0 for part in parts)
    fits = total * facts.threads <= facts.cores * facts.nodes
    words = [facts.command]
    if facts.launcher is Launcher.SRUN:
        words += _srun_options(fits, pinned, facts.threads)
        return (*words, *options, "-n", str(total), *_dispatched(parts))
    if facts.launcher is Launcher.OPEN_MPI:
        words += _open_mpi_options(facts, fits, pinned)
        for name in variables:
            words += ["-x", name]
    elif facts.launcher is Launcher.HYDRA and fits and pinned:
        words += ["-bind-to", "core" if facts.threads == 1 else f"core:{facts.threads}"]
    words += options
    for number, part in enumerate(parts):
        words += [":"] if number else []
        words += ["-n", str(part.ranks), *part.words]
    return tuple(words)


def _open_mpi_options(facts: Facts, fits: bool, pinned: bool) -> list[str]:
    words = ["--allow-run-as-root"] if facts.is_root else []
    if not fits:
        words.append("--oversubscribe")
    if not fits or not pinned:
        return words if fits and not pinned else [*words, "--bind-to", "none"]
    if facts.threads > 1:
        words += ["--map-by", f"slot:PE={facts.threads}"]
    return [*words, "--bind-to", "core"]


def _srun_options(fits: bool, pinned: bool, threads: int) -> list[str]:
    if not fits:
        return ["--overcommit", "--cpu-bind=none"]
    words = [f"--cpus-per-task={threads}"] if threads > 1 else []
    return [*words, "--cpu-bind=cores"] if pinned else words


def _one_per_node(facts: Facts, each: int) -> list[str]:
    if facts.nodes == 1:
        return []
    if facts.launcher is Launcher.SRUN:
        return [f"--ntasks-per-node={each}"]
    return ["--map-by", f"ppr:{each}:node"] if facts.launcher is Launcher.OPEN_MPI else []


def _dispatched(parts: Sequence[Part]) -> list[str]:
    """srun starts one program; where there are several, a shell becomes the right one."""
    if len(parts) == 1:
        return list(parts[0].words)
    script, end = "", 0
    for number, part in enumerate(parts):
        end += part.ranks or 0
        last = number == len(parts) - 1
        test = "else" if last else f'{"el" if number else ""}if [ "$SLURM_PROCID" -lt {end} ]; then'
        script += f"{test} exec {shlex.join(part.words)}; "
    return ["sh", "-c", script + "fi"]
