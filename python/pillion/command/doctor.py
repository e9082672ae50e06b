# SPDX-License-Identifier: BSD-3-Clause
"""`pillion doctor`: what is found on this machine, and what is missing: the launcher of MPI
programs, cores, memory that sidecars take, stages, and Python packages.

Each check is a function that looks and judges; none of them changes anything or needs MPI.
"""

import argparse
import os
import platform
import resource
import shutil
import subprocess
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import Enum
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from pillion import programs
from pillion.command import paint
from pillion.command.doctor_job import job_lines, limit_of_groups


class Verdict(Enum):
    GOOD = "ok"
    NOTE = "note"
    BAD = "missing"


@dataclass(frozen=True)
class Finding:
    """One line: what was looked at, what was found, and what to do if anything."""

    what: str
    found: str
    verdict: Verdict = Verdict.GOOD
    advice: str = ""


# What needs a package: those that come with Pillion, as pyproject.toml lists them, and others.
# mpi4py has a check of its own.
NEEDED = {
    "highspy": "pairs of grids, `pillion grid`",
    "matplotlib": "`pillion report` and the pictures of other pages",
    "numpy": "reports, tables, results and simulations in Python",
    "PyYAML": "every command that reads a configuration or a product",
    "rich": "`pillion run` and `pillion watch`",
    "shtab": "completion in a shell",
    "xarray": "pillion.results",
}
OPTIONAL = {
    "h5py": "datasets of HDF5, openPMD and VTKHDF",
    "hdf5plugin": "compressed datasets of HDF5, and sz3 of the stage encode",
    "lz4": "lz4 of the stage encode",
    "zfpy": "zfp of the stage encode",
    "zstandard": "zstd of the stage encode",
}
ENOUGH_SHARED_MEMORY = 256 << 20  # the default of `memory` in `sidecars`
ENOUGH_FILES = 1024


def findings(environment: Mapping[str, str] = os.environ) -> Iterator[Finding]:
    yield Finding("installation", str(programs.prefix()))
    yield launcher(environment.get("MPIEXEC", "mpirun"))
    for what, found, advice in job_lines(environment):
        yield Finding(what, found, Verdict.NOTE if advice else Verdict.GOOD, advice)
    yield cores()
    yield memory(limit_of_groups())
    yield shared_memory(Path("/dev/shm"))
    yield open_files(resource.getrlimit(resource.RLIMIT_NOFILE)[0])
    yield from stages(str(programs.folder()))
    yield Finding("Python", platform.python_version())
    for package, use in NEEDED.items():
        yield python_package(package, use, Verdict.BAD)
    for package, use in OPTIONAL.items():
        yield python_package(package, use, Verdict.NOTE)
    yield compiled_modules()
    yield mpi_of_python()
    yield rendering()


def launcher(program: str) -> Finding:
    path = shutil.which(program)
    if path is None:
        return Finding(
            "MPI launcher",
            f"no '{program}'",
            Verdict.BAD,
            "install Open MPI or MPICH, or name their launcher in MPIEXEC",
        )
    try:
        done = subprocess.run([path, "--version"], capture_output=True, text=True, timeout=20)
    except (OSError, subprocess.TimeoutExpired) as error:
        return Finding("MPI launcher", f"{path} does not start: {error}", Verdict.BAD)
    lines = [line.strip() for line in (done.stdout + done.stderr).splitlines() if line.strip()]
    told = [line for line in lines if line.startswith("Version:")] or lines or ["says nothing"]
    return Finding("MPI launcher", f"{path}: {told[0]}")


def cores() -> Finding:
    mine, all_of_them = len(os.sched_getaffinity(0)), os.cpu_count() or 1
    nodes = len(list(Path("/sys/devices/system/node").glob("node[0-9]*"))) or 1
    found = f"{mine} of {all_of_them}, on {nodes} NUMA node{'s' if nodes > 1 else ''}"
    if mine == 1:
        advice = "sidecars and simulation will take turns: analyses hide nothing on one core"
        return Finding("cores", found, Verdict.NOTE, advice)
    return Finding("cores", found)


def memory(limit: int | None) -> Finding:
    """The node's memory, and the limit of this process's control group if that is less."""
    all_of_it = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    found = f"{all_of_it / 2**20:,.0f} MiB"
    if limit is None or limit >= all_of_it:
        return Finding("memory", found)
    found = f"{limit / 2**20:,.0f} MiB, the limit of this control group, of {found}"
    if limit < 4 * ENOUGH_SHARED_MEMORY:
        advice = "the budget of sidecars, `memory`, is part of it; batch jobs get more with --mem"
        return Finding("memory", found, Verdict.NOTE, advice)
    return Finding("memory", found)


