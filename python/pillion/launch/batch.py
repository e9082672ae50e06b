# SPDX-License-Identifier: BSD-3-Clause
"""Batch scripts as users would write them, for Slurm, PBS and LSF: what the job asks for, and the
command `pillion run`, which finds the nodes and the launcher in the job. Pure.
"""

import shlex
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import ceil

from pillion.errors import Error


@dataclass(frozen=True)
class Request:
    """The resources of a job, and its command."""

    name: str
    nodes: int
    tasks: int  # on each node, sidecars included
    threads: int
    minutes: int
    command: tuple[str, ...]


def request_for(
    name: str, ranks: int, sidecars: int, on_nodes: bool, nodes: int, threads: int, minutes: int,
    command: Sequence[str],
) -> Request:  # fmt: skip
    """`sidecars` are those of each node if `on_nodes`, or else of all. Raises Error if the ranks
    cannot be the same on every node.
    """
    total = ranks + (sidecars * nodes if on_nodes else sidecars)
    if on_nodes and total % nodes:
        raise Error(
            f"{ranks} simulation ranks are not the same number on each of {nodes} nodes; "
            f"take -n {ceil(ranks / nodes) * nodes}"
        )
    return Request(name, nodes, ceil(total / nodes), threads, minutes, tuple(command))


def script_for(system: str, request: Request) -> str:
    """`system` is "slurm", "pbs" or "lsf"."""
    lines = ["#!/bin/bash", *_HEADS[system](request), ""]
    if system == "pbs":  # the others start a job where it was submitted, PBS in the home folder
        lines.append('cd "$PBS_O_WORKDIR"')
    lines += [*_exports(request), f"exec {shlex.join(request.command)}"]
    return "\n".join(lines) + "\n"


def _slurm(request: Request) -> list[str]:
    hours, minutes = divmod(request.minutes, 60)
    return [
        f"#SBATCH --job-name={request.name}",
        f"#SBATCH --nodes={request.nodes}",
        f"#SBATCH --ntasks-per-node={request.tasks}",
        *([f"#SBATCH --cpus-per-task={request.threads}"] if request.threads > 1 else []),
        f"#SBATCH --time={hours:02d}:{minutes:02d}:00",
        f"#SBATCH --output={request.name}-%j.out",
    ]


def _pbs(request: Request) -> list[str]:
    cores = request.tasks * request.threads
    threads = f":ompthreads={request.threads}" if request.threads > 1 else ""
    hours, minutes = divmod(request.minutes, 60)
    return [
        f"#PBS -N {request.name}",
        f"#PBS -l select={request.nodes}:ncpus={cores}:mpiprocs={request.tasks}{threads}",
        "#PBS -l place=scatter:excl",
        f"#PBS -l walltime={hours:02d}:{minutes:02d}:00",
        "#PBS -j oe",
    ]


def _lsf(request: Request) -> list[str]:
    hours, minutes = divmod(request.minutes, 60)
    return [
        f"#BSUB -J {request.name}",
        f"#BSUB -n {request.nodes * request.tasks}",
        f'#BSUB -R "span[ptile={request.tasks}]"',
        *([f'#BSUB -R "affinity[core({request.threads})]"'] if request.threads > 1 else []),
        f"#BSUB -W {hours:02d}:{minutes:02d}",
        f"#BSUB -o {request.name}-%J.out",
    ]


_HEADS: dict[str, Callable[[Request], list[str]]] = {"slurm": _slurm, "pbs": _pbs, "lsf": _lsf}
SYSTEMS = tuple(_HEADS)


def _exports(request: Request) -> list[str]:
    return [f"export OMP_NUM_THREADS={request.threads}"] if request.threads > 1 else []
