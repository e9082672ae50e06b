# SPDX-License-Identifier: BSD-3-Clause
"""Whether the writers of the progress of a run are alive. Everything that shows or waits for a run
asks here.

A process of this machine is looked at, so its end is known at once. The number of a process says
nothing on another node, or outside of a container with process numbers of its own. Such a writer
lives if its file changes: it is written again after `heartbeat_seconds` at the latest. Two
looks are compared by the reader's own monotonic clock, and never the calendars of two machines.
If the file does not change, the lock on the folder's marker is looked at. If it is taken, the
writer may be suspended, or unable to write.
"""

import fcntl
import os
import re
import socket
import struct
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from pillion.errors import Error
from pillion.progress import SIMULATION, Parts, Progress, State, read_parts, read_progress
from pillion.run_files import MARKER

BEATS = 5  # heartbeats that may be missing
DELAY = 5.0  # seconds by which a file system shows changes late to other machines
_LOOK_EVERY = 0.2  # seconds
_LONGEST_WAIT = 60.0
_LOCK = "hhqqi4x"  # struct flock of Linux, on 64-bit machines


@dataclass(frozen=True)
class Machine:
    """Processes with the same Machine see each other by their numbers."""

    host: str
    boot: str
    pid_namespace: int


def this_machine() -> Machine:
    return Machine(socket.gethostname(), _boot_id(), pid_namespace())


def machine_of(progress: Progress) -> Machine:
    return Machine(progress.host, progress.boot, progress.pid_namespace)


def _boot_id() -> str:
    """Identifies the machine and its last start; "" if unknown. Two hosts may have one name."""
    try:
        return Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip()
    except OSError:
        return ""


def pid_namespace() -> int:
    """Which numbers processes have for this one: containers may have their own. 0 if unknown."""
    try:
        return os.stat("/proc/self/ns/pid").st_ino
    except OSError:
        return 0


def process_start(pid: int) -> int | None:
    """When a process started, in clock ticks since boot; None if it does not live.

    Raises OSError if that cannot be learned: `/proc` may hide processes of other users.
    """
    try:
        text = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace")
    except OSError:
        try:
            os.kill(pid, 0)
        except (ProcessLookupError, OverflowError):
            return None
        except OSError:
            pass
        raise
    after_name = text.rpartition(")")[2].split()
    return None if not after_name or after_name[0] in "ZX" else int(after_name[19])


def process_lives(progress: Progress) -> bool | None:
    """Whether the process that wrote it lives; None if it cannot be seen from here."""
    if machine_of(progress) != this_machine():
        return None
    try:
        started = process_start(progress.pid)
    except OSError:
        return None
    return started == progress.pid_started or (started is not None and progress.pid_started < 0)


def catches(progress: Progress, number: int) -> bool:
    """Whether a process handles a signal; false where /proc does not show it, as on another
    machine.
    """
    if not process_lives(progress):
        return False
    try:
        text = Path(f"/proc/{progress.pid}/status").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return False
    caught = re.search(r"^SigCgt:\s*([0-9a-f]+)$", text, re.MULTILINE)
    return caught is not None and int(caught[1], 16) >> (number - 1) & 1 == 1


def is_locked(folder: Path) -> bool:
    """Whether a process holds the marker of an output folder, as far as the file system tells."""
    try:
        file = os.open(folder / MARKER, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW)
    except OSError:
        return False
    try:
        asked = struct.pack(_LOCK, fcntl.F_WRLCK, os.SEEK_SET, 0, 0, 0)
        answer = fcntl.fcntl(file, fcntl.F_OFD_GETLK, asked)
        return struct.unpack(_LOCK, answer)[0] != fcntl.F_UNLCK
    except OSError:  # the file system has no locks
        return False
    finally:
        os.close(file)


@dataclass
class _Seen:
    """A writer's file as it was seen, by the reader's monotonic clock."""

    writer: tuple[Machine, int, int, str]
    run: str  # id
    patience: float  # seconds
    written: float
    since: float  # when this content was seen first
    has_changed: bool = False

    def silence(self, now: float) -> float:
        return now - self.since

    def beats(self, now: float) -> bool:
        """Whether a change was seen, and not too long ago."""
        return self.has_changed and self.silence(now) <= self.patience


