# SPDX-License-Identifier: BSD-3-Clause
"""A real terminal without a screen: tmux runs commands in it, and says what can be seen, as text or
as a picture.
"""

import html
import re
import shlex
import uuid
from collections.abc import Callable, Mapping
from pathlib import Path

import limits
from rich.ansi import AnsiDecoder
from rich.color import Color
from rich.style import Style
from rich.terminal_theme import TerminalTheme
from rich.text import Text

_CELL = (8.4, 18.0)  # of a character in a picture, as wide and high as that
_MARGIN = 16
_BAR = 34
_PAPER, _INK = "#161b22", "#c9d1d9"
_NORMAL = ["#484f58", "#ff7b72", "#3fb950", "#d29922", "#58a6ff", "#bc8cff", "#39c5cf", "#b1bac4"]
_BRIGHT = ["#6e7681", "#ffa198", "#56d364", "#e3b341", "#79c0ff", "#d2a8ff", "#56d4dd", "#ffffff"]


def _rgb(colour: str) -> tuple[int, int, int]:
    return int(colour[1:3], 16), int(colour[3:5], 16), int(colour[5:7], 16)


_THEME = TerminalTheme(
    _rgb(_PAPER), _rgb(_INK), [_rgb(c) for c in _NORMAL], [_rgb(c) for c in _BRIGHT]
)


class Terminal:
    """One terminal of that many columns and rows, in which a command runs."""

    def __init__(self, folder: Path, columns: int, rows: int, environment: Mapping[str, str]):
        self.columns, self.rows = columns, rows
        self._name = f"pillion-{uuid.uuid4().hex[:12]}"
        given = [f"{name}={value}" for name, value in environment.items()]
        shell = [
            "env",
            "-u",
            "COLUMNS",
            "-u",
            "LINES",
            *given,
            "PS1=$ ",
            "bash",
            "--norc",
            "--noprofile",
        ]
        self._tmux(
            *("-f", "/dev/null", "new-session", "-d", "-s", "it", "-c", str(folder)),
            *("-x", str(columns), "-y", str(rows), shlex.join(shell)),
        )
        self._tmux("set-option", "-g", "status", "off")

    def _tmux(self, *words: str) -> str:
        done = limits.run(
            ["tmux", "-L", self._name, *words], capture_output=True, text=True, timeout=20
        )
        if done.returncode != 0:
            raise RuntimeError(f"tmux {words[0]}: {done.stderr}")
        return done.stdout

    def type(self, line: str) -> None:
        """A line, and Enter."""
        self._tmux("send-keys", "-t", "it", "-l", line)
        self.press("Enter")

    def press(self, key: str) -> None:
        self._tmux("send-keys", "-t", "it", key)

    def resize(self, columns: int, rows: int) -> None:
        self._tmux("resize-window", "-t", "it", "-x", str(columns), "-y", str(rows))

    def text(self) -> str:
        return self._tmux("capture-pane", "-p", "-t", "it")

    def ansi(self) -> str:
        """The same with colours, to the end of every line."""
        return self._tmux("capture-pane", "-p", "-e", "-t", "it")

    def until(self, holds: Callable[[str], bool] | str, timeout: float = 60) -> str:
        """What is seen as soon as that holds, or as there is that text."""
        text = ""

        def is_there() -> bool:
            nonlocal text
            text = self.text()
            return holds in text if isinstance(holds, str) else holds(text)

        limits.until(is_there, timeout, lambda: f"what is there:\n{text}\n", 0.1)
        return text

    def close(self) -> None:
        limits.run(["tmux", "-L", self._name, "kill-server"], capture_output=True, timeout=20)

    def __enter__(self) -> "Terminal":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


