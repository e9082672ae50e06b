# SPDX-License-Identifier: BSD-3-Clause
"""What short runs say about every placement, and which one to take. Pure.

Uncertainty has three parts, which add up as squares. One is what was measured: the same is
predicted from numbers drawn anew from those that were, many times, and nine of ten predictions lie
within the bounds. One is how far from the short runs a placement is: for ranks that none was on,
by how much the curves miss what they go through, and a tenth for each factor of two. The last is
the model's own.

Ways that are so nearly alike that the model cannot tell them apart are worth a run each; then what
these took decides.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from pillion.advise import model, samples
from pillion.advise.chains import Chain
from pillion.advise.costs import Costs
from pillion.advise.measuring import costs_of
from pillion.advise.memory import Memory
from pillion.advise.placement import Placement
from pillion.advise.samples import Trial

_DRAWS = 40
_OWN = 0.05  # of the model, which bench/advise.py compares with whole runs
_ALIKE = 1.03  # times the fastest, which is hard to tell from it, and fewer ranks will do
_NEARLY, _FINALISTS = 1.1, 4  # times the fastest that is expected, and so many of those
_SPARED = 0.01  # of publications left out is none


@dataclass(frozen=True)
class Prediction:
    """Of one placement: seconds a step, between `low` and `high`; what each side needs of them by
    itself; the share of publications left out; their mean, which is more where either side may turn
    out to be the longer; and what a short run took that had this placement.
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
    trials: Sequence[Trial],
    chains: Sequence[Chain],
    cores: int,
    memory: Memory,
    placements: Sequence[Placement],
    kind: str = "per_node",
    finals: Sequence[Trial] = (),
) -> Advice:
    """From short runs, at least one of which had all in the simulation. `cores` is for how many
    ranks there are cores, whatever threads they have. `finals` are short runs of those that are
    nearly alike, in turn (finalists).
    """
    costs = costs_of(trials, chains, cores)
    random = np.random.default_rng(1)
    drawn = [costs_of(trials, chains, cores, random) for _ in range(_DRAWS)]
    runs = [*trials, *finals]
    found = [_prediction(costs, drawn, runs, memory, placement) for placement in placements]
    found.sort(key=lambda p: (p.left_out > _SPARED, p.seconds))
    took = {t.placement: _measured(finals, t.placement) for t in finals}
    known = {placement: seconds for placement, seconds in took.items() if seconds is not None}
    notes = _notes(costs, trials, chains, found)
    if known:
        notes.append(
            f"{len(known)} that are nearly alike were run in turn, and what they took decided"
        )
    return Advice(kind, tuple(chains), cores, found, choose(found, known), notes)


def finalists(predictions: Sequence[Prediction]) -> list[Placement]:
    """Those that the model can hardly tell from the fastest; none if there is only one."""
    whole = _whole(predictions)
    bound = _NEARLY * min(p.expected for p in whole)
    nearly = sorted((p for p in whole if p.expected <= bound), key=lambda p: p.expected)
    return [p.placement for p in nearly[:_FINALISTS]] if len(nearly) > 1 else []


def choose(predictions: Sequence[Prediction], took: Mapping[Placement, float]) -> Prediction:
    """Of those that leave nothing out the fastest to be expected, or of those that were run in
    turn, whose seconds a step are in `took`, the one that was; of those about as fast, one with
    fewest ranks.
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
    trials: Sequence[Trial],
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
        measured=_measured(trials, placement),
    )


def _measured(trials: Sequence[Trial], placement: Placement) -> float | None:
    found = [samples.seconds_a_step(t.trail) for t in trials if t.placement == placement]
    return min((seconds for seconds in found if seconds > 0), default=None)


def _notes(
    costs: Costs,
    trials: Sequence[Trial],
    chains: Sequence[Chain],
    predictions: Sequence[Prediction],
) -> list[str]:
    """What people should know before they believe it."""
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
    failed = {name: why for trial in trials for name, why in trial.disabled.items()}
    out += [f"'{name}' failed in some of these runs: {why}" for name, why in failed.items()]
    if max(t.placement.ranks for t in trials) > costs.cores:
        out.append(f"some runs had more ranks than the {costs.cores} that have cores of their own")
    ratios = [p.measured / p.seconds for p in predictions if p.measured and p.left_out == 0]
    if ratios:
        out.append(
            f"the short runs themselves took {min(ratios):.2f} to {max(ratios):.2f} of what is "
            "predicted for them"
        )
    return out
