# SPDX-License-Identifier: BSD-3-Clause
"""Selects the plots for a table: a pure function from tables to plain descriptions of plots.

The first column is x. The others are grouped by the text before their first underscore and by
units, one plot per group, one curve per column; minimum, mean and maximum go together. Errors and
bounds, as roles of columns say, are drawn with the column that they are about. Some columns are of
second rank: their plots are folded in the page. These are Cartesian components of a column that the
table also has, counts and weights, integers beside reals, and columns NAME_OTHER over x_OTHER,
where x has another form of that name.

Tables of one name made at several steps share a plot. Tables with bins along two axes and slices
become heat maps (planes.py). Curves to compare a table with are drawn beside its own. Lists of
things that have an id get no plot: nothing is a function of an id.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import TypeVar

import numpy as np

from pillion import units
from pillion.column_roles import Role
from pillion.report.planes import HeatMap, heat_maps_of, is_plane, is_slice, slices_of
from pillion.tables import Column, Table

COMPONENTS = {"x", "y", "z", "xx", "yy", "zz", "xy", "xz", "yz"}
EDGES = {("lo", "hi"), ("low", "high"), ("lower", "upper"), ("left", "right")}
STATISTIC = re.compile(r"(min|mean|max|standard_deviation|rms|count|not_finite)(?:_(.+))?")
NAMES = {
    "rdf": {"g": "g(r)", "n": "coordination number"},
    "msd": {"msd": "mean squared displacement"},
    "vacf": {"vacf": "velocity autocorrelation", "diffusion": "diffusion coefficient so far"},
    "lyman_alpha": {"effective": "effective optical depth"},
}
HIGHEST = {
    "coordination number": 20.0
}  # a coordination number beyond the first shells says nothing
LONE = 0.9  # share of a histogram in one bin from which on the others need a logarithmic axis
WIDE = 1e3  # densities that vary by this factor over bins of equal ratio get a logarithmic axis
LEVELS = {"g(r)": 1.0, "velocity autocorrelation": 0.0}  # what curves of that name tend to
STEPS_SHOWN = 6
SLICES_SHOWN = 4
Item = TypeVar("Item")


@dataclass(frozen=True)
class Curve:
    """One line; `key` names the column, and the step if there are several. `lower` and `upper` are
    the ends of an interval about each value: a standard error to both sides, or bounds.
    """

    key: str
    label: str
    x: np.ndarray
    y: np.ndarray
    lower: np.ndarray | None = None
    upper: np.ndarray | None = None


@dataclass(frozen=True)
class Plot:
    """Axes with curves. `edges` says that x holds bin edges, one more than y has values; then
    `compared` are curves over points all the same. They go with the curve of that number.
    """

    x_label: str
    x_units: str
    y_label: str
    y_units: str
    curves: list[Curve]
    secondary: bool = False
    edges: bool = False
    log_x: bool = False
    log_y: bool = False
    over_steps: bool = False
    level: float | None = None
    highest: float | None = None  # of the y axis, if curves go beyond it
    compared: list[tuple[int, Curve]] = field(default_factory=list)


@dataclass(frozen=True)
class _Place:
    """The plot that a column belongs to: columns with equal places share a plot."""

    name: str
    units: str
    secondary: bool
    x: str


@dataclass
class _Group:
    place: _Place
    members: list[tuple[Column, str]] = field(default_factory=list)  # with their labels


def spread(items: Sequence[Item], most: int) -> list[Item]:
    """At most `most` items, evenly chosen, the first and the last among them."""
    if len(items) <= most:
        return list(items)
    return [items[round(i * (len(items) - 1) / (most - 1))] for i in range(most)]


def plots_of(tables: Sequence[Table]) -> Sequence[Plot | HeatMap]:
    """Plots of one product: a table, or its tables at several steps in order of the steps."""
    last = tables[-1]
    if last.rows == 0 or is_list(last):
        return []
    if is_slice(last):
        return slices_of(spread(tables, SLICES_SHOWN))
    return list(heat_maps_of(last)) if is_plane(last) else _plots_of(tables)


def is_list(table: Table) -> bool:
    """Whether its rows are things, each with an id, and not points of curves."""
    return next(iter(table.columns), "") == "id"


def _plots_of(tables: Sequence[Table]) -> list[Plot]:
    chosen = spread(tables, STEPS_SHOWN)
    last = chosen[-1]
    plots = []
    for group in _groups(last):
        over_steps = len(group.members) == 1 and len(chosen) > 1
        curves = [c for table in (chosen if over_steps else [last]) for c in _curves(table, group)]
        shown = chosen if over_steps else [last] * len(curves)
        compared = list(_compared(curves, shown))
        if over_steps:
            curves = [_of_step(c, t) for c, t in zip(curves, chosen, strict=True)]
        if any(np.isfinite(curve.y).any() for curve in curves):
            plots.append(_plot(last, group, curves, over_steps, compared))
    return sorted(plots, key=lambda plot: plot.secondary)


def constants_of(table: Table) -> dict[str, int]:
    """Integer columns with one value in all rows, which are not drawn as curves."""
    return {
        name: int(column.values[0])
        for name, column in table.columns.items()
        if name not in abscissa(table)[1] and _is_constant(table, column)
    }


def _is_constant(table: Table, column: Column) -> bool:
    return bool(
        _has_reals(table)
        and column.values.dtype.kind == "i"
        and table.rows > 0
        and (column.values == column.values[0]).all()
    )


def _has_reals(table: Table) -> bool:
    taken = abscissa(table)[1]
    return any(c.values.dtype.kind == "f" for name, c in table.columns.items() if name not in taken)


def bin_edges(table: Table) -> tuple[str, str] | None:
    """Names of the columns that hold the lower and upper edges of adjoining bins."""
    names = list(table.columns)[:2]
    if tuple(names) not in EDGES:
        return None
    low, high = (table[name] for name in names)
    return (names[0], names[1]) if np.array_equal(low[1:], high[:-1]) else None


def abscissa(table: Table) -> tuple[str, set[str]]:
    """Name of the x column, and names of columns that are other forms of it."""
    if edges := bin_edges(table):
        return edges[0], set(edges)
    first = next(iter(table.columns))
    if first == "step" and "time" in table.columns:
        return "time", {"step", "time", "redshift"}
    return first, {first, *(name for name in table.columns if name.startswith(f"{first}_"))}


def called(table: Table, name: str) -> str:
    """The quantity that a column of that name holds in tables of this stage."""
    return NAMES.get(table.stage, {}).get(name, name)


def subject(table: Table) -> str:
    """The field that a table is about, for tables called STAGE_FIELD."""
    return table.name.removeprefix(f"{table.stage}_").replace("_", " ")


def _place_and_label(table: Table, column: Column) -> tuple[_Place, str]:
    words = column.name.split("_")
    x, taken = abscissa(table)
    if (own := f"{x}_{'_'.join(words[1:])}") in taken:
        return _Place(words[0], column.units, True, own), words[0]
    if words[-2:] == ["per", "dex"]:
        return _Place(" ".join(words), column.units, False, x), " ".join(words)
    component = any(
        "_".join(words[:i] + words[i + 1 :]) in table.columns
        for i in range(1, len(words))
        if words[i] in COMPONENTS
    )
    secondary = component or (_has_reals(table) and column.values.dtype.kind == "i")
    secondary = secondary or column.role is not Role.VALUE or table.stage.startswith("write_")
    secondary = secondary or "_".join(words[1:]) in _without_coefficient(table)
    if match := STATISTIC.fullmatch(column.name):
        what = match[1].replace("_", " ")
        part = (match[2] or "").replace("_", "–")
        if match[1] in ("min", "mean", "max"):
            secondary = secondary or bin_edges(table) is not None
            return _Place(part or subject(table), column.units, secondary, x), what
        return _Place(what, column.units, secondary or match[1] == "rms", x), part or what
    label = "–".join(words[1:]) or called(table, words[0])
    return _Place(words[0], column.units, secondary, x), label


def _without_coefficient(table: Table) -> list[str]:
    """Species whose curves have a meaningless integral, as the stage says."""
    said = table.attributes.get("no_diffusion_coefficient")
    return str(said.value).partition(": ")[2].split(", ") if said else []


def _groups(table: Table) -> Iterator[_Group]:
    taken = abscissa(table)[1]
    groups: dict[_Place, _Group] = {}
    for name, column in table.columns.items():
        if name not in taken and not column.role.needs_column and not _is_constant(table, column):
            place, label = _place_and_label(table, column)
            groups.setdefault(place, _Group(place)).members.append((column, label))
    yield from groups.values()


def _curves(table: Table, group: _Group) -> Iterator[Curve]:
    x = table[group.place.x]
    if edges := bin_edges(table):
        x = np.append(x, table[edges[1]][-1:])
    for column, label in group.members:
        own = table.columns.get(column.name)
        y = own.values if own else np.full(len(x), np.nan)
        yield Curve(column.name, label, x, y, *interval_of(table, column.name))


def interval_of(table: Table, name: str) -> tuple[np.ndarray | None, np.ndarray | None]:
    """The ends of the interval about each value of a column; None if the table has none."""
    lower, upper = table.about(name, Role.LOWER), table.about(name, Role.UPPER)
    if lower is not None and upper is not None:
        return lower.values, upper.values
    error = table.about(name, Role.ERROR)
    if error is None:
        return None, None
    return table[name] - error.values, table[name] + error.values


def _compared(curves: Sequence[Curve], tables: Sequence[Table]) -> Iterator[tuple[int, Curve]]:
    """The curves to compare with: for each curve, from the comparison of its table."""
    for number, (curve, table) in enumerate(zip(curves, tables, strict=True)):
        other = table.comparison
        if other is not None and curve.key in other.columns:
            label = other.label
            yield number, Curve(f"{label} of {curve.key}", label, other.x, other.columns[curve.key])


def _of_step(curve: Curve, table: Table) -> Curve:
    key = f"{curve.key} at step {table.step}"
    label = units.moment(table.step, table.time, table.time_units)
    return replace(curve, key=key, label=label)


def _is_log(table: Table, name: str) -> bool:
    attribute = table.attributes.get(name)
    return attribute is not None and attribute.value == "log"


def _are_wide(curves: Sequence[Curve]) -> bool:
    values = np.concatenate([curve.y[curve.y > 0] for curve in curves])
    return values.size > 0 and bool(values.max() > WIDE * values.min())


def _is_in_one_bin(curves: Sequence[Curve]) -> bool:
    """Whether one bin has nearly all of what is in some, so that others could not be seen."""
    for curve in curves:
        inside = np.nan_to_num(curve.y * np.diff(curve.x), posinf=0.0, neginf=0.0)
        total = inside.sum()
        if total > 0 and (inside > 0).sum() > 1 and inside.max() > LONE * total:
            return True
    return False


def _highest(name: str, curves: Sequence[Curve]) -> float | None:
    most = HIGHEST.get(name)
    tall = most is not None and any((curve.y > most).any() for curve in curves)
    return most if tall else None


def _plot(
    table: Table,
    group: _Group,
    curves: list[Curve],
    over_steps: bool,
    compared: list[tuple[int, Curve]],
) -> Plot:
    x_name = group.place.x
    edges = bin_edges(table) is not None
    own_units = table.columns[x_name].units
    logarithmic = _is_log(table, "scale")
    positive = all((curve.x > 0).all() for curve in curves)
    if edges:
        log_y = _is_log(table, f"{group.place.name}_scale") or (
            group.place.name == "density"
            and (_are_wide(curves) if logarithmic else _is_in_one_bin(curves))
        )
    else:
        log_y = logarithmic and positive and any((curve.y > 0).any() for curve in curves)
    if log_y:
        curves = [replace(curve, y=np.where(curve.y > 0, curve.y, np.nan)) for curve in curves]
        kept = [n for n, curve in enumerate(curves) if np.isfinite(curve.y).any()]
        curves = [curves[n] for n in kept]
        compared = [(kept.index(n), curve) for n, curve in compared if n in kept]
    return Plot(
        x_label=subject(table) if edges else x_name.replace("_", " "),
        x_units=own_units or (table.time_units if x_name == "time" else ""),
        y_label=called(table, group.place.name),
        y_units=group.place.units,
        curves=curves,
        secondary=group.place.secondary,
        edges=edges,
        log_x=logarithmic and (edges or positive),
        log_y=log_y,
        over_steps=over_steps,
        level=None if group.place.secondary else LEVELS.get(called(table, group.place.name)),
        highest=_highest(called(table, group.place.name), curves),
        compared=compared,
    )
