#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Prints a table of results of the study of the engine: `engine_table.py results/engine.jsonl`.

Each cell is the value on the fullest rank, at each number of ranks. The last column of a quantity
is the slope of its logarithm against that of the ranks, over the two largest numbers: 1 if it grows
as the ranks do, near 0 if as their logarithm."""

import argparse
import json
import math
from pathlib import Path

QUANTITIES = {
    "milliseconds, with sidecars": ("finished_seconds", 1e3),
    "messages": ("messages", 1),
    "KiB in messages": ("bytes", 1 / 1024),
    "KiB of memory": ("memory", 1 / 1024),
    "milliseconds of processor": ("processor_seconds", 1e3),
}


def number(value: float) -> str:
    return f"{value:.0f}" if value >= 100 else f"{value:.3g}"


def main() -> None:
    args = argparse.ArgumentParser(description=__doc__)
    args.add_argument("file", type=Path)
    lines = [json.loads(line) for line in args.parse_args().file.read_text().splitlines()]
    ranks = sorted({line["ranks"] for line in lines})
    of = {(line["phase"], line["ranks"]): line for line in lines}
    phases = list(dict.fromkeys(line["phase"] for line in lines))
    print("| quantity | phase | " + " | ".join(f"{n} ranks" for n in ranks) + " | slope |")
    print("|" + "---|" * (len(ranks) + 3))
    for title, (key, scale) in QUANTITIES.items():
        for phase in phases:
            values = [of[phase, n][key] * scale if (phase, n) in of else None for n in ranks]
            known = [(n, v) for n, v in zip(ranks, values, strict=True) if v]
            slope = "–"
            if len(known) > 1:
                (n, low), (m, high) = known[-2:]
                slope = f"{math.log(high / low) / math.log(m / n):.2f}"
            cells = " | ".join("–" if v is None else number(v) for v in values)
            print(f"| {title} | {phase} | {cells} | {slope} |")


if __name__ == "__main__":
    main()
