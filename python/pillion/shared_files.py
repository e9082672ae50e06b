# SPDX-License-Identifier: BSD-3-Clause
"""Reading files that a run replaces on another machine. On NFS a file that is replaced while it is
open becomes stale, and its name may be missing for a moment: then it is opened again.
"""

import errno
import time
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

PAUSES = (0.02, 0.1, 0.4)  # seconds before opening a file again
Read = TypeVar("Read")


def again_if_stale(
    read: Callable[[], Read],
    is_listed: bool = False,
    sleep: Callable[[float], None] = time.sleep,
) -> Read:
    """Returns what `read` returns. Calls it again if a file became stale, and, if it `is_listed` in
    its folder, if it is not there. Raises OSError like `read`.
    """
    passing = {errno.ESTALE, errno.ENOENT} if is_listed else {errno.ESTALE}
    for pause in PAUSES:
        try:
            return read()
        except OSError as error:
            if error.errno not in passing:
                raise
        sleep(pause)
    return read()


def read_bytes(path: Path, size: int = -1, is_listed: bool = False) -> bytes:
    """All of a file, or its first bytes. Raises OSError."""

    def read() -> bytes:
        with path.open("rb") as file:
            return file.read(size)

    return again_if_stale(read, is_listed)


def read_text(path: Path, encoding: str = "utf-8", is_listed: bool = False) -> str:
    """All of a file. Raises OSError and UnicodeDecodeError."""
    return read_bytes(path, is_listed=is_listed).decode(encoding)
