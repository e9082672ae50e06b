# SPDX-License-Identifier: BSD-3-Clause
"""The run report, report.json, as plain values, with what attached jobs of the run have to add.

docs/products.md describes the files. A report that lacks an entry is refused with the entry's name,
so that nothing on the page is made up.
"""

from dataclasses import dataclass, replace
from math import nan
from pathlib import Path
from typing import Any

from pillion.errors import Error
from pillion.report.completion import publications_in, state_of_sidecars
from pillion.report.timeline import Files, timeline_files
from pillion.run_files import AnalysisRecord, Owner, instant, read_document, record_of

FORMAT = "report 1"
FACTS = [
    "started",
    "seconds",
    "simulation_ranks",
    "sidecar_ranks",
    "first_step",
    "last_step",
    "steps",
    "publications",
    "skipped",
    "time",
    "time_units",
    "restarted_from",
]
SIDECARS = ["ranks", "transport", "job", "restarts", "memory_bytes", "peak_bytes", "when_full"]


@dataclass(frozen=True)
class Span:
    """Mean and maximum over ranks (or, for the lag, over publications), in seconds."""

    mean: float
    max: float


@dataclass(frozen=True)
class Analysis(AnalysisRecord):
    """The results and the cost of one analysis. Seconds are of the whole run."""

    stages: list[str]
    simulation: Span
    sidecar: Span
    stall: Span
    synchronous: float | None
    lag: Span
    attached_job: str = ""  # who brought it; "" if it is the run's own
    here: int = 0  # of an analysis that may move: publications in the simulation
    there: int = 0  # and in the sidecars
    moves: int = 0
    closing: Span = Span(0.0, 0.0)  # as stall, at the end, when the session closes
    waiting: Span = Span(0.0, 0.0)  # in stages, for slower ranks of the simulation
    sidecar_waiting: Span = Span(0.0, 0.0)  # and of the sidecars; neither is computing
    thinned: int = 0  # of an attached job: left out, because its share was used up

    @property
    def cost(self) -> float:
        """Seconds of a simulation rank: at work, waiting for slower ranks, and for sidecars."""
        return self.simulation.mean + self.waiting.mean + self.stall.mean + self.closing.mean


@dataclass(frozen=True)
class Product:
    """A file that a stage left, by its path below the output folder."""

    analysis: str
    stage: str
    path: str
    title: str


@dataclass(frozen=True)
class Run:
    """A finished run, or what an attached job of that name has added to one."""

    folder: Path
    name: str
    version: str
    facts: dict[str, Any]
    sidecars: dict[str, Any]
    analyses: list[Analysis]
    products: list[Product]
    warnings: list[str]
    remarks: list[str]
    configuration: str
    is_finished: bool = True  # else it has written no report, and much is None

    @property
    def is_provisional(self) -> bool:
        """Whether sidecars had not finished when it was written."""
        return bool(self.facts.get("provisional", False))

    @property
    def seconds(self) -> float:
        return float(self.facts["seconds"])

    @property
    def owner(self) -> Owner:
        """The run by its id, and the runs that it continues."""
        continues = tuple(str(run) for run in self.facts.get("continues", []))
        started = instant(str(self.facts["started"]))
        return Owner(str(self.facts.get("id", "")), continues, started)

    def timeline_files(self) -> Files:
        """The timelines of the run's nodes; raises Error if there is none."""
        return timeline_files(self.folder, str(self.facts.get("id", "")), self.name)


def read_run(folder: Path) -> Run:
    """Reads report.json of an output folder; raises Error if it is missing or incomplete.

    A provisional report, which sidecars were to complete, is completed here once they have ended.
    """
    run = _read(folder, folder / "report.json", "")
    return _completed(run) if run.is_provisional else run


def _completed(run: Run) -> Run:
    unknown = Span(nan, nan)

    def counted(analysis: Analysis) -> Analysis:
        if analysis.placement == "simulation" or analysis.attached_job:
            return analysis
        total = analysis.publications + analysis.lost
        found = publications_in(run.folder / analysis.name)
        done = analysis.publications if found is None else min(found, total)
        return replace(
            analysis,
            publications=done,
            lost=total - done,
            sidecar=unknown,
            lag=unknown,
            synchronous=None,
        )

    warning, theirs = state_of_sidecars(run.folder, str(run.facts.get("id", "")))
    analyses = [counted(analysis) for analysis in run.analyses]
    known = {product.path for product in run.products}
    more = [Product(*product) for product in theirs if product[2] not in known]
    return replace(
        run,
        analyses=analyses,
        products=[*run.products, *more],
        warnings=[*run.warnings, warning],
    )


