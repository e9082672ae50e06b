# SPDX-License-Identifier: BSD-3-Clause
"""`pillion view DATASET`: a page in the browser that shows slices of an IDX dataset, coarse levels
first, also while a simulation still writes it. docs/howto-view.md shows how.
"""

from pillion.view.server import view

__all__ = ["view"]
