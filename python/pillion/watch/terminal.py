# SPDX-License-Identifier: BSD-3-Clause
"""Looking again and again: reads what a run says of itself, and draws it on the terminal."""

import os
import select
import sys
import termios
import time
import tty
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

from rich.console import Console, ConsoleDimensions, RenderableType
from rich.live import Live

from pillion.errors import Error
from pillion.liveness import find_runs, settled, state_of, this_machine, time_of
from pillion.progress import State, read_parts
from pillion.watch import draw
from pillion.watch.curves import Curve, Curves, Wish
from pillion.watch.model import View, make_view

_TURN = 4.0  # seconds for which curves are shown that have to take turns


class Watcher:
    """Follows a run: an output folder, or the name of one on this node."""

    def __init__(self, run: Path, wishes: Sequence[Wish], interval: float):
        self._run = run
        self._wishes = wishes
        self._interval = interval
        self._console = Console(highlight=False, no_color=bool(os.environ.get("NO_COLOR")) or None)
        self._folder: Path | None = None
        self._curves: Curves | None = None
        self._view: View | None = None

    def once(self) -> int:
        if (folder := _folder_of(self._run)) is not None:
            # From another node its state is known after a heartbeat, or after the lack of one.
            settled(folder, lambda text: print(f"pillion watch: {text}", file=sys.stderr))
        if not self._look():
            raise Error(
                f"there is no run in a folder '{self._run}', and no active run of this name on "
                f"node {this_machine().host}; active runs there: {_names() or 'none'}. "
                "For a run on another node, give its output folder"
            )
        self._console.print(self._frame(draw.Screen(self._console.width, 1000), 0))
        return self._status()

    def follow(self) -> int:
        """Shows the view until the run is over or the user quits; leaves the last frame on the
        screen.
        """
        if not self._console.is_terminal:
            raise Error("the live view needs a terminal; take --once to print how the run is now")
        begin = time.monotonic()
        with (
            suppress(KeyboardInterrupt),
            _keys() as pressed,
            Live(console=self._console, screen=True, auto_refresh=False, transient=True) as live,
        ):
            while True:
                there = self._look()
                turn = int((time.monotonic() - begin) / _TURN)
                # What the environment says of the size would hold for ever.
                size = ConsoleDimensions(*os.get_terminal_size(sys.stdout.fileno()))
                self._console.size = size
                spin = int((time.monotonic() - begin) / self._interval)
                live.update(
                    self._frame(draw.Screen(size.width, size.height), turn)
                    if there
                    else draw.waiting(self._awaited(), spin),
                    refresh=True,
                )
                if (self._view is not None and self._view.is_over) or pressed(self._interval):
                    break
        if self._view is not None:
            self._console.print(self._frame(draw.Screen(self._console.width, 1000), 0))
        return self._status()

    def _look(self) -> bool:
        """Whether there is anything to show."""
        folder = self._folder or _folder_of(self._run)
        if folder is None:
            return False
        try:
            view = make_view(read_parts(folder), state_of, time_of)
        except Error:  # a file that is just being replaced on a file system that takes its time
            return self._view is not None
        if view is None:
            return False
        self._view = view
        if self._folder is None:
            self._folder, self._curves = folder, Curves(folder)
        return True

    def _frame(self, screen: draw.Screen, turn: int) -> RenderableType:
        assert self._view is not None and self._curves is not None
        rows = self._view.rows
        shown: Sequence[Curve | str] = (
            self._curves.wished(rows, self._wishes) if self._wishes else self._curves.default(rows)
        )
        return draw.frame(self._view, shown, screen, turn)

    def _awaited(self) -> str:
        return f"a run in {self._run}" if self._run.is_dir() else f"a run called {self._run}"

    def _status(self) -> int:
        bad = (State.FAILED, State.GONE, State.SILENT)
        return 1 if self._view is not None and self._view.state in bad else 0


def _folder_of(run: Path) -> Path | None:
    """The output folder that is meant; raises Error if several runs are called so."""
    if any(run.glob("progress*.json")):
        return run
    found = find_runs(str(run)) if len(run.parts) == 1 else []
    if len(found) > 1:
        raise Error(
            f"several runs are called '{run}'; name the folder of one: "
            + ", ".join(str(folder) for folder in found)
        )
    return found[0] if found else None


def _names() -> str:
    return ", ".join(str(folder) for folder in find_runs())


@contextmanager
def _keys() -> Iterator["_Pressed"]:
    """Keys as they are pressed, where there is a keyboard."""
    if not sys.stdin.isatty():
        yield _Pressed(None)
        return
    descriptor = sys.stdin.fileno()
    before = termios.tcgetattr(descriptor)
    tty.setcbreak(descriptor)
    try:
        yield _Pressed(descriptor)
    finally:
        termios.tcsetattr(descriptor, termios.TCSADRAIN, before)


class _Pressed:
    """Sleeps until a key is pressed that means to leave; false if there was none in time."""

    def __init__(self, descriptor: int | None):
        self._descriptor = descriptor

    def __call__(self, patience: float) -> bool:
        if self._descriptor is None:
            time.sleep(patience)
            return False
        if not select.select([self._descriptor], [], [], patience)[0]:
            return False
        return os.read(self._descriptor, 1) in (b"q", b"Q", b"\x1b", b"")
