# SPDX-License-Identifier: BSD-3-Clause
"""The overview of a collection of results, as text and as HTML: a line for each product. At most
one head of each product is read. If a product cannot be read, its line says why, and the others are
still shown.
"""

import time
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from html import escape
from pathlib import Path

from pillion import units
from pillion.datasets.kept import Kept
from pillion.datasets.listing import Product
from pillion.errors import Error
from pillion.liveness import state_of
from pillion.progress import Parts, Progress, State
from pillion.report.planes import AXES, EDGES
from pillion.report.plots import EDGES as BIN_EDGES
from pillion.report.run import Run
from pillion.run_files import Owner
from pillion.tables import Head, read_head

VARIABLES_SHOWN = 3  # in a line of text; a notebook has room for twice as many
SKEW = 5.0  # seconds by which clocks of file servers may differ
heads: Kept[Head] = Kept(read_head, 1 << 62)
STYLE = """
.pillion-results table {border-collapse: collapse; margin: .4em 0; font-size: inherit}
.pillion-results th, .pillion-results td {text-align: left; padding: .25em 1em .25em 0;
  border: 0; background: none; vertical-align: baseline}
.pillion-results thead th {font-weight: normal; opacity: .6; border-bottom: 1px solid}
.pillion-results tr.first td, .pillion-results tr.first th {padding-top: .7em}
.pillion-results .faint {opacity: .6}
.pillion-results code {background: none; font-size: 95%}
"""


@dataclass(frozen=True)
class Line:
    """A product: its axes with their lengths where these are known, its variables with units."""

    key: str
    title: str
    axes: list[tuple[str, int | None]]
    variables: list[tuple[str, str]]
    steps: list[int]
    age: float
    problem: str = ""
    is_old: bool = False  # its newest file was there before the run began
    run: str = ""  # id of the run that made its newest file; "" if that is not known


@dataclass(frozen=True)
class Overview:
    """An output folder with its products by key, and its run: the `owner`, the time when it
    `started` (0 if no file has it), and its state in a few words.
    """

    path: Path
    products: Mapping[str, Product]
    owner: Owner | None
    started: float
    state: str


def lines_of(seen: Overview) -> list[Line]:
    now = time.time()
    running_for = now - seen.started
    lines = [_line(product, now) for product in seen.products.values()]
    owner = seen.owner

    def is_old(line: Line) -> bool:
        if owner is not None and line.run:
            return not owner.has_made(line.run)
        return line.age > running_for + SKEW

    return [replace(line, is_old=is_old(line)) for line in lines]


def start_of(progress: Parts | None, report: Run | None) -> float:
    """The start of the run that writes, or wrote last, in a folder; 0 if no file has it. It
    is on the clock of the file system, if there is a file of progress to compare the clocks by.
    """
    if progress is not None:
        return min(part.started + _file_time_less_own(part) for part in progress.all)
    return datetime.fromisoformat(str(report.facts["started"])).timestamp() if report else 0.0


def _file_time_less_own(part: Progress) -> float:
    """The time at which a file was written, by the file system's clock less by the writer's."""
    try:
        return part.path.stat().st_mtime - part.written
    except OSError:  # replaced just now, or gone
        return 0.0


def _line(product: Product, now: float) -> Line:
    try:
        age = max(0.0, now - product.newest.stat().st_mtime)
    except OSError:  # gone since
        age = float("nan")
    try:
        if product.kind in ("table", "steps"):
            return _of_table(product, age)
        return _of_fields(product, age)
    except Error as error:
        return Line(product.key, "", [], [], [*product.steps], age, str(error))


def _of_table(product: Product, age: float) -> Line:
    head = heads(product.newest)
    names = list(head.columns)
    axes, taken = _axes(names)
    if product.kind == "steps":
        axes.insert(0, ("step", len(product.steps)))
    elif len(axes) == 1:
        axes = [(axes[0][0], head.rows)]
    shown = [(name, head.columns[name]) for name in names if name not in taken]
    steps = [*product.steps] or [head.step]
    return Line(product.key, head.title, axes, shown, steps, age, run=head.run)


def _axes(names: list[str]) -> tuple[list[tuple[str, int | None]], set[str]]:
    """As frames have them, by the names of columns alone; and the columns that these are."""
    found: tuple[str, ...]
    if names[0] == "id":
        return [("row", None)], {"id"}
    if tuple(names[:4]) == EDGES:
        found, taken = ("bin", "against_bin"), {*EDGES}
    elif len(names) == 3 and {*names[:2]} <= {*AXES}:
        found, taken = (names[1], names[0]), {*names[:2]}
    elif tuple(names[:2]) in BIN_EDGES:
        found, taken = ("bin",), {*names[:2]}
    else:
        others = {"time", "redshift"} if names[0] == "step" else set()
        found = (names[0],)
        taken = {n for n in names if n == names[0] or n.startswith(f"{names[0]}_")} | others
    return [(name, None) for name in found], taken


