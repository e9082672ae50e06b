# SPDX-License-Identifier: BSD-3-Clause
"""Sessions that are still open when the program ends.

They are closed while there is still an interpreter for stages in Python, but only if the program
ended well. Closing waits for the other ranks, which never come if an exception ended one. If all
ranks fail, MPI_Finalize closes what it can; if only some do, the job is ended within seconds.
"""

import atexit
import sys
import time
import traceback
from types import TracebackType
from typing import TYPE_CHECKING, NoReturn, Protocol

if TYPE_CHECKING:
    from mpi4py import MPI


class Session(Protocol):
    """The part of `pillion.Session` that closing needs."""

    simulation: "MPI.Comm | None"

    def close_or_warn(self) -> None: ...


class OpenSessions:
    """All of this process. At the end of the program it closes them, or ends the job if this rank
    has failed and the others have not: they would wait for this one forever."""

    PATIENCE = 5.0  # seconds in which ranks that all fail meet

    def __init__(self) -> None:
        self.sessions: set[Session] = set()  # so that garbage collection does not end them
        self.failure = ""  # how this rank ended, if not well
        self.place = ""  # where it called sys.exit
        self.communicator: MPI.Comm | None = None  # of a session that a failure left open
        self.registered = False

    def add(self, session: Session) -> None:
        self.sessions.add(session)
        if not self.registered:
            self.registered = True
            atexit.register(self.close)
            self._watch_exceptions()
            self._watch_exit()

    def _watch_exceptions(self) -> None:
        before = sys.excepthook

        def note(
            kind: type[BaseException], error: BaseException, trace: TracebackType | None
        ) -> None:
            self.failure = "an exception"
            before(kind, error, trace)

        sys.excepthook = note

    def _watch_exit(self) -> None:
        """The interpreter does not show a SystemExit to its hook."""
        before = sys.exit

        def leave(status: object = None, /) -> NoReturn:
            if status not in (None, 0):
                self.failure = f"sys.exit({status!r})"
                self.place = "".join(traceback.format_stack()[:-1])
            before(status)  # type: ignore[arg-type]

        sys.exit = leave

    def forget(self, session: Session) -> None:
        self.sessions.discard(session)

    def abandon(self, session: Session) -> None:
        """Leaves a session open that other ranks may never come to close."""
        self.communicator = session.simulation
        self.sessions.discard(session)

    def close(self) -> None:
        from mpi4py import MPI

        if MPI.Is_finalized():
            return
        if self.failure:
            for session in list(self.sessions):
                self.abandon(session)
            if self.communicator is not None:
                self._end_job_unless_all_fail(self.communicator)
            return
        for session in list(self.sessions):
            session.close_or_warn()

    # MPI_Finalize closes what it can if all simulation ranks come there, so these meet first.
    def _end_job_unless_all_fail(self, communicator: "MPI.Comm") -> None:
        from mpi4py import MPI

        met = communicator.Ibarrier()
        deadline = time.monotonic() + self.PATIENCE
        while not met.Test():
            if time.monotonic() >= deadline:
                print(
                    f"{self.place}pillion: rank {communicator.rank} has ended with {self.failure} "
                    "while other ranks work; the job is ended, because they would wait for it",
                    file=sys.stderr,
                    flush=True,
                )
                MPI.COMM_WORLD.Abort(1)
            time.sleep(0.01)


open_sessions = OpenSessions()
