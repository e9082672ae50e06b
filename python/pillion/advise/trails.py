# SPDX-License-Identifier: BSD-3-Clause
"""What ranks did while a run went on, from the lines that they write where PILLION_TIMELINE says,
or from a finished run's timeline.json: publications, and what each took. A run may be stopped at
any moment, so the last line may be half.
"""

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from itertools import pairwise
from math import inf
from pathlib import Path
from typing import Any

from pillion.errors import Error

_END = " (end)"
# Of a rank's file. Of analyses that are rarer than every 500th publication little will be seen.
_MOST_BYTES = 4 << 20
_MOST_VISITS = 2000


@dataclass(frozen=True)
class Span:
    """A stretch of a rank's time, in seconds since 1970 or since the start of the run."""

    name: str
    category: str
    begin: float
    end: float
    step: int

    @property
    def seconds(self) -> float:
        return self.end - self.begin


@dataclass(frozen=True)
class Visit:
    """What one rank did for the publication of one step: all from `begin` to `end`. `stages` holds
    seconds of each stage that ran here, by analysis; `handing` of publishing or receiving;
    `stalled` of waiting for room.
    """

    step: int
    begin: float
    end: float
    stages: Mapping[str, tuple[float, ...]] = field(default_factory=dict)
    handing: float = 0.0
    stalled: float = 0.0

    @property
    def busy(self) -> float:
        return self.end - self.begin - self.stalled


@dataclass(frozen=True, eq=False)
class Trail:
    """Visits of all ranks in order, by rank: of the simulation, and of the sidecars. What is found
    in one is remembered by which it is.
    """

    simulation: list[list[Visit]]
    sidecars: list[list[Visit]]

    def side(self, name: str) -> list[list[Visit]]:
        """`simulation` or `sidecars`."""
        return self.simulation if name == "simulation" else self.sidecars

    @property
    def steps(self) -> list[int]:
        """Of the publications that the first simulation rank has been through."""
        return [visit.step for visit in self.simulation[0]] if self.simulation else []


def read_trail(folder: Path, ranks: float = inf) -> Trail:
    """Of the files that ranks are writing to a folder, the first `ranks` of each side; empty where
    there are none yet. Of each rank's last visit nobody knows whether it has ended, so it is left
    out.
    """
    trail = _trail({name: _lines(folder, name, ranks) for name in ("simulation", "sidecar")})
    return Trail(*([v[:-1] for v in ranks] for ranks in (trail.simulation, trail.sidecars)))


def read_timeline(path: Path) -> Trail:
    """Of a run that has ended."""
    try:
        trace = json.loads(path.read_text(encoding="utf-8"))["traceEvents"]
        ranks: dict[str, dict[int, list[Span]]] = {"simulation": {}, "sidecar": {}}
        for event in trace:
            if event["ph"] == "X":
                side = ranks["simulation" if event["pid"] == 1 else "sidecar"]
                side.setdefault(int(event["tid"]), []).append(_span(event))
    except OSError as error:
        raise Error(f"cannot read {path}: {error.strerror}") from error
    except (ValueError, KeyError, TypeError) as error:
        raise Error(f"{path} is no timeline that this version can read: {error!r}") from error
    return _trail({name: [side[r] for r in sorted(side)] for name, side in ranks.items()})


def _trail(ranks: Mapping[str, list[list[Span]]]) -> Trail:
    return Trail(*([visits(spans) for spans in ranks[name]] for name in ("simulation", "sidecar")))


def _lines(folder: Path, process: str, ranks: float) -> list[list[Span]]:
    out: list[list[Span]] = []
    while len(out) < ranks and (path := folder / f"{process}-{len(out)}.jsonl").exists():
        with path.open(encoding="utf-8") as file:
            lines = file.read(_MOST_BYTES).split("\n")
        out.append([_span(json.loads(line)) for line in lines[:-1]])
    return out


def _span(event: Mapping[str, Any]) -> Span:
    begin = float(event["ts"]) * 1e-6
    end = begin + float(event["dur"]) * 1e-6
    return Span(event["name"], event["cat"], begin, end, int(event["args"]["step"]))


def visits(spans: Iterable[Span]) -> list[Visit]:
    """One for each step of which there are spans; what is said at the end of a run is none."""
    by_step: dict[int, list[Span]] = {}
    for span in sorted(spans, key=lambda s: (s.begin, -s.end)):
        if not span.name.endswith(_END) and span.category != "checkpoint":
            by_step.setdefault(span.step, []).append(span)
    first = sorted(by_step.items())[:_MOST_VISITS]
    whole = [_visit(step, mine) for step, mine in first]
    return [visit for visit in whole if visit is not None]


def _visit(step: int, spans: list[Span]) -> Visit | None:
    """None if nothing but a stage is there: the rank was still at it."""
    outer = [span for span in spans if span.category != "stage"]
    if not outer:
        return None
    begin, end = min(s.begin for s in outer), max(s.end for s in outer)
    stages = {
        span.name: _stages(span, [s for s in spans if s.category == "stage" and _within(s, span)])
        for span in outer
        if span.category == "analysis"
    }
    stalled = sum(s.seconds for s in outer if s.category == "stall")
    # What lies between spans belongs to what hands publications on.
    handing = end - begin - stalled - sum(sum(seconds) for seconds in stages.values())
    return Visit(step, begin, end, stages, max(0.0, handing), stalled)


def _within(inner: Span, outer: Span) -> bool:
    tolerance = 2e-6
    return outer.begin - tolerance <= inner.begin and inner.end <= outer.end + tolerance


def _stages(analysis: Span, stages: list[Span]) -> tuple[float, ...]:
    """Seconds of each stage, with what follows it until the next; together all of the analysis."""
    begins = [analysis.begin, *(stage.begin for stage in stages[1:]), analysis.end]
    return tuple(end - begin for begin, end in pairwise(begins))
