# SPDX-License-Identifier: BSD-3-Clause
"""The launcher, cores and nodes that this machine and the environment offer."""

import os
import shutil
import subprocess
from collections.abc import Iterable, Mapping
from pathlib import Path

from pillion.errors import Error
from pillion.launch.plan import Facts, Launcher

_TOPOLOGY = "/sys/devices/system/cpu/cpu{}/topology/thread_siblings_list"


def find_facts(wished: str | None, environment: Mapping[str, str] = os.environ) -> Facts:
    """`wished` names a launcher; otherwise srun is taken within a Slurm job, or else mpirun.

    Raises Error if it is not there.
    """
    command = chosen(wished, environment, shutil.which("srun") is not None)
    path = shutil.which(command)
    if path is None:
        raise Error(
            f"there is no '{command}' to start ranks with; install an MPI, or set the launcher "
            "by --launcher or MPIEXEC"
        )
    in_slurm = "SLURM_JOB_ID" in environment
    return Facts(
        launcher=kind_of(command, _version_of(path)),
        command=command,
        cores=cores_of(os.sched_getaffinity(0)),
        nodes=_number(environment.get("SLURM_JOB_NUM_NODES"), 1) if in_slurm else 1,
        threads=_number(environment.get("OMP_NUM_THREADS"), 1),
        is_root=os.geteuid() == 0,
        tasks=_number(environment.get("SLURM_NTASKS"), 0) or None if in_slurm else None,
    )


def chosen(wished: str | None, environment: Mapping[str, str], has_srun: bool) -> str:
    if wished:
        return wished
    if "SLURM_JOB_ID" in environment and has_srun:
        return "srun"
    return environment.get("MPIEXEC") or "mpirun"


def kind_of(command: str, said: str) -> Launcher:
    """By its name, and by what it says when asked for its version."""
    if Path(command).name == "srun":
        return Launcher.SRUN
    if "Open MPI" in said or "OpenRTE" in said:
        return Launcher.OPEN_MPI
    hydra = "HYDRA" in said or "MPICH" in said or "Intel(R) MPI" in said
    return Launcher.HYDRA if hydra else Launcher.OTHER


def cores_of(cpus: Iterable[int], topology: str = _TOPOLOGY) -> int:
    """How many cores these hardware threads are."""
    cores = set()
    for cpu in cpus:
        try:
            cores.add(Path(topology.format(cpu)).read_text(encoding="ascii").strip())
        except OSError:
            cores.add(str(cpu))
    return max(1, len(cores))


def _number(text: str | None, otherwise: int) -> int:
    return int(text) if text is not None and text.isdigit() and int(text) > 0 else otherwise


def _version_of(path: str) -> str:
    try:
        done = subprocess.run([path, "--version"], capture_output=True, text=True, timeout=20)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise Error(f"the launcher {path} does not start: {error}") from error
    return done.stdout + done.stderr