class Observer:
    """Knows writers by what it has seen of their files so far. Look at a file often, and ask."""

    def __init__(
        self,
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], None] = time.sleep,
        process_lives: Callable[[Progress], bool | None] = process_lives,
        is_locked: Callable[[Path], bool] = is_locked,
    ) -> None:
        self._clock = clock
        self._sleep = sleep
        self._process_lives = process_lives
        self._is_locked = is_locked
        self._seen: dict[Path, _Seen] = {}

    def state_of(self, progress: Progress) -> State:
        """The state of the writer, as far as it is known by now."""
        seen = self._note(progress)
        said = State(progress.said)
        if said is not State.RUNNING:
            return said
        lives = self._process_lives(progress)
        if lives is not None:
            return State.RUNNING if lives else State.GONE
        now = self._clock()
        if seen.silence(now) <= seen.patience:
            return State.RUNNING if seen.has_changed else State.SILENT
        return State.SILENT if self._is_held(progress, now) else State.GONE

    def is_undecided(self, progress: Progress) -> bool:
        """Whether it is too early to say whether the writer is alive."""
        if self.state_of(progress) is not State.SILENT:
            return False
        seen = self._note(progress)
        return seen.silence(self._clock()) <= seen.patience

    def time_of(self, progress: Progress) -> float:
        """The present calendar time on the writer's clock; of another machine's, it is late by a
        heartbeat at most.
        """
        if machine_of(progress) == this_machine():
            return time.time()
        return progress.written + self._clock() - self._note(progress).since

    def settled(self, folder: Path, tell: Callable[[str], None] = lambda _: None) -> Parts:
        """The progress of the run in a folder, once it is known who is alive. That takes no time on
        the run's own node. Elsewhere it takes a heartbeat at most, or the patience for a run that
        is dead. Waits for a minute at most. `tell` gets a sentence if that takes longer than a
        second. Raises Error if a file is broken.
        """
        begin, told = self._clock(), False
        while True:
            parts = read_parts(folder)
            open_ones = [part for part in parts.all if self.is_undecided(part)]
            if not open_ones or self._clock() - begin > _LONGEST_WAIT:
                return parts
            if not told and self._clock() - begin > 1:
                told = True
                longest = min(max(map(patience_for, open_ones)), _LONGEST_WAIT)
                tell(
                    f"waiting for a sign of life from node {open_ones[0].host}, "
                    f"at most {longest:.0f} s"
                )
            self._sleep(_LOOK_EVERY)

    def _note(self, progress: Progress) -> _Seen:
        writer = (machine_of(progress), progress.pid, progress.pid_started, progress.id)
        now = self._clock()
        seen = self._seen.get(progress.path)
        if seen is None or seen.writer != writer:
            patience = patience_for(progress)
            seen = _Seen(writer, progress.id, patience, progress.written, now)
            self._seen[progress.path] = seen
        elif seen.written != progress.written:
            seen.written, seen.since, seen.has_changed = progress.written, now, True
        return seen

    def _is_held(self, progress: Progress, now: float) -> bool:
        """Whether the marker is locked, and not by another writer of the run that is alive."""
        others = (seen for path, seen in self._seen.items() if path != progress.path)
        if any(seen.run == progress.id and seen.beats(now) for seen in others):
            return False
        return self._is_locked(progress.path.parent)


def patience_for(progress: Progress) -> float:
    """Seconds without a change after which the writer is taken for dead."""
    return BEATS * progress.heartbeat_seconds + DELAY


observer = Observer()
"""Of this process, so that a second question profits from earlier looks."""


def state_of(progress: Progress) -> State:
    """The state of the writer of a file that was just read; see `Observer.state_of`."""
    return observer.state_of(progress)


def time_of(progress: Progress) -> float:
    """The present time on the writer's clock; see `Observer.time_of`."""
    return observer.time_of(progress)


def settled(folder: Path, tell: Callable[[str], None] = lambda _: None) -> Parts:
    """The progress of a run once it is known who is alive; see `Observer.settled`."""
    return observer.settled(folder, tell)


def find_runs(name: str | None = None) -> list[Path]:
    """Output folders of runs on this node, of all or of the ones with that name or id.

    The rank that writes progress holds the folder open, so no list can be out of date.
    """
    found = {folder for folder, progress in _written() if name in (None, progress.run, progress.id)}
    return sorted(found)


def _written() -> Iterator[tuple[Path, Progress]]:
    for process in Path("/proc").iterdir():
        if process.name.isdigit():
            for folder in _folders_held_by(process):
                try:
                    progress = read_progress(folder / SIMULATION)
                except Error:
                    continue
                if progress.pid == int(process.name) and state_of(progress) is State.RUNNING:
                    yield folder, progress


def _folders_held_by(process: Path) -> Iterator[Path]:
    try:
        links = list((process / "fd").iterdir())
    except OSError:  # of another user, or it has just ended
        return
    for link in links:
        try:
            target = os.readlink(link)
        except OSError:
            continue
        if target.startswith("/") and (Path(target) / SIMULATION).is_file():
            yield Path(target)