def shared_memory(folder: Path) -> Finding:
    """The memory that sidecars of a node share with the simulation."""
    if not os.access(folder, os.W_OK):
        return Finding(
            "shared memory",
            f"{folder} cannot be written",
            Verdict.BAD,
            "sidecars of a node need it; without it, `sidecars: {ranks: N}` uses the network",
        )
    free = shutil.disk_usage(folder).free
    found = f"{folder}: {free / 2**20:,.0f} MiB free"
    if free < ENOUGH_SHARED_MEMORY:
        advice = "sidecars get at most this; in containers, ask for more (--shm-size)"
        return Finding("shared memory", found, Verdict.NOTE, advice)
    return Finding("shared memory", found)


def open_files(limit: int) -> Finding:
    if 0 <= limit < ENOUGH_FILES:
        advice = f"raise it to {ENOUGH_FILES} (ulimit -n): datasets are many files"
        return Finding("open files", f"{limit} for a process", Verdict.NOTE, advice)
    return Finding("open files", "no limit" if limit < 0 else f"{limit} for a process")


def stages(folder: str) -> Iterator[Finding]:
    """As the program `pillion-stages` in the installation's folder of programs finds them."""
    program = shutil.which("pillion-stages", path=folder)
    if program is None:
        advice = "run the command `pillion` of an installation or a build"
        yield Finding("stages", "no program 'pillion-stages'", Verdict.BAD, advice)
        return
    done = subprocess.run([program], capture_output=True, text=True, timeout=60)
    names = [line.split()[0] for line in done.stdout.splitlines()]
    verdict = Verdict.GOOD if names else Verdict.BAD
    advice = "" if names else "name their folder in PILLION_STAGE_PATH"
    yield Finding("stages", ", ".join(names) or "none", verdict, advice)
    for line in done.stderr.splitlines():
        yield Finding("stages", line.removeprefix("pillion: "), Verdict.BAD, "build it again")


def python_package(name: str, use: str, if_missing: Verdict) -> Finding:
    try:
        return Finding(f"Python package {name}", version(name))
    except PackageNotFoundError:
        advice = f"needed for {use}: pip install {name}"
        return Finding(f"Python package {name}", "not installed", if_missing, advice)


def compiled_modules() -> Finding:
    what = "simulations and stages in Python"
    try:
        from pillion import _core
    except ImportError as error:
        advice = "install the package with `pip install .`, or build where nanobind is installed"
        return Finding(what, f"not built for this Python ({error})", Verdict.NOTE, advice)
    return Finding(what, f"modules of version {_core.library_version()}")


def mpi_of_python() -> Finding:
    """Whether mpi4py uses the MPI that Pillion uses; neither is begun for it."""
    what = "mpi4py"
    try:
        import mpi4py

        mpi4py.rc.initialize = False
        from mpi4py import MPI
    except (ImportError, RuntimeError) as error:
        advice = "needed for simulations in Python: pip install mpi4py"
        return Finding(what, f"cannot be used: {error}".splitlines()[0], Verdict.NOTE, advice)
    found = f"{mpi4py.__version__} with {_named(MPI.Get_library_version())}"
    try:
        from pillion import _core
    except ImportError:
        return Finding(what, found)
    ours = _named(_core.mpi_library())
    if ours != _named(MPI.Get_library_version()):
        advice = (
            f"have it use that one: set MPI4PY_LIBMPI={_core.mpi_file()} (mpi4py 4.1 and later), "
            "or `pip install --no-binary mpi4py mpi4py`"
        )
        return Finding(what, f"{found}, but Pillion with {ours}", Verdict.BAD, advice)
    return Finding(what, found)


def _named(version_of_mpi: str) -> str:
    return version_of_mpi.strip(" \0\n").splitlines()[0].split(", package")[0].strip()


def rendering() -> Finding:
    """Whether pictures can be drawn, which needs no display."""
    try:
        from io import BytesIO

        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.figure import Figure

        picture = BytesIO()
        figure = Figure((1, 1))
        FigureCanvasAgg(figure)
        figure.savefig(picture, format="png")
    except Exception as error:  # whatever its libraries find to complain of
        return Finding("rendering", f"Matplotlib cannot draw: {error}", Verdict.BAD)
    shown = "on this display" if os.environ.get("DISPLAY") else "without a display"
    return Finding("rendering", f"Matplotlib draws, {shown}")


def lines_of(finding: Finding) -> list[str]:
    head = f"{finding.verdict.value:<8} {finding.what}: {finding.found}"
    return [head, f"{'':<9}{finding.advice}"] if finding.advice else [head]


def add_doctor(parser: argparse.ArgumentParser) -> None:
    """There are none."""


def run_doctor(_: argparse.Namespace) -> int:
    colours = {Verdict.GOOD: paint.good, Verdict.NOTE: paint.note, Verdict.BAD: paint.error}
    worst = 0
    for finding in findings():
        head, *advice = lines_of(finding)
        word = finding.verdict.value
        print(colours[finding.verdict](word) + head.removeprefix(word))
        for line in advice:
            print(line)
        worst = max(worst, 1 if finding.verdict is Verdict.BAD else 0)
    return worst