def read_attached_jobs(run: Run) -> tuple[list[Run], list[str]]:
    """The reports of attached jobs of this run, and the faults of the ones that cannot be read.

    Reports of attached jobs of another run are left out.
    """
    attached_jobs, problems = [], []
    for path in sorted(run.folder.glob("report-*.json")):
        try:
            attached_job = _read(run.folder, path, path.stem.removeprefix("report-"))
        except Error as error:
            problems.append(str(error))
            continue
        same = attached_job.facts.get("id") == run.facts.get("id")
        if same and str(attached_job.facts["started"]) >= str(run.facts["started"]):
            attached_jobs.append(attached_job)
    return attached_jobs, problems


def with_attached_jobs(run: Run, attached_jobs: list[Run]) -> Run:
    """The run with its attached jobs' analyses, products, warnings and remarks.

    The run's report has the cost of an analysis to the simulation; that of its attached job, its
    work.
    """
    analyses = {analysis.name: analysis for analysis in run.analyses}
    products, warnings, remarks = list(run.products), list(run.warnings), list(run.remarks)
    for attached_job in attached_jobs:
        for there in attached_job.analyses:
            analyses[there.name] = _joined(
                analyses.get(there.name, there), there, attached_job, run
            )
        products += attached_job.products
        warnings += [text for text in attached_job.warnings if text not in warnings]
        remarks += [text for text in attached_job.remarks if text not in remarks]
    return replace(
        run,
        analyses=list(analyses.values()),
        products=products,
        warnings=warnings,
        remarks=remarks,
    )


def _joined(here: Analysis, there: Analysis, attached_job: Run, run: Run) -> Analysis:
    ranks = int(run.facts["simulation_ranks"])
    spread = there.sidecar.mean * int(attached_job.facts["sidecar_ranks"]) / ranks if ranks else 0.0
    return replace(
        here,
        attached_job=attached_job.name,
        publications=there.publications,
        dropped=there.dropped,
        lost=there.lost,
        disabled=there.disabled,
        sidecar=there.sidecar,
        sidecar_waiting=there.sidecar_waiting,
        lag=there.lag,
        synchronous=None if here.synchronous is None else here.synchronous + spread,
    )


def _read(folder: Path, path: Path, name: str) -> Run:
    return read_document(
        path,
        "is not a run report",
        FORMAT,
        lambda report: _build(folder, name, report),
        "give the run's output folder; the report is written when the session closes",
    )


def _build(folder: Path, name: str, report: dict[str, Any]) -> Run:
    facts, sidecars = report["run"], report["sidecars"]
    for part, entries in ((facts, FACTS), (sidecars, SIDECARS)):
        for entry in entries:
            if entry not in part:
                raise KeyError(f"{'run' if part is facts else 'sidecars'}.{entry}")
    products = [
        Product(p["analysis"], p["stage"], p["path"], p["title"]) for p in report["products"]
    ]
    return Run(
        folder=folder,
        name=name,
        version=str(report["version"]),
        facts=facts,
        sidecars=sidecars,
        analyses=[_analysis(entry) for entry in report["analyses"]],
        products=products,
        warnings=[str(text) for text in report["warnings"]],
        remarks=[str(text) for text in report["remarks"]],
        configuration=str(report["configuration"]),
    )


def _span(entry: dict[str, Any]) -> Span:
    return Span(float(entry["mean"]), float(entry["max"]))


def _analysis(entry: dict[str, Any]) -> Analysis:
    seconds = entry["seconds"]
    synchronous = seconds["synchronous_estimate"]
    return Analysis(
        **record_of(entry),
        stages=[str(stage) for stage in entry["stages"]],
        simulation=_span(seconds["simulation"]),
        sidecar=_span(seconds["sidecar"]),
        stall=_span(seconds["stall"]),
        synchronous=None if synchronous is None else float(synchronous),
        lag=_span(entry["lag_seconds"]),
        here=int(entry.get("publications_at", {}).get("simulation", 0)),
        there=int(entry.get("publications_at", {}).get("sidecar", 0)),
        moves=len(entry.get("moves", [])),
        closing=_span(seconds["closing"]),
        waiting=_span(seconds["waiting"]),
        sidecar_waiting=_span(seconds["sidecar_waiting"]),
        thinned=int(entry["thinned"]),
    )
