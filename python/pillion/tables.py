# SPDX-License-Identifier: BSD-3-Clause
"""Table products: a head of comment lines that is one YAML document, then CSV. Comment lines
behind rows are rows that were being added, and are passed over.

`read_table` returns the columns as NumPy arrays, int64 or float64 according to the head. It also
returns their units, the table's attributes, and its origin. docs/products.md describes the format.

A comparison is what a table is compared with: a curve of theory, experiment or another code. It is
a CSV file of reals, with the product's own path below a folder of comparisons. Its columns have the
table's names, the first one is x. A comment in its first line names it in legends. The report draws
it dashed beside the product's curves.
"""

import csv
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import yaml

from pillion import shared_files
from pillion.column_roles import ROLES, Role
from pillion.errors import Error
from pillion.yaml_text import ProductLoader

FOLDER = "compare"  # below a run's output, unless another folder is given
FORMAT = "table 1"


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


@dataclass(frozen=True)
class Column:
    """A named array with units ("" if it has none). `of` names the column that it is about, as an
    error is.
    """

    name: str
    units: str
    values: np.ndarray
    role: Role = Role.VALUE
    of: str = ""


@dataclass(frozen=True)
class Attribute:
    """A number or a text that belongs to the whole table."""

    name: str
    value: float | str
    units: str


@dataclass(frozen=True)
class Table:
    """A table product. `table["msd_O"]` is a column's array."""

    path: Path
    title: str
    analysis: str
    stage: str
    name: str
    version: str
    step: int
    time: float
    time_units: str
    publications: int
    skipped: int
    coarsened: int
    lost: int
    disabled: str  # why the analysis ended early; "" if it did not
    configuration: str
    parameters: dict[str, str]
    columns: dict[str, Column]
    attributes: dict[str, Attribute]
    comparison: Comparison | None = None
    run: str = ""  # id of the run that made it
    asked: Mapping[str, Any] = field(default_factory=dict)  # the stage's parameters and defaults

    def __getitem__(self, name: str) -> np.ndarray:
        return self.columns[name].values

    @property
    def rows(self) -> int:
        return len(next(iter(self.columns.values())).values)

    def about(self, name: str, role: Role) -> Column | None:
        """The column that is the error, a bound, the count or the weight of column `name`."""
        columns = self.columns.values()
        return next((c for c in columns if c.role is role and c.of == name), None)


@dataclass(frozen=True)
class Head:
    """The head of a table: its columns' units by name, and its number of rows."""

    title: str
    step: int
    columns: dict[str, str]
    rows: int
    run: str = ""


def read_table(path: str | Path) -> Table:
    """Reads a table product; raises Error if it is missing, cut short, or of another format."""
    path = Path(path)
    lines, length = _read_lines(path)
    head = _read_head(path, lines[:length])
    try:
        columns = _read_columns(path, head, _rows(path, lines[length:]))
        return _build(path, head, columns)
    except (KeyError, TypeError, ValueError, AttributeError, OverflowError) as error:
        raise Error(f"{path} has a head that lacks or garbles an entry: {error!r}") from error


def read_head(path: Path) -> Head:
    """The head of a table, and the number of its rows; raises Error as `read_table` does."""
    lines, length = _read_lines(path)
    head = _read_head(path, lines[:length])
    try:
        columns = {str(c["name"]): str(c.get("units") or "") for c in head["columns"]}
        rows = max(0, len(_rows(path, lines[length:])) - 1)  # without the names
        run = str(head.get("run") or "")
        return Head(str(head.get("title") or ""), int(head["step"]), columns, rows, run)
    except (KeyError, TypeError, ValueError, AttributeError, OverflowError) as error:
        raise Error(f"{path} has a head that lacks or garbles an entry: {error!r}") from error


def _read_lines(path: Path) -> tuple[list[str], int]:
    """All lines, and how many of them are the head."""
    try:
        lines = shared_files.read_text(path).split("\n")
    except OSError as error:
        raise Error(f"cannot read {path}: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise Error(f"{path} is not a table: it is not UTF-8 text") from error
    return lines, next((n for n, line in enumerate(lines) if not line.startswith("#")), len(lines))


def _rows(path: Path, lines: list[str]) -> list[str]:
    """The names and the rows of what follows the head, without rows that are being added."""
    if lines and lines[-1] != "" and not lines[-1].startswith("#"):
        raise Error(f"{path} is cut short: its last line has no end")
    return [line for line in lines[:-1] if not line.startswith("#")]


def _read_head(path: Path, lines: list[str]) -> dict[str, Any]:
    try:
        # The loader is a safe one.
        head = yaml.load("\n".join(line[2:] for line in lines), Loader=ProductLoader)
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        raise Error(f"{path} has a head that is not YAML: {error}") from error
    found = head.get("pillion") if isinstance(head, dict) else None
    if found != FORMAT:
        raise Error(
            f"{path} is not a table of Pillion: expected 'pillion: {FORMAT}', found {found!r}"
        )
    if not isinstance(head.get("columns"), list) or not head["columns"]:
        raise Error(f"{path} has a head without columns")
    return head


def _array(path: Path, name: str, kind: str | None, texts: list[str]) -> np.ndarray:
    """Values of a column of this type; without a type, integers if all look like it."""
    if kind != "float64":
        try:
            return np.array([int(text) for text in texts], dtype=np.int64)
        except (ValueError, OverflowError):
            if kind == "int64":
                raise Error(
                    f"{path}: column '{name}' holds something that is not an integer"
                ) from None
    try:
        return np.array([float(text) for text in texts], dtype=np.float64)
    except ValueError as error:
        raise Error(
            f"{path}: column '{name}' holds something that is not a number: {error}"
        ) from None


def _read_columns(path: Path, head: dict[str, Any], lines: list[str]) -> dict[str, Column]:
    described = {str(c["name"]): c for c in head["columns"]}
    names = next(csv.reader(lines[:1]), [])
    if names != list(described):
        raise Error(f"{path}: the head names the columns {list(described)}, the file {names}")
    rows = [line.split(",") for line in lines[1:]]
    for number, row in enumerate(rows, start=1):
        if len(row) != len(names):
            raise Error(f"{path}: row {number} has {len(row)} values, expected {len(names)}")
    return {
        name: Column(
            name,
            str(entry.get("units") or ""),
            _array(path, name, entry.get("type"), [row[i] for row in rows]),
            ROLES.get(str(entry.get("role")), Role.VALUE),
            str(entry.get("of") or ""),
        )
        for i, (name, entry) in enumerate(described.items())
    }


def _build(path: Path, head: dict[str, Any], columns: dict[str, Column]) -> Table:
    attributes = [
        Attribute(str(a["name"]), a["value"], str(a.get("units") or ""))
        for a in head.get("attributes") or []
    ]
    return Table(
        path=path,
        title=str(head.get("title") or ""),
        analysis=str(head["analysis"]),
        stage=str(head["stage"]),
        name=str(head["name"]),
        version=str(head["version"]),
        step=int(head["step"]),
        time=float(head["time"]),
        time_units=str(head.get("time_units") or ""),
        publications=int(head.get("publications") or 0),
        skipped=int(head.get("skipped") or 0),
        coarsened=int(head.get("coarsened") or 0),
        lost=int(head.get("lost") or 0),
        disabled=str(head.get("disabled") or ""),
        configuration=str(head.get("configuration") or ""),
        parameters={str(n): str(v) for n, v in (head.get("parameters") or {}).items()},
        columns=columns,
        attributes={a.name: a for a in attributes},
        run=str(head.get("run") or ""),
        asked=head.get("stage_parameters") or {},
    )
