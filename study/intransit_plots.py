#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Draws the two plots of docs/intransit-study.md and writes the tables of intransit.md, from
results/intransit*.jsonl and kernels.json.

A period is the time from one analysed publication to the next. `gain` is by how much of the
synchronous period it is shorter. The balance is n tau_c / tau_a: so many steps of the simulation
over one analysis, each on its own ranks.
"""

import json
import math
from pathlib import Path

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt

HERE = Path(__file__).resolve().parent
PAGE = HERE / "intransit.md"
RANKS = 2048
BLUE, RED, GREY = "#1f6f9f", "#c1443c", "#777777"
COLORS = {2: "#6a3d9a", 5: BLUE, 10: "#33803a"}
WAYS = {
    "constant total": lambda p: p["simulation"] + p["analysis"] == RANKS,
    "constant simulation": lambda p: p["simulation"] == RANKS,
}


def read(name: str) -> list[dict]:
    path = HERE / "results" / name
    return [json.loads(line) for line in path.read_text().splitlines()]


class Series:
    """Splits of one mesh and schedule, one way of counting ranks; by number of analysis ranks."""

    def __init__(self, points: list[dict], every: int, way: str):
        of_schedule = [p for p in points if p["every"] == every]
        self.synchronous = next(
            p for p in of_schedule if p["analysis"] == 0 and p["simulation"] == RANKS
        )
        chosen = [p for p in of_schedule if p["analysis"] > 0 and WAYS[way](p)]
        self.points = sorted(chosen, key=lambda p: p["analysis"])
        self.every = every
        self.way = way

    def values(self, key: str) -> list[float]:
        return [p[key] for p in self.points]

    @property
    def steps(self) -> list[float]:
        return [self.every * p["step_seconds"] for p in self.points]

    @property
    def balance(self) -> list[float]:
        return [s / p["analysis_seconds"] for s, p in zip(self.steps, self.points)]

    @property
    def gains(self) -> list[float]:
        whole = self.synchronous["period_seconds"]
        return [100 * (1 - p["period_seconds"] / whole) for p in self.points]

    def gain_of_run(self, point: dict, steps: int = 30) -> float:
        """The gain in a run of `steps` steps; nothing is hidden behind the first and the last."""
        periods = steps // self.every - 1

        def seconds(p: dict) -> float:
            return p["first_finished"] + periods * p["period_seconds"]

        return 100 * (1 - seconds(point) / seconds(self.synchronous))

    @property
    def best(self) -> int:
        return max(range(len(self.points)), key=lambda i: self.gains[i])

    @property
    def balanced(self) -> float | None:
        """Analysis ranks for which n tau_c = tau_a, between those simulated; None if nowhere."""
        logs = [math.log(b) for b in self.balance]
        ranks = [math.log(p["analysis"]) for p in self.points]
        for i in range(len(logs) - 1):
            if logs[i] < 0 <= logs[i + 1]:
                part = -logs[i] / (logs[i + 1] - logs[i])
                return math.exp(ranks[i] + part * (ranks[i + 1] - ranks[i]))
        return None

    def says_balanced(self) -> str:
        if self.balanced:
            return f"{self.balanced:.0f}"
        return "never: τ_a is longer" if self.balance[0] < 1 else "fewer"


def plot_split(points: list[dict], every: int, folder: Path) -> None:
    figure, panels = plt.subplots(1, 2, figsize=(9, 4), layout="constrained", sharey=True)
    for axes, way in zip(panels, WAYS):
        series = Series(points, every, way)
        ranks = series.values("analysis")
        whole = series.synchronous["period_seconds"]
        axes.axhline(whole, color=RED, label=f"synchronous, {RANKS} ranks")
        axes.plot(ranks, series.steps, "--", color=GREY, label=f"{every} steps: $n\\,\\tau_c$")
        analysis = series.values("analysis_seconds")
        axes.plot(ranks, analysis, ":", color=GREY, lw=2, label="one analysis: $\\tau_a$")
        axes.plot(ranks, series.values("period_seconds"), "o-", color=BLUE, label="in transit")
        if series.balanced:
            axes.axvline(series.balanced, color=GREY, lw=0.8, alpha=0.5)
        axes.set_xscale("log", base=2)
        axes.set_xticks(ranks, [str(r) for r in ranks], fontsize=8)
        axes.set_ylim(0, 1.5 * whole)
        axes.set_xlabel("analysis ranks")
        titles = (f"{RANKS} ranks in all", f"{RANKS} simulation ranks")
        axes.set_title(f"{way}: {titles[way != 'constant total']}", fontsize=10)
    panels[0].set_ylabel("seconds from publication to publication")
    panels[1].legend(frameon=False, fontsize=8)
    figure.savefig(folder / "intransit-split.svg")


def plot_gain(points: list[dict], small: list[dict], folder: Path) -> None:
    figure, panels = plt.subplots(
        1, 2, figsize=(9, 4), layout="constrained", sharex=True, sharey=True
    )
    for axes, way in zip(panels, WAYS):
        for every, color in COLORS.items():
            series = Series(points, every, way)
            label = f"1024³, every {every} steps"
            axes.plot(series.balance, series.gains, "o-", color=color, ms=4, lw=1, label=label)
        series = Series(small, 5, way)
        axes.plot(
            series.balance, series.gains, "s--", color=RED, ms=4, lw=1, label="512³, every 5 steps"
        )
        axes.axvline(1, color=GREY, lw=0.8)
        axes.axhline(0, color=GREY, lw=0.8)
        axes.set_xscale("log")
        ratios = (0.25, 0.5, 1, 2, 4)
        axes.set_xticks(ratios, [f"{r:g}" for r in ratios])
        axes.minorticks_off()
        axes.set_ylim(-20, 65)
        axes.set_xlabel("$n\\,\\tau_c\\;/\\;\\tau_a$")
        axes.set_title(way, fontsize=10)
    panels[0].set_ylabel("shorter than synchronous, per cent")
    panels[1].legend(frameon=False, fontsize=8, loc="lower right")
    figure.savefig(folder / "intransit-gain.svg")


def table(head: list[str], rows: list[list[str]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def best_table(points: list[dict], small: list[dict]) -> str:
    head = ["cells", "every", "way", "synchronous s", "best split", "in transit s", "shorter by"]
    head += ["30 steps in all", "n τ_c / τ_a there", "balanced at"]
    rows = []
    for data, every in ((points, 2), (points, 5), (points, 10), (small, 5)):
        for way in WAYS:
            series = Series(data, every, way)
            point = series.points[series.best]
            rows.append(
                [
                    f"{point['cells']}³",
                    str(every),
                    way,
                    f"{series.synchronous['period_seconds']:.2f}",
                    f"{point['simulation']} + {point['analysis']}",
                    f"{point['period_seconds']:.2f}",
                    f"{series.gains[series.best]:.0f} %",
                    f"{series.gain_of_run(point):.0f} %",
                    f"{series.balance[series.best]:.2f}",
                    series.says_balanced(),
                ]
            )
    return table(head, rows)


def split_table(points: list[dict], every: int) -> str:
    head = [
        "ranks",
        "n τ_c s",
        "τ_a s",
        "halos s",
        "spectrum s",
        "moving s",
        "period s",
        "shorter by",
    ]
    rows = []
    for way in WAYS:
        series = Series(points, every, way)
        if not rows:
            add_row(rows, series.synchronous, every, "")
        for point, gain in zip(series.points, series.gains):
            add_row(rows, point, every, f"{gain:.0f} %")
    return table(head, rows)


def add_row(rows: list[list[str]], point: dict, every: int, gain: str) -> None:
    keys = ("analysis_seconds", "halos_seconds", "spectrum_seconds", "carrying_seconds")
    seconds = [every * point["step_seconds"], *(point[k] for k in keys), point["period_seconds"]]
    ranks = f"{point['simulation']} + {point['analysis']}"
    rows.append([ranks, *(f"{s:.2f}" for s in seconds), gain])


def more_table(points: list[dict], more: list[dict]) -> str:
    head = ["ranks", "synchronous on all s", "in transit s", "shorter by"]
    series = Series(points, 5, "constant simulation")
    rows = []
    for alone in more:
        split = next(
            p for p in series.points if p["simulation"] + p["analysis"] == alone["simulation"]
        )
        gain = 100 * (1 - split["period_seconds"] / alone["period_seconds"])
        seconds = (alone["period_seconds"], split["period_seconds"])
        ranks = f"{alone['simulation']} = {split['simulation']} + {split['analysis']}"
        rows.append([ranks, *(f"{s:.2f}" for s in seconds), f"{gain:.0f} %"])
    return table(head, rows)


def kernel_table() -> str:
    whole = json.loads((HERE / "kernels.json").read_text(encoding="utf-8"))
    entries = whole["kernels"].items()
    rows = [[name, f"{entry['value']:.3g}", entry["what"]] for name, entry in entries]
    said = f"`{whole['measured']['program']}` on {whole['measured']['processor']}."
    return said + "\n\n" + table(["kernel", "value", "what"], rows)


def with_table(page: str, name: str, text: str) -> str:
    begin, end = f"<!-- begin {name} -->", f"<!-- end {name} -->"
    before, rest = page.split(begin)
    after = rest.split(end)[1]
    return f"{before}{begin}\n{text}\n{end}{after}"


def draw(folder: Path) -> None:
    points = read("intransit.jsonl")
    plot_split(points, 5, folder)
    plot_gain(points, read("intransit-512.jsonl"), folder)


def main() -> None:
    points, small = read("intransit.jsonl"), read("intransit-512.jsonl")
    tables = {
        "best": best_table(points, small),
        "splits": split_table(points, 5),
        "small splits": split_table(small, 5),
        "more": more_table(points, read("intransit-more.jsonl")),
        "kernels": kernel_table(),
    }
    page = PAGE.read_text(encoding="utf-8")
    for name, text in tables.items():
        page = with_table(page, name, text)
    PAGE.write_text(page, encoding="utf-8")


if __name__ == "__main__":
    main()
