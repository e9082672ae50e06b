# SPDX-License-Identifier: BSD-3-Clause
"""Timelines in Chrome trace format, reduced to the resolution of a picture.

A run may have a hundred thousand events, and a picture about two thousand points across. A few
spans are drawn one by one, and spans closer than a point are joined. For many spans, the picture
shows the share of each interval of time that a rank was busy, so that a thousand short spans do not
look like work without a pause.

Every node of a run leaves a timeline of its own. A reader joins them.
"""

import json
import math
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from pillion import shared_files
from pillion.errors import Error
from pillion.report.page import write_whole

POINTS = 2000
FOLDER = "timeline"
MOST_BYTES = 64 << 20  # of timelines that are read
FEW = 250  # spans on a strip that can be told apart
BINS = 400
CLOSE_UP = 3  # publications


@dataclass(frozen=True)
class Span:
    """The work of a rank from `begin` to `end`, in seconds since the start, for a step. `share` is
    less than 1 for a sum of many events, which took that share of the time.
    """

    kind: str
    begin: float
    end: float
    step: int = -1
    share: float = 1.0


@dataclass(frozen=True)
class Strip:
    """One rank's spans."""

    label: str
    spans: list[Span]

    @property
    def busy(self) -> float:
        """Seconds that the spans last together."""
        return sum((span.end - span.begin) * span.share for span in self.spans)


@dataclass(frozen=True)
class Window:
    """The strips' spans from `begin` to `end`, in seconds, cut off there."""

    strips: list[Strip]
    begin: float
    end: float
    simulated: float = 0.0  # seconds of the simulation, which sidecars may outlive; 0 if unknown

    def share(self, strip: Strip) -> float:
        """The part of its time in which the rank was busy."""
        is_short = self.simulated > 0 and strip.label.startswith("simulation")
        return strip.busy / (self.simulated if is_short else self.end - self.begin)

    @property
    def crowded(self) -> bool:
        """Whether there are too many spans to draw each."""
        gap = (self.end - self.begin) / POINTS
        return any(
            len(merged(strip.spans, gap)) > FEW or any(span.share < 1 for span in strip.spans)
            for strip in self.strips
        )


@dataclass(frozen=True)
class Files:
    """Timelines to read: those of all nodes, or of some evenly picked ones, and how many nodes
    there are.
    """

    paths: list[Path]
    nodes: int


def timeline_files(folder: Path, run: str = "", attached_job: str = "") -> Files:
    """The timelines of a run in its output folder: of the nodes of the simulation and of its
    sidecars, or of an attached job. The id `run` may be "", for any run. Together they have
    MOST_BYTES or little more. Raises Error if there is none.
    """
    sides = (f"attached-{attached_job}",) if attached_job else ("simulation", "sidecar")
    chosen, nodes = [], 0
    for side in sides:
        pattern = re.compile(re.escape(side) + r"-(\d+)\.json")
        numbers = {
            int(match[1]): path
            for path in (folder / FOLDER).glob("*.json")
            if (match := pattern.fullmatch(path.name)) and _is_of(path, run)
        }
        paths = [numbers[number] for number in sorted(numbers)]
        total = sum(path.stat().st_size for path in paths)
        every = max(1, math.ceil(total * len(sides) / MOST_BYTES))
        chosen += paths[::every]
        nodes += len(paths)
    if not chosen:
        raise Error(f"{folder / FOLDER} holds no timeline of this run")
    return Files(chosen, nodes)


def _is_of(path: Path, run: str) -> bool:
    """Whether a timeline is of that run, by its first line; one that cannot be read may be."""
    try:
        with path.open(encoding="utf-8") as file:
            made = re.search(r'"run":"([^"]*)"', file.readline(300))
    except (OSError, UnicodeDecodeError):
        return True
    return not run or made is None or made[1] == run


def merge(paths: Sequence[Path], to: Path) -> None:
    """Joins timelines to one that viewers open."""
    events = [event for path in paths for event in read_events(path)]
    lines = ",\n".join(json.dumps(event, separators=(",", ":")) for event in events)
    write_whole(to, f'{{"displayTimeUnit":"ms","traceEvents":[\n{lines}\n]}}\n')


