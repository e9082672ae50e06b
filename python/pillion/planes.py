# SPDX-License-Identifier: BSD-3-Clause
"""Tables with bins along two axes, and the heat maps that they are shown as.

Such a table has a row for every pair of bins, with edges `lower`, `upper` of the field and
`against_lower`, `against_upper` of what it is counted against. Rows for what lies outside have
infinite edges, and are not shown.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from pillion.tables import Table

EDGES = ("lower", "upper", "against_lower", "against_upper")
SHOWN = (("density_per_dex", "density"), ("weighted_density_per_dex", "weighted_density"))


@dataclass(frozen=True)
class HeatMap:
    """Values in a plane: `values[i, j]` is that between y_edges[i:i+2] and x_edges[j:j+2]."""

    x_label: str
    x_units: str
    x_edges: np.ndarray
    log_x: bool
    y_label: str
    y_units: str
    y_edges: np.ndarray
    log_y: bool
    label: str
    units: str
    values: np.ndarray
    secondary: bool = False


def is_plane(table: Table) -> bool:
    return tuple(table.columns)[:4] == EDGES


def heat_maps_of(table: Table) -> Iterator[HeatMap]:
    """Of the density, and of the weighted one if there is one; those per decade are preferred."""
    inside = np.logical_and.reduce([np.isfinite(table[name]) for name in EDGES])
    y_edges = _edges(table["lower"][inside], table["upper"][inside])
    x_edges = _edges(table["against_lower"][inside], table["against_upper"][inside])
    shape = (len(y_edges) - 1, len(x_edges) - 1)
    if not inside.any() or inside.sum() != shape[0] * shape[1]:
        return
    order = np.lexsort((table["against_lower"][inside], table["lower"][inside]))
    against = _text(table, "against") or "against"
    own = table.name.removeprefix(f"{table.stage}_").removesuffix(f"_against_{against}")
    for names in SHOWN:
        name = next((n for n in names if n in table.columns), None)
        if name is None:
            continue
        yield HeatMap(
            x_label=against.replace("_", " "),
            x_units=table.columns["against_lower"].units,
            x_edges=x_edges,
            log_x=_text(table, "against_scale") == "log",
            y_label=own.replace("_", " "),
            y_units=table.columns["lower"].units,
            y_edges=y_edges,
            log_y=_text(table, "scale") == "log",
            label=name.replace("_", " "),
            units=table.columns[name].units,
            values=table[name][inside][order].reshape(shape),
        )


def _edges(lower: np.ndarray, upper: np.ndarray) -> np.ndarray:
    return np.unique(np.concatenate((lower, upper)))


def _text(table: Table, name: str) -> str:
    attribute = table.attributes.get(name)
    return str(attribute.value) if attribute else ""
