# SPDX-License-Identifier: BSD-3-Clause
"""Colours of what is printed: only on a terminal, and never where NO_COLOR is set."""

import os
import sys
from typing import TextIO

_RED, _GREEN, _YELLOW, _BOLD, _DIM = "31", "32", "33", "1", "2"


def has_colours(stream: TextIO) -> bool:
    return not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb" and stream.isatty()


def _painted(text: str, code: str, stream: TextIO | None) -> str:
    stream = sys.stdout if stream is None else stream
    return f"\x1b[{code}m{text}\x1b[0m" if text and has_colours(stream) else text


def error(text: str, stream: TextIO | None = None) -> str:
    """An error; printed on standard error unless another stream is given."""
    return _painted(text, _RED, stream or sys.stderr)


def good(text: str, stream: TextIO | None = None) -> str:
    return _painted(text, _GREEN, stream)


def note(text: str, stream: TextIO | None = None) -> str:
    """A remark that is not an error."""
    return _painted(text, _YELLOW, stream)


def strong(text: str, stream: TextIO | None = None) -> str:
    return _painted(text, _BOLD, stream)


def faint(text: str, stream: TextIO | None = None) -> str:
    return _painted(text, _DIM, stream)
