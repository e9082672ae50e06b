# SPDX-License-Identifier: BSD-3-Clause
"""The products in a run's output folder, by their names alone: no file is opened.

A folder is listed again only if it has changed since, so frequent requests cost next to nothing,
and each sees what a running simulation has added.
"""

import os
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from time import monotonic
from typing import Literal

from pillion.errors import Error
from pillion.step_names import step_pattern

Kind = Literal["table", "steps", "idx", "hdf5", "plotfile", "raw", "openpmd"]
SUFFIXES: dict[Kind, str] = {
    "table": "csv",
    "steps": "steps",
    "idx": "idx",
    "hdf5": "hdf5",
    "plotfile": "plotfiles",
    "raw": "raw",
    "openpmd": "openpmd",
}
NAMES: list[tuple[Kind, re.Pattern[str]]] = [
    ("steps", step_pattern(r"([^.].*)\.", r"\.csv")),
    ("table", re.compile(r"([^.].*)\.csv")),
    ("idx", re.compile(r"([^.].*)\.idx")),
    ("raw", re.compile(r"([^.].*)\.raw\.yaml")),
]
FOLDERS: list[tuple[Kind, re.Pattern[str]]] = [
    ("hdf5", re.compile(r"([^.].*)_hdf5")),
    ("plotfile", re.compile(r"([^.].*)_plotfiles")),
    ("openpmd", re.compile(r"([^.].*)_openpmd")),
]
# Seconds for which a folder has had one time of change, after which that tells all that happened
# before. By this reader's clock: that of a file server may differ.
SETTLED = 2.0


@dataclass(frozen=True)
class Product:
    """A product by its name: `path` is its file, or, of those with a file per step, their folder;
    `steps` are those of tables per step.
    """

    key: str
    kind: Kind
    name: str
    path: Path
    steps: tuple[int, ...] = ()

    def file(self, step: int) -> Path:
        """The file of a step."""
        return self.path / f"{self.name}.{step:09}.csv"

    @property
    def newest(self) -> Path:
        """The file, or folder, whose modification time is that of the product."""
        return self.file(self.steps[-1]) if self.steps else self.path


@dataclass
class _Seen:
    stamp: int
    first: float  # when the folder had that stamp first, by the reader's clock
    settled: bool
    folders: list[str] = field(default_factory=list)
    files: dict[tuple[str, Kind], list[int]] = field(default_factory=dict)


class Listing:
    """The products below an output folder, as they are now."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._seen: dict[Path, _Seen] = {}

    def forget(self) -> None:
        """Has all folders listed again."""
        self._seen.clear()

    def products(self) -> dict[str, Product]:
        """By key, in order. Raises Error if the folder is not there or cannot be listed."""
        found: dict[str, Product] = {}
        for analysis in sorted(self._look(self.path).folders):
            try:
                seen = self._look(self.path / analysis)
            except FileNotFoundError:  # gone since
                continue
            found.update((p.key, p) for p in self._of(analysis, seen))
        return found

    def _of(self, analysis: str, seen: _Seen) -> Iterator[Product]:
        names = [name for name, _ in seen.files]
        for (name, kind), steps in sorted(seen.files.items()):
            key = f"{analysis}/{name}"
            if names.count(name) > 1:  # in several formats
                key += f".{SUFFIXES[kind]}"
            folder = self.path / analysis
            path = {"table": f"{name}.csv", "idx": f"{name}.idx", "raw": f"{name}.raw.yaml"}
            path |= {"hdf5": f"{name}_hdf5", "plotfile": f"{name}_plotfiles", "steps": "."}
            path |= {"openpmd": f"{name}_openpmd"}
            yield Product(key, kind, name, folder / path[kind], tuple(sorted(steps)))

    def _look(self, folder: Path) -> _Seen:
        now = monotonic()
        try:
            stamp = folder.stat().st_mtime_ns
            seen = self._seen.get(folder)
            if seen is None or seen.stamp != stamp or not seen.settled:
                first = seen.first if seen is not None and seen.stamp == stamp else now
                seen = self._seen[folder] = _Seen(stamp, first, now - first > SETTLED)
                with os.scandir(folder) as entries:
                    for entry in entries:
                        _note(seen, entry)
        except OSError as error:
            if isinstance(error, FileNotFoundError) and folder != self.path:
                raise
            raise Error(f"cannot read the output folder {folder}: {error.strerror}") from error
        return seen


def _note(seen: _Seen, entry: os.DirEntry[str]) -> None:
    if entry.is_dir():
        for kind, pattern in FOLDERS:
            if match := pattern.fullmatch(entry.name):
                seen.files[match[1], kind] = []
        if not entry.name.startswith("."):
            seen.folders.append(entry.name)
        return
    for kind, pattern in NAMES:
        if match := pattern.fullmatch(entry.name):
            steps = seen.files.setdefault((match[1], kind), [])
            if kind == "steps":
                steps.append(int(match[2]))
            return
