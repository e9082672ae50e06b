# SPDX-License-Identifier: BSD-3-Clause
"""Advice for people at a terminal and for programs: a table of placements, the one to take, and the
lines of the configuration that make it so. Pure.
"""

from typing import Any

from rich.box import SIMPLE_HEAD
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from pillion.advise.advice import Advice, Prediction
from pillion.advise.chains import Chain
from pillion.advise.placement import mode_of
from pillion.units import seconds

_MOST = 14


def shown(advice: Advice) -> RenderableType:
    table = Table(
        box=SIMPLE_HEAD,
        padding=(0, 1, 0, 0),
        header_style="bright_black",
        border_style="bright_black",
    )
    table.add_column("ranks", no_wrap=True)
    table.add_column("analyses", overflow="fold")
    for title in ("a step takes", "between", "of the best", "left out"):
        table.add_column(title, justify="right", no_wrap=True)
    listed = _listed(advice)
    for prediction in listed:
        table.add_row(*_cells(advice, prediction), style=_style(advice, prediction))
    hidden = len(advice.predictions) - len(listed)
    parts: list[RenderableType] = [table]
    if hidden:
        parts.append(Text(f"  and {hidden} slower ways (--json has all)", "bright_black"))
    parts += [Text(f"  ! {note}", "yellow") for note in advice.notes]
    return Group(*parts, Text(""), _verdict(advice))


def _listed(advice: Advice) -> list[Prediction]:
    """The fastest; and each number of ranks with all in the sidecars or all in the simulation."""
    plain = [p for p in advice.predictions if not p.placement.sidecars or not any(p.placement.cuts)]
    first = [p for p in advice.predictions if p not in plain][: max(0, _MOST - len(plain))]
    chosen = {p.placement for p in (*plain, *first, advice.chosen)}
    return [p for p in advice.predictions if p.placement in chosen]


def _cells(advice: Advice, prediction: Prediction) -> list[str]:
    best = advice.chosen.seconds
    left_out = f"{100 * prediction.left_out:.0f} %" if prediction.left_out > 0.005 else "–"
    return [
        ("▸ " if prediction is advice.chosen else "  ") + str(prediction.placement),
        mode_of(prediction.placement, advice.chains),
        seconds(prediction.seconds),
        f"{seconds(prediction.low)} – {seconds(prediction.high)}",
        f"{100 * prediction.seconds / best:.0f} %",
        left_out,
    ]


def _style(advice: Advice, prediction: Prediction) -> str:
    return "bold green" if prediction is advice.chosen else ""


def _verdict(advice: Advice) -> Text:
    chosen = advice.chosen
    where = mode_of(chosen.placement, advice.chains)
    text = Text.assemble(("▸ take ", "bold"), (f"{chosen.placement} ranks", "bold green"))
    text.append(f", analyses: {where}; a step takes {seconds(chosen.seconds)}\n")
    for line in lines_for(advice):
        text.append(f"    {line}\n", "cyan")
    return text


def lines_for(advice: Advice) -> list[str]:
    """What to say in the configuration, and how to start it then."""
    placement = advice.chosen.placement
    count = {"separate": "job: separate, per_node"}.get(advice.kind, advice.kind)
    each = placement.sidecars // advice.nodes
    sidecars = f"{{{count}: {each}, …}}" if placement.sidecars else "null"
    return [
        f"sidecars: {sidecars}",
        *(f"{c.name}: {_said(c, cut)}" for c, cut in zip(advice.chains, placement.cuts)),
        f"pillion run -n {placement.simulation} …",
    ]


def _said(chain: Chain, cut: int) -> str:
    if cut in (0, len(chain.stages)):
        return f"every stage `at: {'simulation' if cut else 'sidecar'}`"
    return (
        f"`at: simulation` for {', '.join(chain.stages[:cut])}; "
        f"`at: sidecar` for {', '.join(chain.stages[cut:])}"
    )


def for_programs(advice: Advice) -> dict[str, Any]:
    """The same as plain values; the fastest first."""
    return {
        "pillion": "advice 1",
        "cores": advice.cores,
        "chains": [
            {"name": c.name, "stages": list(c.stages), "every": c.every} for c in advice.chains
        ],
        "chosen": _plain(advice, advice.chosen),
        "placements": [_plain(advice, p) for p in advice.predictions],
        "notes": advice.notes,
    }


def _plain(advice: Advice, prediction: Prediction) -> dict[str, Any]:
    return {
        "simulation": prediction.placement.simulation,
        "sidecars": prediction.placement.sidecars,
        "cuts": list(prediction.placement.cuts),
        "analyses": mode_of(prediction.placement, advice.chains),
        "seconds": prediction.seconds,
        "low": prediction.low,
        "high": prediction.high,
        "simulation_needs": prediction.simulation,
        "sidecars_need": prediction.sidecars,
        "left_out": prediction.left_out,
        "measured": prediction.measured,
    }
