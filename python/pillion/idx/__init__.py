# SPDX-License-Identifier: BSD-3-Clause
"""Reading IDX datasets: `pillion.idx.open(path)["density"][step, level, box]` is a NumPy array.

docs/howto-view.md shows how.
"""

from pathlib import Path

from pillion.idx.dataset import Dataset, Field, Samples

__all__ = ["Dataset", "Field", "Samples", "open"]


def open(path: str | Path) -> Dataset:
    """The dataset whose header is this file. Raises Error if it cannot be read."""
    return Dataset(path)
