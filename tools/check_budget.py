#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Compares the time that tests took with their budget.

    tools/check_budget.py [--strict] FILE.xml...

The files are JUnit reports of ctest and pytest. tests/budget.toml gives seconds per folder of
tests/: the sum over its tests, which run several at a time. They are multiplied by how much slower
than a reference this machine is, by a fixed loop. Prints a table. With --strict the status is 1 if
a folder took more than its budget or has none.
"""

import sys
import time
import tomllib
import xml.etree.ElementTree as ElementTree
from collections import defaultdict
from pathlib import Path

BUDGET = Path(__file__).parent.parent / "tests" / "budget.toml"


def folder_of(case: ElementTree.Element) -> str:
    """pytest says `tests.FOLDER.FILE`, ctest the name of a test such as `unit.pure.n1`."""
    parts = case.get("classname", "").split(".")
    return parts[1] if parts[0] == "tests" and len(parts) > 2 else "compiled"


def seconds_of(files: list[str]) -> dict[str, float]:
    seconds: dict[str, float] = defaultdict(float)
    for file in files:
        for case in ElementTree.parse(file).iter("testcase"):
            seconds[folder_of(case)] += float(case.get("time", 0))
    return dict(seconds)


def loop_seconds() -> float:
    """Of a fixed loop, the fastest of five, so that a moment of load does not count."""
    times = []
    for _ in range(5):
        begin, total = time.perf_counter(), 0
        for i in range(3_000_000):
            total += i * i % 7
        times.append(time.perf_counter() - begin)
    return min(times)


def table(seconds: dict[str, float], budget: dict[str, float]) -> tuple[str, list[str]]:
    """The rows to print, and the folders over budget."""
    rows, over = [f"{'tests':12} {'seconds':>8} {'budget':>8}"], []
    for folder in sorted(seconds.keys() | budget.keys(), key=lambda f: -seconds.get(f, 0)):
        took, allowed = seconds.get(folder, 0.0), budget.get(folder, 0.0)
        is_over = took > allowed
        over += [folder] * is_over
        rows.append(f"{folder:12} {took:8.0f} {allowed:8.0f}{'  over budget' * is_over}")
    rows.append(f"{'all':12} {sum(seconds.values()):8.0f} {sum(budget.values()):8.0f}")
    return "\n".join(rows), over


def main(arguments: list[str]) -> int:
    strict = "--strict" in arguments
    files = [a for a in arguments if a != "--strict"]
    with BUDGET.open("rb") as file:
        settings = tomllib.load(file)
    slower = max(1.0, loop_seconds() / settings["reference"])
    budget = {folder: allowed * slower for folder, allowed in settings["seconds"].items()}
    text, over = table(seconds_of(files), budget)
    print(f"{text}\nBudgets are those of {BUDGET.name}, times {slower:.2f} for this machine.")
    if over and strict:
        print(f"check_budget: over budget: {', '.join(over)}; see {BUDGET.name}", file=sys.stderr)
    return 1 if over and strict else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
