# SPDX-License-Identifier: BSD-3-Clause
"""The report of a run that has written none: it is active, was killed, or ran out of time.

Progress files hold what the first rank of each side had counted when it wrote them last. Tables
hold the configuration and their titles. Other numbers, such as costs of other ranks, are unknown in
such a report.
"""

from datetime import UTC, datetime
from pathlib import Path

from pillion.errors import Error
from pillion.liveness import settled, state_of, time_of
from pillion.progress import Parts, Progress, State
from pillion.report.completion import products_of
from pillion.report.run import Analysis, Product, Run, Span, read_run
from pillion.run_files import Owner
from pillion.tables import Table, read_table
from pillion.watch.model import Row, View, make_view

WHY = {
    State.RUNNING: "the run is active; these are its results and costs so far",
    State.ENDED: "the run has ended, but wrote no report",
    State.LEFT: "the run has ended, but wrote no report",
    State.FAILED: "the run ended early: {failure}",
    State.GONE: "the run ended without closing its session: it was killed, crashed or ran out of "
    "time",
    State.SILENT: "the run has shown no sign of life for some time, but holds its output folder; "
    "it may be suspended",
}


def read_any_run(folder: Path) -> Run:
    """The run that writes, or wrote last, in an output folder: by its report, or, without one, by
    its progress. Raises Error if there is neither, or if one is broken.
    """
    finished: Run | None = None
    if (folder / "report.json").exists():
        finished = read_run(folder)
    try:
        parts = settled(folder)
        head = _head(parts)
    except Error:
        if finished is None:
            raise
        head = None
    newer = head is not None and (
        finished is None or (head.id != finished.facts.get("id") and _is_after(head, finished))
    )
    if head is None or not newer:
        return finished or read_run(folder)
    view = make_view(parts, state_of, time_of)
    assert view is not None  # there is a head
    return _build(folder, parts, head, view)


def _head(parts: Parts) -> Progress | None:
    return parts.simulation or parts.sidecars


def _is_after(head: Progress, finished: Run) -> bool:
    # A report's start has no fractions of a second.
    return Owner(head.id, head.continues, float(int(head.started))).is_after(finished.owner)


def _utc(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def _build(folder: Path, parts: Parts, head: Progress, view: View) -> Run:
    products = [
        Product(*made) for row in view.rows for made in products_of(folder, row.name, row.products)
    ]
    why = WHY[view.state].format(failure=view.failure or "for no known reason")
    memory = head.memory
    table = _first_table(folder, products)
    warnings = [f"this run has no report yet: {why}"]
    for part in parts.all:
        warnings += [text for text in part.warnings if text not in warnings]
    return Run(
        folder=folder,
        name="",
        version="",
        facts={
            "id": head.id,
            "continues": list(head.continues),
            "started": _utc(head.started),
            "seconds": parts.seconds,
            "simulation_ranks": view.simulation_ranks or 0,
            "sidecar_ranks": view.sidecar_ranks or 0,
            "first_step": None,
            "last_step": view.step,
            "steps": None,
            "publications": view.publications,
            "skipped": view.skipped,
            "time": view.time,
            "time_units": view.time_units,
            "restarted_from": None,
        },
        sidecars={
            "ranks": view.sidecar_ranks or 0,
            "transport": None,
            "job": None,
            "restarts": view.restarts,
            "memory_bytes": None,
            "memory_bytes_per_rank": memory.budget if memory else 0,
            "peak_bytes": memory.peak if memory else 0,
            "when_full": None,
        },
        analyses=[_analysis(row) for row in view.rows],
        products=products,
        warnings=warnings,
        remarks=[],
        configuration=table.configuration if table else "",
        is_finished=False,
    )


def _analysis(row: Row) -> Analysis:
    """Seconds are those of the first rank of each side."""
    return Analysis(
        name=row.name,
        placement=row.placement,
        every=row.every,
        when=None,
        publications=row.publications,
        skipped=row.skipped,
        coarsened=row.coarsened,
        spilled=row.spilled,
        dropped=0,
        lost=row.lost,
        disabled=row.disabled,
        bytes_moved=row.bytes_moved,
        stages=[],
        simulation=Span(row.simulation, row.simulation),
        sidecar=Span(row.sidecar, row.sidecar),
        stall=Span(row.stall, row.stall),
        synchronous=None,
        lag=Span(row.mean_lag or 0.0, row.mean_lag or 0.0),
        attached_job=row.attached_job,
    )


def _first_table(folder: Path, products: list[Product]) -> Table | None:
    for product in products:
        if product.path.endswith(".csv"):
            try:
                return read_table(folder / product.path)
            except Error:
                continue
    return None
