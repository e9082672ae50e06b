# SPDX-License-Identifier: BSD-3-Clause
"""Command lines of the programs that start ranks: their options for cores, nodes, and two jobs in
one allocation. Pure.
"""

import re
import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum

from pillion.launch.allocation import Allocation

_PINNING = re.compile(r"-{1,2}(bind-to|map-by|rank-by|cpu-bind|cpu_bind|cpu-set|distribution)\b")
_MPI = re.compile(r"--mpi\b")


class Launcher(Enum):
    """The kind of program that starts ranks."""

    OPEN_MPI = "Open MPI"
    HYDRA = "MPICH"  # and what descends from it
    SRUN = "srun"
    OTHER = "another mpirun"


@dataclass(frozen=True)
class Facts:
    """The launcher, and the cores and nodes that it can use."""

    launcher: Launcher
    command: str = "mpirun"
    cores: int = 1  # of each node, if there is no allocation
    nodes: int = 1
    threads: int = 1  # that each rank will use
    is_root: bool = False
    tasks: int | None = None  # that a batch system has set aside
    mpi: str = ""  # what srun must name with --mpi
    allocation: Allocation | None = None
    hardware_threads: int = 1  # of a core, as the allocation counts cores
    most_cores: int | None = None  # that a node really has, where this process is on one of them

    @property
    def node_cores(self) -> tuple[int, ...]:
        if self.allocation is None:
            return (self.cores,) * self.nodes
        found = [max(1, cores // self.hardware_threads) for cores in self.allocation.cores]
        return tuple(min(cores, self.most_cores or cores) for cores in found)

    @property
    def room(self) -> int:
        """Ranks that have cores of their own, one for each thread; at least one on each node."""
        return sum(max(1, cores // self.threads) for cores in self.node_cores)


@dataclass(frozen=True)
class Part:
    """A program with its arguments, and how many ranks it is to have."""

    words: tuple[str, ...]
    ranks: int | None = None


@dataclass(frozen=True)
class Step:
    """The ranks that one launcher starts: the parts for each group of nodes, in the order of ranks.
    A job that is not heterogeneous has one group.
    """

    groups: tuple[tuple[Part, ...], ...]
    variables: tuple[str, ...] = ()  # that ranks find in the environment
    pinned: bool = True
    shares: bool = False  # the allocation, with another step
    on_each_node: int = 0  # ranks; 0: as the launcher likes

    @property
    def ranks(self) -> int:
        return sum(part.ranks or 0 for group in self.groups for part in group)


def line(facts: Facts, step: Step, options: Sequence[str]) -> tuple[str, ...]:
    """`options` are the user's, which come last."""
    pinned = step.pinned and not any(_PINNING.match(option) for option in options)
    fits = step.ranks * facts.threads <= sum(facts.node_cores)
    if facts.launcher is Launcher.SRUN:
        return _srun(facts, step, options, pinned, fits)
    words = [facts.command]
    if facts.launcher is Launcher.OPEN_MPI:
        mapped = any(_PINNING.match(option) for option in options)
        words += _open_mpi_options(facts, step, fits, pinned, mapped)
        for name in step.variables:
            words += ["-x", name]
    elif facts.launcher is Launcher.HYDRA and fits and pinned:
        words += ["-bind-to", "core" if facts.threads == 1 else f"core:{facts.threads}"]
    words += options
    for number, part in enumerate(part for group in step.groups for part in group):
        words += [":"] if number else []
        words += ["-n", str(part.ranks), *part.words]
    return tuple(words)


def variables_of(facts: Facts, shares: bool) -> dict[str, str]:
    """For launchers themselves. Slurm gives the cores of a job to the first step alone, unless all
    steps overlap; mpirun starts its helpers by srun.
    """
    overlaps = shares and facts.launcher is not Launcher.SRUN and _is_slurm(facts)
    return {"SLURM_OVERLAP": "1"} if overlaps else {}


def _is_slurm(facts: Facts) -> bool:
    return facts.allocation is not None and facts.allocation.system == "Slurm"


def _open_mpi_options(
    facts: Facts, step: Step, fits: bool, pinned: bool, mapped: bool
) -> list[str]:
    words = ["--allow-run-as-root"] if facts.is_root else []
    if not fits or (facts.tasks is not None and step.ranks > facts.tasks):
        return [*words, *_each_node(step, mapped), "--oversubscribe", "--bind-to", "none"]
    words += _each_node(step, mapped)
    if not pinned:
        return words
    if facts.threads > 1:
        words += ["--map-by", f"slot:PE={facts.threads}"]
    return [*words, "--bind-to", "core"]


def _each_node(step: Step, mapped: bool) -> list[str]:
    return ["--map-by", f"ppr:{step.on_each_node}:node"] if step.on_each_node and not mapped else []


def _srun(
    facts: Facts, step: Step, options: Sequence[str], pinned: bool, fits: bool
) -> tuple[str, ...]:
    """A rank that fails ends its step, or the others would wait for it in MPI until the time limit.
    Steps that share an allocation overlap, also in memory.
    """
    common = [f"--mpi={facts.mpi}"] if facts.mpi and not _names_mpi(options) else []
    common += ["--overlap", "--mem=0"] if step.shares else []
    common += ["--kill-on-bad-exit=1", *_srun_cores(fits, pinned, facts.threads)]
    if step.on_each_node:
        common.append(f"--ntasks-per-node={step.on_each_node}")
    several = len(step.groups) > 1
    words, first = [facts.command], 0
    for number, parts in enumerate(step.groups):
        ranks = sum(part.ranks or 0 for part in parts)
        if ranks:
            words += [":"] if first else []
            words += [f"--het-group={number}"] if several else []
            words += [*common, *options, "-n", str(ranks), *_dispatched(parts, first)]
        first += ranks
    return tuple(words)


def _names_mpi(options: Sequence[str]) -> bool:
    return any(_MPI.match(option) for option in options)


def _srun_cores(fits: bool, pinned: bool, threads: int) -> list[str]:
    if not fits:
        return ["--overcommit", "--cpu-bind=none"]
    words = [f"--cpus-per-task={threads}"] if threads > 1 else []
    return [*words, "--cpu-bind=cores"] if pinned else words


def _dispatched(parts: Sequence[Part], first: int) -> list[str]:
    """srun starts one program; where there are several, a shell becomes the right one. `first` is
    the number of the first rank.
    """
    if len(parts) == 1:
        return list(parts[0].words)
    script, end = "", first
    for number, part in enumerate(parts):
        end += part.ranks or 0
        last = number == len(parts) - 1
        test = "else" if last else f'{"el" if number else ""}if [ "$SLURM_PROCID" -lt {end} ]; then'
        script += f"{test} exec {shlex.join(part.words)}; "
    return ["sh", "-c", script + "fi"]
