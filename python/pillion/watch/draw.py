# SPDX-License-Identifier: BSD-3-Clause
"""The display of `pillion watch`, as renderables of rich, for terminals of any size. It shows the
progress of the run and its analyses (columns). Curves fill the remaining space, each with a name
and its last value. Pure.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from rich.box import ROUNDED
from rich.console import Group, RenderableType
from rich.panel import Panel
from rich.table import Table
from rich.text import Text

from pillion.progress import State
from pillion.units import size
from pillion.watch.columns import LIVE, analyses, count, duration
from pillion.watch.curves import Curve, sparkline
from pillion.watch.model import SILENT_AFTER, View

_HIGHEST = 4  # rows of a curve
_SIDE_BY_SIDE = 110  # columns from which on there are two beside each other
_CURVE_COLOURS = ("bright_blue", "bright_magenta", "bright_cyan", "bright_green")
_STYLES = {
    State.RUNNING: "bold green",
    State.ENDED: "bold cyan",
    State.LEFT: "bold yellow",
    State.FAILED: "bold red",
    State.GONE: "bold red",
    State.SILENT: "bold yellow",
}
ACCENT = "bright_blue"


def _title(shown: Curve, width: int, colour: str) -> Text:
    name = Text.assemble((shown.label, "bold"), (f"  {shown.column}", colour))
    name.append(f"  over {shown.x}{', logarithmic' if shown.log else ''}", "bright_black")
    value = Text(shown.value_text(), "bold")
    name.truncate(max(1, width - len(value) - 2), overflow="ellipsis")
    return name.append(" " * (width - len(name) - len(value))).append_text(value)


def _pane(shown: Curve | str, width: int, height: int, colour: str) -> RenderableType:
    if isinstance(shown, str):
        text = Text(shown, "yellow", no_wrap=True, overflow="ellipsis")
        return Group(text, *[Text("")] * height)
    title = _title(shown, width, colour)
    return Group(title, *(Text(line, colour) for line in sparkline(shown.heights, width, height)))


def curve_panes(shown: Sequence[Curve | str], width: int, rows: int, turn: int) -> Panel | None:
    """As many curves as fit in `rows` rows, as high as possible; the others are shown in later
    turns.
    """
    room = rows - 2
    if not shown or room < 2:
        return None
    beside = 2 if width >= _SIDE_BY_SIDE and len(shown) > 1 else 1
    lines = min(-(-len(shown) // beside), room // 2)
    airy = (room + 1) // lines - 2  # with a blank row between
    height = min(_HIGHEST, airy if airy >= 2 else room // lines - 1)
    number = min(len(shown), lines * beside)
    first = turn * number % len(shown) if number < len(shown) else 0
    chosen = [(first + i) % len(shown) for i in range(number)]
    inner = width - 4
    each = (inner - 3 * (beside - 1)) // beside
    grid = Table.grid(padding=(0, 3, 0, 0))
    panes = [_pane(shown[i], each, height, _CURVE_COLOURS[i % len(_CURVE_COLOURS)]) for i in chosen]
    for begin in range(0, number, beside):
        if begin and airy >= 2:
            grid.add_row()
        grid.add_row(*panes[begin : begin + beside])
    more = len(shown) - number
    return Panel(
        grid,
        title=Text("results", "bold"),
        title_align="left",
        subtitle=Text(f"{more} more", "bright_black") if more else None,
        subtitle_align="right",
        box=ROUNDED,
        border_style="bright_black",
        padding=(0, 1),
        width=width,
    )


def pace(value: float | None) -> str:
    if value is None:
        return ""
    return f"{count(round(value))} steps/s" if value >= 100 else f"{value:.3g} steps/s"


def bar(part: float, width: int) -> Text:
    """How full something is."""
    share = min(1.0, max(0.0, part))
    full, rest = divmod(round(share * width * 8), 8)
    text = "█" * full + ("▏▎▍▌▋▊▉"[rest - 1] if rest else "")
    style = "red" if share > 0.9 else "yellow" if share > 0.7 else "green"
    return Text.assemble((text, style), ("─" * (width - len(text)), "bright_black"))


def state_text(view: View) -> Text:
    """The state, and what is odd about it."""
    text = Text(f"● {view.state.value}", _STYLES[view.state])
    if view.waiting:
        text.append("  waiting for sidecars", "yellow")
    elif view.state is State.SILENT:
        text.append(f"  no sign of life for {duration(view.silent)}", "yellow")
    elif view.silent > SILENT_AFTER:
        text.append(f"  no step for {duration(view.silent)}", "yellow")
    return text


def moment(view: View) -> Text:
    """Step, time and pace."""
    if view.step is None:
        return Text("no step yet", "bright_black")
    text = Text.assemble("step ", (count(view.step), "bold"))
    if view.time is not None:
        text.append("   t = ", "bright_black").append(f"{view.time:.5g} {view.time_units}".rstrip())
    if view.steps_per_second is not None:
        text.append("   ").append(pace(view.steps_per_second), "bold")
    return text


def ranks(view: View) -> str:
    mine = f"{count(view.simulation_ranks)} ranks" if view.simulation_ranks != 1 else "1 rank"
    if not view.sidecar_ranks:
        return mine
    return f"{mine} + {view.sidecar_ranks} sidecar{'s' if view.sidecar_ranks > 1 else ''}"


def _joined(parts: Sequence[Text | str]) -> Text:
    out = Text()
    for part in parts:
        if out:
            out.append(" · ", "bright_black")
        out.append_text(Text(part) if isinstance(part, str) else part)
    return out


def _publications(view: View) -> list[Text | str]:
    out: list[Text | str] = [f"{count(view.publications)} publications"]
    if view.behind is not None:
        out.append(Text(f"{count(view.behind)} behind", "yellow" if view.behind > 1 else ""))
    if view.skipped or view.behind is not None:
        out.append(Text(f"{count(view.skipped)} skipped", "yellow" if view.skipped else ""))
    if view.restarts:
        out.append(Text(f"sidecars restarted {view.restarts}×", "yellow"))
    return out


def publications(view: View) -> Text:
    """How many there were, and how many are missing."""
    return _joined(_publications(view))


def _memory(view: View, width: int) -> Text | None:
    if view.memory is None or view.memory.budget <= 0:
        return None
    in_use, budget, peak = view.memory.in_use, view.memory.budget, view.memory.peak
    text = Text("memory ", "bright_black")
    text.append_text(bar(in_use / budget, max(10, min(40, width - 52))))
    text.append(f" {size(in_use)} of {size(budget)}")
    return text.append(f"  peak {size(peak)}", "bright_black")


def _sides(view: View) -> Text | None:
    """Sidecars and attached jobs that deserve a word."""
    parts = []
    for side in view.sides:
        if side.name == "sidecars" and side.state is view.state:
            continue
        text = Text(f"{side.name} ").append(side.state.value, _STYLES[side.state])
        parts.append(text.append(f": {side.failure}", "red") if side.failure else text)
    return _joined(parts) if parts else None


def head(view: View, width: int) -> Panel:
    inner = width - 4
    lines: list[Text] = [moment(view)]
    who: list[Text | str] = [ranks(view), duration(view.elapsed)]
    lines.append(_joined([*who, *_publications(view)]))
    lines += [text for text in (_memory(view, inner), _sides(view)) if text is not None]
    if view.failure:
        lines.append(Text(" ".join(view.failure.split()), "red"))
    for line in lines:
        line.truncate(inner, overflow="ellipsis")
    name = Text.assemble((f"{view.run} ", f"bold {ACCENT}"))
    where = Text(f"{view.host} · {view.pid}", "bright_black")
    return Panel(
        Group(*lines),
        title=name.append_text(state_text(view)),
        title_align="left",
        subtitle=where if width >= 60 else None,
        subtitle_align="right",
        box=ROUNDED,
        border_style="bright_black",
        padding=(0, 1),
        width=width,
    )


@dataclass(frozen=True)
class Screen:
    """How much room there is."""

    width: int
    height: int


def frame(
    view: View, curves_shown: Sequence[Curve | str], screen: Screen, turn: int = 0
) -> RenderableType:
    """All of it in one frame that fits the height of the screen."""
    parts: list[RenderableType] = [head(view, screen.width)]
    used = 2 + _lines_of_head(view, screen.width)
    warning = _warning(view, screen.width)
    foot = 1 if warning is not None else 0
    room = screen.height - used - foot - 1
    wanted = len(view.rows) + 3
    least = 4 if curves_shown else 0  # of curves
    table_rows = min(wanted, max(4, room - least)) - 3
    hidden = 1 if table_rows < len(view.rows) else 0
    if view.rows:
        parts.append(analyses(LIVE, view.rows, screen.width, table_rows - hidden))
        room -= min(table_rows, len(view.rows)) + 3
    below = curve_panes(curves_shown, screen.width, room, turn)
    parts += [p for p in (below, warning) if p is not None]
    return Group(*parts)


def _lines_of_head(view: View, width: int) -> int:
    optional = (_memory(view, width), _sides(view), view.failure)
    return 2 + sum(1 for part in optional if part)


def _warning(view: View, width: int) -> Text | None:
    disabled = [f"{r.name}: {r.disabled}" for r in view.rows if r.disabled]
    texts = disabled or list(view.warnings)
    if not texts:
        return None
    text = Text(f" ! {' '.join(texts[-1].split())}", "red" if disabled else "yellow")
    text.truncate(width - 1, overflow="ellipsis")
    return text


def waiting(what: str, turn: int) -> Text:
    """Shown while there is no run yet."""
    spinner = "⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏"[turn % 10]
    return Text.assemble(
        (f" {spinner} ", ACCENT), f"waiting for {what}", ("  q leaves", "bright_black")
    )
