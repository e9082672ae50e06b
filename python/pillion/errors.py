# SPDX-License-Identifier: BSD-3-Clause
"""The exception that Pillion raises, and what its users read of exceptions in their own stages."""

import traceback
from pathlib import Path

_OURS = Path(__file__).parent / "insitu"


class Error(Exception):
    """A file that is missing or is not what it should be."""


def explained(error: BaseException) -> str:
    """Describes an exception that a stage raised: a line with the error and its place, then the
    traceback without Pillion's own frames. An Error of Pillion keeps its text. The module
    `pillion._stage` calls this.
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
    return Path(file).parent == _OURS or file.startswith("<frozen importlib")
