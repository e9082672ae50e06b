# SPDX-License-Identifier: BSD-3-Clause
"""What a step takes does not grow with the length of the run, for any stage of the build: bytes and
calls that write are counted. With PILLION_TEST_ALL also CPU time, which grows no faster than steps,
blocks, values and bins, and a table of all exponents is printed.
"""

import json
import math
import os
import statistics
import sys
from pathlib import Path

import limits
import pytest
from stage_cases import CASES, CELLS, OWN_STAGE, configuration, stages_of

HERE = Path(__file__).parent
STEPS = 256
TOO_MUCH = 1.2  # a cost with the square of the steps gives 2.3, beside what each step takes anyway
needs_modules = pytest.mark.skipif(
    not any((Path(os.environ.get("PILLION_BUILD", "build")) / "python/pillion").glob("_stage*.so")),
    reason="no modules for Python",
)
needs_all = pytest.mark.skipif(
    "PILLION_TEST_ALL" not in os.environ, reason="long; set PILLION_TEST_ALL"
)
pytestmark = needs_modules
LEFT_OUT = {"catalyst": "needs ParaView, and writes what its script writes"}


def quarters(build, folder, chains, steps=STEPS, cells=CELLS, blocks=1, values="random"):
    """What each quarter of the steps took, by chain: bytes, calls, seconds of CPU time."""
    (folder / "own_stage.py").write_text(OWN_STAGE)
    files = {}
    for number, (name, stages) in enumerate(chains.items()):
        config = configuration(stages, cells, products_every=1) | {"output": f"out{number}"}
        files[name] = f"{number}.yaml"
        (folder / files[name]).write_text(json.dumps(config))
    numbers = map(str, (steps, cells, blocks))
    done = limits.run(
        [sys.executable, HERE / "grow.py", *numbers, values, *files.values()],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(build / "python"), "OMP_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    taken = json.loads(done.stdout.splitlines()[-1])
    return {name: taken[file] for name, file in files.items()}


def chains_of(build):
    """The cases of stages that this build has and that can be run."""
    built = stages_of(build)
    return {n: c for n, c in CASES.items() if n.split(",")[0] in built and n not in LEFT_OUT}


def test_no_step_writes_more_as_the_run_grows(build, tmp_path):
    chains = chains_of(build)
    taken = quarters(build, tmp_path, chains)
    wrong = {}
    for stage, (_, second, _, fourth) in taken.items():
        for what, before, after in zip(("bytes", "calls"), second, fourth):
            if after > TOO_MUCH * before + 100:
                wrong[f"{stage}: {what}"] = (before, after)
    assert len(taken) == len(chains) and not wrong


def exponent(build, folder, stages, at, what):
    """The power of a quantity with which CPU time grows, from doubling it: medians of three."""
    doubled = {**at, what: 2 * at[what]}
    seconds = []
    for numbers in (at, doubled):
        totals = []
        for _ in range(3):
            (parts,) = quarters(build, folder, {"one": stages}, **numbers).values()
            totals.append(sum(part[2] for part in parts[1:]))
        seconds.append(statistics.median(totals))
    return math.log2(seconds[1] / seconds[0]), seconds[1]


MOST = math.log2(2.7)
NOTHING = 0.05  # seconds, which say nothing
SWEEPS = {
    "steps": {"steps": 4096},
    "blocks": {"steps": 8, "cells": 16, "blocks": 1024},
    "values": {"steps": 8, "cells": 16},  # eight times as many, see below
}


@needs_all
@pytest.mark.alone
@pytest.mark.parametrize("what", SWEEPS)
@pytest.mark.parametrize("stage", CASES)
def test_time_is_in_proportion(build, tmp_path, stage, what):
    stages = chains_of(build).get(stage)
    if stages is None:
        pytest.skip(LEFT_OUT.get(stage, "not in this build"))
    at = dict(SWEEPS[what])
    quantity = "cells" if what == "values" else what
    power, seconds = exponent(build, tmp_path, stages, at, quantity)
    power /= 3 if what == "values" else 1
    print(f"{stage:16} {what:7} exponent {power:5.2f} {seconds:8.3f} s")
    assert power < MOST or seconds < NOTHING


BINS = {
    "histogram": {"field": "noise", "range": [0, 1], "bins": 1000},
    "power_spectrum": {"field": "noise", "scale": "log", "bins": 1000},
    "halos": {"field": "noise", "thresholds": [[0.5, 0.9]], "bins": 1000},
    "rdf": {"species": {"A": [1]}, "pairs": [["A", "A"]], "cutoff": 0.1, "bins": 1000},
    "lyman_alpha": {**CASES["lyman_alpha"][0]["lyman_alpha"], "tau_bins": 1000, "flux_bins": 1000},
}


@needs_all
@pytest.mark.alone
@pytest.mark.parametrize("values", ["random", "ones"])
@pytest.mark.parametrize("stage", BINS)
def test_ten_times_the_bins(build, tmp_path, stage, values):
    """Values at an edge of the bins are found as fast as others."""
    if stage not in stages_of(build):
        pytest.skip("not in this build")
    few = BINS[stage]
    many = {key: 10 * value if "bins" in key else value for key, value in few.items()}
    at = {"steps": 8, "cells": 32 if stage != "rdf" else 16, "values": values}
    chains = {"few": [{stage: few}], "many": [{stage: many}]}
    runs = [quarters(build, tmp_path, chains, **at) for _ in range(3)]
    seconds = [
        statistics.median(sum(part[2] for part in taken[name][1:]) for taken in runs)
        for name in chains
    ]
    print(f"{stage:16} bins x 10, {values}: {seconds[1] / seconds[0]:.2f} times")
    assert seconds[1] < 12 * seconds[0] and (values == "random" or seconds[1] < 4 * seconds[0])
