#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Does the advisor's model know 2048 ranks from a few hundred? Takes the runs of
results/probes.jsonl (at most 1024 ranks; `intransit.sh probes`) for short runs of a user, predicts
the period of every point of results/intransit*.jsonl, and compares. Prints a line of JSON for each,
and last the largest deviation and the loss by its choice. `make docs` draws the points.
"""

import json
import math
import sys
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "python"))

from pillion.advise import model  # noqa: E402
from pillion.advise.costs import Costs, Crossing, Measured, Work, measured  # noqa: E402
from pillion.advise.placement import Chain, Memory, Placement, cut_at, inside  # noqa: E402

STAGES = ("carrying", "halos", "spectrum")
CHAIN = Chain("science", STAGES, 0, 1)
AMPLE = Memory(budget=2.0**50)


class Point(NamedTuple):
    """Of the study: ranks, and seconds a step as predicted, as expected where sides are nearly
    alike, and as simulated.
    """

    cells: int
    every: int
    placement: Placement
    predicted: float
    expected: float
    simulated: float

    @property
    def ratio(self) -> float:
        return self.predicted / self.simulated


def lines(*names: str) -> list[dict[str, float]]:
    texts = [(HERE / "results" / f"{name}.jsonl").read_text(encoding="utf-8") for name in names]
    return [json.loads(line) for text in texts for line in text.splitlines()]


def costs_of(cells: int, every: int) -> Costs:
    """From runs of this size with few ranks. What lies between publications is the solver's."""
    runs = [run for run in lines("probes") if run["cells"] == cells]
    inside = [run for run in runs if not run["analysis"]]

    def of(value: Callable[[dict[str, float]], float]) -> Measured:
        return measured({int(run["simulation"]): value(run) for run in inside})

    crossings = [_crossing(run) for run in runs if run["analysis"]]
    stages = tuple(of(lambda r, name=name: r[f"{name}_seconds"]) for name in STAGES)
    return Costs(
        cores=sys.maxsize,
        step=of(lambda r: (r["period_seconds"] - r["analysis_seconds"]) / r["every"]),
        works=[Work(of(lambda r: r["analysis_seconds"]), stages)],
        crossings=[{0: crossings}],
        rates=[1 / every],
        seen=[crossing.ranks for crossing in crossings],
    )


def _crossing(run: dict[str, float]) -> Crossing:
    ranks = int(run["simulation"]), int(run["analysis"])
    return Crossing(ranks, run["analysis_seconds"], run["publishing_seconds"], 0.0, 0.0)


def placement_of(run: dict[str, float]) -> Placement:
    if not run["analysis"]:
        return inside(int(run["simulation"]), [CHAIN])
    return cut_at(0, int(run["simulation"]), int(run["analysis"]), [CHAIN])


def compared() -> list[Point]:
    out = []
    for run in lines("intransit", "intransit-512", "intransit-more"):
        cells, every = int(run["cells"]), int(run["every"])
        placement = placement_of(run)
        costs = costs_of(cells, every)
        found = model.outcome(costs, placement, AMPLE)
        likely = model.expected(found, costs.uncertainty(placement))
        simulated = run["period_seconds"] / every
        out.append(Point(cells, every, placement, found.seconds, likely, simulated))
    return out


def groups(points: list[Point]) -> dict[tuple[int, int, bool], list[Point]]:
    """The user's choices: 2048 ranks in all, or 2048 that simulate; all of it or a part."""
    out: dict[tuple[int, int, bool], list[Point]] = {}
    for point in points:
        ranks = point.placement
        for on_top in (False, True):
            total = ranks.simulation if on_top else ranks.ranks
            if total == 2048:
                out.setdefault((point.cells, point.every, on_top), []).append(point)
    return out


def lost(points: list[Point]) -> float:
    """How much longer the placement takes that the advisor picks than the fastest does."""
    picked = min(points, key=lambda p: p.expected)
    return picked.simulated / min(p.simulated for p in points) - 1


def draw(folder: Path) -> None:
    from matplotlib.figure import Figure

    points = compared()
    figure = Figure(figsize=(8.4, 4.2), layout="constrained")
    for axes, every in zip(figure.subplots(1, 2, sharey=True), (2, 5)):
        for on_top, colour in ((False, "#2f7ed8"), (True, "#e0762b")):
            mine = sorted(groups(points)[1024, every, on_top], key=lambda p: p.placement.sidecars)
            x = [math.log2(max(8, p.placement.sidecars)) for p in mine]
            name = "2048 simulate" if on_top else "2048 in all"
            axes.plot(x, [p.predicted for p in mine], "-", color=colour, label=f"{name}: advisor")
            axes.plot(x, [p.simulated for p in mine], "o", color=colour, label=f"{name}: simulated")
        ticks = range(3, 11)
        axes.set_xticks(list(ticks), ["0", *(str(2**n) for n in ticks[1:])])
        axes.set_title(f"1024³ cells, every {every} steps", fontsize=10.5)
        axes.set_xlabel("sidecars")
        axes.grid(alpha=0.3)
        axes.set_ylim(bottom=0)
    figure.axes[0].set_ylabel("time a step takes / s")
    figure.axes[1].legend(fontsize=9)
    figure.savefig(folder / "advise-2048.svg")


def main() -> None:
    points = compared()
    for p in points:
        entry = {"cells": p.cells, "every": p.every, "ranks": str(p.placement)}
        numbers = {"predicted": p.predicted, "simulated": p.simulated, "ratio": p.ratio}
        print(json.dumps(entry | {name: float(f"{v:.4g}") for name, v in numbers.items()}))
    worst = max(abs(p.ratio - 1) for p in points)
    losses = max(lost(group) for group in groups(points).values())
    print(f"study advise: worst={worst:.3f} picked_over_best={1 + losses:.3f}")


if __name__ == "__main__":
    main()
