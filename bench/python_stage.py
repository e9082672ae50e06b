#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""What a stage in Python costs beside the work that it does itself: handing it a block of 64 MiB,
and publishing an array in NumPy's order, set beside a copy of the same bytes.

    PILLION_BUILD=build/release python bench/python_stage.py

Prints a JSON line per measurement, and last `bench python_stage: …`. Times are medians.
"""

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
BUILD = Path(os.environ.get("PILLION_BUILD", ROOT / "build/release")).resolve()

STAGE = """
import time
import pillion

@pillion.stage("density")
def empty(step):
    before = time.perf_counter()
    (block,) = step.blocks
    array = block["density"]
    return {"view_microseconds": 1e6 * (time.perf_counter() - before)}
"""

SIMULATION = """
import json, sys, time
import numpy as np
import pillion

order, name = sys.argv[1:3]
with pillion.open(name) as s:
    density = np.ones((256, 256, 128), order=order)
    other = np.empty_like(density)
    s.share("density", density)
    times = {"publish": [], "idle": [], "copy": []}

    def timed(name, deed):
        before = time.perf_counter()
        deed()
        times[name].append(time.perf_counter() - before)

    for i in range(60):
        timed("publish", lambda: s.step(2 * i, 0.0))
        timed("idle", lambda: s.step(2 * i + 1, 0.0))
        timed("copy", lambda: np.copyto(other, density))
        time.sleep(0.25 if "side" in name else 0)
print(json.dumps({name: float(np.median(seconds[5:])) for name, seconds in times.items()}))
"""

CONFIGURATION = """
output: {output}
{sidecars}
meshes: {{grid: {{kind: uniform, cells: [256, 256, 128]}}}}
fields: {{density: {{mesh: grid, type: float64}}}}
analyses:
  empty: {{every: 2 steps, products_every: 0, stages: [{stage}]}}
"""

IN_PYTHON = '{python: {call: "stage.py:empty"}}'


def run(folder: Path, ranks: int, order: str, sidecars: str, stage: str) -> dict:
    name = "side.yaml" if sidecars else "own.yaml"
    (folder / name).write_text(
        CONFIGURATION.format(output="results", sidecars=sidecars, stage=stage)
    )
    program = os.environ.get("MPIEXEC", "mpirun")
    options = ["--oversubscribe", "--allow-run-as-root", "--bind-to", "none"]
    command = [program, *options, "-n", str(ranks), sys.executable, "simulation.py", order, name]
    environment = {**os.environ, "PYTHONPATH": str(BUILD / "python")}
    done = subprocess.run(
        command,
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        timeout=200,
        check=True,
    )
    return json.loads(done.stdout.splitlines()[-1])


def views(folder: Path) -> float:
    rows = (folder / "results/empty/empty.csv").read_text().splitlines()
    values = sorted(float(r.split(",")[2]) for r in rows if r[0].isdigit())
    return values[len(values) // 2]


def main() -> None:
    with tempfile.TemporaryDirectory(dir="/dev/shm") as name:
        folder = Path(name)
        (folder / "stage.py").write_text(STAGE)
        (folder / "simulation.py").write_text(SIMULATION)
        own = run(folder, 1, "C", "", IN_PYTHON)
        own["view_microseconds"] = views(folder)
        print(json.dumps({"where": "simulation", **own}))
        shares = {}
        for order in "CF":
            side = run(folder, 2, order, "sidecars: {per_node: 1, memory: 512 MiB}", IN_PYTHON)
            shares[order] = side["copy"] / side["publish"]
            print(json.dumps({"where": "sidecar", "order": order, **side}))
    hand_over = 1e6 * (own["publish"] - own["idle"])
    print(
        f"bench python_stage: view_microseconds={own['view_microseconds']:.1f} "
        f"step_microseconds={hand_over:.1f} copy_milliseconds={1e3 * own['copy']:.1f} "
        f"copy_over_publish_c={shares['C']:.2f} copy_over_publish_f={shares['F']:.2f}"
    )


main()
