# SPDX-License-Identifier: BSD-3-Clause
"""The processes of a run: starts them, forwards their output byte by byte, forwards signals, and
waits. On a terminal, a line at the bottom shows the run's progress; it is hidden while they print.
"""

import os
import selectors
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import BinaryIO, Protocol

from pillion.errors import Error
from pillion.launch.plan import Plan

_REFRESH = 0.25  # seconds
_PLAIN_EVERY = 30.0
_LOOK_EVERY = 1.0
_MOMENT = 2.0  # seconds for sidecars that have found no run
_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
_NOTICES = (signal.SIGUSR1, signal.SIGUSR2)  # batch systems say so that the end is near


class Footer:
    """A line at the bottom of a terminal, taken away while others print."""

    def __init__(self, out: BinaryIO):
        self._out = out
        self._shown = False
        self._open = False  # what was printed last has no end of line yet

    def print(self, to: BinaryIO, data: bytes) -> None:
        self.hide()
        to.write(data)
        to.flush()
        self._open = not data.endswith((b"\n", b"\r"))

    def show(self, line: str) -> None:
        if self._open:
            return
        self._out.write(b"\r\x1b[2K" + line.encode())
        self._out.flush()
        self._shown = True

    def hide(self) -> None:
        if self._shown:
            self._out.write(b"\r\x1b[2K")
            self._out.flush()
        self._shown = False


class Following(Protocol):
    """Follows the progress of the run that the processes are."""

    def look(self) -> object:
        """Called about once a second."""

    def line(self, live: bool) -> str | None:
        """A line about it, for a terminal or not."""

    def has_sidecars(self) -> bool:
        """Whether sidecars of a job of their own are at work for it."""

    def catches(self, number: int) -> bool:
        """Whether its program handles that signal, as far as can be seen from here."""


class Job:
    """A run's processes, from start to end. `is_left_over` says whether the launcher waits for
    nothing, although it has not ended.
    """

    def __init__(
        self, plan: Plan, following: Following, is_left_over: Callable[[], bool] = lambda: False
    ):
        self._plan = plan
        self._following = following
        self._is_left_over = is_left_over
        self._live = sys.stderr.isatty()
        self._footer = Footer(sys.stderr.buffer)
        self._selector = selectors.DefaultSelector()
        self._processes: list[subprocess.Popen[bytes]] = []
        self._said_at = self._looked_at = time.monotonic()
        self.signalled: int | None = None
        self.sidecar_status: int | None = None  # of those in a job of their own, once they ended
        self._left_over: set[int] = set()  # launchers that were ended though their steps ended well
        self._notice: int | None = None  # that has come, and was not handled

    def sessions(self) -> list[int]:
        """Numbers of the sessions that its processes are in."""
        return [process.pid for process in self._processes]

    def run(self) -> int:
        """The status of the simulation: 128 and its number if a signal ended it."""
        with self._handing_on_signals():
            try:
                # First, so that they are there as soon as the simulation is; they wait for it.
                sidecars = self._start(self._plan.sidecars) if self._plan.sidecars else None
                simulation = self._start(self._plan.simulation)
                self._attend(simulation, None)
                if sidecars is not None:
                    # Those at work finish what there is, however long it takes.
                    served = self._following.has_sidecars()
                    self._attend(sidecars, None if served else time.monotonic() + _MOMENT)
                    self.sidecar_status = sidecars.returncode
            finally:
                self._end_all()
        status = simulation.returncode
        if simulation.pid in self._left_over:
            return 0  # the run has closed its session, and nobody knows more
        return 128 - status if status < 0 else status

    def _start(self, words: tuple[str, ...]) -> "subprocess.Popen[bytes]":
        # In a session of their own they hear of Ctrl-C once, from us, and not from the terminal.
        pipe = subprocess.PIPE if self._live else None
        try:
            process = subprocess.Popen(
                words,
                env={**os.environ, **self._plan.environment},
                stdin=subprocess.DEVNULL if sys.stdin is None or sys.stdin.isatty() else None,
                stdout=pipe,
                stderr=pipe,
                start_new_session=True,
            )
        except OSError as error:
            raise Error(f"cannot start {words[0]}: {error.strerror}") from error
        self._processes.append(process)  # the simulation is the last
        for stream, to in ((process.stdout, sys.stdout), (process.stderr, sys.stderr)):
            if stream is not None:
                self._selector.register(stream, selectors.EVENT_READ, to.buffer)
        return process

    def _attend(self, process: "subprocess.Popen[bytes]", until: float | None) -> None:
        """Until the process has ended, or is asked to when time is up."""
        while process.poll() is None:
            self._hand_on(_REFRESH)
            self._pass_notice(process)
            self._say()
            if self._is_left_over():
                self._end_left_over(process)
            if until is not None and time.monotonic() > until:
                process.terminate()
                until = None
        while self._selector.get_map() and self._hand_on(0):
            pass
        self._footer.hide()

    def _end_left_over(self, process: "subprocess.Popen[bytes]") -> None:
        if process.poll() is not None:
            return
        self._left_over.add(process.pid)
        self._footer.hide()
        print(
            f"pillion run: {self._plan.simulation[0]} did not end after its steps; it was killed. "
            "The status of the program is not known; the run has closed its session",
            file=sys.stderr,
        )
        os.killpg(process.pid, signal.SIGKILL)  # it has a session of its own
        process.wait()

    def _hand_on(self, patience: float) -> bool:
        """Forwards the output of the processes; false if there was none."""
        if not self._selector.get_map():
            time.sleep(min(patience, 0.05))
            return False
        ready = self._selector.select(patience)
        for key, _ in ready:
            data = os.read(key.fd, 65536)
            if data:
                self._footer.print(key.data, data)
            else:
                self._selector.unregister(key.fileobj)
        return bool(ready)

    def _say(self) -> None:
        now = time.monotonic()
        if now - self._looked_at > _LOOK_EVERY:
            self._looked_at = now
            self._following.look()
        if now - self._said_at < (_REFRESH if self._live else _PLAIN_EVERY):
            return
        self._said_at = now
        line = self._following.line(self._live)
        if line and self._live:
            self._footer.show(line)
        elif line:
            print(line, file=sys.stderr, flush=True)

    def _pass_notice(self, process: "subprocess.Popen[bytes]") -> None:
        """Only to a program that handles it, for others would end."""
        number, self._notice = self._notice, None
        if number is None or process is not self._processes[-1] or process.poll() is not None:
            return
        if self._following.catches(number):
            process.send_signal(number)
            return
        self._footer.hide()
        name = signal.Signals(number).name
        print(f"pillion run: {name} is not forwarded: no rank here handles it", file=sys.stderr)

    @contextmanager
    def _handing_on_signals(self) -> Iterator[None]:
        before = {number: signal.signal(number, self._hand_on_signal) for number in _SIGNALS}
        before |= {number: signal.signal(number, self._take_notice) for number in _NOTICES}
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)

    def _hand_on_signal(self, number: int, _: object) -> None:
        """Forwards the first signal to the simulation, after which sidecars end by themselves. A
        second one kills all processes.
        """
        again = self.signalled is not None
        self.signalled = number
        for process in self._processes if again else self._processes[-1:]:
            if process.poll() is None:
                process.send_signal(signal.SIGKILL if again else number)

    def _take_notice(self, number: int, _: object) -> None:
        self._notice = number

    def _end_all(self) -> None:
        for process in self._processes:
            if process.poll() is None:
                process.terminate()
                try:
                    process.wait(10)
                except subprocess.TimeoutExpired:
                    process.kill()
                    process.wait()
