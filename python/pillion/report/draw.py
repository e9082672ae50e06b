# SPDX-License-Identifier: BSD-3-Clause
"""Plots and timelines as SVG that is pasted into a page.

Matplotlib draws with fixed colours, which CSS then replaces by the page's own, so that a plot is
readable in light and dark. Ids get a prefix, so that many plots share one page. Text is drawn as
paths: the page looks the same everywhere and needs no font.
"""

import io
import re
from collections.abc import Sequence
from html import escape
from typing import Any

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter, ScalarFormatter

from pillion import units
from pillion.report.planes import DECADES, HeatMap
from pillion.report.plots import Plot
from pillion.report.timeline import BINS, POINTS, Strip, Window, merged, shares

INK, FAINT = "#010203", "#040506"  # replaced by the page's colours
PALETTE = ("#2f7ed8", "#e0762b", "#2a9d6f", "#c2549d", "#8a6fdf", "#a88c1f", "#d1495b", "#4aa3b5")
HATCHES = ("", "///", "...", "xxx")
LINES = ("-", "--", ":", "-.")
MARKED = 30  # points of a curve at most that get a mark each
KIND_COLOURS = {
    "publish": "#e0762b",
    "stall": "#d1495b",
    "condition": "#a88c1f",
    "checkpoint": "#7b8794",
}
STYLE: dict[Any, Any] = {
    "svg.fonttype": "path",
    "font.size": 10.5,
    "text.color": INK,
    "axes.edgecolor": INK,
    "axes.labelcolor": INK,
    "xtick.color": INK,
    "ytick.color": INK,
    "axes.grid": True,
    "axes.axisbelow": True,
    "grid.color": FAINT,
    "grid.linewidth": 0.8,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.linewidth": 0.8,
    "lines.linewidth": 1.6,
    "legend.frameon": False,
    "axes.formatter.use_mathtext": True,
    "axes.formatter.limits": (-3, 6),
}


