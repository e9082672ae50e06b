# SPDX-License-Identifier: BSD-3-Clause
"""Tells people what went wrong in a stage of theirs. The module `pillion._stage` calls it."""

import traceback
from pathlib import Path

from pillion.errors import Error

OURS = Path(__file__).parent


def explained(error: BaseException) -> str:
    """What people need to know of an exception: in a line what and where, then its traceback
    without the frames of Pillion itself. An error of Pillion's own is said as it is.
    """
    frames = [f for f in traceback.extract_tb(error.__traceback__) if not _is_ours(f.filename)]
    if isinstance(error, Error) and not frames:
        return str(error)
    kind = type(error).__name__
    if isinstance(error, SyntaxError):
        return f"{kind}: {error.msg} ({Path(error.filename or '').name}, line {error.lineno})"
    text = " ".join(str(error).split())
    head = f"{kind}: {text}" if text else kind
    if not frames:
        return head
    last = frames[-1]
    where = f"{Path(last.filename).name}, line {last.lineno}, in {last.name}"
    trace = "".join(traceback.format_list(frames) + traceback.format_exception_only(error))
    return f"{head} ({where})\nTraceback (most recent call last):\n{trace.rstrip()}"


def _is_ours(file: str) -> bool:
    return Path(file).parent == OURS or file.startswith("<frozen importlib")
