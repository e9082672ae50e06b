#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Does `pillion advise` know what a step takes, wherever analyses run? For the project's own demos
on two cores: advice from short runs, whole runs of every placement (all analyses cut equally deep;
`--all` cuts each by itself), and the ratio of what was predicted of the whole run to what it took.
Seconds are from the end of the simulation's first publication until everything is analysed, from
the timelines of the whole runs. Short and whole runs take turns, and of similar ones the
fastest counts: a virtual machine's speed may change by half from one minute to the next, with what
its neighbours do. Those that the advisor runs again since they are nearly alike run whole again,
too. Prints a JSON line for each placement, and last the worst ratio and how much longer the
placement takes that was recommended than the fastest.

`ratio` is of the fastest runs. `paired_ratio` is the median, over the rounds, of what one round's
short runs predict to what its whole run took: those are seconds apart, not minutes.

Ranks that wait let others have the core, and none is bound, whether there are more of them than
cores or not: else Open MPI has two ranks spin and three not, and any other program delays the two
most.
"""

import argparse
import json
import math
import os
import shutil
import statistics
import subprocess
import tempfile
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

from lammps_overhead import launcher
from pillion.advise import model, placement
from pillion.advise.advice import advise, finalists
from pillion.advise.costs import costs_of
from pillion.advise.placement import Chains, Memory, Placement, mode_of
from pillion.advise.short_runs import Runner, plan_runs
from pillion.advise.trace import read_timelines
from pillion.launch.facts import find_facts
from pillion.launch.plan import Wishes, parts_of
from pillion.report.timeline import timeline_files

EXAMPLES = Path(__file__).resolve().parents[1] / "examples"
AMPLE = Memory(budget=2.0**30)

MATTER = """
analyses:
  science:
    every: 5 steps
    stages:
      - deposit: {position: position, mesh: grid, into: dark, particle_mass: $particle_mass}
      - matter: {gas: gas_density, dark_matter: dark, baryon_fraction: 0.157, into: matter}
      - power_spectrum: {field: matter, window: cic}
      - halos: {field: matter, thresholds: [[20, 40], [82, 200]], bins: 12}
