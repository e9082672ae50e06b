# SPDX-License-Identifier: BSD-3-Clause
"""Reading what the stage `encode` has written: `pillion.compressed.open(path).read("velocity")` is
a NumPy array whose error is within the bound that the file names.

stages/encode/FORMAT.md says what is in the files.
"""

from pathlib import Path

from pillion.compressed.file import CompressedField, CompressedFile

__all__ = ["CompressedField", "CompressedFile", "open"]


def open(path: str | Path) -> CompressedFile:
    """The file of one step. Raises Error if it is none, or cannot be read."""
    return CompressedFile(path)
