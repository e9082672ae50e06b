# SPDX-License-Identifier: BSD-3-Clause
"""Tables over two axes, and the heat maps that they are shown as.

A histogram in two dimensions has a row for every pair of bins, with edges `lower`, `upper` of the
field and `against_lower`, `against_upper` of what it is counted against. Rows for what lies outside
have infinite edges, and are not shown. A slice through a mesh has a row for every pixel, with two
of `x`, `y`, `z` and the field's `mean` there.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from pillion import units
from pillion.tables import Table

AXES = ("x", "y", "z")
DIM = 0.1  # of the range: values below this are dark in a linear picture
MOST_DIM = 0.9  # share of pixels that may be dark before colours are logarithmic
DECADES = 1e-4  # of the highest value: logarithmic colours begin there
MOST_KINDS = 12  # integers that have a colour each
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
    log_values: bool = True  # then only values above 0 are shown
    limits: tuple[float, float] | None = None  # of the colours; that of the values if None
    kinds: tuple[int, ...] = ()  # integers with a colour each, in place of limits
    title: str = ""
    equal: bool = False  # lengths along both axes are drawn alike


def is_plane(table: Table) -> bool:
    return tuple(table.columns)[:4] == EDGES


def heat_maps_of(table: Table) -> Iterator[HeatMap]:
    """A heat map of the density, and one of the weighted density if there is one; columns per
    decade are preferred.
    """
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


def is_slice(table: Table) -> bool:
    names = list(table.columns)
    return len(names) == 3 and names[0] != names[1] and {*names[:2]} <= {*AXES}


def slices_of(tables: Sequence[Table]) -> list[HeatMap]:
    """One heat map for each step, all with the same colours."""
    values = np.concatenate([table[list(table.columns)[2]] for table in tables])
    values = values[np.isfinite(values)]
    if values.size == 0:
        return []
    colours = _colours(values)
    return [_slice(table, colours) for table in tables]


@dataclass(frozen=True)
class _Colours:
    """A range of values that colours stand for, by logarithms or not; or some integers."""

    limits: tuple[float, float]
    log: bool = False
    kinds: tuple[int, ...] = ()


def _colours(values: np.ndarray) -> _Colours:
    """Logarithmic where a linear picture would show next to nothing of what most pixels have, and
    logarithms within the decades that are shown would.
    """
    kinds = np.unique(values)
    if len(kinds) <= MOST_KINDS and (kinds == np.round(kinds)).all() and np.ptp(kinds) < 100:
        return _Colours((float(kinds[0]), float(kinds[-1])), kinds=tuple(map(int, kinds)))
    low, high = map(float, np.percentile(values, (0.1, 99.9)))
    dim = np.mean(values < low + DIM * (high - low))
    if low >= 0 and dim > MOST_DIM and np.median(values) > DECADES * high:
        return _Colours((max(low, DECADES * high), high), log=True)
    return _Colours((low, high))


def _slice(table: Table, colours: _Colours) -> HeatMap:
    x, y, mean = table.columns.values()
    x_edges, y_edges = _around(x.values), _around(y.values)
    values = np.full((len(y_edges) - 1, len(x_edges) - 1), np.nan)
    values[np.searchsorted(y_edges, y.values) - 1, np.searchsorted(x_edges, x.values) - 1] = (
        mean.values
    )
    return HeatMap(
        x_label=x.name,
        x_units=x.units,
        x_edges=x_edges,
        log_x=False,
        y_label=y.name,
        y_units=y.units,
        y_edges=y_edges,
        log_y=False,
        label=table.name.removeprefix(f"{table.stage}_")[:-2].replace("_", " "),
        units=mean.units,
        values=values,
        log_values=colours.log,
        limits=colours.limits,
        kinds=colours.kinds,
        title=units.moment(table.step, table.time, table.time_units),
        equal=True,
    )


def _around(centres: np.ndarray) -> np.ndarray:
    """Edges of pixels with these centres."""
    at = np.unique(centres)
    if len(at) == 1:
        return np.array([at[0] - 0.5, at[0] + 0.5])
    middle = (at[1:] + at[:-1]) / 2
    return np.concatenate(([2 * at[0] - middle[0]], middle, [2 * at[-1] - middle[-1]]))


def _edges(lower: np.ndarray, upper: np.ndarray) -> np.ndarray:
    return np.unique(np.concatenate((lower, upper)))


def _text(table: Table, name: str) -> str:
    attribute = table.attributes.get(name)
    return str(attribute.value) if attribute else ""