def _of_fields(product: Product, age: float) -> Line:
    from pillion.datasets.products import stored_of  # which imports xarray

    stored = stored_of(product)
    axes: dict[str, int | None] = {} if stored.is_chain else {"step": len(stored.steps)}
    for of in stored.fields.values():
        axes |= zip(of.dims, of.shape, strict=True)
    if stored.is_chain:
        counted = (stored.item_axis, *stored.more_counts)
        axes |= {axis: sum(stored.counts_along(axis)) for axis in counted}
    variables = [(name, of.units) for name, of in stored.fields.items()]
    title = str(stored.attrs.get("title", ""))
    run = str(stored.attrs.get("run", ""))
    return Line(product.key, title, [*axes.items()], variables, [*stored.steps], age, run=run)


def state_text(progress: Parts | None, has_ended: bool) -> str:
    """How the run is, in a few words; "" if nothing is known."""
    if progress is not None and progress.simulation is not None:
        state = state_of(progress.simulation)
        step = "" if progress.simulation.step is None else f", step {progress.simulation.step}"
        words = {
            State.GONE: "ended without a word",
            State.RUNNING: "is active",
            State.SILENT: "has shown no sign of life yet",
        }
        return f"the run {words.get(state, state.value)}{step}"
    return "the run has ended" if has_ended else ""


def _axes_text(line: Line) -> str:
    return ", ".join(f"{name}: {n}" if n is not None else name for name, n in line.axes)


def _variables(line: Line, most: int = VARIABLES_SHOWN) -> list[tuple[str, str]]:
    """Those with units first, for the others are mostly counts."""
    found = sorted(line.variables, key=lambda variable: not variable[1])
    return found if len(found) <= most else [*found[: most - 1], ("…", "")]


def _steps_text(line: Line) -> str:
    if not line.steps:
        return ""
    first, last = line.steps[0], line.steps[-1]
    return f"{last}" if first == last else f"{first} … {last}"


def _age_text(line: Line) -> str:
    """In one unit; it need not be exact."""
    if line.age != line.age:
        return ""
    spans = ((86400, "days"), (3600, "h"), (60, "min"), (1, "s"))
    text = next((f"{line.age / s:.0f} {unit} ago" for s, unit in spans if line.age >= 2 * s), "")
    other = f", of run {line.run}" if line.run else ", before this run"
    return (text or "just now") + (other if line.is_old else "")


def as_text(seen: Overview) -> str:
    """A line for each product: key, axes, variables, steps and how long ago it has changed."""
    lines = lines_of(seen)
    many = f"{len(lines)} product{'' if len(lines) == 1 else 's'}"
    head = ", ".join(filter(None, [f"Results in {seen.path}: {many}", seen.state]))
    rows = [
        [line.key, f"!! {line.problem}"]
        if line.problem
        else [
            line.key,
            f"({_axes_text(line)})",
            ", ".join(f"{n} [{u}]" if u else n for n, u in _variables(line)),
            f"step {_steps_text(line)}",
            _age_text(line),
        ]
        for line in lines
    ]
    widths = [max((len(r[c]) for r in rows if len(r) == 5), default=0) for c in range(4)]
    widths[0] = max((len(r[0]) for r in rows), default=0)
    padded = (
        "  ".join(t.ljust(w) for t, w in zip(row, [*widths, 0], strict=False)).rstrip()
        for row in rows
    )
    return "\n".join([head, *(f"  {text}" for text in padded)])


def as_html(seen: Overview) -> str:
    """The same as a table, grouped by analysis."""
    rows, before = [], ""
    for line in lines_of(seen):
        analysis, _, name = line.key.partition("/")
        rows.append(_html_row(line, name, analysis if analysis != before else ""))
        before = analysis
    state = f' <span class="faint">{escape(seen.state)}</span>' if seen.state else ""
    heads_ = "".join(
        f"<th>{n}</th>" for n in ("analysis", "product", "axes", "variables", "steps", "")
    )
    return (
        f'<div class="pillion-results"><style>{STYLE}</style>'
        f"<strong>Results in {escape(str(seen.path))}</strong>{state}"
        f"<table><thead><tr>{heads_}</tr></thead>\n<tbody>{''.join(rows)}</tbody></table></div>"
    )


def _html_row(line: Line, name: str, analysis: str) -> str:
    opening = '<tr class="first">' if analysis else "<tr>"
    start = f"{opening}<th>{escape(analysis)}</th><td><code>{escape(name)}</code></td>"
    if line.problem:
        return f'{start}<td colspan="4">⚠ {escape(line.problem)}</td></tr>\n'
    variables = ", ".join(
        f"{escape(n)}" + (f' <span class="faint">{units.as_html(u)}</span>' if u else "")
        for n, u in _variables(line, 2 * VARIABLES_SHOWN)
    )
    cells = [_axes_html(line), variables, _steps_text(line), _age_text(line)]
    tip = f' title="{escape(line.title)}"' if line.title else ""
    return (
        start.replace("<td>", f"<td{tip}>")
        + "".join(f"<td>{cell}</td>" for cell in cells[:3])
        + f'<td class="faint">{cells[3]}</td></tr>\n'
    )


def _axes_html(line: Line) -> str:
    return " × ".join(
        escape(name) + (f' <span class="faint">{units.count(n)}</span>' if n is not None else "")
        for name, n in line.axes
    )
