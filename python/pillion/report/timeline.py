# SPDX-License-Identifier: BSD-3-Clause
"""Timelines in Chrome trace format, reduced to the resolution of a picture.

A run may have a hundred thousand events, and a picture about two thousand points across. A few
spans are drawn one by one, and spans closer than a point are joined. For many spans, the picture
shows the share of each interval of time that a rank was busy, so that a thousand short spans do not
look like work without a pause.
"""

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from pillion.errors import Error

POINTS = 2000
FEW = 250  # spans on a strip that can be told apart
BINS = 400
CLOSE_UP = 3  # publications


@dataclass(frozen=True)
class Span:
    """The work of a rank from `begin` to `end`, in seconds since the start, for a step."""

    kind: str
    begin: float
    end: float
    step: int = -1


@dataclass(frozen=True)
class Strip:
    """One rank's spans."""

    label: str
    spans: list[Span]

    @property
    def busy(self) -> float:
        """Seconds that the spans last together."""
        return sum(span.end - span.begin for span in self.spans)


@dataclass(frozen=True)
class Window:
    """The strips' spans from `begin` to `end`, in seconds, cut off there."""

    strips: list[Strip]
    begin: float
    end: float

    @property
    def crowded(self) -> bool:
        """Whether there are too many spans to draw each."""
        gap = (self.end - self.begin) / POINTS
        return any(len(merged(strip.spans, gap)) > FEW for strip in self.strips)


def read_timeline(path: Path) -> list[Strip]:
    """Strips of all ranks, simulation ranks first."""
    try:
        trace = json.loads(path.read_text(encoding="utf-8"))
        events = trace["traceEvents"] if isinstance(trace, dict) else trace
        processes = {e["pid"]: e["args"]["name"] for e in events if e["name"] == "process_name"}
        ranks: dict[Any, list[Span]] = {(e["pid"], int(e["tid"])): [] for e in events}
        for event in events:
            # Stages lie within their analyses, which are what is drawn.
            if event["ph"] == "X" and event.get("cat") != "stage":
                ranks[event["pid"], int(event["tid"])].append(_span(event))
    except OSError as error:
        raise Error(f"cannot read {path}: {error.strerror}") from error
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise Error(f"{path} is not a trace that this version can read: {error!r}") from error
    return [
        Strip(f"{processes.get(pid, pid)} {rank}", spans)
        for (pid, rank), spans in sorted(ranks.items(), key=lambda item: item[0])
    ]


def _span(event: dict[str, Any]) -> Span:
    begin = float(event["ts"]) * 1e-6
    # Analyses go by their names, everything else by its category.
    name = str(event["name"]).removesuffix(" (end)")
    category = str(event.get("cat") or name)
    kind = name if category == "analysis" else category
    step = int(event.get("args", {}).get("step", -1))
    return Span(kind, begin, begin + float(event["dur"]) * 1e-6, step)


def whole(strips: Sequence[Strip]) -> Window | None:
    """The run from its start to the last event; None if there is no event."""
    end = max((span.end for strip in strips for span in strip.spans), default=0.0)
    return _window(strips, 0.0, end) if end > 0 else None


def close_up(strips: Sequence[Strip]) -> Window | None:
    """A few publications in the middle; None if there are too few for that to show more."""
    begins: dict[int, float] = {}
    for strip in strips:
        for span in strip.spans:
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
                Span(s.kind, max(s.begin, begin), min(s.end, end), s.step)
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
            seconds[bin_] += max(0.0, min(span.end, low + width) - max(span.begin, low))
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
