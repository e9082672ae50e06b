#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""How long does it take to find the best pair of process grids: `pillion.grids`, whose program
HiGHS solves, beside looking at every pair of factor triples in plain Python?

    python bench/grids.py [BUILD/python]

Prints a JSON line for each pair of numbers, and last `bench grids: …` with the slowest. Import of
highspy is not counted; medians of several runs. `every` is null where it would take minutes.
"""

import json
import statistics
import sys
import time
from pathlib import Path

sys.path.insert(0, sys.argv[1] if sys.argv[1:] else str(Path(__file__).parents[1] / "python"))

from pillion.grids import best_pair
from pillion.grids.grid import CUBE, Faces, triples
from pillion.grids.pair import Problem, load_highs

PAIRS = [(96, 32), (480, 96), (1536, 512), (6144, 2048), (49152, 16384), (360360, 30030)]
REPEATS = 7
MOST_COMPARED = 2_000_000


def seconds(work) -> float:  # type: ignore[no-untyped-def]
    times = []
    for _ in range(REPEATS):
        begin = time.perf_counter()
        work()
        times.append(time.perf_counter() - begin)
    return statistics.median(times)


def least_measure(simulation: int, analysis: int) -> int:
    """The same optimum, with no bound that spares looking at a pair."""
    problem = Problem(simulation, analysis, 2, Faces.of(CUBE))
    inner = [a for a in triples(analysis) if min(a) > 1]
    return min(
        problem.measure((s, a))
        for s in triples(simulation)
        for a in inner
        if not (s[0] % a[0] or s[1] % a[1] or s[2] % a[2])
    )


def measure(simulation: int, analysis: int) -> dict[str, object]:
    pair = best_pair(simulation, analysis)
    compared = len(list(triples(simulation))) * len(list(triples(analysis)))
    every = None
    if compared <= MOST_COMPARED:
        every = round(1e3 * seconds(lambda: least_measure(simulation, analysis)), 2)
    ours = round(1e3 * seconds(lambda: best_pair(simulation, analysis)), 2)
    numbers = {"simulation": simulation, "analysis": analysis}
    grids = {"grids": [str(pair.simulation), str(pair.analysis)], "tied": pair.tied}
    return {**numbers, **grids, "pairs": compared, "highs_ms": ours, "every_ms": every}


def main() -> None:
    load_highs()
    found = [measure(*pair) for pair in PAIRS]
    for one in found:
        print(json.dumps(one))
    published = next(one for one in found if one["simulation"] == 1536)
    print(
        f"bench grids: published_ms={published['highs_ms']} "
        f"slowest_ms={max(float(str(one['highs_ms'])) for one in found)}"
    )


main()
