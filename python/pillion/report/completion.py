# SPDX-License-Identifier: BSD-3-Clause
"""Publications in the products of a run whose report is provisional.

A simulation that ends before its sidecars writes a report in which everything that they have not
finished is lost. They continue and write more products; separate sidecars then write a report of
their own. If they die before that, the products show what they have done.
"""

from collections.abc import Sequence
from pathlib import Path

from pillion.errors import Error
from pillion.liveness import settled, state_of
from pillion.progress import State
from pillion.run_files import entry_of_head
from pillion.step_names import has_step, without_step

AT_WORK = "the sidecars are still at work; numbers of publications are those so far"
ENDED = (
    "the sidecars ended after the simulation without completing the report; "
    "publications are counted from the products"
)


def state_of_sidecars(folder: Path, run: str) -> tuple[str, list[tuple[str, str, str, str]]]:
    """A warning for people: whether the sidecars of the run with that id are still at work. And
    what they have written so far.
    """
    try:
        sidecars = settled(folder).sidecars
    except Error:
        return ENDED, []
    if sidecars is None or sidecars.id != run:
        return ENDED, []
    made = [p for a in sidecars.analyses for p in products_of(folder, a.name, a.products)]
    return (AT_WORK if state_of(sidecars) is State.RUNNING else ENDED), made


def products_of(
    folder: Path, analysis: str, paths: Sequence[str]
) -> list[tuple[str, str, str, str]]:
    """Analysis, stage, path and title of files that no report lists: of tables by their heads, of
    others by their names.
    """
    found = []
    for path in paths:
        stage, title = "", without_step(Path(path).stem)
        if path.endswith(".csv"):
            try:
                stage = (entry_of_head(folder / path, "stage") or "").strip('"')
                title = (entry_of_head(folder / path, "title") or title).strip('"')
            except Error:
                continue  # the page need not name what was not written yet
        found.append((analysis, stage, path, title))
    return found


def publications_in(folder: Path) -> int | None:
    """Publications in the tables over the run of an analysis: the least of all; None if it has no
    such table.
    """
    found = [n for n in map(_publications, _series(folder)) if n is not None]
    return min(found, default=None)


def _series(folder: Path) -> list[Path]:
    """Tables over the run; those of single steps end with nine digits."""
    return [path for path in sorted(folder.glob("*.csv")) if not has_step(path.stem)]


def _publications(table: Path) -> int | None:
    try:
        text = entry_of_head(table, "publications")
        return None if text is None else int(text)
    except (Error, ValueError):
        return None
