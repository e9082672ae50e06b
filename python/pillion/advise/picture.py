# SPDX-License-Identifier: BSD-3-Clause
"""Advice as a picture, seconds a step against the number of sidecars, and as a page around it that
loads nothing. A line is a way to cut the chains: whole where sidecars are taken from the ranks that
simulate, dashed where they come on top. Bars show the uncertainty, a ring what to take.
"""

from collections.abc import Sequence
from html import escape
from pathlib import Path

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from pillion.advise.advice import Advice, Prediction, lines_for
from pillion.advise.placement import mode_of
from pillion.report import page
from pillion.report.draw import PALETTE, STYLE, as_svg
from pillion.report.page import write_whole
from pillion.units import seconds

_MOST_LINES = 4


def write(advice: Advice, path: Path) -> None:
    """A page, or the picture alone if the file's name ends with .svg."""
    if path.suffix == ".svg":
        write_whole(path, alone(picture(advice, "advice")))
        return
    write_whole(path, page.document("The best placement of analyses", _sections(advice)))


def alone(svg: str) -> str:
    """The picture with fixed colours, for use outside the page."""
    svg = svg.replace("currentColor", "#1f2933").replace("var(--faint)", "#d5dbe1")
    return '<?xml version="1.0" encoding="utf-8"?>\n' + svg.replace(
        "<svg", '<svg style="background:#fff"', 1
    )


def picture(advice: Advice, prefix: str) -> str:
    """SVG for a page on which `prefix` is unique."""
    with mpl.rc_context({**STYLE, "svg.hashsalt": prefix}):
        figure = Figure(figsize=(7.6, 5.2), layout="constrained")
        axes = figure.add_subplot()
        _draw(axes, advice)
        figure.legend(loc="outside upper left", fontsize=9)
        return as_svg(figure, prefix, "seconds a step by the number of sidecars")


def _draw(axes: Axes, advice: Advice) -> None:
    inside = [p for p in advice.predictions if not p.placement.sidecars]
    ranks = inside[0].placement.simulation if inside else 0
    for prediction in inside:
        axes.axhline(prediction.seconds, color="#7b8794", linewidth=0.9, linestyle=":")
        _points(axes, [prediction], "#7b8794", ":", "all in the simulation")
    for number, cuts in enumerate(_ways(advice)):
        colour = PALETTE[number % len(PALETTE)]
        mine = [p for p in advice.predictions if p.placement.cuts == cuts and p.placement.sidecars]
        for style, on_top in (("-", False), ("--", True)):
            line = [p for p in mine if (p.placement.simulation == ranks) == on_top]
            name = None if on_top else mode_of(mine[0].placement, advice.chains)
            _points(axes, line, colour, style, name)
    axes.plot([], [], color="#7b8794", label="whole: sidecars are taken from the ranks")
    axes.plot([], [], "--", color="#7b8794", label="dashed: they come on top")
    chosen = advice.chosen
    at = chosen.placement.sidecars, chosen.seconds
    axes.plot(*at, "o", markersize=13, markerfacecolor="none", color="#2a9d6f", gid="chosen")
    axes.set_xlabel("sidecars")
    axes.set_ylabel("time a step takes / s")
    axes.xaxis.set_major_locator(MaxNLocator(integer=True))
    axes.set_ylim(bottom=0)


def _points(
    axes: Axes, line: Sequence[Prediction], colour: str, style: str, label: str | None
) -> None:
    line = sorted(line, key=lambda p: p.placement.sidecars)
    y = [p.seconds for p in line]
    bars = [[p.seconds - p.low for p in line], [p.high - p.seconds for p in line]]
    x = [p.placement.sidecars for p in line]
    axes.errorbar(
        x, y, yerr=bars, color=colour, linestyle=style, marker="o", markersize=4, capsize=3,
        label=label,
    )  # fmt: skip


def _ways(advice: Advice) -> list[tuple[int, ...]]:
    """Ways to cut, the ones with the fastest placements first; all in the sidecars among them."""
    found = [p.placement.cuts for p in advice.predictions if p.placement.sidecars]
    ways = list(dict.fromkeys(found))
    plain = [cuts for cuts in ways if not any(cuts)]
    return list(dict.fromkeys([*plain, *ways]))[:_MOST_LINES]


def _sections(advice: Advice) -> list[str]:
    chosen = advice.chosen
    where = escape(mode_of(chosen.placement, advice.chains))
    lines = escape("\n".join(lines_for(advice)))
    said = (
        f"<p>Take <strong>{chosen.placement}</strong> ranks, analyses: {where}. A step takes "
        f"{seconds(chosen.seconds)}.</p>\n<pre>{lines}</pre>"
    )
    heads = ["ranks", "analyses", "a step takes", "between", "simulation", "sidecars", "left out"]
    rows = [_row(advice, prediction) for prediction in advice.predictions]
    return [
        "<header><h1>The best placement of analyses</h1></header>",
        page.section("What to take", said),
        page.remarks_section(advice.notes),
        page.section("Seconds a step", f"<figure>{picture(advice, 'advice')}</figure>"),
        page.section("All placements", page.table(heads, rows)),
    ]


def _row(advice: Advice, prediction: Prediction) -> list[str]:
    return [
        str(prediction.placement),
        escape(mode_of(prediction.placement, advice.chains)),
        seconds(prediction.seconds),
        f"{seconds(prediction.low)} – {seconds(prediction.high)}",
        seconds(prediction.simulation),
        seconds(prediction.sidecars),
        f"{100 * prediction.left_out:.0f} %",
    ]
