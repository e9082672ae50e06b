# SPDX-License-Identifier: BSD-3-Clause
"""What every Python test of Pillion needs: how to start MPI programs with a time limit, and how to
read the tables that stages write. Tests import it with `from conftest import mpirun, read_table`;
the build directory comes from the environment variable PILLION_BUILD, through the fixture `build`.
"""

import contextlib
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import cores
import limits
import numpy as np
import pytest
import yaml
from drawn_cases import pytest_collection_modifyitems  # noqa: F401, a hook

# Temporary folders in memory, where there is enough: products are forced to disk at the end of each
# run, and a busy disk takes its time over that.
if os.path.isdir("/dev/shm") and shutil.disk_usage("/dev/shm").free > 2**30:
    os.environ.setdefault("PYTEST_DEBUG_TEMPROOT", "/dev/shm")


# For PYTHONPATH: the package with its compiled modules, or without any if there is no build.
PACKAGE = Path(os.environ.get("PILLION_BUILD", "build")).resolve() / "python"
if not PACKAGE.is_dir():
    PACKAGE = Path(__file__).resolve().parents[1] / "python"

_of_launchers: list[str] = []

# What tests draw that try something else every day; the same in all processes of a run.
SEED = "PILLION_TEST_SEED"


def seed_of_the_day() -> int:
    return int(os.environ.setdefault(SEED, str(int(time.time() // 86400))))


def pytest_terminal_summary(terminalreporter) -> None:
    if terminalreporter.stats.get("failed"):
        terminalreporter.write_line(f"{SEED}={seed_of_the_day()} draws the same placements again")


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item, call):
    """Keeps cores of a test that fails. Fails a test of another code that is skipped although the
    sources of codes are there.
    """
    report = yield
    _keep_or_remove_cores(item, report, call.start)
    is_of_codes = Path(__file__).parent / "codes" in item.path.parents
    if report.skipped and is_of_codes and {"PILLION_CODES", "PILLION_TEST_ALL"} <= set(os.environ):
        report.outcome = "failed"
        report.longrepr = f"skipped although PILLION_CODES is set: {report.longrepr[-1]}"
    return report


def _keep_or_remove_cores(item, report, begun: float) -> None:
    """Programs of a fixture work in other folders than tmp_path, below the same one."""
    base = item.config._tmp_path_factory.getbasetemp()
    if report.failed:
        left = cores.found([base], 0) + cores.found([], begun, flat=[Path.cwd()])
        reports = cores.reports_of(os.environ.get("PILLION_BUILD", "build"))
        for said in cores.keep(left, item.nodeid, reports):
            report.sections.append(("core", said))
    elif report.when == "teardown" and (folder := item.funcargs.get("tmp_path")):
        cores.remove(cores.found([folder]))


def pytest_sessionfinish(session) -> None:
    cores.remove(cores.found([session.config._tmp_path_factory.getbasetemp()]))


def pytest_configure() -> None:
    """Gives Open MPI's launchers a folder of their own in which something always stays.

    They share one folder per user. The one that finds it empty when it ends removes it, also while
    another is just beginning in it, and that one ends without a word (seen with 4.1.4, once in
    1,000 starts of two at a time; never in as many in a folder that is never empty).
    """
    seed_of_the_day()
    cores.allow()
    _have_the_package_of_the_build()
    _have_mpi4py_use_our_mpi()
    _have_mpi4py_begin_nothing()
    _have_python_write_whole_lines()
    _have_launchers_start_fast()
    name_of_base = "OMPI_MCA_orte_tmpdir_base"
    if name_of_base in os.environ:
        return
    base = Path(tempfile.mkdtemp(prefix="pillion-"))
    host = socket.gethostname()
    for name in {host, host.split(".")[0]}:
        (base / f"ompi.{name}.{os.getuid()}" / "kept").mkdir(parents=True)
    os.environ[name_of_base] = str(base)
    _of_launchers.append(str(base))


def _have_the_package_of_the_build() -> None:
    """Which has the compiled modules beside links to those in Python."""
    sys.path.insert(0, str(PACKAGE))


def _have_mpi4py_use_our_mpi() -> None:
    """Also where another MPI is installed beside it, as `make test-all` does."""
    library = Path(os.environ.get("PILLION_BUILD", "build")) / "lib/libpillion.so"
    if library.exists():
        said = limits.run(["ldd", library], capture_output=True, text=True, timeout=30).stdout
        if found := re.search(r"libmpi\S* => (\S+)", said):
            os.environ.setdefault("MPI4PY_LIBMPI", found[1])


def _have_mpi4py_begin_nothing() -> None:
    """Libraries that tests import may import mpi4py, which would begin MPI in this very process.
    That leaves words in its environment that launchers take for theirs, and end without a word.
    """
    with contextlib.suppress(ImportError):
        import mpi4py

        mpi4py.rc.initialize = False
        mpi4py.rc.finalize = False


def _have_python_write_whole_lines() -> None:
    """Where PYTHONUNBUFFERED is set, `print` writes a line and its end apart, and those of several
    ranks mix: of 40 runs with 12 ranks 36 gave something else than 12 lines, without it none.
    """
    os.environ.pop("PYTHONUNBUFFERED", None)


def _have_launchers_start_fast() -> None:
    """Open MPI 4.1 takes ob1 on one machine, but looks for networks of other kinds first, which is
    0.2 of the 0.4 seconds of a launch.
    """
    os.environ.setdefault("OMPI_MCA_pml", "ob1")


def pytest_unconfigure() -> None:
    for base in _of_launchers:
        shutil.rmtree(base, ignore_errors=True)


@cache
def launcher() -> tuple[str, ...]:
    """The MPI launcher, and what it needs to run more ranks than cores, as root, under a limit."""
    program = os.environ.get("MPIEXEC") or shutil.which("mpirun") or shutil.which("mpiexec")
    if program is None:
        pytest.exit(
            "no mpirun found; set MPIEXEC to the launcher of the MPI Pillion was built with"
        )
    said = limits.run(
        [program, "--version"], check=False, capture_output=True, text=True, timeout=30
    )
    if "Open MPI" in said.stdout or "OpenRTE" in said.stdout:
        return (program, "--oversubscribe", "--allow-run-as-root", "--bind-to", "none")
    return (program,)


def launch(*parts, timeout: float = 60, env=None, check: bool = True, cwd=None):
    """Runs several programs under one launcher: each part is a tuple (ranks, program, args...).

    Returns the CompletedProcess with text output. Fails the test if the run lasts longer than
    `timeout` seconds of a quiet machine (limits.py) or, with `check`, with a status other than 0.
    """
    command = list(launcher())
    for number, (ranks, *args) in enumerate(parts):
        command += ([":"] if number else []) + ["-n", str(ranks), *map(str, args)]
    # Tests launch from threads too, while pytest changes the environment.
    inherited = {k: v for k in list(os.environ) if (v := os.environ.get(k)) is not None}
    environment = {**inherited, **{k: str(v) for k, v in (env or {}).items()}}
    process = subprocess.Popen(
        command,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        stdin=subprocess.DEVNULL,
        text=True,
        env=environment,
        cwd=cwd,
        start_new_session=True,
    )
    try:
        out, err = limits.communicate(process, timeout=timeout)
    except subprocess.TimeoutExpired as late:
        all_ended = _all_ranks_have_ended(process.pid)
        out, err = _stop(process)
        if not all_ended:
            pytest.fail(
                f"no end after {late.timeout:.0f} s, the limit of {timeout} s on this machine "
                f"as it is now: {' '.join(command)}\n{out}\n{err}"
            )
    done = subprocess.CompletedProcess(command, process.returncode, out, err)
    if check and done.returncode != 0:
        pytest.fail(f"status {done.returncode}: {' '.join(command)}\n{out}\n{err}")
    return done


def _all_ranks_have_ended(launcher: int) -> bool:
    """Whether the launcher alone is left. After MPI_Abort that of Debian (Open MPI 4.1.4 with PMIx
    4.2.2) now and then waits for itself in PMIx_server_finalize, once in some hundred times.
    """
    states = []
    for path in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):
            state, parent = path.read_text().rpartition(")")[2].split()[:2]
            if int(parent) == launcher:
                states.append(state)
    return bool(states) and all(state == "Z" for state in states)


def _stop(process: subprocess.Popen) -> tuple[str, str]:
    """Ends a launcher politely, so that it ends its ranks, and then by force."""
    process.terminate()
    try:
        return limits.communicate(process, timeout=10)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        return limits.communicate(process, timeout=60)


def mpirun(ranks: int, *args, timeout: float = 60, env=None, check: bool = True, cwd=None):
    """Runs one program on so many ranks; see `launch`."""
    return launch((ranks, *args), timeout=timeout, env=env, check=check, cwd=cwd)


def some(things) -> list:
    """All of them, in order; fails if there are none, for then a loop over them checks nothing."""
    found = sorted(things)
    assert found, "there are none of the files that the test looks at"
    return found


@dataclass(frozen=True)
class Table:
    """A table product: its columns as arrays, its attributes by name, and the whole head."""

    columns: dict[str, np.ndarray]
    attributes: dict[str, object]
    head: dict
    units: dict[str, str]

    def __getitem__(self, name: str) -> np.ndarray:
        return self.columns[name]

    def __len__(self) -> int:
        return len(next(iter(self.columns.values()))) if self.columns else 0


class _Loader(yaml.SafeLoader):
    """YAML 1.2's idea of a number: 1e-05 is one, which PyYAML takes for a text."""


_Loader.add_implicit_resolver(
    "tag:yaml.org,2002:float",
    re.compile(r"^[-+]?([0-9]+(\.[0-9]*)?([eE][-+]?[0-9]+)|nan|inf)$"),
    list("-+0123456789ni"),
)


def _column(texts: list[str]) -> np.ndarray:
    """Integers where every entry is one, else reals, exactly as printed."""
    try:
        return np.array([int(t) for t in texts], dtype=np.int64)
    except ValueError:
        return np.array([float(t) for t in texts])


def read_table(path) -> Table:
    """Reads a table product of format `pillion: table 1`."""
    lines = Path(path).read_text(encoding="utf-8").splitlines()
    length = next((n for n, line in enumerate(lines) if not line.startswith("#")), len(lines))
    head = yaml.load("\n".join(line[2:] for line in lines[:length]), Loader=_Loader)
    assert head["pillion"] == "table 1", f"{path} is a table of another format: {head['pillion']}"
    names = lines[length].split(",")
    assert names == [c["name"] for c in head["columns"]], f"{path}: head and header line differ"
    rows = [line.split(",") for line in lines[length + 1 :]]
    assert all(len(row) == len(names) for row in rows), f"{path}: a row of another length"
    columns = {name: _column([row[i] for row in rows]) for i, name in enumerate(names)}
    attributes = {a["name"]: a["value"] for a in head.get("attributes") or []}
    units = {c["name"]: c.get("units", "") for c in head["columns"]}
    return Table(columns, attributes, head, units)


@pytest.fixture(scope="session")
def build() -> Path:
    """The build directory under test."""
    path = os.environ.get("PILLION_BUILD")
    if not path:
        pytest.exit("set PILLION_BUILD to the build directory")
    return Path(path).resolve()
