#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Prints the table of scale.md, from results/*.jsonl. `make docs` draws the plots of the page
docs/scale-study.md by `draw`.

Derived here: the bound (bytes over what the links of the analysis nodes carry), the bandwidth of
an analysis node, and the paper's measure, bytes a second over the links of all nodes of the job.
"""

import json
from pathlib import Path
from typing import NamedTuple

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt

HERE = Path(__file__).resolve().parent
LINK = 4e9
CORES = 24
BLUE, RED, GREY = "#1f6f9f", "#c1443c", "#777777"


class Way(NamedTuple):
    """How one of the two is drawn."""

    seconds: str
    label: str
    part: str
    part_label: str
    marker: str
    color: str


WAYS = (
    Way("seconds", "Pillion: one message a pair", "pack_seconds_most", "packing", "o", BLUE),
    Way(
        "theirs",
        "early code: broadcasts, then box by box",
        "broadcast_seconds",
        "broadcasts",
        "s",
        RED,
    ),
)


def read(name: str) -> list[dict]:
    path = HERE / "results" / name
    return [derive(json.loads(line)) for line in path.read_text().splitlines()]


def derive(point: dict) -> dict:
    nodes = point["target_nodes"]
    every = nodes + -(-point["sources"] // CORES)
    by_box = point["by_box_message_seconds"]
    point |= {
        "theirs": by_box + point["broadcast_seconds"],
        "every": every,
        "theirs_slow": by_box + 3 * point["boxes"] * point["broadcast_seconds_alone"],
        "bound": point["bytes"] / (LINK * nodes),
    }
    point["senders_bound"] = point["bytes"] / (LINK * (every - nodes))
    return point


def node_rate(point: dict, key: str) -> float:
    return point["bytes"] / point[key] / point["target_nodes"] / 1e9


def peak_share(point: dict, key: str) -> float:
    return 100 * point["bytes"] / point[key] / (LINK * point["every"])


def plot_ratio(points: list[dict], folder: Path) -> None:
    points = sorted(points, key=lambda p: p["targets"])
    ranks = [p["targets"] for p in points]
    figure, axes = plt.subplots(figsize=(7, 4.2), layout="constrained")
    limit = [min(LINK, LINK * p["bound"] / p["senders_bound"]) / 1e9 for p in points]
    axes.plot(ranks, limit, color=GREY, ls="--", label="limit: links of the nodes")
    axes.plot(ranks, [0.6 * v for v in limit], color=GREY, ls=":", label="60 % of it")
    rates = {
        key: [node_rate(p, key) for p in points] for key in ("seconds", "theirs", "theirs_slow")
    }
    for way in WAYS:
        axes.plot(ranks, rates[way.seconds], way.marker + "-", color=way.color, label=way.label)
    shade = {"color": RED, "alpha": 0.15, "lw": 0, "label": "… if no broadcast overlaps the next"}
    axes.fill_between(ranks, rates["theirs_slow"], rates["theirs"], **shade)
    axes.set_xscale("log", base=2)
    axes.set_xticks(ranks, [str(r) for r in ranks])
    axes.set_ylim(0, 4.3)
    axes.set_xlabel(f"analysis ranks of {points[0]['sources'] + points[0]['targets']}, 24 a node")
    axes.set_ylabel("GB/s into each analysis node")
    axes.set_title("10 components of 1024³ cells in boxes of 32³ (simulated)", fontsize=10)
    axes.legend(frameon=False, fontsize=8, loc="lower left")
    figure.savefig(folder / "scale-study-ratio.svg")


def plot_grid(points: list[dict], folder: Path) -> None:
    points = sorted(points, key=lambda p: p["cells"])
    cells = [p["cells"] for p in points]
    figure, axes = plt.subplots(figsize=(7, 4.2), layout="constrained")
    bound = [p["bound"] for p in points]
    axes.plot(cells, bound, color=GREY, ls="--", label="bound: links of the analysis nodes")
    for way in reversed(WAYS):
        whole, part = ([p[key] for p in points] for key in (way.seconds, way.part))
        axes.plot(cells, whole, way.marker + "-", color=way.color, label=way.label)
        thin = {"color": way.color, "alpha": 0.5, "ms": 3, "label": f"… of which {way.part_label}"}
        axes.plot(cells, part, way.marker + ":", **thin)
    axes.set_xscale("log", base=2)
    axes.set_yscale("log")
    axes.set_xticks(cells, [f"{c}³" for c in cells])
    axes.set_xlabel("cells, 10 components, boxes of 32³")
    axes.set_ylabel("seconds")
    ranks = f"{points[0]['sources']} simulation ranks to {points[0]['targets']} analysis ranks"
    axes.set_title(f"{ranks} (simulated)", fontsize=10)
    axes.legend(frameon=False, fontsize=8, loc="upper left")
    figure.savefig(folder / "scale-study-grid.svg")


def table(points: list[dict]) -> None:
    for p in points:
        print(
            f"| {p['cells']}³ | {p['sources']} + {p['targets']} | {p['layout']}, {p['placement']} "
            f"| {p['bound']:.3g} | {p['seconds']:.3g} | {node_rate(p, 'seconds'):.2f} "
            f"| {100 * p['bound'] / p['seconds']:.0f} | {p['by_box_message_seconds']:.3g} "
            f"| {p['broadcast_seconds']:.3g} | {100 * p['bound'] / p['theirs']:.0f} "
            f"| {peak_share(p, 'seconds'):.1f} | {peak_share(p, 'theirs'):.1f} "
            f"| {peak_share(p, 'theirs_slow'):.1f} |"
        )


def draw(folder: Path) -> None:
    plot_ratio(read("ratio.jsonl"), folder)
    plot_grid(read("grid.jsonl"), folder)


def main() -> None:
    ratio, grid = read("ratio.jsonl"), read("grid.jsonl")
    table(ratio + grid + read("other.jsonl"))
    table([p for name in ("ratio", "grid", "other") for p in read(f"half/{name}.jsonl")])


if __name__ == "__main__":
    main()
