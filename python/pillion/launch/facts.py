# SPDX-License-Identifier: BSD-3-Clause
"""The launcher, and the cores and nodes of this machine. In a batch job they are the allocation's,
because this process may run on a login node.
"""

import os
import shutil
import socket
import subprocess
from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path

from pillion.errors import Error
from pillion.launch import slurm
from pillion.launch.allocation import Allocation, allocation_of
from pillion.launch.launchers import Facts, Launcher

_TOPOLOGY = "/sys/devices/system/cpu/cpu{}/topology/thread_siblings_list"


def find_facts(wished: str | None, environment: Mapping[str, str] = os.environ) -> Facts:
    """`wished` names a launcher; otherwise srun is taken within a Slurm job, or else mpirun.

    Raises Error if it is not there.
    """
    allocation = allocation_of(environment)
    has_srun = shutil.which("srun") is not None
    mpi = mpi_of_srun(wished, environment) if allocation and has_srun else ""
    if mpi is None and wished is not None:
        raise Error(
            f"{wished} knows no way to start programs of this MPI: `srun --mpi=list` lists what it "
            "knows; take --launcher mpirun"
        )
    command = chosen(wished, environment, has_srun and mpi is not None)
    path = shutil.which(command)
    if path is None:
        raise Error(
            f"there is no '{command}' to start ranks with; install an MPI, or set the launcher "
            "by --launcher or MPIEXEC"
        )
    here = Facts(
        launcher=kind_of(command, _version_of(path)),
        command=command,
        cores=cores_of(os.sched_getaffinity(0) if allocation is None else range(_online())),
        threads=threads_of(environment),
        is_root=os.geteuid() == 0,
    )
    return here if allocation is None else _within(here, allocation, mpi or "", environment)


def _within(here: Facts, allocation: Allocation, mpi: str, environment: Mapping[str, str]) -> Facts:
    hosts = allocation.hosts if allocation.system == "Slurm" else ()
    return replace(
        here,
        nodes=allocation.nodes,
        threads=_number(environment.get("OMP_NUM_THREADS"), allocation.threads),
        tasks=allocation.tasks,
        mpi=mpi if here.launcher is Launcher.SRUN else "",
        allocation=allocation,
        hardware_threads=slurm.hardware_threads(hosts[0]) if hosts else 1,
        most_cores=here.cores if socket.gethostname() in hosts else None,
    )


def mpi_of_srun(wished: str | None, environment: Mapping[str, str]) -> str | None:
    """The type that srun must name; "" for none, and None if it cannot start this MPI."""
    if wished is not None and Path(wished).name != "srun":
        return ""
    return slurm.mpi_types(environment).wanted(is_open_mpi(environment))


def is_open_mpi(environment: Mapping[str, str]) -> bool:
    """Whether this machine's MPI is Open MPI, as far as its launcher tells."""
    mpirun = shutil.which(environment.get("MPIEXEC") or "mpirun")
    return mpirun is None or kind_of(mpirun, _version_of(mpirun)) is Launcher.OPEN_MPI


def cores_here(environment: Mapping[str, str] = os.environ) -> int:
    """The cores of the batch job, or of this machine that this process may use."""
    allocation = allocation_of(environment)
    return sum(allocation.cores) if allocation else cores_of(os.sched_getaffinity(0))


def nodes_are_like_this(allocation: Allocation) -> bool:
    """Whether this process is on one of the job's nodes, and has all of it."""
    return socket.gethostname() in allocation.hosts and _online() <= min(allocation.cores)


def threads_of(environment: Mapping[str, str]) -> int:
    """The number of threads of each rank."""
    return _number(environment.get("OMP_NUM_THREADS"), 1)


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


def _online() -> int:
    return os.cpu_count() or 1


def _number(text: str | None, otherwise: int) -> int:
    return int(text) if text is not None and text.isdigit() and int(text) > 0 else otherwise


def _version_of(path: str) -> str:
    try:
        done = subprocess.run([path, "--version"], capture_output=True, text=True, timeout=20)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise Error(f"the launcher {path} does not start: {error}") from error
    return done.stdout + done.stderr
