# SPDX-License-Identifier: BSD-3-Clause
"""Pillion in Python: analysis that rides along with a simulation.

`pillion.open` connects a simulation, `pillion.stage` makes a function a stage, and
`pillion.results` reads the products of a run, during the run or after it. `pillion.read_table`
reads one table with its units, `pillion.make_report` makes one HTML page of a finished run, and
`pillion.idx` reads multiresolution datasets. The command `pillion` does the rest.

A name is imported when it is first used, so that a program pays only for what it uses. Type
checkers and editors see the imports themselves.
"""

from typing import TYPE_CHECKING

from pillion.errors import Error

__all__ = [
    "Error",
    "Input",
    "Output",
    "Results",
    "Session",
    "Step",
    "Table",
    "__version__",
    "make_report",
    "open",
    "read_table",
    "results",
    "stage",
]

if TYPE_CHECKING:
    from pillion.datasets import Results, results
    from pillion.insitu.declaration import Input, Output, stage
    from pillion.insitu.opening import open
    from pillion.insitu.session import Session
    from pillion.insitu.step import Step
    from pillion.report.make import make_report
    from pillion.tables import Table, read_table

    __version__: str
else:
    _HOMES = {
        "Input": "pillion.insitu.declaration",
        "Output": "pillion.insitu.declaration",
        "Results": "pillion.datasets",
        "Session": "pillion.insitu.session",
        "Step": "pillion.insitu.step",
        "Table": "pillion.tables",
        "make_report": "pillion.report.make",
        "open": "pillion.insitu.opening",
        "read_table": "pillion.tables",
        "results": "pillion.datasets",
        "stage": "pillion.insitu.declaration",
    }

    def __getattr__(name):
        from importlib import import_module

        if name == "__version__":
            value = import_module("pillion.programs").version()
        elif name in _HOMES:
            value = getattr(import_module(_HOMES[name]), name)
        else:
            raise AttributeError(f"module 'pillion' has no attribute '{name}'")
        globals()[name] = value
        return value

    def __dir__():
        return sorted({*globals(), *__all__})
