# SPDX-License-Identifier: BSD-3-Clause
"""The summary when a run has ended: its status, its products, their cost, and publications left
out; or where to look if it failed. Pure.
"""

import signal
from pathlib import Path

from rich.console import Group, RenderableType
from rich.text import Text

from pillion.progress import State
from pillion.report.run import Analysis, Product, Run
from pillion.units import seconds
from pillion.watch.columns import FINAL, analyses, count
from pillion.watch.draw import ACCENT
from pillion.watch.model import Row, View

_MOST_PRODUCTS = 12
_MOST_WARNINGS = 5
_WIDEST = 110


def status_text(status: int) -> str:
    """The status as text; of 128 and more, with the name of the signal."""
    try:
        name = signal.Signals(status - 128).name if status > 128 else ""
    except ValueError:
        name = ""
    return f"status {status}" + (f" ({name})" if name else "")


def ending(
    run: Run | None, view: View | None, folder: Path, status: int, signalled: int | None, width: int
) -> RenderableType:
    """`run` is the report, if there is one; `view` what was last known without it."""
    if run is None:
        return Group(*_without_report(view, folder, status, signalled))
    name = view.run if view is not None else folder.name
    parts: list[RenderableType] = [_headline(run, name, status, signalled)]
    if run.analyses:
        rows = [_row(analysis) for analysis in run.analyses]
        parts.append(analyses(FINAL, rows, min(width, _WIDEST), len(rows)))
    if run.products:
        parts += _products(run.products, folder, width)
    parts += _troubles(run)
    parts.append(_next(f"pillion report {folder}", "one page with plots of all of it"))
    return Group(*parts)


def faults(run: Run | None, view: View | None) -> list[str]:
    """Reasons for which a run with --strict fails."""
    if run is None:
        return ["there is no report of the run" if view else "the program opened no session"]
    found = [f"analysis {a.name} was disabled: {a.failure}" for a in run.analyses if a.failure]
    found += [
        f"analysis {a.name} has lost {'all of its ' if a.publications == 0 else ''}"
        f"{count(a.lost + a.dropped)} publications"
        for a in run.analyses
        if a.lost + a.dropped > 0 and not a.failure
    ]
    if view is not None and view.failure:
        found.append(f"the session ended early: {view.failure}")
    return found


def are_all_lost(run: Run | None) -> bool:
    """Whether all analyses that have lost publications have nothing else."""
    lost = [a for a in run.analyses if a.lost + a.dropped > 0] if run is not None else []
    return bool(lost) and all(a.publications == 0 for a in lost)


def _headline(run: Run, name: str, status: int, signalled: int | None) -> Text:
    facts = run.facts
    lost = sum(a.lost + a.dropped for a in run.analyses)
    if status or signalled is not None:
        mark = ("✘ ", "bold red")
    else:
        mark = ("! ", "bold yellow") if lost else ("✔ ", "bold green")
    text = Text.assemble(mark, (name, f"bold {ACCENT}"))
    if signalled is not None:
        text.append(f" was asked to stop by {signal.Signals(signalled).name}", "yellow")
    elif status:
        text.append(f" ended with {status_text(status)}", "red")
    earlier = facts.get("earlier", {})
    steps, publications, skipped = (
        int(facts[name]) - int(earlier.get(name, 0))
        for name in ("steps", "publications", "skipped")
    )
    text.append(f"  {count(steps)} steps in {seconds(run.seconds)}")
    text.append(f", {count(publications)} publications")
    if skipped:
        text.append(f", {count(skipped)} skipped", "yellow")
    return text.append(f", {count(lost)} lost", "bold red") if lost else text


def _row(analysis: Analysis) -> Row:
    return Row(
        name=analysis.name,
        attached_job=analysis.attached_job,
        placement=analysis.placement,
        every=analysis.every,
        step=None,
        publications=analysis.publications,
        skipped=analysis.skipped,
        coarsened=analysis.coarsened,
        spilled=analysis.spilled,
        lost=analysis.lost + analysis.dropped,
        lag=None,
        mean_lag=analysis.lag.mean,
        stall=analysis.stall.mean,
        simulation=analysis.simulation.mean,
        sidecar=analysis.sidecar.mean,
        bytes_moved=analysis.bytes_moved,
        disabled=analysis.failure,
        has_left=analysis.disabled is not None and analysis.failure is None,
        busy=None,
        products=(),
    )


def _products(products: list[Product], folder: Path, width: int) -> list[Text]:
    shown = products[:_MOST_PRODUCTS]
    widest = max(len(str(folder / product.path)) for product in shown)
    lines = []
    for product in shown:
        line = Text(f"  {str(folder / product.path).ljust(widest)}  ")
        line.append(product.title, "bright_black")
        line.truncate(max(width - 1, widest + 2), overflow="ellipsis")
        lines.append(line)
    hidden = len(products) - len(shown)
    return [*lines, Text(f"  and {hidden} more")] if hidden else lines


def _troubles(run: Run) -> list[Text]:
    disabled = [f"{a.name} is disabled: {a.failure}" for a in run.analyses if a.failure]
    # What disabled an analysis is among the warnings, in longer words.
    warnings = [w for w in run.warnings if not any(str(a.failure) in w for a in run.analyses)]
    shown = [Text(f"  ! {text}", "red") for text in disabled]
    shown += [Text(f"  ! {text}", "yellow") for text in warnings[:_MOST_WARNINGS]]
    hidden = len(warnings) - _MOST_WARNINGS
    if hidden > 0:
        shown.append(Text(f"  ! and {hidden} warnings more in report.json", "yellow"))
    return [Text(""), *shown] if shown else []


def _next(command: str, what: str) -> Text:
    return Text.assemble(("\n  next: ", "bright_black"), (command, "bold"), f"   {what}")


def _without_report(
    view: View | None, folder: Path, status: int, signalled: int | None
) -> list[RenderableType]:
    if signalled is not None:
        how = f"was asked to stop by {signal.Signals(signalled).name}"
    else:
        how = f"ended with {status_text(status) if view else f'status {status}'}"
    text = Text.assemble(("✘ ", "bold red"), "the program ", (how, "red"))
    if view is None:
        if status == 0 and signalled is None:
            text = Text("the program ended well, but opened no Pillion session", "yellow")
            return [text, Text(f"  (at least none that writes to {folder}/progress.json)")]
        return [text.append(" before it had opened a Pillion session; see what it said above")]
    last = "before the first step" if view.step is None else f"at step {count(view.step)}"
    if view.state is State.ENDED:
        text.append(f" {last}; it closed its session, but its report could not be written")
    else:
        text.append(f" {last}, and did not close its session: there is no report")
    lines: list[RenderableType] = [text]
    if view.failure:
        lines.append(Text(f"  {view.failure}", "red"))
    lines += [Text(f"  ! {warning}", "yellow") for warning in view.warnings[-_MOST_WARNINGS:]]
    lines.append(Text(f"  {folder / 'progress.json'} tells how it was going until then"))
    products = [path for row in view.rows for path in row.products]
    if products:
        lines.append(Text(f"  what was written so far is good: {folder / products[0]} …"))
    lines.append(_next(f"pillion watch --once {folder}", "its last state"))
    lines.append(Text.assemble("        ", (f"pillion report {folder}", "bold"), "   its results"))
    return lines
