# SPDX-License-Identifier: BSD-3-Clause
"""Reads files of the stage `encode`: `pillion.compressed.open(path).read("velocity")` is a NumPy
array whose error is within the bound that the file names.

stages/encode/FORMAT.md describes the files.
"""

from pathlib import Path

from pillion.compressed.file import CompressedField, CompressedFile

__all__ = ["CompressedField", "CompressedFile", "open"]


def open(path: str | Path) -> CompressedFile:
    """The file of one step. Raises Error if it is none, or cannot be read."""
    return CompressedFile(path)