"""


class Demo(NamedTuple):
    """A program below the build folder with arguments for short runs and for whole ones, the steps
    of these, the analyses, if they are not the example's own, and how many times more often it
    takes its turn: small ones take what the machine's speed is for a second or two.
    """

    name: str
    program: str
    short: str
    whole: str
    steps: int
    analyses: str = ""
    turns: int = 1


DEMOS = (
    Demo("heat", "examples/heat/heat", "64 1000000", "64 2500", 2500, turns=3),
    Demo(
        "taylor_green",
        "miniapps/taylor_green/taylor_green",
        "case=turbulence elements=4 reynolds=500 max_dt=0.005 end_time=500",
        "case=turbulence elements=4 reynolds=500 max_dt=0.005 end_time=1",
        200,
    ),
    Demo(
        "cosmology",
        "miniapps/cosmology/cosmology",
        "cells=64 length=32 steps=1000",
        "cells=64 length=32 steps=50",
        50,
        MATTER,
    ),
    Demo(
        "nacl",
        "bin/pillion-lmp",
        "-pillion pillion.yaml -in in.nacl -screen none -var warmup 100 -var steps 1000000",
        "-pillion pillion.yaml -in in.nacl -screen none -var warmup 100 -var steps 300",
        300,
    ),
)


def arguments():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--build", default=os.environ.get("PILLION_BUILD", "build"))
    parser.add_argument("--demos", nargs="*", default=["heat", "taylor_green", "cosmology"])
    parser.add_argument("--ranks", type=int, default=2)
    parser.add_argument("--seconds", type=float, default=3, help="of each short run")
    parser.add_argument("--rounds", type=int, default=6, help="of short and whole runs")
    parser.add_argument("--all", action="store_true", help="each analysis cut by itself")
    return parser.parse_args()


def configuration(demo: Demo) -> str:
    text = (EXAMPLES / demo.name / "pillion.yaml").read_text(encoding="utf-8")
    if demo.name == "heat":
        text = text.replace("n: 32", "n: 64")
    return text.split("\nanalyses:")[0] + demo.analyses if demo.analyses else text


def runner_of(options, demo: Demo, folder: Path) -> Runner:
    """In `folder`, where the program runs, too."""
    text = configuration(demo)
    (folder / "pillion.yaml").write_text(text, encoding="utf-8")
    for name in ("in.nacl", "spce.mol"):
        shutil.copy(EXAMPLES / "nacl" / name, folder)
    words = [str(Path(options.build).resolve() / demo.program), *demo.short.split()]
    return Runner(
        wishes=Wishes("pillion.yaml", parts_of(words), launcher_options=("--bind-to", "none")),
        chains=Chains(text, "pillion.yaml"),
        facts=replace(find_facts(None), cores=os.cpu_count() or 1),
        kind="per_node",
        attach="pillion-attach",
        seconds=options.seconds,
    )


def considered(options, runner: Runner) -> list[Placement]:
    chains = runner.chains.all
    every = placement.candidates(options.ranks, [1], chains)
    if options.all:
        return every
    even = [placement.cut_at(d, 1, 1, chains).cuts for d in range(runner.chains.depth)]
    return [p for p in every if not p.sidecars or p.cuts in even]


def whole_run(options, demo: Demo, runner: Runner, where: Placement) -> float:
    """Seconds from the end of the first publication until everything is analysed."""
    shutil.rmtree("whole", ignore_errors=True)
    Path("whole.yaml").write_text(runner.chains.with_cuts(where.cuts, "per_node", where.sidecars))
    program = Path(options.build).resolve() / demo.program
    command = [*launcher(), "-n", str(where.ranks), str(program), *demo.whole.split()]
    told = {"PILLION_CONFIGURATION": "whole.yaml", "PILLION_OVERRIDE": "output=whole"}
    done = subprocess.run(
        command, env={**os.environ, **told}, capture_output=True, text=True, timeout=300
    )
    if done.returncode != 0:
        raise SystemExit(f"{demo.name} {where} failed:\n{done.stderr[-2000:]}")
    trace = read_timelines(timeline_files(Path("whole")).paths)
    ranks = [*trace.simulation, *trace.sidecars]
    return max(visits[-1].end for visits in ranks if visits) - trace.simulation[0][0].end


def report(options, demo: Demo) -> tuple[float, float, float]:
    """Prints a demo; returns its worst ratio, of the fastest runs and of those of one round, and
    what is lost by the recommendation.
    """
    runner = runner_of(options, demo, Path.cwd())
    chains, cores = runner.chains.all, runner.facts.cores
    planned = plan_runs(options.ranks, [1], chains, cores)
    places = considered(options, runner)
    short_runs, took, rounds = [], dict.fromkeys(places, math.inf), options.rounds * demo.turns
    paired = {where: [] for where in places}
    for _ in range(rounds):
        short = [runner.run(where) for where in planned]
        costs = costs_of(short, chains, cores)
        short_runs += short
        for where in places:
            seconds = whole_run(options, demo, runner, where)
            took[where] = min(took[where], seconds)
            predicted = model.seconds_of(costs, where, AMPLE, demo.steps)
            paired[where].append(predicted / seconds)
    finals = []
    nearly = finalists(advise(short_runs, chains, cores, AMPLE, places).predictions)
    for _ in range(rounds):
        finals += [runner.run(where) for where in nearly]
        for where in nearly:
            took[where] = min(took[where], whole_run(options, demo, runner, where))
    advice = advise(short_runs, chains, cores, AMPLE, places, finals=finals)
    costs = costs_of(short_runs, chains, cores)
    ratios = []
    for where in places:
        predicted = model.seconds_of(costs, where, AMPLE, demo.steps)
        ratios.append(predicted / took[where])
        line = {
            "bench": "advise",
            "demo": demo.name,
            "ranks": str(where),
            "analyses": mode_of(where, chains),
            "step_seconds": round(took[where] / demo.steps, 6),
            "ratio": round(ratios[-1], 3),
            "paired_ratio": round(statistics.median(paired[where]), 3),
            "short_run": where in planned,
            "recommended": where == advice.chosen.placement,
        }
        print(json.dumps(line), flush=True)
    lost = took[advice.chosen.placement] / min(took.values())
    return farthest(ratios), farthest(map(statistics.median, paired.values())), lost


def farthest(ratios) -> float:
    """From 1."""
    return max(ratios, key=lambda ratio: abs(ratio - 1))


def main():
    options = arguments()
    options.build = str(Path(options.build).resolve())
    os.environ |= {"OMPI_MCA_mpi_yield_when_idle": "1"}
    found = []
    for demo in DEMOS:
        if demo.name not in options.demos or not Path(options.build, demo.program).exists():
            continue
        with tempfile.TemporaryDirectory() as folder:
            os.chdir(folder)
            found.append(report(options, demo))
            os.chdir("/")
    worst, paired, lost = zip(*found, strict=True)
    print(
        f"bench advise: worst={farthest(worst):.3f} worst_paired={farthest(paired):.3f}"
        f" picked_over_best={max(lost):.3f}"
    )


if __name__ == "__main__":
    main()
