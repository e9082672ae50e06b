#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Is it faster to analyse beside the simulation than in it, on the same cores? Runs
miniapps/cosmology with halos and spectra every N steps: synchronously on all ranks, and with some
of the same ranks as sidecars, reached through the node's memory and through the network. Either of
total matter alone, or of the gas as well, with the Lyman-alpha forest: then N steps take less time
than the analyses for small N, and more for large N. Seconds are the program's own, from the first
step until everything is analysed. Prints a JSON line for each way of running, with what a simple
model expects of it.

Two ranks have a core each on two cores: what is moved to the sidecar is taken from the simulation,
as on a large machine. Four ranks share two cores: there the operating system gives each side the
core time that it asks for, so that a split of ranks is none of cores, and all that asynchrony can
gain is what synchronous ranks lose in waiting for each other.
"""

import argparse
import csv
import json
import os
import re
import shutil
import statistics
import subprocess
import tempfile
from pathlib import Path
from typing import NamedTuple

from lammps_overhead import launcher

EXAMPLE = Path(__file__).resolve().parents[1] / "miniapps/cosmology/pillion.yaml"

MATTER = """
analyses:
  science:
    every: {every} steps
    stages:
      - deposit: {{position: position, mesh: grid, into: dark, particle_mass: $particle_mass}}
      - matter: {{gas: gas_density, dark_matter: dark, baryon_fraction: 0.157, into: matter}}
      - power_spectrum: {{field: matter, window: cic}}
      - halos: {{field: matter, thresholds: [[20, 40], [82, 200]], bins: 12}}
"""

GAS = """\
      - power_spectrum: {{field: gas_density}}
      - power_spectrum: {{field: n_HI}}
      - power_spectrum: {{field: gas_temperature}}
      - halos: {{field: gas_density, thresholds: [[20, 40]], bins: 12}}
      - halos: {{field: n_HI, thresholds: [[20, 40]], bins: 12}}
      - lyman_alpha:
          neutral_hydrogen: n_HI
          temperature: gas_temperature
          velocity: gas_velocity
          omega_m: $omega_m
          h: $hubble
          time_is: scale_factor
