# SPDX-License-Identifier: BSD-3-Clause
"""The allocation of a batch job, as its environment lists it: nodes, cores, tasks and memory, in
groups if the job is heterogeneous. Pure, but for the file of nodes that PBS names.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from pillion.errors import Error

_TIMES = re.compile(r"(\d+)(?:\(x(\d+)\))?")
_MOST_NODES = 1_000_000


@dataclass(frozen=True)
class Group:
    """Nodes that were asked for together. `cores` and `tasks` have an entry for each node; hosts
    may be unknown.
    """

    cores: tuple[int, ...]
    tasks: tuple[int, ...]
    hosts: tuple[str, ...] = ()
    memory: int | None = None  # bytes of a node, of the one with the least; None: not known

    @property
    def nodes(self) -> int:
        return len(self.cores)

    def host(self, node: int) -> str:
        return self.hosts[node] if node < len(self.hosts) else str(node)


@dataclass(frozen=True)
class Allocation:
    """A job's nodes. `system` is the batch system's name."""

    system: str
    job: str
    groups: tuple[Group, ...]
    threads: int = 1  # cores for each task

    @property
    def nodes(self) -> int:
        return sum(group.nodes for group in self.groups)

    @property
    def cores(self) -> tuple[int, ...]:
        return tuple(cores for group in self.groups for cores in group.cores)

    @property
    def tasks(self) -> int:
        return sum(sum(group.tasks) for group in self.groups)

    @property
    def hosts(self) -> tuple[str, ...]:
        return tuple(host for group in self.groups for host in group.hosts)

    @property
    def memory(self) -> int | None:
        known = [group.memory for group in self.groups]
        least = [memory for memory in known if memory is not None]
        return min(least) if len(least) == len(known) and least else None


def allocation_of(environment: Mapping[str, str]) -> Allocation | None:
    """None outside of a job. Raises Error if the environment of a job cannot be understood."""
    if "SLURM_JOB_ID" in environment:
        return _of_slurm(environment)
    if "PBS_JOBID" in environment and environment.get("PBS_NODEFILE"):
        return _of_pbs(environment)
    if "LSB_JOBID" in environment and environment.get("LSB_MCPU_HOSTS"):
        return _of_lsf(environment)
    return None


def expanded(counts: str) -> tuple[int, ...]:
    """Slurm's "4,1(x2)" as 4, 1, 1."""
    out: list[int] = []
    for word in counts.split(","):
        found = _TIMES.fullmatch(word.strip())
        if found is None or len(out) + int(found[2] or 1) > _MOST_NODES:
            raise Error(f"'{counts}' are not numbers for nodes, such as 4,1(x2)")
        out += [int(found[1])] * int(found[2] or 1)
    return tuple(out)


def host_names(listed: str) -> tuple[str, ...]:
    """Slurm's "n[0-1,07],login" as n0, n1, n07, login."""
    out: list[str] = []
    for word in re.findall(r"(?:[^,\[]|\[[^\]]*\])+", listed):
        out += _names(word)
        if len(out) > _MOST_NODES:
            raise Error(f"'{listed[:60]}' names more than {_MOST_NODES} nodes")
    return tuple(out)


def _names(word: str) -> list[str]:
    found = re.fullmatch(r"([^\[]*)\[([^\]]*)\](.*)", word)
    if found is None:
        return [word]
    out = []
    for part in found[2].split(","):
        first, dash, last = part.partition("-")
        if not first.isdigit() or (dash and not last.isdigit()):
            raise Error(f"'{word}' is not a list of nodes, such as n[0-3]")
        end = int(last) if dash else int(first)
        if end - int(first) > _MOST_NODES:
            raise Error(f"'{word}' names more than {_MOST_NODES} nodes")
        numbers = (f"{n:0{len(first)}d}" for n in range(int(first), end + 1))
        out += [name for number in numbers for name in _names(f"{found[1]}{number}{found[3]}")]
    return out


def _of_slurm(environment: Mapping[str, str]) -> Allocation:
    count = _number(environment, "SLURM_HET_SIZE") or 0
    suffixes = [f"_HET_GROUP_{n}" for n in range(count)] or [""]
    groups = tuple(_slurm_group(environment, suffix) for suffix in suffixes)
    return Allocation(
        "Slurm",
        environment["SLURM_JOB_ID"],
        groups,
        threads=_number(environment, "SLURM_CPUS_PER_TASK") or 1,
    )


def _slurm_group(environment: Mapping[str, str], suffix: str) -> Group:
    def text(name: str) -> str:
        return environment.get(f"SLURM_{name}{suffix}", "")

    nodes = _number(environment, f"SLURM_JOB_NUM_NODES{suffix}") or 1
    cores = _spread(text("JOB_CPUS_PER_NODE") or "1", nodes)
    tasks = _spread(text("TASKS_PER_NODE") or "1", nodes)
    return Group(cores, tasks, host_names(text("JOB_NODELIST")), _memory(text, cores))


def _spread(counts: str, nodes: int) -> tuple[int, ...]:
    """A number for each node, also where Slurm gives the same for all."""
    found = expanded(counts)
    return found if len(found) == nodes else (*found, *[found[-1]] * nodes)[:nodes]


def _memory(text, cores: Sequence[int]) -> int | None:  # type: ignore[no-untyped-def]
    """Slurm counts in units of 1024² bytes; 0 stands for all of a node."""
    of_node, of_core = text("MEM_PER_NODE"), text("MEM_PER_CPU")
    if of_node.isdigit() and int(of_node) > 0:
        return int(of_node) << 20
    if of_core.isdigit() and int(of_core) > 0:
        return (int(of_core) << 20) * min(cores)
    return None


def _of_pbs(environment: Mapping[str, str]) -> Allocation:
    """The file has a line for each task, or for each core."""
    path = Path(environment["PBS_NODEFILE"])
    try:
        lines = path.read_text(encoding="utf-8").split()
    except OSError as error:
        raise Error(f"cannot read PBS_NODEFILE, {path}: {error.strerror}") from error
    if not lines:
        raise Error(f"PBS_NODEFILE, {path}, names no node")
    return Allocation("PBS", environment["PBS_JOBID"], (_counted(dict.fromkeys(lines), lines),))


def _of_lsf(environment: Mapping[str, str]) -> Allocation:
    """Names and numbers: "n0 4 n1 4"."""
    words = environment["LSB_MCPU_HOSTS"].split()
    numbers = words[1::2]
    if len(words) % 2 or not all(number.isdigit() for number in numbers):
        raise Error(f"LSB_MCPU_HOSTS, '{' '.join(words)}', are not names of nodes and numbers")
    lines = [host for host, n in zip(words[::2], numbers) for _ in range(int(n))]
    return Allocation("LSF", environment["LSB_JOBID"], (_counted(dict.fromkeys(lines), lines),))


def _counted(hosts: Mapping[str, None], lines: Sequence[str]) -> Group:
    tasks = tuple(lines.count(host) for host in hosts)
    return Group(tasks, tasks, tuple(hosts))


def _number(environment: Mapping[str, str], name: str) -> int | None:
    text = environment.get(name, "")
    return int(text) if text.isdigit() and int(text) > 0 else None
