# SPDX-License-Identifier: BSD-3-Clause
"""The findings of `pillion doctor` on the batch job around it, and on limits of its memory."""

import shutil
import time
from collections.abc import Iterator, Mapping
from pathlib import Path

from pillion.errors import Error
from pillion.launch.allocation import Allocation, allocation_of

_SHORT = 600  # seconds
_SHOWN = 4  # names of nodes


def job_lines(environment: Mapping[str, str]) -> Iterator[tuple[str, str, str]]:
    """The subject, the finding, and advice if something is wrong; empty outside of a job."""
    try:
        allocation = allocation_of(environment)
    except Error as error:
        yield "batch job", str(error), "start ranks with --launcher, and name their number with -n"
        return
    if allocation is None:
        return
    yield "batch job", described(allocation), ""
    if allocation.system == "Slurm":
        yield from _slurm(allocation, environment)


def described(allocation: Allocation) -> str:
    hosts = allocation.hosts
    names = ", ".join(hosts[:_SHOWN]) + (", ..." if len(hosts) > _SHOWN else "")
    nodes = "1 node" if allocation.nodes == 1 else f"{allocation.nodes} nodes"
    text = f"{allocation.system} job {allocation.job}: {nodes}"
    text += f" ({names})" if names else ""
    groups = len(allocation.groups)
    text += f" in {groups} groups" if groups > 1 else ""
    return f"{text}, {sum(allocation.cores)} cores, {allocation.tasks} tasks"


def _slurm(
    allocation: Allocation, environment: Mapping[str, str]
) -> Iterator[tuple[str, str, str]]:
    from pillion.launch import slurm

    record = slurm.job_record(allocation.job)
    left = None if record.end is None else record.end - time.time()
    advice = "write a checkpoint, or ask for more with --time" if left and left < _SHORT else ""
    yield "time left", "no limit is known" if left is None else duration(left), advice
    memory = memory_of(allocation, record)
    found = "no limit is known" if memory is None else f"{memory >> 20:,} MiB on each node"
    yield "memory of the job", found, ""
    yield srun_line(slurm.mpi_types(environment), _is_open_mpi(environment))


def memory_of(allocation: Allocation, record) -> int | None:  # type: ignore[no-untyped-def]
    """Bytes on the node with the least, as asked for or by the site's default."""
    if allocation.memory is not None:
        return allocation.memory
    if record.memory_per_node is not None:
        return int(record.memory_per_node)
    each = record.memory_per_core
    return None if each is None else int(each) * min(allocation.cores)


def srun_line(types, is_open_mpi: bool) -> tuple[str, str, str]:  # type: ignore[no-untyped-def]
    """How `pillion run` starts ranks there."""
    if not shutil.which("srun"):
        return "srun", "not found", "`pillion run` uses mpirun"
    wanted = types.wanted(is_open_mpi)
    found = f"MPI types {', '.join(types.known) or 'unknown'}; MpiDefault {types.default or '?'}"
    if wanted is None:
        return "srun", found, "none of them starts this MPI, so `pillion run` uses mpirun"
    taken = f"srun --mpi={wanted}" if wanted else "srun"
    return "srun", f"{found}; `pillion run` uses {taken}", ""


def _is_open_mpi(environment: Mapping[str, str]) -> bool:
    from pillion.launch.facts import is_open_mpi

    return is_open_mpi(environment)


def duration(seconds: float) -> str:
    hours, rest = divmod(int(max(seconds, 0)), 3600)
    return f"{hours}:{rest // 60:02d}:{rest % 60:02d}"


def limit_of_groups(root: Path = Path("/")) -> int | None:
    """The memory in bytes that control groups leave to this process, of both versions; None if
    there is no limit.
    """
    try:
        lines = (root / "proc/self/cgroup").read_text(encoding="utf-8").splitlines()
    except OSError:
        return None
    found = []
    for line in lines:
        _, controllers, path = line.split(":", 2)
        if controllers == "":
            found += _up(root / "sys/fs/cgroup", path, "memory.max")
        elif "memory" in controllers.split(","):
            found += _up(root / "sys/fs/cgroup/memory", path, "memory.limit_in_bytes")
    # Version 1 has a number near the largest where there is no limit.
    limits = [limit for limit in found if limit < 1 << 60]
    return min(limits) if limits else None


def _up(top: Path, path: str, name: str) -> list[int]:
    """The limits of a group and of all groups above it."""
    found = []
    for folder in (Path(path.lstrip("/")), *Path(path.lstrip("/")).parents):
        try:
            found.append(int((top / folder / name).read_text(encoding="ascii")))
        except (OSError, ValueError):
            continue
    return found
