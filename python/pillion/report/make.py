# SPDX-License-Identifier: BSD-3-Clause
"""Makes one HTML page of a run: results as plots, and the cost of every analysis.

The page is whole by itself: plots are inline SVG, the style is inline, and nothing is loaded from
anywhere. It is written aside and renamed into place. A product that cannot be read does not hide
the others: the page and the caller report the fault.
"""

from dataclasses import dataclass, replace
from glob import escape
from pathlib import Path

from pillion.errors import Error
from pillion.report import page, results, sections
from pillion.report.page import write_whole
from pillion.report.plots import STEPS_SHOWN, spread
from pillion.report.results import Result, Series, find_file
from pillion.report.run import Product, Run, read_attached_jobs, with_attached_jobs
from pillion.report.unfinished import read_any_run
from pillion.run_files import Owner, run_of_table
from pillion.step_names import has_step, step_pattern
from pillion.tables import FOLDER, Table, read_comparison, read_table


@dataclass(frozen=True)
class Made:
    """Path of a page, and what could not be put on it."""

    path: Path
    problems: list[str]


def make_report(
    folder: str | Path, to: str | Path | None = None, compare: str | Path | None = None
) -> Made:
    """Writes FOLDER/report.html, or `to`, from the reports in FOLDER and the tables they name.

    Curves to compare tables with are in the folder `compare`, or in FOLDER/compare.

    A run that has no report yet, or that was killed, gets a page of its progress and its products.
    Raises Error if there is neither report nor progress, if they are broken, or if the page cannot
    be written.
    """
    folder = Path(folder)
    path = Path(to) if to is not None else folder / "report.html"
    own = read_any_run(folder)
    visitors, problems = read_attached_jobs(own)
    run = with_attached_jobs(own, visitors)
    products, product_problems = _read_products(run, Path(compare or folder / FOLDER))
    timeline, timeline_problems = sections.timeline_section(run)
    visits, visit_problems = sections.attached_job_sections(visitors)
    problems += product_problems + timeline_problems + visit_problems
    order = [analysis.name for analysis in run.analyses]
    shown = results.sections(products, order, problems)
    parts = [
        sections.summary_section(run),
        page.warnings_section([*run.warnings, *_failures(run), *problems]),
        page.remarks_section(run.remarks),
        *shown,
        sections.cost_section(run),
        timeline,
        *visits,
        sections.configuration_section(run),
    ]
    write_whole(path, page.document(f"Pillion run report: {folder.resolve().name}", parts))
    return Made(path, problems)


def _failures(run: Run) -> list[str]:
    """Analyses that ended early, unless a warning already names the reason."""
    return [
        f"analysis {analysis.name} was disabled: {analysis.failure}"
        for analysis in run.analyses
        if analysis.failure and not any(analysis.failure in text for text in run.warnings)
    ]


def _read_products(run: Run, compare: Path) -> tuple[dict[str, list[Result]], list[str]]:
    """Products by analysis, and what went wrong."""
    found: dict[str, list[Result]] = {}
    problems = []
    for product in run.products:
        try:
            path = _inside(run.folder, product)
            beside = compare / path.parent.relative_to(run.folder.resolve())
            result = _read_product(run, product, path, beside)
        except Error as error:
            problems.append(str(error))
            continue
        found.setdefault(product.analysis, []).append(result)
    return found, problems


def _read_product(run: Run, product: Product, path: Path, compare: Path) -> Result:
    if path.suffix == ".csv":
        return _read_series(run.owner, path, compare)
    return find_file(path, product.title, product.stage)


def _inside(folder: Path, product: Product) -> Path:
    try:
        path = (folder / product.path).resolve()
    except ValueError as error:  # a path with a null byte
        raise Error(f"the product {product.path!r} has no path: {error}") from error
    if not path.is_relative_to(folder.resolve()):
        raise Error(f"the product {product.path} lies outside the output folder")
    return path


def _read_series(owner: Owner, path: Path, compare: Path) -> Series:
    """A table, or, of a product with a file per step, tables of some steps up to this one. Tables
    of other runs are left out.
    """
    match = step_pattern(r"(.+)\.", r"\.csv").fullmatch(path.name)
    if not match:
        _expect_own(owner, path)
        return Series([_read_compared(path, compare)], 1)
    steps = {
        int(other.name.split(".")[-2]): other
        for other in path.parent.glob(f"{escape(match[1])}.*.csv")
        if has_step(other.stem)
    }
    if int(match[2]) not in steps:
        raise Error(f"cannot read {path}: there is no such file")
    _expect_own(owner, path)
    until = [steps[step] for step in sorted(steps) if step <= int(match[2])]
    paths = [other for other in until if owner.has_made(run_of_table(other))]
    shown = spread(paths, STEPS_SHOWN)
    return Series([_read_compared(chosen, compare) for chosen in shown], len(paths))


def _expect_own(owner: Owner, path: Path) -> None:
    if not owner.has_made(made := run_of_table(path)):
        raise Error(f"{path} is of run {made}, not of run {owner.id} that is reported")


def _read_compared(path: Path, compare: Path) -> Table:
    return replace(read_table(path), comparison=read_comparison(compare / path.name))