"""


class Case(NamedTuple):
    """What is analysed, how often, and with how many ranks in all."""

    name: str
    analyses: str
    every: int
    ranks: tuple[int, ...]


CASES = (
    Case("matter", MATTER, 5, (2, 4)),
    Case("all", MATTER + GAS, 1, (2,)),
    Case("all", MATTER + GAS, 2, (2,)),
    Case("all", MATTER + GAS, 5, (2, 4)),
    Case("all", MATTER + GAS, 10, (2,)),
)


class Way(NamedTuple):
    """Ranks on both sides, and how sidecars are reached; '' if there are none."""

    simulation: int
    sidecars: int
    transport: str

    @property
    def ranks(self) -> int:
        return self.simulation + self.sidecars

    def __str__(self) -> str:
        through = f"_{self.transport}" if self.transport else ""
        return f"{self.simulation}+{self.sidecars}{through}"


class Run(NamedTuple):
    """Seconds of the whole, of analyses in it (if synchronous), and what came out."""

    seconds: float
    analysis: float
    products: Path


def ways(ranks: int) -> list[Way]:
    splits = [(ranks - s, s) for s in range(1, ranks)]
    return [Way(ranks, 0, "")] + [Way(*s, t) for t in ("node", "network") for s in splits]


def arguments():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--build", default=os.environ.get("PILLION_BUILD", "build"))
    parser.add_argument("--cells", type=int, default=64, help="per side")
    parser.add_argument("--steps", type=int, default=30, help="a multiple of 10")
    parser.add_argument("--repetitions", type=int, default=3)
    return parser.parse_args()


def configuration(way: Way, case: Case) -> str:
    catalogue = EXAMPLE.read_text(encoding="utf-8").split("\nanalyses:")[0]
    kind = {"node": "per_node", "network": "ranks"}.get(way.transport)
    sidecars = f"sidecars: {{{kind}: {way.sidecars}, memory: 1 GiB, when_full: wait}}"
    catalogue = re.sub("^sidecars:.*$", sidecars if kind else "", catalogue, flags=re.M)
    return catalogue + case.analyses.format(every=case.every)


def run(options, folder: Path, way: Way, case: Case) -> Run:
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    (folder / "pillion.yaml").write_text(configuration(way, case), encoding="utf-8")
    program = Path(options.build).resolve() / "miniapps/cosmology/cosmology"
    # The last step is today's, when there are halos.
    settings = {"cells": options.cells, "length": options.cells / 2, "steps": options.steps}
    command = [*launcher(), "-n", str(way.ranks), program]
    command += [f"{name}={value}" for name, value in settings.items()]
    # Ranks that wait let others have the core, whether there are more of them than cores or not:
    # else Open MPI has two ranks spin and four not, and any other program delays the two most.
    environment = {**os.environ, "OMPI_MCA_mpi_yield_when_idle": "1"}
    done = subprocess.run(
        command,
        cwd=folder,
        check=True,
        capture_output=True,
        text=True,
        timeout=300,
        env=environment,
    )
    (seconds,) = re.findall("^seconds of all steps and analyses: (.*)$", done.stdout, flags=re.M)
    report = json.loads((folder / "results/report.json").read_text())
    (analysis,) = report["analyses"]
    assert analysis["publications"] == options.steps // case.every + 1, analysis
    assert analysis["disabled"] is None and not analysis["skipped"], analysis
    return Run(float(seconds), analysis["seconds"]["simulation"]["max"], folder / "results")


def tables(results: Path) -> dict[str, list[list[str]]]:
    """Rows of all products, the names of columns first."""
    found = {}
    for path in sorted(results.glob("science/*.csv")):
        rows = [r for r in path.read_text().splitlines() if not r.startswith("#")]
        found[path.name] = list(csv.reader(rows))
    return found


def differences(one: dict, other: dict) -> float:
    """The greatest relative difference of reals; what is counted must not differ at all. Positions
    are compared on the scale of the mesh, since a halo may lie near 0."""
    assert one.keys() == other.keys() and len(one) > 0, one.keys() ^ other.keys()
    worst = 0.0
    for name, rows in one.items():
        assert len(rows) == len(other[name]) and rows[0] == other[name][0], name
        for mine, theirs in zip(rows[1:], other[name][1:]):
            for column, a, b in zip(rows[0], mine, theirs):
                if a == b:
                    continue
                assert column not in ("id", "cells", "wraps", "modes", "count"), (
                    name,
                    mine,
                    theirs,
                )
                scale = 1.0 if column in "xyz" else max(abs(float(a)), abs(float(b)))
                worst = max(worst, abs(float(a) - float(b)) / scale)
    assert worst < 1e-6, worst
    return worst


def expected(way: Way, alone: dict[int, Run], publications: int) -> float:
    """Of a pipeline of two stages: all of the slower one, and one publication of the faster. A
    side is as fast as that many ranks are by themselves, but not more than there are cores; and no
    more work is done than all cores can."""
    cores = os.cpu_count() or 1

    def fastest(ranks: int) -> Run:
        return alone[max(r for r in alone if r <= min(ranks, cores))]

    simulating = fastest(way.simulation)
    simulation = simulating.seconds - simulating.analysis
    analysis = fastest(way.sidecars).analysis
    pipeline = max(simulation, analysis) + min(simulation, analysis) / publications
    return max(pipeline, alone[1].seconds / cores)


def measure(options, folder: Path, case: Case) -> dict[Way, Run]:
    """Medians; repetitions take turns, so that a drift of the machine's speed cancels."""
    todo = [Way(1, 0, "")] + [way for ranks in case.ranks for way in ways(ranks)]
    runs: dict[Way, list[Run]] = {way: [] for way in todo}
    for _ in range(options.repetitions):
        for way in todo:
            runs[way].append(run(options, folder / str(way), way, case))
    return {
        way: Run(
            statistics.median(r.seconds for r in those),
            statistics.median(r.analysis for r in those),
            those[-1].products,
        )
        for way, those in runs.items()
    }


def report(options, case: Case, runs: dict[Way, Run]) -> dict[str, str]:
    """Prints a case; returns, of each split, its time over the synchronous one and that over what
    was expected."""
    alone = {way.simulation: run for way, run in runs.items() if way.sidecars == 0}
    reference = tables(runs[Way(1, 0, "")].products)
    said = {}
    for way, result in runs.items():
        share = result.seconds / alone[way.ranks].seconds
        line = {
            "bench": "intransit",
            "cells": options.cells,
            "analyses": case.name,
            "every": case.every,
            "simulation": way.simulation,
            "sidecars": way.sidecars,
            "transport": way.transport,
            "seconds": result.seconds,
            "of_synchronous": round(share, 3),
            "products_differ": differences(reference, tables(result.products)),
        }
        if way.sidecars == 0:
            line["analysis_seconds"] = round(result.analysis, 3)
            line["steps_over_analysis"] = round(result.seconds / result.analysis - 1, 3)
        else:
            hoped = expected(way, alone, options.steps // case.every + 1)
            line["expected_seconds"] = round(hoped, 3)
            said[f"{case.name}_every_{case.every}_{way}"] = (
                f"{share:.3f}/{result.seconds / hoped:.2f}"
            )
        print(json.dumps(line), flush=True)
    return said


def main():
    options = arguments()
    said = {}
    with tempfile.TemporaryDirectory() as folder:
        for case in CASES:
            said |= report(options, case, measure(options, Path(folder), case))
    values = " ".join(f"{name}={value}" for name, value in said.items())
    print(f"bench intransit: of_synchronous/of_expected: {values}")


if __name__ == "__main__":
    main()
