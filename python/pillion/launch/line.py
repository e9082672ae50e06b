# SPDX-License-Identifier: BSD-3-Clause
"""Follows a run that was just started: its output folder, its progress, and a status line."""

import os
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from shutil import get_terminal_size

from pillion.errors import Error
from pillion.liveness import catches, find_runs, state_of, time_of
from pillion.progress import Parts, State, read_parts
from pillion.report.run import Run, read_run
from pillion.run_files import ids_in
from pillion.units import seconds
from pillion.watch.model import View, make_view

_PLAIN_WIDTH = 200
_SEARCH_EVERY = 1.0  # seconds


class Follower:
    """Reads what a run says of itself that was started after this was made, by its id: the clocks
    of nodes may differ.

    The program may write elsewhere than its configuration says; then the run is looked for among
    the processes of `sessions`.
    """

    sessions: Callable[[], Iterable[int]] = staticmethod(lambda: ())

    def __init__(self, folder: Path):
        self.folder = folder
        self._earlier = ids_in(folder)
        self._searched = time.monotonic()
        self.view: View | None = None

    def look(self) -> View | None:
        parts = self._parts(self.folder)
        if parts is None and self.view is None:
            parts = self._elsewhere()
        if parts is not None:
            self.view = make_view(parts, state_of, time_of) or self.view
        return self.view

    def line(self, live: bool) -> str | None:
        width = get_terminal_size().columns - 1 if live else _PLAIN_WIDTH
        view = self.look()
        return line_of(view, width, live) if view else None

    def has_sidecars(self) -> bool:
        view = self.look()
        sides = view.sides if view else ()
        return any(s.name == "sidecars" and not s.state.is_final for s in sides)

    def has_ended(self) -> bool:
        """Whether it has closed its session, and its sidecars have ended."""
        view = self.look()
        return view is not None and view.state is State.ENDED and view.is_over

    def report(self) -> Run | None:
        """The report of the run, if it has written one."""
        try:
            run = read_run(self.folder)
        except Error:
            return None
        return None if run.facts.get("id") in self._earlier else run

    def catches(self, number: int) -> bool:
        """Whether the first rank handles a signal; false if that runs on another host."""
        parts = self._parts(self.folder)
        return (
            parts is not None and parts.simulation is not None and catches(parts.simulation, number)
        )

    def _parts(self, folder: Path) -> Parts | None:
        try:
            parts = read_parts(folder)
        except Error:
            return None
        fresh = parts.simulation is not None and parts.simulation.id not in self._earlier
        return parts if fresh else None

    def _elsewhere(self) -> Parts | None:
        now = time.monotonic()
        if now - self._searched < _SEARCH_EVERY:
            return None
        self._searched = now
        for folder in find_runs():
            parts = self._parts(folder)
            if parts is not None and self._is_mine(parts):
                here = Path.cwd()
                self.folder = folder.relative_to(here) if folder.is_relative_to(here) else folder
                return parts
        return None

    def _is_mine(self, parts: Parts) -> bool:
        try:
            return parts.simulation is not None and os.getsid(parts.simulation.pid) in set(
                self.sessions()
            )
        except OSError:
            return False


def line_of(view: View, width: int, colours: bool) -> str:
    """A line of at most `width` characters."""
    from io import StringIO

    from rich.console import Console
    from rich.text import Text

    from pillion.watch import draw
    from pillion.watch.columns import duration

    text = Text.assemble((f"▸ {view.run}", f"bold {draw.ACCENT}"), "  ")
    text.append_text(draw.moment(view))
    if view.waiting:
        text.append("   waiting for sidecars", "yellow")
    text.append("   ").append_text(draw.publications(view))
    if any(row.lag for row in view.rows):
        text.append("   lag ", "bright_black").append(seconds(max(r.lag or 0 for r in view.rows)))
    text.append(f"   {duration(view.elapsed)}", "bright_black")
    text.truncate(width, overflow="ellipsis")
    if not colours:
        return text.plain
    out = StringIO()
    Console(file=out, force_terminal=True, width=width, highlight=False).print(text, end="")
    return out.getvalue()
