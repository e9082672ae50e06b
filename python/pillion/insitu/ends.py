# SPDX-License-Identifier: BSD-3-Clause
"""How sessions end that nobody has closed: at the end of the program, while there is still an
interpreter for stages in Python, but only if it ended well. Closing waits for the other ranks,
which never come if one was ended by an exception; then MPI_Finalize closes what it can.
"""

import atexit
import sys
from types import TracebackType
from typing import Protocol


class Closing(Protocol):
    """What can be closed."""

    def close_or_warn(self) -> None: ...


class Ends:
    """The sessions that are open."""

    def __init__(self) -> None:
        self.sessions: set[Closing] = set()  # held, so that no collection of rubbish ends them
        self.failed = False
        self.watches = False

    def add(self, session: Closing) -> None:
        self.sessions.add(session)
        if not self.watches:
            self.watches = True
            atexit.register(self.close)
            before = sys.excepthook

            def note(
                kind: type[BaseException], error: BaseException, trace: TracebackType | None
            ) -> None:
                self.failed = True
                before(kind, error, trace)

            sys.excepthook = note

    def close(self) -> None:
        if self.failed or not self.sessions:
            return
        from mpi4py import MPI

        for session in list(self.sessions):
            if not MPI.Is_finalized():
                session.close_or_warn()


ends = Ends()
