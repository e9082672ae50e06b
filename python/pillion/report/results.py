# SPDX-License-Identifier: BSD-3-Clause
"""The report's results. One table of all diffusion coefficients comes first. Then, for each
analysis, come its tables as plots with their attributes, its pictures, and the names of its other
files.
"""

import json
import re
from base64 import b64encode
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from itertools import count
from pathlib import Path

from pillion import shared_files, units
from pillion.errors import Error
from pillion.report.draw import draw_heat_map, draw_plot
from pillion.report.page import exact, section, table
from pillion.report.planes import HeatMap
from pillion.report.plots import Plot, constants_of, is_list, plots_of, spread
from pillion.step_names import step_pattern
from pillion.tables import Attribute, Table

KINDS = {".png": "image/png", ".jpg": "image/jpeg", ".jpeg": "image/jpeg", ".svg": "image/svg+xml"}
PICTURES_SHOWN = 3  # of one product
LARGEST_SHOWN = 8 << 20  # bytes
DIFFUSION = "diffusion_"
ROWS_SHOWN = 10
METHODS = {
    "msd": "slope of the mean squared displacement",
    "vacf": "integral of the velocity autocorrelation",
}


@dataclass(frozen=True)
class FileProduct:
    """A file, or those of all steps up to the one that the run names, in order."""

    title: str
    stage: str
    paths: list[Path]

    @property
    def is_picture(self) -> bool:
        last = self.paths[-1]
        return last.suffix.lower() in KINDS and last.stat().st_size <= LARGEST_SHOWN


def find_file(path: Path, title: str, stage: str) -> FileProduct:
    """Raises Error if it is not there."""
    if not path.is_file():
        raise Error(f"cannot read {path}: there is no such file")
    return FileProduct(title or path.name, stage, _of_all_steps(path))


def _of_all_steps(path: Path) -> list[Path]:
    match = step_pattern(r"(.+)\.", r"(\.\w+)").fullmatch(path.name)
    if not match:
        return [path]
    alike = step_pattern(re.escape(match[1]) + r"\.", re.escape(match[3]))
    found = {int(m[1]): p for p in path.parent.iterdir() if (m := alike.fullmatch(p.name))}
    return [found[step] for step in sorted(found) if step <= int(match[2])]


def article(product: FileProduct) -> str:
    last = product.paths[-1]
    many = f" · {len(product.paths)} steps" if len(product.paths) > 1 else ""
    where = escape(f"{last.parent.name}/{last.name}")
    size = units.size(_bytes_of(last))
    note = f'<p class="note">stage {escape(product.stage)}{many} · {where}, {size}</p>\n'
    head = f"<h3>{escape(product.title)}</h3>{note}"
    shown = _pictures(spread(product.paths, PICTURES_SHOWN)) if product.is_picture else ""
    return f"<article>\n{head}{shown}\n</article>"


def _bytes_of(path: Path) -> int:
    """Bytes of a file and of folders that it lists: FILE.xmf has FILE_hdf5, FILE.idx has FILE."""
    stem = path.name.split(".")[0]
    folders = [
        other
        for other in path.parent.iterdir()
        if other.is_dir() and (other.name == stem or other.name.startswith(f"{stem}_"))
    ]
    inside = (file for folder in folders for file in folder.rglob("*") if file.is_file())
    return path.stat().st_size + sum(file.stat().st_size for file in inside)


def _pictures(paths: Sequence[Path]) -> str:
    """Pictures embedded in the page, which must be complete in one file."""
    figures = []
    for path in paths:
        try:
            content = b64encode(shared_files.read_bytes(path)).decode("ascii")
        except OSError as error:
            raise Error(f"cannot read {path}: {error.strerror}") from error
        source = f"data:{KINDS[path.suffix.lower()]};base64,{content}"
        figures.append(f'<figure><img alt="{escape(path.name)}" src="{source}"></figure>\n')
    return f'<div class="figures">\n{"".join(figures)}</div>'


@dataclass(frozen=True)
class Series:
    """A product: its table, or those of some of its `steps`, in order."""

    tables: list[Table]
    steps: int

    @property
    def last(self) -> Table:
        return self.tables[-1]


Result = Series | FileProduct


def sections(
    products: Mapping[str, Sequence[Result]], order: Sequence[str], problems: list[str]
) -> list[str]:
    """Sections of analyses in an order, others behind; adds what could not be shown."""
    numbers = count(1)
    places = {name: place for place, name in enumerate(order)}
    products = dict(sorted(products.items(), key=lambda item: places.get(item[0], len(places))))
    results = [result for made in products.values() for result in made]
    found = [diffusion_section([made.last for made in results if isinstance(made, Series)])]
    for analysis, made in products.items():
        parts = [_part(result, numbers, problems) for result in made]
        found.append(section(analysis, "\n".join(parts)))
    return found


def _part(result: Result, numbers: Iterator[int], problems: list[str]) -> str:
    """A product. If it cannot be drawn, for any reason, the others are shown all the same."""
    try:
        return _product(result, numbers) if isinstance(result, Series) else article(result)
    except Exception as error:
        path = result.last.path if isinstance(result, Series) else result.paths[-1]
        problems.append(f"{path} cannot be shown: {str(error) or type(error).__name__}")
        return f'<p class="note">{escape(path.name)} cannot be shown; see the warnings.</p>'


