#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Compares `at: auto` with both fixed choices, for an analysis whose cost grows tenfold in the
middle of a run. Steps and stages sleep as long as they would compute: so each rank is as if on a
core of its own, on a machine of any size, and the best choice is known beforehand. In one case the
analysis is nothing at first and then worth sidecars, in the other they can no longer keep up with
it, and in the third nothing that moves is worth it.

    PILLION_BUILD=build/release python bench/auto_placement.py

Seconds are from the first step until everything is analysed. Prints a JSON line for each case, and
last `bench auto_placement: …`, the longest that auto took in terms of the best fixed choice.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import NamedTuple

from lammps_overhead import launcher

ROOT = Path(__file__).resolve().parent.parent
BUILD = Path(os.environ.get("PILLION_BUILD", ROOT / "build/release")).resolve()


class Case(NamedTuple):
    """Seconds of a step, and of the analysis on one rank, at first; ranks share it evenly."""

    name: str
    step: float
    work: float


CASES = (
    Case("worth_sidecars", 0.03, 0.002),
    Case("too_much_for_sidecars", 0.03, 0.024),
    Case("always_beside", 0.03, 0.0028),
)
PLACES = ("simulation", "sidecar", "auto")
RANKS, SIDECARS = 2, 1

STAGE = """
import time
import pillion

@pillion.stage("density")
def sleeper(step, *, work=0.0, dearer_from=0):
    time.sleep(work * (10 if step.index >= dearer_from else 1) / step.peers)
    return {"sum": step.sum(float(sum(b["density"].sum() for b in step.blocks)))}
"""

SIMULATION = """
import json, sys, time
import numpy as np
import pillion

name, steps, seconds = sys.argv[1], int(sys.argv[2]), float(sys.argv[3])
with pillion.open(name) as s:
    rank, ranks = s.communicator.rank, s.communicator.size
    density = np.zeros((32 // ranks, 32, 32))
    s.share("density", density, lo=(rank * 32 // ranks, 0, 0))
    begin = time.perf_counter()
    for i in range(steps):
        time.sleep(seconds)
        density[...] = i
        s.step(i, float(i))
if rank == 0:
    print(json.dumps(time.perf_counter() - begin))
"""

CONFIGURATION = """
output: {output}
sidecars: {{per_node: {sidecars}, when_full: wait, memory: 2 MiB}}
meshes: {{grid: {{kind: uniform, cells: [32, 32, 32]}}}}
fields: {{density: {{mesh: grid, type: float64}}}}
analyses:
  sums:
    stages:
      - python:
          call: "stage.py:sleeper"
          with: {{work: {work}, dearer_from: {half}}}
          at: {place}
"""


def run(folder: Path, case: Case, place: str, steps: int) -> tuple[float, dict]:
    text = CONFIGURATION.format(
        output=place, sidecars=SIDECARS, work=case.work, half=steps // 2, place=place
    )
    (folder / f"{place}.yaml").write_text(text)
    ranks = RANKS + SIDECARS
    program = [sys.executable, "simulation.py", f"{place}.yaml", str(steps), str(case.step)]
    done = subprocess.run(
        [*launcher(), "-n", str(ranks), *program],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(BUILD / "python"), "PILLION_PYTHON": sys.executable},
        capture_output=True,
        text=True,
        timeout=600,
    )
    if done.returncode != 0:
        raise SystemExit(done.stdout + done.stderr)
    report = json.loads((folder / place / "report.json").read_text())
    return json.loads(done.stdout.splitlines()[-1]), report["analyses"][0]


def rows(folder: Path, place: str) -> list[str]:
    lines = (folder / place / "sums" / "sleeper.csv").read_text().splitlines()
    return [line for line in lines if not line.startswith("#")]


def measure(folder: Path, case: Case, options) -> float:
    seconds: dict[str, list[float]] = {place: [] for place in PLACES}
    moves = []
    for _ in range(options.repeat):
        for place in PLACES:
            taken, analysis = run(folder, case, place, options.steps)
            seconds[place].append(taken)
            assert analysis["publications"] == options.steps and analysis["lost"] == 0
            if place == "auto":
                moves = [(move["step"], move["to"]) for move in analysis["moves"]]
        assert rows(folder, "auto") == rows(folder, "simulation") == rows(folder, "sidecar")
    if options.verbose:
        print(json.dumps(seconds))
    median = {place: round(statistics.median(all_), 3) for place, all_ in seconds.items()}
    ratio = median["auto"] / min(median["simulation"], median["sidecar"])
    print(json.dumps({"case": case.name, **median, "moves": moves, "auto_over_best": ratio}))
    return ratio


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--steps", type=int, default=240)
    parser.add_argument("--repeat", type=int, default=1)
    parser.add_argument("--cases", nargs="*", default=[case.name for case in CASES])
    parser.add_argument("--verbose", action="store_true", help="seconds of every run")
    options = parser.parse_args()
    ratios = {}
    for case in [case for case in CASES if case.name in options.cases]:
        with tempfile.TemporaryDirectory(dir="/dev/shm") as name:
            folder = Path(name)
            (folder / "stage.py").write_text(STAGE)
            (folder / "simulation.py").write_text(SIMULATION)
            ratios[case.name] = measure(folder, case, options)
    worst = max(ratios.values())
    told = " ".join(f"{name}={ratio:.3f}" for name, ratio in ratios.items())
    print(f"bench auto_placement: worst={worst:.3f} {told}")


main()
