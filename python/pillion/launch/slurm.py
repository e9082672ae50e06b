# SPDX-License-Identifier: BSD-3-Clause
"""Answers of Slurm's commands: how srun starts MPI programs, the time that is left for a job, its
memory, and its steps. If a command fails, nothing is known.
"""

import os
import re
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

_PATIENCE = 20  # seconds
_UNITS = {"K": 1 << 10, "M": 1 << 20, "G": 1 << 30, "T": 1 << 40}
# Ways to start MPI programs, the best first, by what their MPI's launcher is called.
_OPEN_MPI = ("pmix", "pmi2")
_OTHERS = ("cray_shasta", "pmi2", "pmix")


@dataclass(frozen=True)
class MpiTypes:
    """The values of srun's --mpi that there are, and the one it takes by itself."""

    known: tuple[str, ...]
    default: str

    def wanted(self, is_open_mpi: bool) -> str | None:
        """The type to name; "" if srun's own will do, and None if there is nothing for this MPI."""
        if self.default not in ("", "none"):
            return ""
        for name in _OPEN_MPI if is_open_mpi else _OTHERS:
            versions = sorted(k for k in self.known if k == name or k.startswith(f"{name}_v"))
            if versions:
                return versions[0]
        return None


@dataclass(frozen=True)
class JobRecord:
    """Slurm's record of a job."""

    end: float | None = None  # a calendar time; None: there is no limit, or it is not known
    memory_per_node: int | None = None
    memory_per_core: int | None = None


def mpi_types(environment: Mapping[str, str] = os.environ) -> MpiTypes:
    """SLURM_MPI_TYPE of the environment is a default, too."""
    default = environment.get("SLURM_MPI_TYPE") or default_in(_answer("scontrol", "show", "config"))
    return MpiTypes(listed_in(_answer("srun", "--mpi=list")), default)


def job_record(job: str) -> JobRecord:
    return record_in(_answer("scontrol", "show", "job", "-o", job))


def steps_of(jobs: Sequence[str]) -> tuple[str, ...] | None:
    """The steps that these jobs have started and Slurm still has; None if it does not answer."""
    words = ("squeue", "--steps", "--noheader", "--format=%i", "--jobs", ",".join(jobs))
    listed = _asked(*words) if jobs else None
    return None if listed is None else numbered_in(listed)


def numbered_in(listed: str) -> tuple[str, ...]:
    """The steps that srun has started: "38.0", not "38.batch" or "38.extern"."""
    return tuple(step for step in listed.split() if step.rpartition(".")[2].isdigit())


def hardware_threads(host: str) -> int:
    """Slurm's CPUs for each core of a node."""
    found = re.search(r"\bThreadsPerCore=(\d+)", _answer("scontrol", "show", "node", "-o", host))
    return max(1, int(found[1])) if found else 1


def listed_in(text: str) -> tuple[str, ...]:
    """The names in "MPI plugin types are...", one on each line, and after "available:"."""
    names = re.findall(r"^\s+(\w+)\s*$", text, re.MULTILINE)
    specific = re.search(r"available:\s*([\w, ]+)", text)
    return (*names, *re.findall(r"\w+", specific[1] if specific else ""))


def default_in(config: str) -> str:
    found = re.search(r"^MpiDefault\s*=\s*(\S+)", config, re.MULTILINE)
    return found[1] if found else ""


def record_in(text: str) -> JobRecord:
    """The record of a heterogeneous job has a line for each group; the first counts."""
    fields = dict(re.findall(r"(\w+)=(\S+)", text.partition("\n")[0]))
    return JobRecord(
        _time(fields.get("EndTime", "")) if fields.get("TimeLimit") != "UNLIMITED" else None,
        _bytes(fields.get("MinMemoryNode", "")),
        _bytes(fields.get("MinMemoryCPU", "")),
    )


def _time(text: str) -> float | None:
    try:
        return datetime.fromisoformat(text).timestamp()
    except ValueError:
        return None


def _bytes(text: str) -> int | None:
    found = re.fullmatch(r"([\d.]+)([KMGT]?)", text)
    size = int(float(found[1]) * _UNITS[found[2] or "M"]) if found else 0
    return size or None


def _answer(*words: str) -> str:
    return _asked(*words) or ""


def _asked(*words: str) -> str | None:
    try:
        done = subprocess.run(_command(words), capture_output=True, text=True, timeout=_PATIENCE)
    except (OSError, subprocess.TimeoutExpired):
        return None
    return done.stdout + done.stderr if done.returncode == 0 else None


def _command(words: Sequence[str]) -> list[str]:
    return list(words)
