# SPDX-License-Identifier: BSD-3-Clause
"""The programs of an installation: where they are, and how this process becomes one of them.

They lie in the folder that PILLION_BIN names, which the command in a build or an installation
sets, or in the package's own folder `bin`, where pip puts them.
"""

import os
import sys
from collections.abc import Sequence
from importlib.metadata import PackageNotFoundError
from importlib.metadata import version as package_version
from pathlib import Path
from typing import NoReturn

from pillion.errors import Error


def folder() -> Path:
    named = os.environ.get("PILLION_BIN")
    return Path(named) if named else Path(__file__).resolve().parent / "bin"


def prefix() -> Path:
    """The folder in which Pillion is installed: `bin`, `include`, `lib` and `share` are in it."""
    return folder().parent


def find(name: str) -> Path:
    """Raises Error if this installation has no such program."""
    path = folder() / name
    if not os.access(path, os.X_OK):
        raise Error(
            f"there is no program {path}: this Python package has no programs beside it; use the "
            "command `pillion` of an installation or a build, or name its folder in PILLION_BIN"
        )
    return path


def version() -> str:
    """The version of this installation: from its command in PILLION_VERSION, or of the package."""
    named = os.environ.get("PILLION_VERSION")
    if named:
        return named
    try:
        return package_version("pillion")
    except PackageNotFoundError:
        return "of a checkout"


def become(name: str, words: Sequence[str]) -> NoReturn:
    """Replaces this process by a program of the installation."""
    replace_by([str(find(name)), *words])


def become_named() -> NoReturn:
    """The scripts that pip puts beside `pillion`: becomes the program of this process's name."""
    try:
        become(Path(sys.argv[0]).name, sys.argv[1:])
    except Error as error:
        raise SystemExit(f"pillion: {error}") from None


def replace_by(command: Sequence[str]) -> NoReturn:
    try:
        os.execvp(command[0], list(command))
    except OSError as error:
        raise Error(f"cannot start {command[0]}: {error.strerror}") from error
