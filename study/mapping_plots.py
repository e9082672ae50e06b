#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Draws the plots of docs/mapping-study.md and writes the tables of mapping.md, from
results/mapping*.jsonl.
"""

import json
from pathlib import Path

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt

HERE = Path(__file__).resolve().parent
PAGE = HERE / "mapping.md"
GREY = "#777777"
COLORS = {
    "default": "#c1443c",
    "contiguous": "#e08a2e",
    "striped": "#33803a",
    "numa": "#1f6f9f",
    "folded": "#6a3d9a",
    "auto": "#222222",
    "near": "#222222",
}
KINDS = {"haswell": "2 × 16 cores, 3:1", "knl": "8 × 8 mesh, 7:1"}
# What parts of the machine are called in figures.
PARTS = {
    "copy": "a core\ncopying",
    "memory": "memory of\na domain",
    "between": "between\ndomains",
    "mesh": "mesh\nlink",
    "in": "into\na node",
    "network": "router",
    "storage": "gateway to\nstorage",
}


def read(name: str) -> list[dict]:
    path = HERE / "results" / name
    return [json.loads(line) for line in path.read_text().splitlines()]


def mappings_of(points: list[dict]) -> list[str]:
    found = {p["mapping"] for p in points}
    return [m for m in COLORS if m in found]


def pick(points: list[dict], **wanted: object) -> dict | None:
    return next((p for p in points if all(p[k] == v for k, v in wanted.items())), None)


def plot_steps(points: list[dict], folder: Path) -> None:
    figure, panels = plt.subplots(1, 2, figsize=(9, 4), layout="constrained", sharey=True)
    for axes, (kind, title) in zip(panels, KINDS.items()):
        here = [p for p in points if p["kind"] == kind]
        nodes = sorted({p["nodes"] for p in here})
        names = mappings_of(here)
        width = 0.8 / len(names)
        for i, name in enumerate(names):
            bars = [(n, pick(here, nodes=n, mapping=name)) for n in nodes]
            at = [nodes.index(n) + (i - (len(names) - 1) / 2) * width for n, p in bars if p]
            heights = [p["step_seconds"] / p["computing_seconds"] for _, p in bars if p]
            axes.bar(at, heights, 0.9 * width, color=COLORS[name], label=name)
        axes.axhline(1, color=GREY, ls="--", lw=1)
        axes.set_xticks(range(len(nodes)), [str(n) for n in nodes])
        axes.set_xlabel("nodes")
        axes.set_title(title, fontsize=10)
    panels[0].set_ylabel("a step, in times of its computing")
    panels[0].legend(frameon=False, fontsize=8, ncol=2)
    panels[0].set_ylim(0, 1.25 * panels[0].get_ylim()[1])
    figure.savefig(folder / "mapping-steps.svg")


def plot_links(points: list[dict], folder: Path) -> None:
    """How long each part is in use at least for one hand-over of all ranks."""
    figure, panels = plt.subplots(1, 2, figsize=(9, 4), layout="constrained", sharey=True)
    for axes, (kind, title) in zip(panels, KINDS.items()):
        here = [p for p in points if p["kind"] == kind and p["nodes"] == 24]
        names = [m for m in mappings_of(here) if m != "auto"]
        used = [k for k in PARTS if any(k in p["hand_over_alone"] for p in here)]
        width = 0.8 / len(names)
        for i, name in enumerate(names):
            alone = pick(here, mapping=name)["hand_over_alone"]
            at = [j + (i - (len(names) - 1) / 2) * width for j, k in enumerate(used) if k in alone]
            heights = [1e3 * alone[k]["seconds"] for k in used if k in alone]
            axes.bar(at, heights, 0.9 * width, color=COLORS[name], label=name)
        axes.set_yscale("log")
        axes.set_xlim(-0.5, len(used) - 0.5)
        axes.set_xticks(range(len(used)), [PARTS[k] for k in used], fontsize=8)
        axes.set_title(f"{title}, 24 nodes", fontsize=10)
        axes.legend(frameon=False, fontsize=8, loc="upper left")
    panels[0].set_ylabel("one hand-over on the busiest link, ms")
    panels[0].set_ylim(top=10 * panels[0].get_ylim()[1])
    figure.savefig(folder / "mapping-links.svg")


def plot_files(points: list[dict], folder: Path) -> None:
    figure, panels = plt.subplots(1, 2, figsize=(9, 3.6), layout="constrained", sharey=True)
    titles = {"domains": "each its stretch of the file", "stripes": "stripes in turn (Lustre)"}
    points = [p for p in points if p["kind"] == "haswell"]
    names = [m for m in mappings_of(points) if m != "contiguous"]
    for axes, (layout, title) in zip(panels, titles.items()):
        here = [p for p in points if p["layout"] == layout]
        numbers = sorted({p["aggregators"] for p in here})
        width = 0.8 / len(names)
        for i, name in enumerate(names):
            at = [j + (i - (len(names) - 1) / 2) * width for j in range(len(numbers))]
            seconds = [pick(here, aggregators=n, mapping=name)["seconds"] for n in numbers]
            axes.bar(at, seconds, 0.9 * width, color=COLORS[name], label=name)
        axes.set_xticks(range(len(numbers)), [str(n) for n in numbers])
        axes.set_xlabel("aggregators on 128 nodes")
        axes.set_title(title, fontsize=10)
    panels[0].set_ylabel("seconds to write 16 GiB")
    panels[1].legend(frameon=False, fontsize=8)
    figure.savefig(folder / "mapping-files.svg")


def table(head: list[str], rows: list[list[str]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def milliseconds(value: float) -> str:
    return f"{1e3 * value:.3g}" if value < 1e-3 else f"{1e3 * value:.2f}"


def shorter(point: dict, default: dict | None) -> str:
    if default is None or point is default:
        return ""
    return f"{100 * (1 - point['step_seconds'] / default['step_seconds']):.1f} %"


def in_use(point: dict, part: str) -> str:
    found = point["busiest"].get(part)
    return f"{100 * found['seconds'] / point['step_seconds']:.0f} %" if found else ""


def steps_table(points: list[dict], kind: str) -> str:
    inner = "between" if kind == "haswell" else "mesh"
    head = ["nodes", "ranks", "mapping", "step ms", "shorter by", "hand-over ms", "analysis ms"]
    head += ["simulation waits ms", f"in use: {inner}", "memory", "into a node", "cost by rule"]
    rows = []
    for p in (p for p in points if p["kind"] == kind):
        default = pick(points, kind=kind, nodes=p["nodes"], mapping="default")
        times = ("taking_seconds_most", "analysing_seconds", "waiting_seconds")
        rows.append(
            [
                str(p["nodes"]),
                f"{p['simulation']} + {p['analysis']}",
                p["mapping"],
                milliseconds(p["step_seconds"]),
                shorter(p, default),
                *(milliseconds(p[k]) for k in times),
                *(in_use(p, part) for part in (inner, "memory", "in")),
                f"{p['placement_cost'] / p['simulation']:.2f}",
            ]
        )
    return table(head, rows)


def schedule_table(points: list[dict]) -> str:
    usual = {"haswell": 7e-7, "knl": 2e-6}
    rows = []
    for p in (p for p in points if p["mapping"] != "default"):
        same = {k: p[k] for k in ("kind", "every", "ahead", "routing", "cost")}
        default = pick(points, mapping="default", **same)
        if default is None:
            continue
        what = [f"every {p['every']} steps" if p["every"] > 1 else "every step"]
        what += ["room for one ahead"] if p["ahead"] else []
        what += ["minimal routes"] if p["routing"] == "minimal" else []
        if p["cost"] != usual[p["kind"]]:
            what.append(f"{1e6 * p['cost']:.0f} µs an atom")
        gain = shorter(p, default)
        seconds = [milliseconds(q["step_seconds"]) for q in (default, p)]
        rows.append([KINDS[p["kind"]], ", ".join(what), p["mapping"], *seconds, gain])
    return table(["node", "schedule", "mapping", "default: step ms", "mapped", "shorter by"], rows)


def inside_table(points: list[dict]) -> str:
    rows = []
    for p in points:
        key = "between" if p["kind"] == "haswell" else "mesh"
        times = (p["step_seconds"], p["taking_seconds"], p["taking_seconds_most"])
        rate = f"{key}, {p[key] / 1e9:g} GB/s"
        rows.append([KINDS[p["kind"]], rate, p["mapping"], *map(milliseconds, times)])
    head = ["node", "link", "mapping", "step ms", "hand-over ms, mean", "of the slowest"]
    return table(head, rows)


def files_table(points: list[dict]) -> str:
    rows = []
    for p in points:
        same = {k: p[k] for k in ("kind", "layout", "nodes", "aggregators")}
        default = pick(points, mapping="default", **same)
        gain = "" if p is default else f"{100 * (1 - p['seconds'] / default['seconds']):.0f} %"
        busiest = [p["busiest"][k]["seconds"] / p["seconds"] for k in ("in", "network", "storage")]
        rows.append(
            [
                KINDS[p["kind"]].split(",")[0],
                p["layout"],
                str(p["aggregators"]),
                p["mapping"],
                f"{p['seconds']:.3f}",
                gain,
                f"{p['gathering_seconds']:.3f}",
                f"{p['writing_seconds']:.3f}",
                *(f"{100 * b:.0f} %" for b in busiest),
            ]
        )
    head = ["node", "layout", "aggregators", "mapping", "seconds", "shorter by", "gathering s"]
    return table([*head, "writing s", "in use: into a node", "network", "gateway"], rows)


def with_table(page: str, name: str, text: str) -> str:
    begin, end = f"<!-- begin {name} -->", f"<!-- end {name} -->"
    before, rest = page.split(begin)
    after = rest.split(end)[1]
    return f"{before}{begin}\n{text}\n{end}{after}"


def draw(folder: Path) -> None:
    points = read("mapping.jsonl")
    plot_steps(points, folder)
    plot_links(points, folder)
    plot_files(read("mapping-io.jsonl"), folder)


def main() -> None:
    points, files = read("mapping.jsonl"), read("mapping-io.jsonl")
    # What the schedules are compared with is among the points.
    usual = [
        p for p in points if p["nodes"] == 24 and p["mapping"] in ("default", "numa", "folded")
    ]
    kinds = {"haswell": "numa", "knl": "folded"}
    usual = [p for p in usual if p["mapping"] in ("default", kinds[p["kind"]])]
    tables = {
        "haswell": steps_table(points, "haswell"),
        "knl": steps_table(points, "knl"),
        "schedules": schedule_table([*usual, *read("mapping-schedule.jsonl")]),
        "inside": inside_table(read("mapping-inside.jsonl")),
        "files": files_table(files),
    }
    page = PAGE.read_text(encoding="utf-8")
    for name, text in tables.items():
        page = with_table(page, name, text)
    PAGE.write_text(page, encoding="utf-8")


if __name__ == "__main__":
    main()