def draw_plot(plot: Plot, prefix: str) -> str:
    """The plot as SVG text; `prefix` is unique on the page."""
    with mpl.rc_context({**STYLE, "svg.hashsalt": prefix}):
        figure = Figure(figsize=(6.0, 3.7), layout="constrained")
        axes = figure.add_subplot()
        if plot.level is not None:
            axes.axhline(plot.level, color=FAINT, linewidth=1.4)
        for number in range(len(plot.curves)):
            _draw_curve(axes, plot, number)
        axes.margins(x=0.02)
        _set_scales(axes, plot.log_x, plot.log_y)
        axes.autoscale_view()
        if plot.highest is not None:
            axes.set_ylim(0, plot.highest)
        axes.set_autoscale_on(False)
        dashed = [_draw_compared(axes, plot, place) for place in range(len(plot.compared))]
        axes.set_xlabel(_axis_label(plot.x_label, plot.x_units))
        axes.set_ylabel(_axis_label(_y_label(plot), plot.y_units))
        if len(plot.curves) > 1 or dashed:
            widest = max(len(label) for label in [*(c.label for c in plot.curves), *dashed])
            columns = max(1, 70 // (widest + 7))
            figure.legend(loc="outside upper left", fontsize=9, ncols=columns, handlelength=1.6)
        labels = ", ".join(curve.key for curve in plot.curves)
        return as_svg(figure, prefix, f"{plot.y_label} over {plot.x_label}: {labels}")


def _set_scales(axes: Axes, log_x: bool, log_y: bool) -> None:
    """Logarithmic axes that have a few numbers each, none over another."""
    if log_x:
        axes.set_xscale("log")
    if log_y:
        axes.set_yscale("log")
    for axis in [axes.xaxis] * log_x + [axes.yaxis] * log_y:
        lowest, highest = axis.get_view_interval()
        if lowest > 0 and highest < 100 * lowest:
            axis.set_major_locator(LogLocator(subs=(1, 2, 5)))
            axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
        axis.set_minor_formatter(NullFormatter())


def draw_heat_map(plot: HeatMap, prefix: str) -> str:
    """Values by colour; where there are none, the page shows through."""
    values = np.ma.masked_invalid(plot.values)
    if plot.log_values and plot.limits is not None:
        values = np.ma.maximum(values, plot.limits[0])  # darkest, and not a hole
    elif plot.log_values:
        values = np.ma.masked_less_equal(values, 0)
    with mpl.rc_context({**STYLE, "svg.hashsalt": prefix, "axes.grid": False}):
        figure = Figure(figsize=(6.0, 4.4), layout="constrained", dpi=150)
        axes = figure.add_subplot()
        mesh = axes.pcolormesh(
            plot.x_edges,
            plot.y_edges,
            values,
            norm=_norm(plot, values) if values.count() else None,
            cmap=_colour_map(plot),
            rasterized=True,
        )
        _set_scales(axes, plot.log_x, plot.log_y)
        if plot.equal:
            axes.set_aspect("equal")
        axes.set_title(plain(plot.title), fontsize=10.5)
        axes.set_xlabel(_axis_label(plot.x_label, plot.x_units))
        axes.set_ylabel(_axis_label(plot.y_label, plot.y_units))
        if values.count():
            bar = figure.colorbar(mesh, ax=axes, ticks=plot.kinds or None)
            bar.set_label(_axis_label(plot.label, plot.units))
        description = f"{plot.label} of {plot.y_label} against {plot.x_label}"
        return as_svg(figure, prefix, description)


def _norm(plot: HeatMap, values: np.ma.MaskedArray) -> mpl.colors.Normalize:
    if plot.kinds:
        kinds = np.array(plot.kinds)
        edges = [kinds[0] - 0.5, *(kinds[1:] + kinds[:-1]) / 2, kinds[-1] + 0.5]
        return mpl.colors.BoundaryNorm(edges, len(kinds))
    low, high = plot.limits or (values.min(), values.max())
    if not plot.log_values:
        return mpl.colors.Normalize(low, high)
    return mpl.colors.LogNorm(max(low, DECADES * high), high)


def _colour_map(plot: HeatMap) -> mpl.colors.Colormap:
    if plot.kinds:
        return mpl.colormaps["viridis"].resampled(len(plot.kinds))
    return mpl.colormaps["magma" if plot.equal else "viridis"]


def _draw_compared(axes: Axes, plot: Plot, place: int) -> str:
    """A dashed line in the colour of its curve, as far as it is within the axes; returns its label,
    which is shown once.
    """
    number, curve = plot.compared[place]
    first = all(other.label != curve.label for _, other in plot.compared[:place])
    axes.plot(
        curve.x,
        curve.y,
        color=_colour(plot, number),
        label=plain(curve.label) if first else None,
        linestyle="--",
        linewidth=1.2,
        gid=f"compared-{place}",
    )
    return curve.label


def _draw_curve(axes: Axes, plot: Plot, number: int) -> None:
    curve, gid = plot.curves[number], f"curve-{number}"
    colour = _colour(plot, number)
    if curve.lower is not None and curve.upper is not None:
        _draw_interval(axes, plot, number, colour)
    if plot.edges:
        axes.stairs(
            curve.y,
            curve.x,
            color=colour,
            label=plain(curve.label),
            linestyle=LINES[number // len(PALETTE) % len(LINES)],
            linewidth=1.6,
            gid=gid,
        )
        return
    axes.plot(
        curve.x,
        curve.y,
        color=colour,
        label=plain(curve.label),
        linestyle=LINES[number // len(PALETTE) % len(LINES)],
        marker="o" if len(curve.x) <= MARKED else None,
        markersize=3.2,
        gid=gid,
    )


def _draw_interval(axes: Axes, plot: Plot, number: int, colour: str) -> None:
    """Bars for few points or for bins, a band for many points. A logarithmic axis shows
    what is above 0 of it.
    """
    curve, gid = plot.curves[number], f"interval-{number}"
    assert curve.lower is not None and curve.upper is not None
    lower, x = curve.lower, curve.x
    if plot.edges:
        x = (x[1:] + x[:-1]) / 2
    if plot.log_y:
        least = curve.y[curve.y > 0].min(initial=np.inf) / 2
        lower = np.where(lower > 0, lower, np.minimum(least, curve.y))
    if len(x) <= MARKED or plot.edges:
        axes.vlines(x, lower, curve.upper, color=colour, linewidth=1.1, gid=gid)
    else:
        axes.fill_between(x, lower, curve.upper, color=colour, alpha=0.22, lw=0, gid=gid)


def _colour(plot: Plot, number: int) -> str:
    """Steps go from light to dark; other curves have colours of their own."""
    if not plot.over_steps:
        return PALETTE[number % len(PALETTE)]
    share = number / max(1, len(plot.curves) - 1)
    return mpl.colors.to_hex(mpl.colormaps["plasma"](0.88 - 0.56 * share))


def _y_label(plot: Plot) -> str:
    """A lone curve has no legend, so the axis says its name."""
    if len(plot.curves) > 1 or plot.over_steps or plot.curves[0].label in plot.y_label:
        return plot.y_label
    return f"{plot.y_label}, {plot.curves[0].label}"


def plain(text: str) -> str:
    """A text from outside for Matplotlib, which takes dollar signs for formulas and leaves labels
    out of legends that begin with an underscore.
    """
    text = text.replace("$", r"\$")
    return f" {text}" if text.startswith("_") else text


def _axis_label(label: str, unit: str) -> str:
    """A quantity over its unit; a unit that is a fraction itself stands in parentheses."""
    shown = units.as_math(unit)
    return f"{plain(label)} / {f'({shown})' if '/' in unit else shown}" if unit else plain(label)


def draw_timeline(window: Window, prefix: str) -> str:
    """One strip per rank, coloured by what it did, with the share of time that it did anything."""
    strips = window.strips
    kinds = sorted({span.kind for strip in strips for span in strip.spans})
    looks = looks_of(kinds)
    draw_strip = _draw_shares if window.crowded else _draw_spans
    with mpl.rc_context({**STYLE, "svg.hashsalt": prefix, "axes.grid": False}):
        figure = Figure(figsize=(12.4, 1.1 + 0.28 * len(strips)), layout="constrained")
        axes = figure.add_subplot()
        for row in range(len(strips)):
            axes.axhline(row + 0.36, color=FAINT, linewidth=0.8, zorder=0)
            for kind, look in looks.items():
                draw_strip(axes, row, window, kind, look)
        axes.set_yticks(range(len(strips)), [_strip_label(strip, window) for strip in strips])
        axes.set_ylim(len(strips) - 0.4, -0.6)
        axes.set_xlim(window.begin, window.end)
        axes.set_xlabel("time since the start / s")
        axes.spines["left"].set_visible(False)
        axes.tick_params(axis="y", length=0)
        swatches = [mpl.patches.Patch(label=plain(kind), **looks[kind]) for kind in kinds]
        figure.legend(handles=swatches, loc="outside upper left", ncols=8, fontsize=9.5)
        return as_svg(figure, prefix, f"timeline: {', '.join(kinds)}")


def looks_of(kinds: Sequence[str]) -> dict[str, dict[str, Any]]:
    """How kinds of work are filled, each in its own way: by a colour, then by a pattern too."""
    spare = [colour for colour in PALETTE if colour not in KIND_COLOURS.values()]
    looks = {}
    for kind in kinds:
        if colour := KIND_COLOURS.get(kind):
            looks[kind] = {"facecolor": colour, "edgecolor": colour}
            continue
        number = len(looks.keys() - KIND_COLOURS.keys())
        hatch = HATCHES[number // len(spare) % len(HATCHES)]
        colour = spare[number % len(spare)]
        looks[kind] = {"facecolor": colour, "edgecolor": "white" if hatch else colour}
        if hatch:
            looks[kind] |= {"hatch": hatch}
    return looks


def _strip_label(strip: Strip, window: Window) -> str:
    return f"{strip.label}: {units.percent(window.share(strip), 1.0)}"


def _draw_spans(axes: Axes, row: int, window: Window, kind: str, look: dict[str, Any]) -> None:
    """Every span; what is too short to see gets a hairline."""
    gap = (window.end - window.begin) / POINTS
    mine = [s for s in merged(window.strips[row].spans, gap) if s.kind == kind]
    spans = [(s.begin, s.end - s.begin) for s in mine]
    if spans:
        gid = f"strip-{row}-{kind}"
        axes.broken_barh(spans, (row - 0.36, 0.72), **look, linewidth=0.8, gid=gid)


def _draw_shares(axes: Axes, row: int, window: Window, kind: str, look: dict[str, Any]) -> None:
    """Columns as high as the rank was busy, kinds on top of each other."""
    strip = window.strips[row]
    below = np.zeros(BINS)
    for other in sorted({span.kind for span in strip.spans if span.kind < kind}):
        below += shares(window, strip, other)
    top = below + shares(window, strip, kind)
    if (top > below).any():
        edges = np.linspace(window.begin, window.end, BINS + 1)
        foot = row + 0.36
        axes.stairs(
            foot - 0.72 * np.minimum(top, 1),
            edges,
            baseline=foot - 0.72 * np.minimum(below, 1),
            fill=True,
            **look,
            linewidth=0.4,
            gid=f"strip-{row}-{kind}",
        )


class _PlainNumbers(ScalarFormatter):
    """Ticks as plain text, since formulas take most of the time of a page; the power of ten beside
    the axis stays one."""

    def __call__(self, x: float, pos: int | None = None) -> str:
        return super().__call__(x, pos).removeprefix(r"$\mathdefault{").removesuffix("}$")


def as_svg(figure: Figure, prefix: str, description: str) -> str:
    """SVG without prolog, in the page's colours, scaled by the page, with ids of its own."""
    for axis in (axis for axes in figure.axes for axis in (axes.xaxis, axes.yaxis)):
        if type(axis.get_major_formatter()) is ScalarFormatter:
            axis.set_major_formatter(_PlainNumbers())
    out = io.StringIO()
    figure.savefig(out, format="svg", transparent=True, metadata={"Date": None, "Creator": None})
    text = out.getvalue()
    text = text[text.index("<svg") :]
    text = re.sub(r"<metadata>.*?</metadata>", "", text, flags=re.DOTALL)
    text = re.sub(r"<!--.*?-->\s*", "", text, flags=re.DOTALL)
    text = text.replace(INK, "currentColor").replace(FAINT, "var(--faint)")
    text = re.sub(r'\bid="', f'id="{prefix}-', text)
    text = re.sub(r'xlink:href="#', f'xlink:href="#{prefix}-', text)
    text = re.sub(r"url\(#", f"url(#{prefix}-", text)
    text = re.sub(r'(<svg[^>]*?) width="[^"]*"', r"\1", text, count=1)
    text = re.sub(r'(<svg[^>]*?) height="[^"]*"', r"\1", text, count=1)
    return text.replace("<svg", f'<svg role="img" aria-label="{escape(description)}"', 1)
