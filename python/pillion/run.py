# SPDX-License-Identifier: BSD-3-Clause
"""The run report, report.json, as plain values.

docs/products.md describes the file. A report that lacks an entry is refused with the entry's name,
so that nothing on the page is made up.
"""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pillion.errors import Error

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


@dataclass(frozen=True)
class Span:
    """Mean and maximum over ranks (or, for the lag, over publications), in seconds."""

    mean: float
    max: float


@dataclass(frozen=True)
class Analysis:
    """What one analysis did and cost. Seconds are of the whole run."""

    name: str
    placement: str
    stages: list[str]
    every: str
    when: str | None
    publications: int
    skipped: int
    dropped: int
    disabled: str | None
    simulation: Span
    sidecar: Span
    stall: Span
    synchronous: float | None
    bytes_moved: int
    lag: Span


@dataclass(frozen=True)
class Product:
    """A file that a stage left, by its path below the output folder."""

    analysis: str
    stage: str
    path: str
    title: str


@dataclass(frozen=True)
class Run:
    """A finished run."""

    folder: Path
    version: str
    facts: dict[str, Any]
    sidecars: dict[str, Any]
    analyses: list[Analysis]
    products: list[Product]
    warnings: list[str]
    configuration: str

    @property
    def seconds(self) -> float:
        return float(self.facts["seconds"])


def read_run(folder: Path) -> Run:
    """Reads report.json of an output folder; raises Error if it is missing or incomplete."""
    path = folder / "report.json"
    try:
        report = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise Error(
            f"there is no {path}: give the run's output folder; the report is written when the "
            "session closes"
        ) from None
    except OSError as error:
        raise Error(f"cannot read {path}: {error.strerror}") from error
    except ValueError as error:
        raise Error(f"{path} is not JSON: {error}") from error
    found = report.get("pillion") if isinstance(report, dict) else None
    if found != FORMAT:
        raise Error(f"{path} is no run report: expected 'pillion: {FORMAT}', found {found!r}")
    try:
        return _build(folder, report)
    except KeyError as error:
        raise Error(f"{path} lacks the entry {error}") from error
    except (TypeError, ValueError, AttributeError) as error:
        raise Error(f"{path} has an entry of the wrong kind: {error}") from error


def _build(folder: Path, report: dict[str, Any]) -> Run:
    facts = report["run"]
    for entry in FACTS:
        if entry not in facts:
            raise KeyError(f"run.{entry}")
    products = [
        Product(p["analysis"], p["stage"], p["path"], p["title"]) for p in report["products"]
    ]
    return Run(
        folder=folder,
        version=str(report["version"]),
        facts=facts,
        sidecars=report["sidecars"],
        analyses=[_analysis(entry) for entry in report["analyses"]],
        products=products,
        warnings=[str(text) for text in report["warnings"]],
        configuration=str(report["configuration"]),
    )


def _span(entry: dict[str, Any]) -> Span:
    return Span(float(entry["mean"]), float(entry["max"]))


def _analysis(entry: dict[str, Any]) -> Analysis:
    seconds = entry["seconds"]
    synchronous = seconds["synchronous_estimate"]
    return Analysis(
        name=str(entry["name"]),
        placement=str(entry["placement"]),
        stages=[str(stage) for stage in entry["stages"]],
        every=str(entry["every"]),
        when=entry["when"],
        publications=int(entry["publications"]),
        skipped=int(entry["skipped"]),
        dropped=int(entry["dropped"]),
        disabled=entry["disabled"],
        simulation=_span(seconds["simulation"]),
        sidecar=_span(seconds["sidecar"]),
        stall=_span(seconds["stall"]),
        synchronous=None if synchronous is None else float(synchronous),
        bytes_moved=int(entry["bytes_moved"]),
        lag=_span(entry["lag_seconds"]),
    )