# Which part of a cell characters fill: left, top, width, height.
_PARTS = {"█": (0, 0, 1, 1)}
_PARTS |= {c: (0, 1 - (i + 1) / 8, 1, (i + 1) / 8) for i, c in enumerate("▁▂▃▄▅▆▇")}
_PARTS |= {c: (0, 0, (i + 1) / 8, 1) for i, c in enumerate("▏▎▍▌▋▊▉")}
# Lines from the middle of a cell: to the left, right, top and bottom.
_LINES = {"─": "lr", "│": "tb", "╭": "rb", "╮": "lb", "╰": "rt", "╯": "lt"}


def picture(ansi: str, columns: int, title: str) -> str:
    """An SVG of what a terminal shows; it loads nothing, and blocks and lines join in it."""
    lines = list(AnsiDecoder().decode(ansi.rstrip("\n")))
    width = columns * _CELL[0] + 2 * _MARGIN
    height = len(lines) * _CELL[1] + _BAR + _MARGIN
    body = "".join(_row(line, _BAR + number * _CELL[1]) for number, line in enumerate(lines))
    dots = "".join(
        f'<circle cx="{20 + 18 * i}" cy="17" r="5.5" fill="{colour}"/>'
        for i, colour in enumerate(("#ff5f57", "#febc2e", "#28c840"))
    )
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:g} {height:g}" '
        f'width="{width:g}" height="{height:g}" role="img" aria-label="{html.escape(title)}">\n'
        f"<style>text {{ font: 14px ui-monospace, 'Cascadia Mono', Menlo, Consolas, "
        f"'DejaVu Sans Mono', monospace; white-space: pre; }}</style>\n"
        f'<rect width="100%" height="100%" rx="10" fill="{_PAPER}"/>\n{dots}\n'
        f'<text x="{width / 2:g}" y="22" fill="#8b949e" text-anchor="middle">'
        f"{html.escape(title)}</text>\n{body}</svg>\n"
    )


def _row(line: Text, top: float) -> str:
    out, column = "", 0
    for segment in line.render(_console()):
        style = segment.style or Style()
        colour = _colour(style)
        for run in re.findall(r"[█▁-▉─│╭╮╰╯]|[^█▁-▉─│╭╮╰╯]+", segment.text.rstrip("\n")):
            left = _MARGIN + column * _CELL[0]
            out += _mark(run, left, top, colour, bool(style.bold)) if run.strip() else ""
            column += len(run)
    return out


def _console():
    from io import StringIO

    from rich.console import Console

    return Console(file=StringIO(), width=1000)


def _colour(style: Style) -> str:
    colour = style.color or Color.default()
    return colour.get_truecolor(_THEME).hex


def _mark(run: str, left: float, top: float, colour: str, bold: bool) -> str:
    width, height = _CELL
    if run in _PARTS:
        x, y, w, h = _PARTS[run]
        # A little wider than it is, so that no seam is seen between neighbours.
        return (
            f'<rect x="{left + x * width:.2f}" y="{top + y * height:.2f}" '
            f'width="{w * width + 0.3:.2f}" height="{h * height + 0.2:.2f}" fill="{colour}"/>\n'
        )
    if run in _LINES:
        return _strokes(_LINES[run], left + width / 2, top + height / 2, colour)
    weight = ' font-weight="bold"' if bold else ""
    blanks = len(run) - len(run.lstrip())
    text = run.strip()
    return (
        f'<text x="{left + blanks * width:.2f}" y="{top + 13.5:.2f}" fill="{colour}"{weight} '
        f'textLength="{len(text) * width:.2f}" lengthAdjust="spacing">{html.escape(text)}</text>\n'
    )


def _strokes(ends: str, x: float, y: float, colour: str) -> str:
    width, height = _CELL
    at = {
        "l": f"{x - width / 2:.2f} {y:.2f}",
        "r": f"{x + width / 2:.2f} {y:.2f}",
        "t": f"{x:.2f} {y - height / 2:.2f}",
        "b": f"{x:.2f} {y + height / 2:.2f}",
    }
    first, second = ends
    path = f"M{at[first]} Q{x:.2f} {y:.2f} {at[second]}"
    return f'<path d="{path}" fill="none" stroke="{colour}"/>\n'
