# SPDX-License-Identifier: BSD-3-Clause
"""Pillion in Python: analysis that rides along with a simulation.

`pillion.open` connects a simulation, `pillion.stage` makes a function a stage, and
`pillion.results` reads what a run has left, or leaves while it goes on. `pillion.read_table` reads
one table with its units, `pillion.make_report` makes one HTML page of a finished run, and
`pillion.idx` reads multiresolution datasets. The command `pillion` does the rest.

Names are imported when they are first used, so that none costs those who do without it.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from pillion.errors import Error

if TYPE_CHECKING:
    from pillion.datasets import Results, results
    from pillion.report.make import make_report
    from pillion.tables import Table, read_table

_HOMES = {
    "Input": "pillion.insitu.declaration",
    "Output": "pillion.insitu.declaration",
    "Results": "pillion.datasets",
    "Session": "pillion.insitu.session",
    "Step": "pillion.insitu.step",
    "open": "pillion.insitu.opening",
    "results": "pillion.datasets",
    "stage": "pillion.insitu.declaration",
    "make_report": "pillion.report.make",
    "Table": "pillion.tables",
    "read_table": "pillion.tables",
}

__all__ = ["Error", "Results", "Table", "make_report", "read_table", "results"]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'pillion' has no attribute '{name}'")
    value = getattr(import_module(_HOMES[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *_HOMES})
