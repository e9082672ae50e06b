# SPDX-License-Identifier: BSD-3-Clause
"""The common part of report.json and progress.json, the files that a run writes about itself. It
also finds the run that owns the results in an output folder: the newest one that these files and
the folder's marker name. The head of a table names its run, too. docs/products.md describes the
files. Commands that need no NumPy import this module, so it does not either.
"""

import json
import re
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any, TypeVar

from pillion import shared_files
from pillion.errors import Error

MARKER = ".pillion-run"
HEAD_BYTES = 4096  # of a table: the entries up to step and time are well within
Made = TypeVar("Made")


LEFT = "its attached job left"  # how the library begins the reason for an analysis that has left


@dataclass(frozen=True)
class AnalysisRecord:
    """The common entries of both files on an analysis; publications are counted over the whole run
    so far.
    """

    name: str
    placement: str
    every: str
    when: str | None
    publications: int
    skipped: int
    coarsened: int
    spilled: int
    dropped: int
    lost: int
    disabled: str | None
    bytes_moved: int

    @property
    def failure(self) -> str | None:
        """Why it ended early, unless its attached job left as it was meant to."""
        return failure_of(self.disabled)


def failure_of(disabled: str | None) -> str | None:
    return None if disabled is None or disabled.startswith(LEFT) else disabled


def known(kind: Callable[[Any], Made], value: Any) -> Made | None:
    """A value of that kind, or None where the file says null. Raises as `kind` does."""
    return None if value is None else kind(value)


def record_of(entry: dict[str, Any]) -> dict[str, Any]:
    """The values of an AnalysisRecord by name. Raises KeyError, TypeError or ValueError if one is
    missing or wrong.
    """
    texts = {name: str(entry[name]) for name in ("name", "placement", "every")}
    counts = ("publications", "skipped", "coarsened", "spilled", "dropped", "lost", "bytes_moved")
    optional = {name: known(str, entry[name]) for name in ("when", "disabled")}
    return texts | optional | {name: int(entry[name]) for name in counts}


def read_document(
    path: Path,
    wrong: str,
    expected: str,
    build: Callable[[dict[str, Any]], Made],
    missing: str = "",
    is_listed: bool = False,
) -> Made:
    """Builds a value from a JSON file whose entry `pillion` is `expected`. Raises Error if the file
    is not there, with the advice `missing`, or if it is of another kind, with the text `wrong`. One
    that `is_listed` in its folder is looked for again.
    """
    try:
        document = json.loads(shared_files.read_text(path, is_listed=is_listed))
    except OSError as error:
        if missing and isinstance(error, FileNotFoundError):
            raise Error(f"there is no {path}: {missing}") from None
        raise Error(f"cannot read {path}: {error.strerror}") from error
    except (ValueError, RecursionError) as error:
        raise Error(f"{path} is not JSON: {error}") from error
    found = document.get("pillion") if isinstance(document, dict) else None
    if found != expected:
        raise Error(f"{path} {wrong}: expected 'pillion: {expected}', found {found!r}")
    try:
        return build(document)
    except KeyError as error:
        raise Error(f"{path} lacks the entry {error}") from error
    except (TypeError, ValueError, AttributeError, OverflowError, OSError) as error:
        raise Error(f"{path} has an entry of the wrong kind: {error}") from error


@dataclass(frozen=True)
class Owner:
    """A run by its id, and the runs that it continues after restarts.

    `folders` are those of analyses that hold products of no other run; known from the marker only.
    """

    id: str
    continues: tuple[str, ...]
    started: float
    folders: frozenset[str] = frozenset()

    def has_made(self, run: str) -> bool:
        """Whether a product of this run id is the run's; one that names no run may be."""
        return not run or run == self.id or run in self.continues

    def is_after(self, other: "Owner") -> bool:
        """By what they continue; else by their starts, on clocks that may be of two machines."""
        if self.id in other.continues or other.id in self.continues:
            return other.id in self.continues
        return self.started > other.started


def owner_of(folder: Path) -> Owner | None:
    """None if nothing in the folder names a run."""
    marked = _marked(folder / MARKER)
    found = [marked, _of_report(folder / "report.json"), _of_progress(folder / "progress.json")]
    known = [owner for owner in found if owner is not None and owner.id]
    # The marker knows more; a run's own files may be a moment younger.
    left = [one for one in known if not any(one.id in other.continues for other in known)]
    newest = max(left, key=lambda owner: owner.started, default=None)
    return marked if newest and marked and marked.id == newest.id else newest


def ids_in(folder: Path) -> frozenset[str]:
    """Ids of the runs that the files of an output folder name."""
    said = (_of_report(folder / "report.json"), _of_progress(folder / "progress.json"))
    owners = (_marked(folder / MARKER), *said)
    return frozenset(owner.id for owner in owners if owner is not None and owner.id)


def folders_of(folder: Path) -> frozenset[str]:
    """Names of the analyses' folders that the folder's marker lists; empty without a marker."""
    marked = _marked(folder / MARKER)
    return frozenset() if marked is None else marked.folders


def entry_of_head(path: Path, name: str) -> str | None:
    """One of the first entries of a table's head as it is written, without reading the table; None
    if the head lacks it. Raises Error if there is no such file.
    """
    try:
        head = shared_files.read_bytes(path, HEAD_BYTES).decode("utf-8", "replace")
    except OSError as error:
        raise Error(f"cannot read {path}: {error.strerror}") from error
    found = re.search(rf"^# {name}: (.*)$", head, re.MULTILINE)
    return found[1].strip() if found else None


def run_of_table(path: Path) -> str:
    """The run id in the head of a table, without reading more than that; "" if it has none."""
    return (entry_of_head(path, "run") or "").strip('"')


def _marked(path: Path) -> Owner | None:
    try:
        lines = shared_files.read_text(path).split("\n")[:-1]
    except (OSError, UnicodeDecodeError):
        return None
    said: dict[str, list[str]] = {}
    for line in lines:
        key, colon, value = line.partition(": ")
        if colon:
            said.setdefault(key, []).append(value)
    if said.get("pillion") != ["run 1"] or "id" not in said:
        return None
    started = instant(said.get("started", [""])[0])
    folders = frozenset(said.get("folder", []))
    return Owner(said["id"][0], tuple(said.get("continues", [])), started, folders)


def _of_report(path: Path) -> Owner | None:
    run = _json(path).get("run")
    if not isinstance(run, dict):
        return None
    return _named(run, instant(str(run.get("started"))))


def _of_progress(path: Path) -> Owner | None:
    said = _json(path)
    started = said.get("started")
    return _named(said, float(started) if isinstance(started, int | float) else 0.0)


def _named(said: dict[str, Any], started: float) -> Owner:
    continues = said.get("continues")
    earlier = tuple(str(run) for run in continues) if isinstance(continues, list) else ()
    return Owner(str(said.get("id") or ""), earlier, started)


def _json(path: Path) -> dict[str, Any]:
    try:
        found = json.loads(shared_files.read_text(path))
    except (OSError, ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}


def instant(text: str) -> float:
    """Seconds since 1970 of a date and time as reports have it; 0 for another text."""
    try:
        return datetime.fromisoformat(text).timestamp()
    except ValueError:
        return 0.0
