# SPDX-License-Identifier: BSD-3-Clause
"""Time limits that follow the machine: the only place where tests learn how long they may wait.

A limit counts seconds of a quiet machine. A fixed sequence of work, process starts and short sleeps
is timed now and then; while it takes five times what it takes on a quiet machine, five seconds of
the clock count as one. So a loaded machine fails no test, and a hang still ends: a second of a
limit is never longer than MOST seconds of the clock. PILLION_LIMIT_FACTOR=4 sets the least factor,
for builds that are slower by themselves. tools/check_tests.py rejects limits of other kinds.
"""

import contextlib
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

# Seconds that the parts of the sequence take on a quiet machine, half as much again for its noise.
WORK, STARTS, SLEEPS = 0.06, 0.008, 0.017
MOST = 20
# Seconds for which a measurement holds, and for which it is remembered if later ones are smaller,
# because load comes in waves.
FRESH, REMEMBERED = 4, 15
# Most waits end sooner; they need no measurement.
SHORT = 1.5

T = TypeVar("T")
_measured: list[tuple[float, float]] = []  # when, and the factor


def work() -> float:
    """Seconds of a fixed loop, long enough to be interrupted by all that runs."""
    begin, total = time.perf_counter(), 0
    for i in range(300_000):
        total += i * i % 7
    return time.perf_counter() - begin


def starts() -> float:
    begin = time.perf_counter()
    for _ in range(3):
        subprocess.run(["/bin/true"], check=False, timeout=300)
    return time.perf_counter() - begin


def sleeps() -> float:
    begin = time.perf_counter()
    for _ in range(10):
        time.sleep(0.001)
    return time.perf_counter() - begin


def measure() -> float:
    """How many times slower than a quiet machine this one is now; may be below 1."""
    return max(work() / WORK, starts() / STARTS, sleeps() / SLEEPS)


def bounded(ratio: float, least: float = 1) -> float:
    return min(max(ratio, least, 1), MOST)


def factor() -> float:
    """How many seconds of the clock a second of a limit may take at present."""
    now = time.monotonic()
    if not _measured or now - _measured[-1][0] > FRESH:
        ratio = measure()
        _measured[:] = [m for m in _measured if now - m[0] < REMEMBERED]
        _measured.append((time.monotonic(), ratio))
    least = float(os.environ.get("PILLION_LIMIT_FACTOR") or 1)
    return bounded(max(ratio for _, ratio in _measured), least)


def limit(seconds: float) -> float:
    """Seconds of the clock, for code that takes a limit once: sockets, deadlines in YAML."""
    return seconds * factor()


def longest(deadline: float) -> float:
    """Seconds of the clock that a call with this deadline may take: a tenth more, and half a second
    of a quiet machine."""
    return 1.1 * deadline + limit(0.5)


class Limit:
    """A limit under way. Ask `over` at least every few seconds, and wait `slice` between."""

    def __init__(self, seconds: float):
        self.seconds = self._left = seconds
        self._begin = self._last = time.monotonic()

    def over(self) -> bool:
        now = time.monotonic()
        if now - self._begin < min(SHORT, self.seconds):
            return False
        self._left -= (now - self._last) / factor()
        self._last = now
        return self._left <= 0

    def slice(self) -> float:
        return min(SHORT, max(self._left, 0.01))

    def __str__(self) -> str:
        passed = time.monotonic() - self._begin
        return f"{self.seconds:g} s ({passed:.0f} s on this machine as it is now)"


def until(
    holds: Callable[[], T], seconds: float, what: str | Callable[[], str], pause: float = 0.02
) -> T:
    """Asks until the answer is true, and returns it; fails with `what` when the limit is over."""
    end = Limit(seconds)
    while not (answer := holds()):
        if end.over():
            raise AssertionError(f"{what if isinstance(what, str) else what()}: not within {end}")
        time.sleep(pause)
    return answer


def communicate(process: subprocess.Popen, sent=None, *, timeout: float) -> tuple:
    """As Popen.communicate, under a limit; raises subprocess.TimeoutExpired."""
    end = Limit(timeout)
    while True:
        try:
            return process.communicate(sent, timeout=end.slice())
        except subprocess.TimeoutExpired as late:
            sent = None
            if end.over():
                late.timeout = time.monotonic() - end._begin
                raise


def wait(process: subprocess.Popen, timeout: float) -> int:
    """As Popen.wait, under a limit; raises subprocess.TimeoutExpired."""
    end = Limit(timeout)
    while True:
        try:
            return process.wait(timeout=end.slice())
        except subprocess.TimeoutExpired as late:
            if end.over():
                late.timeout = time.monotonic() - end._begin
                raise


def run(
    command, *, timeout: float = 60, input=None, capture_output=False, check=False, **how
) -> subprocess.CompletedProcess:
    """As subprocess.run, under a limit, at whose end all processes of the command are killed."""
    if capture_output:
        how |= {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    if input is not None:
        how["stdin"] = subprocess.PIPE
    how.setdefault("start_new_session", True)
    with subprocess.Popen(command, **how) as process:
        try:
            out, err = communicate(process, input, timeout=timeout)
        except BaseException:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait(timeout=60)
            raise
    done = subprocess.CompletedProcess(command, process.returncode, out, err)
    if check:
        done.check_returncode()
    return done


def main(seconds: str, *command: str) -> int:
    """Runs a command under a limit, as ctest does, and keeps the cores of one that fails."""
    import cores

    cores.allow()
    os.environ["PILLION_LIMIT_FACTOR"] = f"{factor():.2f}"  # for waits inside of the program
    here, begun = Path.cwd(), time.time()
    try:
        status = run(command, timeout=float(seconds)).returncode
    except subprocess.TimeoutExpired as late:
        print(f"no end after {late.timeout:.0f} s, which is the limit of {seconds} s at this load")
        status = 124
    left = cores.found([here], begun - 1)
    build = next((p for p in (here, *here.parents) if (p / "CMakeCache.txt").exists()), here)
    if status == 0:
        cores.remove(left)
        return 0
    for said in cores.keep(left, "-".join([here.name, *command]), cores.reports_of(build)):
        print(said)
    return status if status >= 0 else 128 - status


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
