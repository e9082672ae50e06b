# SPDX-License-Identifier: BSD-3-Clause
"""Pillion in Python: reading what a run left behind, and reporting on it.

`pillion.tables` reads table products as NumPy arrays with their units, and `pillion.report` makes
one HTML file of a finished run; the command `pillion` (or `python -m pillion`) does both.
`pillion.idx` reads multiresolution datasets, and `pillion view` shows them in a browser.
"""

from pillion.errors import Error
from pillion.report import make_report
from pillion.tables import Table, read_table

__all__ = ["Error", "Table", "make_report", "read_table"]