def diffusion_section(tables: Iterable[Table]) -> str:
    """Every attribute diffusion_NAME, as the stage gives it and in 1e-9 m²/s."""
    rows = []
    for made in tables:
        for attribute in made.attributes.values():
            if attribute.name.startswith(DIFFUSION) and not isinstance(attribute.value, str):
                rows.append(_diffusion_row(made, attribute))
    if not rows:
        return ""
    heads = ["of", "analysis", "from", "as computed", "in 10<sup>−9</sup> m<sup>2</sup>/s"]
    if not any(row[-1] for row in rows):  # units without a length and a time in them
        heads, rows = heads[:-1], [row[:-1] for row in rows]
    note = (
        '<p class="note">No error of these is estimated: digits are those of the computation.</p>'
    )
    return section("Diffusion coefficients", table(heads, rows, "numbers") + note)


def _diffusion_row(made: Table, attribute: Attribute) -> list[str]:
    value = float(attribute.value)
    si = units.diffusion_in_si(value, attribute.units)
    return [
        escape(attribute.name.removeprefix(DIFFUSION)),
        escape(made.analysis),
        METHODS.get(made.stage, escape(made.stage)),
        exact(f"{units.number(value)} {units.as_html(attribute.units)}", value, attribute.units),
        "" if si is None else exact(f"<strong>{units.number(si)}</strong>", si, "1e-9 m²/s"),
    ]


def _product(series: Series, numbers: Iterator[int]) -> str:
    last = series.last
    plots = plots_of(series.tables)
    first = [_figure(plot, number) for plot, number in zip(_of(plots, False), numbers)]
    folded = [_figure(plot, number) for plot, number in zip(_of(plots, True), numbers)]
    parts = [f"<h3>{escape(last.title or last.name)}</h3>", _origin(series), _attributes(last)]
    if first:
        parts.append(f'<div class="figures">\n{"".join(first)}</div>')
    if folded:
        parts.append(
            f"<details><summary>More curves: components, counts and the like</summary>\n"
            f'<div class="figures">\n{"".join(folded)}</div></details>'
        )
    if is_list(last) and last.rows > 0:
        parts.append(_first_rows(last))
    elif not plots:
        parts.append('<p class="note">There is nothing to plot.</p>')
    return f"<article>\n{''.join(parts)}\n</article>"


def _first_rows(made: Table) -> str:
    """The head of a list."""
    shown = range(min(made.rows, ROWS_SHOWN))
    heads = [
        f"{escape(name.replace('_', ' '))} {units.as_html(column.units)}".strip()
        for name, column in made.columns.items()
    ]
    rows = [[_cell(column.values[i]) for column in made.columns.values()] for i in shown]
    note = f'<p class="note">The first {len(shown)} of {units.count(made.rows)} rows.</p>'
    return table(heads, rows) + (note if made.rows > len(shown) else "")


def _cell(value: float | int) -> str:
    if isinstance(value, float):
        return exact(units.number(value, 6), value, "")
    return str(value)


def _of(plots: Iterable[Plot | HeatMap], secondary: bool) -> list[Plot | HeatMap]:
    return [plot for plot in plots if plot.secondary is secondary]


def _figure(plot: Plot | HeatMap, number: int) -> str:
    prefix = f"plot{number}"
    svg = draw_plot(plot, prefix) if isinstance(plot, Plot) else draw_heat_map(plot, prefix)
    return f"<figure>{svg}</figure>\n"


def _origin(series: Series) -> str:
    last = series.last
    when = f"step {last.step}, time {units.number(last.time, 6)} {units.as_html(last.time_units)}"
    if series.steps > 1:
        when = f"{series.steps} steps from {series.tables[0].step} to {last.step}"
    gaps = [("skipped", last.skipped), ("coarsened", last.coarsened), ("lost", last.lost)]
    missing = "".join(f", {units.count(number)} {name}" for name, number in gaps if number)
    publications = f"{units.count(last.publications)} publications{missing}"
    if last.disabled:
        publications += f", then disabled: {escape(last.disabled)}"
    path = escape(f"{last.path.parent.name}/{last.path.name}")
    head = f'<p class="note">stage {escape(last.stage)} · {when} · {publications} · {path}</p>\n'
    return head + _parameters(last)


def _parameters(made: Table) -> str:
    """The parameters of the stage, with defaults."""
    shown = [
        f"{name}: {value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)}"
        for name, value in made.asked.items()
        if value not in (None, {}, [])
    ]
    return f'<p class="note">with {escape(", ".join(shown))}</p>\n' if shown else ""


def _attributes(made: Table) -> str:
    """The attributes of the whole table; coefficients have their own section."""
    items = [
        f"<div><dt>{escape(a.name.replace('_', ' '))}</dt>"
        f"<dd>{units.number(a.value, 6)} {units.as_html(a.units)}</dd></div>"
        for a in made.attributes.values()
        if not a.name.startswith(DIFFUSION)
    ]
    items += [
        f"<div><dt>{escape(name.replace('_', ' '))}</dt><dd>{units.count(value)}</dd></div>"
        for name, value in constants_of(made).items()
    ]
    return f"<dl>{''.join(items)}</dl>\n" if items else ""
