#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Where is each task best done: in the simulation, beside it, or in part here and there? Runs
miniapps/taylor_green (turbulence that decays) with compression, pictures and the uncertainty of
averages, each synchronously on all ranks, asynchronously with some of the same ranks as sidecars,
and hybrid. Seconds are of the whole run, from opening the session until everything is analysed.
Prints a JSON line for each, with what Ju et al. (2022) found of the same task with Nek5000.

On two cores a sidecar takes half of the simulation away, or, where four ranks share the cores, as
much of the cores as it asks for. `explained` is the time that a pipeline of two sides takes, of
which each is as fast as it was by itself: the simulation on its ranks without any analysis, with
its stages; and the stages in the sidecar. It is all of the slower side, and one publication of the
faster.
"""

import argparse
import json
import os
import shutil
import statistics
import subprocess
import tempfile
from pathlib import Path
from typing import NamedTuple

from lammps_overhead import launcher

TIME_STEP = 0.005
EXAMPLE = Path(__file__).resolve().parents[1] / "miniapps/taylor_green/pillion.yaml"


class Task(NamedTuple):
    """Stages in front of the cut when it is hybrid, and the last; `every` so many steps."""

    name: str
    every: int
    first: tuple[str, ...]
    then: str
    published: str  # what the study found


TASKS = (
    Task(
        "compression",
        10,
        ("truncate: {fields: [velocity], error: 1.0e-2",),
        "encode: {fields: [velocity]",
        "best synchronous: 1.5 % every 50 steps; hybrid slower",
    ),
    Task(
        "images",
        2,
        ("magnitude: {field: velocity, into: speed",),
        "image: {draw: [{slice: {field: speed, axis: z, at: 3.14159}}], size: [600, 600]",
        "best asynchronous: 60 % shorter than synchronous, every 2 steps",
    ),
    Task(
        "uncertainty",
        1,
        (
            "average: {field: velocity, into: element",
            "autocorrelation: {field: element, lags: 50, fit_every: 20",
        ),
        "uncertainty: {field: element",
        "best hybrid: 50 % shorter than synchronous; asynchronous 2 times as long",
    ),
)
MODES = {
    "synchronous": ("simulation", "simulation"),
    "asynchronous": ("sidecar", "sidecar"),
    "hybrid": ("simulation", "sidecar"),
}


class Run(NamedTuple):
    """Seconds of the whole, and of the stages in the simulation and in the sidecars."""

    seconds: float
    simulation: float
    sidecar: float


def arguments():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--build", default=os.environ.get("PILLION_BUILD", "build"))
    parser.add_argument("--elements", type=int, default=4, help="per side")
    parser.add_argument("--steps", type=int, default=60)
    parser.add_argument("--ranks", type=int, nargs="*", default=[2, 4], help="in all")
    parser.add_argument("--repetitions", type=int, default=3)
    return parser.parse_args()


def configuration(task: Task | None, mode: str) -> str:
    catalogue = EXAMPLE.read_text(encoding="utf-8").split("\nanalyses:")[0]
    lines = [line for line in catalogue.splitlines() if not line.startswith("sidecars:")]
    if task is None:
        return "\n".join([*lines, "analyses: {}"]) + "\n"
    first, then = MODES[mode]
    if "sidecar" in (first, then):
        lines.append("sidecars: {per_node: 1, memory: 64 MiB, when_full: wait}")
    lines += ["analyses:", f"  {task.name}:", f"    every: {task.every} steps", "    stages:"]
    lines += [f"      - {stage}, at: {first}}}" for stage in task.first]
    lines += [f"      - {task.then}, at: {then}}}"]
    return "\n".join(lines) + "\n"


def run(options, folder: Path, task: Task | None, mode: str, ranks: int) -> Run:
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    (folder / "pillion.yaml").write_text(configuration(task, mode), encoding="utf-8")
    program = Path(options.build).resolve() / "miniapps/taylor_green/taylor_green"
    settings = {"case": "turbulence", "elements": options.elements, "reynolds": 500}
    settings |= {"max_dt": TIME_STEP, "end_time": options.steps * TIME_STEP}
    command = [*launcher(), "-n", str(ranks), program]
    command += [f"{name}={value}" for name, value in settings.items()]
    # Ranks that wait let others have the core, as in bench/intransit.py.
    environment = {**os.environ, "OMPI_MCA_mpi_yield_when_idle": "1"}
    done = subprocess.run(
        command, cwd=folder, capture_output=True, text=True, timeout=300, env=environment
    )
    if done.returncode != 0:
        raise SystemExit(f"{task} {mode} on {ranks} ranks failed:\n{done.stderr[-2000:]}")
    report = json.loads((folder / "results/report.json").read_text())
    seconds = report["run"]["seconds"]
    if task is None:
        return Run(seconds, 0, 0)
    (analysis,) = report["analyses"]
    assert analysis["disabled"] is None and not analysis["skipped"], analysis
    spent = analysis["seconds"]
    return Run(seconds, spent["simulation"]["max"], spent["sidecar"]["max"])


def median(runs: list[Run]) -> Run:
    return Run(*(statistics.median(values) for values in zip(*runs, strict=True)))


def measure(options, folder: Path, ranks: int) -> dict[tuple[str, str], Run]:
    """Medians; repetitions take turns, so that a drift of the machine's speed cancels."""
    todo = [(task, mode, ranks) for task in TASKS for mode in MODES]
    todo += [(None, "all", ranks), (None, "fewer", ranks - 1)]
    runs: dict[tuple[str, str], list[Run]] = {}
    for _ in range(options.repetitions):
        for task, mode, number in todo:
            done = run(options, folder / "run", task, mode, number)
            runs.setdefault((task.name if task else "", mode), []).append(done)
    return {key: median(those) for key, those in runs.items()}


def explained(options, task: Task, mode: str, runs: dict[tuple[str, str], Run]) -> float:
    result = runs[task.name, mode]
    if mode == "synchronous":
        return runs["", "all"].seconds + result.simulation
    sides = runs["", "fewer"].seconds + result.simulation, result.sidecar
    return max(sides) + min(sides) / (options.steps // task.every + 1)


def report(options, ranks: int, runs: dict[tuple[str, str], Run]) -> dict[str, float]:
    alone = runs["", "all"].seconds
    said = {}
    for task in TASKS:
        synchronous = runs[task.name, "synchronous"].seconds
        for mode in MODES:
            result = runs[task.name, mode]
            share = result.seconds / synchronous
            said[f"{task.name}_{mode}_{ranks}"] = round(share, 3)
            line = {
                "bench": "modes",
                "task": task.name,
                "every": task.every,
                "mode": mode,
                "ranks": ranks,
                "seconds": round(result.seconds, 3),
                "of_synchronous": round(share, 3),
                "of_simulation_alone": round(result.seconds / alone, 3),
                "explained": round(explained(options, task, mode, runs), 3),
                "stages_in_simulation": round(result.simulation, 3),
                "stages_in_sidecars": round(result.sidecar, 3),
                "published": task.published,
            }
            print(json.dumps(line), flush=True)
    return said


def main():
    options = arguments()
    said = {}
    with tempfile.TemporaryDirectory() as folder:
        for ranks in options.ranks:
            said |= report(options, ranks, measure(options, Path(folder), ranks))
    values = " ".join(f"{name}={value}" for name, value in said.items())
    print(f"bench modes: of_synchronous: {values}")


if __name__ == "__main__":
    main()
