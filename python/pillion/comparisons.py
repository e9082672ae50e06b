# SPDX-License-Identifier: BSD-3-Clause
"""What results are to be compared with: curves of theory, experiment or other codes.

A comparison is a CSV file of reals for one table product, with the product's own path below a
folder of comparisons: columns that are called as the table's, the first one being x. Its first
line may be a comment, which names it in legends. It is drawn dashed beside the product's curves.
"""

import csv
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from pillion.errors import Error

FOLDER = "compare"  # below a run's output, where nothing else is said


@dataclass(frozen=True)
class Comparison:
    """Columns of equal length by name, over those of the first."""

    label: str
    columns: dict[str, np.ndarray]

    @property
    def x(self) -> np.ndarray:
        return next(iter(self.columns.values()))


def read_comparison(path: Path) -> Comparison | None:
    """None if there is no such file; raises Error if it is not what the module says."""
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except FileNotFoundError:
        return None
    except (OSError, UnicodeDecodeError) as error:
        raise Error(f"cannot read the comparison {path}: {error}") from error
    label = lines[0].lstrip("# ").strip() if lines and lines[0].startswith("#") else ""
    rows = list(csv.reader(line for line in lines if line and not line.startswith("#")))
    if len(rows) < 2:
        raise Error(f"the comparison {path} has no rows below its names of columns")
    names = [name.strip() for name in rows[0]]
    try:
        values = np.array([[float(cell) for cell in row] for row in rows[1:]])
    except ValueError as error:
        raise Error(f"the comparison {path} is not a table of numbers: {error}") from error
    if values.ndim != 2 or values.shape[1] != len(names):
        raise Error(f"the comparison {path} has rows that are not as long as its first one")
    return Comparison(label or "comparison", dict(zip(names, values.T, strict=True)))


def write_comparison(path: Path, label: str, columns: dict[str, np.ndarray]) -> None:
    """Writes a file that `read_comparison` reads, and the folders it is in."""
    path.parent.mkdir(parents=True, exist_ok=True)
    rows = zip(*(values.tolist() for values in columns.values()), strict=True)
    with path.open("w", encoding="utf-8", newline="") as file:
        file.write(f"# {label}\n")
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(columns)
        writer.writerows(rows)
