# SPDX-License-Identifier: BSD-3-Clause
"""How the ranks of a replay fail together. They have time, unlike those of a simulation, so they
agree wherever one of them may fail alone, and before any collective call that would wait for it.
"""

from collections.abc import Callable
from typing import TYPE_CHECKING, TypeVar

from pillion.errors import Error

if TYPE_CHECKING:
    from mpi4py import MPI

Result = TypeVar("Result")


def together(comm: "MPI.Comm", work: Callable[[], Result]) -> Result:
    """Does the work on every rank. If it raises on any rank, raises an Error on all, with the
    message of the lowest such rank. The work must not be collective. [collective]
    """
    failure: str | None = None
    result: Result | None = None
    try:
        result = work()
    except Exception as error:
        failure = _words_of(error)
    from mpi4py import MPI

    # Every rank comes here, its work done or failed, and nothing is in flight.
    first = comm.allreduce(comm.size if failure is None else comm.rank, MPI.MIN)
    if first < comm.size:
        raise Error(comm.bcast(failure, root=first))
    return result  # type: ignore[return-value]


def from_first(comm: "MPI.Comm", work: Callable[[], Result]) -> Result:
    """What the work returns on rank 0, on every rank; what it raises there, too. [collective]"""
    result = together(comm, lambda: work() if comm.rank == 0 else None)
    return comm.bcast(result, root=0)  # type: ignore[no-any-return]


def _words_of(error: Exception) -> str:
    if isinstance(error, OSError) and error.strerror:
        return f"'{error.filename}' cannot be read: {error.strerror}"
    if isinstance(error, MemoryError):
        return f"there is not enough memory: {error}"
    return str(error) if isinstance(error, Error) else f"{type(error).__name__}: {error}"
