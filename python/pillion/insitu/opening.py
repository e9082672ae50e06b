# SPDX-License-Identifier: BSD-3-Clause
"""Opens sessions: settles what the program says, and that both sides use the same MPI."""

from collections.abc import Callable, Mapping
from os import PathLike, fspath
from types import ModuleType
from typing import TYPE_CHECKING, Literal

from pillion.errors import Error
from pillion.insitu.session import Session, yaml_of

if TYPE_CHECKING:
    from mpi4py import MPI

Role = Literal["any", "simulation", "sidecar"]
Log = Callable[[str, str], None]

_ROLES: dict[str, int] = {"any": 0, "simulation": 1, "sidecar": 2}


def open(
    config: str | PathLike[str],
    comm: "MPI.Comm | None" = None,
    *,
    parameters: Mapping[str, object] | None = None,
    overrides: Mapping[str, str] | None = None,
    catalogue: str = "",
    restart: str | PathLike[str] = "",
    role: Role = "any",
    log: Log | Literal["stderr"] | None = "stderr",
    serve: bool = True,
    deferred: bool = False,
) -> "Session":
    """Opens a session from a YAML file. [collective over comm]

    Ranks that become sidecars work inside this call until the simulation closes its session. Then
    they leave by SystemExit with status 0, so that only simulation ranks run the code after it.
    With `serve=False` they return, and must call `Session.serve`.

    Args:
        config: the YAML file.
        comm: of all ranks, sidecars included; by default mpi4py's COMM_WORLD.
        parameters: values of `$name` in the file.
        overrides: YAML that replaces the file's value at a key such as "sidecars.when_full".
        catalogue: YAML text with `meshes`, `fields` and `scalars` that the program itself offers.
        restart: directory of a checkpoint to resume from.
        role: the role that this rank must have; by default the session chooses.
        log: called as log(level, message), level being "debug", "info", "warning" or "error";
            None is silence; by default warnings and errors go to standard error.
        serve: whether sidecar ranks work inside this call.
        deferred: opens in two phases: this call only chooses the sidecars and gives the
            communicator. The program reads its inputs with that, and calls `Session.configure`.

    Raises:
        Error: the same on every rank, if the configuration is wrong, with its file and line.
    """
    core = load_core()
    if comm is None:
        from mpi4py import MPI

        comm = MPI.COMM_WORLD
    _expect_mpi()
    handle = core.open(
        fspath(config),
        comm.py2f(),
        {name: yaml_of(value) for name, value in (parameters or {}).items()},
        dict(overrides or {}),
        catalogue,
        fspath(restart),
        _ROLES[role],
        deferred,
        log != "stderr",
        None if log == "stderr" else log,
    )
    session = Session(handle)
    if serve and session.serve():
        raise SystemExit(0)
    return session


def _expect_mpi() -> None:
    """Many MPI libraries end a program that hands out a communicator while MPI is not running."""
    from mpi4py import MPI

    if not MPI.Is_initialized():
        raise Error("MPI is not running yet; call MPI.Init() before pillion.open")
    if MPI.Is_finalized():
        raise Error("MPI has ended; call pillion.open before MPI.Finalize()")


def load_core() -> ModuleType:
    """The compiled module, if it uses the MPI that mpi4py uses."""
    try:
        from pillion import _core
    except ImportError as error:
        raise Error(
            f"this package has no compiled part for this Python ({error}): install it with "
            "`pip install .`, or use the package in the folder `python` of a build"
        ) from error
    from mpi4py import MPI

    ours, theirs = _core.mpi_library().strip(" \0\n"), MPI.Get_library_version().strip(" \0\n")
    if ours != theirs:
        raise Error(
            f"mpi4py uses another MPI than Pillion: {theirs.splitlines()[0]} and "
            f"{ours.splitlines()[0]}; have it use that one: set "
            f"MPI4PY_LIBMPI={_core.mpi_file()} (mpi4py 4.1 and later), or "
            "`pip install --no-binary mpi4py mpi4py`"
        )
    return _core