def read_events(path: Path) -> list[dict[str, Any]]:
    """The events of one timeline; raises Error if it is none."""
    try:
        trace = json.loads(shared_files.read_text(path))
        events = trace["traceEvents"]
        if not all(isinstance(event, dict) for event in events):
            raise TypeError("an event is no object")
    except OSError as error:
        raise Error(f"cannot read {path}: {error.strerror}") from error
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise Error(f"{path} is not a timeline that this version can read: {error!r}") from error
    return list(events)


def read_timeline(paths: Sequence[Path]) -> list[Strip]:
    """Strips of the ranks in some timelines, simulation ranks first."""
    processes: dict[Any, str] = {}
    ranks: dict[Any, list[Span]] = {}
    for path in paths:
        try:
            for event in read_events(path):
                rank = ranks.setdefault((event["pid"], int(event["tid"])), [])
                if event["name"] == "process_name":
                    processes[event["pid"]] = str(event["args"]["name"])
                # Stages lie within their analyses, which are what is drawn.
                if event["ph"] == "X" and event.get("cat") != "stage":
                    rank.append(_span(event))
        except (ValueError, KeyError, TypeError, AttributeError, OverflowError) as error:
            raise Error(f"{path} is not a timeline: {error!r}") from error
    return [
        Strip(f"{processes.get(pid, pid)} {rank}", spans)
        for (pid, rank), spans in sorted(
            ranks.items(), key=lambda item: (str(item[0][0]), item[0][1])
        )
    ]


def _span(event: dict[str, Any]) -> Span:
    begin, length = float(event["ts"]) * 1e-6, float(event["dur"]) * 1e-6
    # Analyses go by their names, everything else by its category.
    name = str(event["name"]).removesuffix(" (end)")
    category = str(event.get("cat") or name)
    kind = name if category == "analysis" else category
    args = event.get("args", {})
    # A sum of events has the seconds that they took, which are fewer than it spans.
    share = float(args["seconds"]) / length if "events" in args and length > 0 else 1.0
    return Span(kind, begin, begin + length, int(args.get("step", -1)), share)


def whole(strips: Sequence[Strip], seconds: float = 0.0) -> Window | None:
    """The run from its start to its end after `seconds`, or to the last event if that is later;
    None if there is no event.
    """
    end = max((span.end for strip in strips for span in strip.spans), default=0.0)
    return replace(_window(strips, 0.0, max(end, seconds)), simulated=seconds) if end > 0 else None


def close_up(strips: Sequence[Strip]) -> Window | None:
    """A few publications in the middle; None if there are too few for that to show more."""
    begins: dict[int, float] = {}
    for strip in strips:
        for span in strip.spans:
            if span.share < 1:
                continue
            begins[span.step] = min(span.begin, begins.get(span.step, span.begin))
    times = sorted(begins.values())
    if len(times) < 4 * CLOSE_UP:
        return None
    middle = len(times) // 2
    margin = 0.03 * (times[middle + CLOSE_UP] - times[middle])
    return _window(strips, times[middle] - margin, times[middle + CLOSE_UP] - margin)


def _window(strips: Sequence[Strip], begin: float, end: float) -> Window:
    cut = [
        Strip(
            strip.label,
            [
                Span(s.kind, max(s.begin, begin), min(s.end, end), s.step, s.share)
                for s in strip.spans
                if s.end >= begin and s.begin <= end
            ],
        )
        for strip in strips
    ]
    return Window(cut, begin, end)


def shares(window: Window, strip: Strip, kind: str) -> np.ndarray:
    """The share of each of BINS equal stretches of the window that spans of a kind take up."""
    width = (window.end - window.begin) / BINS
    seconds = np.zeros(BINS)
    for span in strip.spans:
        if span.kind != kind:
            continue
        first = int((span.begin - window.begin) / width)
        last = int((span.end - window.begin) / width)
        for bin_ in range(first, min(last, BINS - 1) + 1):
            low = window.begin + bin_ * width
            inside = max(0.0, min(span.end, low + width) - max(span.begin, low))
            seconds[bin_] += span.share * inside
    return seconds / width


def merged(spans: Iterable[Span], gap: float) -> list[Span]:
    """Spans of each kind, with those no further apart than `gap` joined to one."""
    by_kind: dict[str, list[Span]] = {}
    for span in sorted(spans, key=lambda s: s.begin):
        joined = by_kind.setdefault(span.kind, [])
        if joined and span.begin - joined[-1].end <= gap:
            last = joined.pop()
            span = Span(span.kind, last.begin, max(last.end, span.end))
        joined.append(span)
    return [span for joined in by_kind.values() for span in joined]
