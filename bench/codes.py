#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""What Pillion costs real codes: Nek5000, Nyx, a code with a Catalyst adaptor and one that writes
with ADIOS2, LAMMPS and code_saturne, built as tests/codes builds them. Each runs without Pillion,
with a session whose analysis is never due, and with the analysis in the simulation, in sidecars,
and with its first stage in the simulation and the rest in sidecars.

A step's time is wall time from the end of the first step to the end of the program, so it includes
what sidecars still have to do, divided by the other steps. Prints a JSON line for each, then a
table. `moved` is what crosses to sidecars at a publication. `difference` is the
largest one between a number of a table and the same number of the simulation's mode, as a part of
the largest number in its column. PILLION_CODES names the folder with
sources; without it, LAMMPS and code_saturne run alone.
"""

import argparse
import json
import os
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

import numpy as np
from lammps_overhead import launcher

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT / f"tests/{name}") for name in ("codes", "conformance", "cosmology", "")]
MODES = ("without", "session", "simulation", "sidecars", "hybrid")


class Analysis(NamedTuple):
    """Its stages; in hybrid mode the first one runs in the simulation."""

    every: int
    stages: tuple[str, ...]


@dataclass(frozen=True)
class Code:
    """`prepare` makes a new folder ready to run, and returns the program and its words."""

    name: str
    analysis: Analysis
    steps: int  # that are timed
    prepare: Callable[[Path, bool], list] | None = None
    first: str = ""  # what the code prints at the end of the step before, or as it begins
    separate: bool = False  # sidecars are a job of their own
    environment: dict = field(default_factory=dict)
    catalogue: str = ""  # what the code does not say itself, as lines of YAML
    # Seconds of a run with a configuration, or None, on so many ranks, if the code starts itself.
    start: Callable[[Path, str | None, int], float] | None = None


def arguments():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--build", default=os.environ.get("PILLION_BUILD", "build"), type=Path)
    parser.add_argument("--codes", nargs="*", help="their names; all of them otherwise")
    parser.add_argument("--repetitions", type=int, default=3)
    return parser.parse_args()


def nek5000(build: Path, work: Path) -> Code:
    from nek_cases import CASES, build_case

    built, case, steps = build_case(build, "tgv", work / "tgv"), CASES["tgv"], 12

    def prepare(folder: Path, with_pillion: bool) -> list:
        shutil.copytree(built, folder, dirs_exist_ok=True)
        (folder / "SESSION.NAME").write_text(f"{case.name}\n{folder}/\n")
        par = folder / f"{case.name}.par"
        text = re.sub(r"(?im)^numSteps *=.*$", f"numSteps = {steps}", par.read_text())
        par.write_text(re.sub(r"(?im)^writeInterval *=.*$", "writeInterval = 1000", text))
        return [built / ("nek5000" if with_pillion else "plain")]

    stages = ("truncate: {fields: [velocity], error: 1.0e-2", "encode: {fields: [velocity]")
    return Code("Nek5000", Analysis(2, stages), steps - 1, prepare, r"^ *Step +1, t=")


def nyx(build: Path, work: Path) -> Code:
    from nyx_runs import Nyx

    program, steps = Nyx(build, work / "prefix"), 7
    words = [f"max_step={steps}", "amr.plot_int=-1", "amr.check_int=-1", "amr.max_grid_size=16"]
    words += ["nyx.initial_z=3", "nyx.final_z=1"]

    def prepare(folder: Path, with_pillion: bool) -> list:
        program.link_inputs(folder)
        if with_pillion:
            return [program.program, "inputs.rt", *words, "pillion.file=pillion.yaml"]
        return [program.plain, "inputs.rt", *words]

    stages = (
        "deposit: {position: dark_matter_position, mass: dark_matter_mass, mesh: grid, into: dark",
        "power_spectrum: {field: dark",
    )
    return Code("Nyx", Analysis(1, stages), steps - 1, prepare, r"^STEP = 1 ")


GRAY_SCOTT = (
    "magnitude: {field: concentration, into: amount",
    "image: {draw: [{slice: {field: amount, axis: z}}], size: [480, 300]",
)


def gray_scott(build: Path, work: Path) -> Code:
    from catalyst_runs import build_program, environment

    program, steps = build_program("gray_scott", work), 4000
    return Code(
        "Gray-Scott, by Catalyst",
        Analysis(200, GRAY_SCOTT),
        steps,
        lambda folder, with_pillion: [program, 480, 300, steps, 200],
        "^begins",
        separate=True,
        environment=environment(build, PILLION_CONFIGURATION="pillion.yaml"),
    )


def adios2(build: Path, work: Path) -> Code:
    """The same simulation. Without Pillion its engine is the one of ADIOS2 that writes nothing."""
    from adios2_runs import build_engine, build_program, engine_of_pillion

    plugins, program, steps = (
        build_engine(build, work),
        build_program("gray_scott_adios2", work),
        4000,
    )
    nothing = '<engine type="NULL"/>'
    ours = engine_of_pillion("pillion.yaml")

    def prepare(folder: Path, with_pillion: bool) -> list:
        theirs = re.sub(r"(?s)<engine.*</engine>", nothing, ours)
        (folder / "adios2.xml").write_text(ours if with_pillion else theirs)
        return [program, 480, 300, steps, 200]

    return Code(
        "Gray-Scott, by ADIOS2",
        Analysis(200, GRAY_SCOTT),
        steps,
        prepare,
        "^begins",
        separate=True,
        environment={"ADIOS2_PLUGIN_PATH": plugins},
        catalogue="meshes: {dish: {kind: uniform, cells: [480, 300], length: [480, 300]}}\n"
        "fields: {concentration: {mesh: dish, type: float64, components: 2}}",
    )


def lammps(build: Path, work: Path) -> Code:
    example, steps = ROOT / "examples/nacl", 600

    def prepare(folder: Path, with_pillion: bool) -> list:
        text = (example / "in.nacl").read_text()
        fix = "fix             ride all pillion\n"
        assert text.count(fix) == 1
        (folder / "in.nacl").write_text(text if with_pillion else text.replace(fix, ""))
        shutil.copy(example / "spce.mol", folder)
        words = ["-in", "in.nacl", "-var", "warmup", 10, "-var", "steps", steps]
        more = ["-pillion", "pillion.yaml"] if with_pillion else []
        return [build / "bin/pillion-lmp", *words, *more]

    stages = (
        "rdf: {species: {O: [1], Na: [3], Cl: [4]}, pairs: [[Na, O], [Cl, O], [O, O]],"
        " cutoff: 10.0, bins: 200",
    )
    return Code("LAMMPS", Analysis(20, stages), steps, prepare, r"^ +10 ")


def saturne(build: Path, work: Path) -> Code:
    from saturne_cases import Study

    study, steps = Study(build, work), 200

    def start(folder: Path, text: str | None, ranks: int) -> float:
        """By code_saturne's own clock, from the end of its first step to its end."""
        shutil.rmtree(study.folder / "domain/RESU/timed", ignore_errors=True)
        result = study.run("domain", "timed", ranks, text, steps=steps)
        if text is not None:
            shutil.copytree(result / "results", folder / "results")
        said = re.search(r"Elapsed time: +([0-9.]+) s", (result / "performance.log").read_text())
        columns = np.loadtxt(result / "timer_stats.csv", delimiter=",", skiprows=1)
        return float(said[1]) - columns[columns[:, 0] <= 1, 1].sum()

    stages = (
        "magnitude: {field: velocity, into: speed",
        "image: {draw: [{slice: {field: speed, axis: z, at: 0.5}}], size: [480, 300]",
    )
    return Code("code_saturne", Analysis(20, stages), steps - 1, start=start)


