# SPDX-License-Identifier: BSD-3-Clause
"""Predictions for every placement from short runs, the choice among them, and the advice as text
for a terminal and as JSON. Pure.

Uncertainty has three parts, which add up as squares:
- Measurements: the same is predicted many times from numbers drawn from the measured ones, and nine
  of ten predictions lie within the bounds.
- Distance from the short runs: on numbers of ranks without a short run, the curves' deviation from
  the measurements, and a tenth for each factor of two.
- The model's own error.

Placements that the model cannot distinguish get a run each; then the measured times decide.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from rich.box import SIMPLE_HEAD
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from pillion.advise import model
from pillion.advise.costs import Costs, costs_of
from pillion.advise.placement import Chain, Memory, Placement, mode_of
from pillion.advise.trace import ShortRun, seconds_a_step
from pillion.units import seconds

_DRAWS = 40
_OWN = 0.05  # of the model, which bench/advise.py compares with whole runs
_ALIKE = 1.03  # times the fastest, which is hard to tell from it, and fewer ranks will do
_NEARLY, _FINALISTS = 1.1, 4  # times the fastest that is expected, and so many of them
_SPARED = 0.01  # of publications left out is none
_MOST_LISTED = 14


@dataclass(frozen=True)
class Prediction:
    """The prediction for one placement. `seconds` a step lie between `low` and `high`; `simulation`
    and `sidecars` are the seconds that each side needs by itself. `left_out` is the share of
    publications left out. `expected` is the mean, which is larger if either side may prove to be
    the slower one. `measured` is the result of a short run with this placement.
    """

    placement: Placement
    seconds: float
    low: float
    high: float
    simulation: float
    sidecars: float
    left_out: float
    expected: float
    measured: float | None = None


@dataclass(frozen=True)
class Advice:
    """All predictions, the fastest first, and the one to take. `kind` is how sidecars are reached:
    `per_node`, `ranks` or `separate`; on `nodes` nodes each the configuration counts them.
    """

    kind: str
    chains: tuple[Chain, ...]
    cores: int
    predictions: list[Prediction]
    chosen: Prediction
    notes: list[str]
    nodes: int = 1

    def of(self, placement: Placement) -> Prediction | None:
        return next((p for p in self.predictions if p.placement == placement), None)


def advise(
    short_runs: Sequence[ShortRun],
    chains: Sequence[Chain],
    cores: int,
    memory: Memory,
    placements: Sequence[Placement],
    kind: str = "per_node",
    finals: Sequence[ShortRun] = (),
) -> Advice:
    """Advice from short runs. At least one of them had all analyses in the simulation. `cores` is
    the number of ranks that have a core each, whatever threads they have. `finals` are interleaved
    short runs of the placements with nearly equal predictions (finalists).
    """
    costs = costs_of(short_runs, chains, cores)
    random = np.random.default_rng(1)
    drawn = [costs_of(short_runs, chains, cores, random) for _ in range(_DRAWS)]
    runs = [*short_runs, *finals]
    found = [_prediction(costs, drawn, runs, memory, placement) for placement in placements]
    found.sort(key=lambda p: (p.left_out > _SPARED, p.seconds))
    took = {t.placement: _measured(finals, t.placement) for t in finals}
    known = {placement: seconds for placement, seconds in took.items() if seconds is not None}
    notes = _notes(costs, short_runs, chains, found)
    if known:
        notes.append(
            f"{len(known)} that are nearly alike were run in turn, and what they took decided"
        )
    return Advice(kind, tuple(chains), cores, found, choose(found, known), notes)


def finalists(predictions: Sequence[Prediction]) -> list[Placement]:
    """Placements that the model can hardly tell from the fastest; none if there is only one."""
    whole = _whole(predictions)
    bound = _NEARLY * min(p.expected for p in whole)
    nearly = sorted((p for p in whole if p.expected <= bound), key=lambda p: p.expected)
    return [p.placement for p in nearly[:_FINALISTS]] if len(nearly) > 1 else []


def choose(predictions: Sequence[Prediction], took: Mapping[Placement, float]) -> Prediction:
    """The placement with the shortest step, and of placements about as fast the one with the fewest
    ranks. Measured placements come first: `took` has their seconds a step in interleaved runs.
    Without these, the expected seconds of the placements that leave nothing out decide.
    """
    among = [p for p in predictions if p.placement in took] or _whole(predictions)

    def seconds(prediction: Prediction) -> float:
        return took.get(prediction.placement, prediction.expected)

    bound = _ALIKE * min(map(seconds, among))
    alike = [p for p in among if seconds(p) <= bound]
    return min(alike, key=lambda p: (p.placement.ranks, seconds(p), p.placement.sidecars))


def _whole(predictions: Sequence[Prediction]) -> list[Prediction]:
    return [p for p in predictions if p.left_out <= _SPARED] or list(predictions)


def _prediction(
    costs: Costs,
    drawn: Sequence[Costs],
    short_runs: Sequence[ShortRun],
    memory: Memory,
    placement: Placement,
) -> Prediction:
    found = model.outcome(costs, placement, memory)
    middle = model.roughly(costs, placement)
    ratios = [model.roughly(other, placement) / middle for other in drawn] if middle else [1.0]
    uncertain = costs.uncertainty(placement)
    far = max(uncertain)
    low, high = np.quantile(ratios, [0.05, 0.95])
    return Prediction(
        placement=placement,
        seconds=found.seconds,
        low=found.seconds * max(0.0, 1 - math.hypot(1 - low, far, _OWN)),
        high=found.seconds * (1 + math.hypot(high - 1, far, _OWN)),
        simulation=found.simulation,
        sidecars=found.sidecars,
        left_out=found.left_out,
        expected=model.expected(found, uncertain),
        measured=_measured(short_runs, placement),
    )


def _measured(short_runs: Sequence[ShortRun], placement: Placement) -> float | None:
    found = [seconds_a_step(t.trace) for t in short_runs if t.placement == placement]
    return min((seconds for seconds in found if seconds > 0), default=None)


def _notes(
    costs: Costs,
    short_runs: Sequence[ShortRun],
    chains: Sequence[Chain],
    predictions: Sequence[Prediction],
) -> list[str]:
    """Limits of the advice that the user should know."""
    out = [
        f"'{chain.name}' was not seen at work in these runs, so what it costs is not in any number"
        for chain, rate, work in zip(chains, costs.rates, costs.works)
        if rate == 0 or not work.whole.known
    ]
    for chain, work in zip(chains, costs.works):
        late = [name for name, stage in zip(chain.stages, work.stages) if not stage.known]
        if late and work.whole.known:
            out.append(
                f"nothing came to '{late[0]}' of '{chain.name}' in runs that had all in the "
                "simulation, so what it costs is not in any number; a larger --seconds sees more"
            )
    failed = {name: why for short_run in short_runs for name, why in short_run.disabled.items()}
    out += [f"'{name}' failed in some of these runs: {why}" for name, why in failed.items()]
    if max(t.placement.ranks for t in short_runs) > costs.cores:
        out.append(f"some runs had more ranks than the {costs.cores} that have cores of their own")
    ratios = [p.measured / p.seconds for p in predictions if p.measured and p.left_out == 0]
    if ratios:
        out.append(
            f"the short runs themselves took {min(ratios):.2f} to {max(ratios):.2f} of what is "
            "predicted for them"
        )
    return out


def shown(advice: Advice) -> RenderableType:
    table = Table(
        box=SIMPLE_HEAD,
        padding=(0, 1, 0, 0),
        header_style="bright_black",
        border_style="bright_black",
    )
    table.add_column("ranks", no_wrap=True)
    table.add_column("analyses", overflow="fold")
    for title in ("a step takes", "between", "of the chosen", "left out"):
        table.add_column(title, justify="right", no_wrap=True)
    groups = _listed(advice)
    for group in groups:
        table.add_row(*_table_cells(advice, group), style=_table_style(advice, group[0]))
    hidden = len(advice.predictions) - sum(map(len, groups))
    parts: list[RenderableType] = [table]
    if hidden:
        parts.append(Text(f"  and {hidden} slower ways (--json has all)", "bright_black"))
    parts += [Text(f"  ! {note}", "yellow") for note in advice.notes]
    return Group(*parts, Text(""), _verdict(advice))


def _listed(advice: Advice) -> list[list[Prediction]]:
    """Groups with equal numbers in the table: the fastest; and each number of ranks with all in the
    sidecars or all in the simulation.
    """
    groups: dict[tuple[str, ...], list[Prediction]] = {}
    for prediction in advice.predictions:
        _, _, *numbers = _table_cells(advice, [prediction])
        is_own = prediction is advice.chosen or _is_plain(prediction)
        key = (str(prediction.placement), *numbers, repr(prediction.placement.cuts) * is_own)
        groups.setdefault(key, []).append(prediction)
    plain = [g for g in groups.values() if _is_plain(g[0]) or g[0] is advice.chosen]
    others = [g for g in groups.values() if g not in plain]
    first = others[: max(0, _MOST_LISTED - len(plain))]
    return [g for g in groups.values() if g in plain or g in first]


def _is_plain(prediction: Prediction) -> bool:
    return not prediction.placement.sidecars or not any(prediction.placement.cuts)


def _table_cells(advice: Advice, group: Sequence[Prediction]) -> list[str]:
    """A row for predictions that differ in nothing but the places of their analyses."""
    prediction, best = group[0], advice.chosen.seconds
    left_out = f"{100 * prediction.left_out:.0f} %" if prediction.left_out > 0.005 else "–"
    more = f" (and {len(group) - 1} other ways)" if len(group) > 1 else ""
    return [
        ("▸ " if prediction is advice.chosen else "  ") + str(prediction.placement),
        mode_of(prediction.placement, advice.chains) + more,
        seconds(prediction.seconds),
        f"{seconds(prediction.low)} – {seconds(prediction.high)}",
        f"{100 * prediction.seconds / best:.0f} %",
        left_out,
    ]


def _table_style(advice: Advice, prediction: Prediction) -> str:
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
    """The lines to set in the configuration, and the command to start it with."""
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