CODES = {
    "nek5000": nek5000,
    "nyx": nyx,
    "saturne": saturne,
    "catalyst": gray_scott,
    "adios2": adios2,
    "lammps": lammps,
}
NEED_SOURCES = {"nek5000", "nyx", "catalyst"}


def configuration(code: Code, mode: str, run: str) -> str:
    every = 10**9 if mode == "session" else code.analysis.every
    lines = ["output: results", f"run: {run}"]
    if mode in ("sidecars", "hybrid"):
        where = "job: separate" if code.separate else "per_node: 1"
        lines.append(f"sidecars: {{{where}, memory: 256 MiB, when_full: wait}}")
    lines += [code.catalogue] * bool(code.catalogue)
    lines += ["analyses:", "  a:", f"    every: {every} steps", "    stages:"]
    for number, stage in enumerate(code.analysis.stages):
        is_there = mode == "sidecars" or (mode == "hybrid" and number > 0)
        lines.append(f"      - {stage}, at: {'sidecar' if is_there else 'simulation'}}}")
    # The analysis with a session only is the first step's, or none.
    if mode == "session":
        lines.insert(-len(code.analysis.stages) - 1, "    when: step > 0")
    return "\n".join(lines) + "\n"


def timed(words: list, folder: Path, environment: dict, first: str) -> float:
    """Seconds from the first line that matches `first` to the end."""
    begin, said = None, []
    # Ranks that wait let others have the core, as in bench/intransit.py.
    environment = {**os.environ, "OMPI_MCA_mpi_yield_when_idle": "1", **environment}
    environment = {name: str(value) for name, value in environment.items()}
    with subprocess.Popen(
        list(map(str, words)),
        cwd=folder,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    ) as program:
        for line in program.stdout:
            said.append(line)
            if begin is None and re.search(first, line):
                begin = time.perf_counter()
        if program.wait(600) != 0 or begin is None:
            raise SystemExit(f"{words} failed:\n{''.join(said[-40:])}")
    return time.perf_counter() - begin


def run(options, code: Code, mode: str, folder: Path) -> float:
    """Seconds for a step."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    name = f"bench_codes_{os.getpid()}"
    has_sidecars = mode in ("sidecars", "hybrid")
    ranks = 2 if has_sidecars and not code.separate else 1
    text = None if mode == "without" else configuration(code, mode, name)
    if code.start is not None:
        return code.start(folder, text, ranks) / code.steps
    words = code.prepare(folder, text is not None)
    environment = {} if text is None else code.environment
    if text is not None:
        (folder / "pillion.yaml").write_text(text)
    command = [*launcher(), "-n", ranks, *words]
    if not (has_sidecars and code.separate):
        return timed(command, folder, environment, code.first) / code.steps
    attach = [options.build / "bin/pillion", "attach", name, "--wait", "60"]
    with subprocess.Popen(
        attach, cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True
    ) as sidecars:
        try:
            seconds = timed(command, folder, environment, code.first)
            begin = time.perf_counter()
            said = sidecars.communicate(timeout=120)[1]
            if sidecars.returncode != 0:
                raise SystemExit(f"{code.name}: pillion attach failed:\n{said}")
            return (seconds + time.perf_counter() - begin) / code.steps
        finally:
            sidecars.kill()


def tables(folder: Path) -> dict[str, np.ndarray]:
    """Numbers of all tables but measured times, by file."""
    from conftest import read_table

    found = {}
    for path in sorted((folder / "results/a").glob("*.csv")):
        table = read_table(path)
        names = [name for name in table.columns if name != "seconds"]
        found[path.name] = np.stack([table[name].astype(float) for name in names])
    return found


def difference(some: dict, others: dict) -> float:
    """The largest difference of a number, against the largest number of its column."""
    if some.keys() != others.keys():
        raise SystemExit(f"tables {sorted(some)} and {sorted(others)} differ")
    worst = 0.0
    for name, values in some.items():
        size = np.abs(values).max(axis=1, keepdims=True, initial=1e-300)
        worst = max(worst, float((np.abs(values - others[name]) / size).max(initial=0)))
    return worst


def moved(folder: Path) -> float:
    """Bytes for each publication that go to sidecars."""
    report = json.loads((folder / "results/report.json").read_text())
    (analysis,) = report["analyses"]
    assert analysis["disabled"] is None and not analysis["skipped"], analysis
    return analysis["bytes_moved"] / analysis["publications"]


def measure(options, code: Code, folder: Path) -> list[dict]:
    seconds: dict[str, list[float]] = {mode: [] for mode in MODES}
    found, lines = {}, []
    modes = [mode for mode in MODES if mode != "hybrid" or len(code.analysis.stages) > 1]
    for _ in range(options.repetitions):
        for mode in modes:
            seconds[mode].append(run(options, code, mode, folder / "run"))
            if mode not in ("without", "session"):
                found[mode] = tables(folder / "run"), moved(folder / "run")
    for mode in modes:
        ratios = [a / b for a, b in zip(seconds[mode], seconds["without"], strict=True)]
        line = {"bench": "codes", "code": code.name, "mode": mode}
        line |= {"ms_per_step": 1e3 * statistics.median(seconds[mode])}
        line |= {"ratio": statistics.median(ratios)}
        if mode in found:
            line["difference"] = difference(found[mode][0], found["simulation"][0])
            line["bytes_per_publication"] = round(found[mode][1])
        print(json.dumps(line), flush=True)
        lines.append(line)
    return lines


def main():
    options = arguments()
    options.build = options.build.resolve()
    names = options.codes or list(CODES)
    if "PILLION_CODES" not in os.environ:
        names = [name for name in names if name not in NEED_SOURCES]
    said = {}
    with tempfile.TemporaryDirectory() as work:
        for name in names:
            folder = Path(work, name)
            folder.mkdir()
            for line in measure(options, CODES[name](options.build, folder), folder):
                said[f"{name}_{line['mode']}"] = round(line["ratio"], 3)
    print("bench codes: " + " ".join(f"{name}={value}" for name, value in said.items()))


if __name__ == "__main__":
    main()
