# SPDX-License-Identifier: BSD-3-Clause
"""The memory that `pillion check` says stages need is what they take: never more than it says, and
no small part of it. Stages work on noise, which is what takes most."""

import json
import os
import sys

import limits
import pytest
from insitu import PROGRAMS, environment, needs_modules

pytestmark = needs_modules

CELLS = 112
SLACK = 6 << 20  # what libraries allocate once
STAGES = {
    "power_spectrum": {"field": "noise"},
    "halos": {"field": "noise", "thresholds": [[3, 6]]},
    "halos, kept": {"field": "noise", "thresholds": [[3, 6]], "keep_tree": True},
    "encode": {"fields": ["noise"], "error": 1e-3},
    "write_hdf5": {"fields": ["noise"]},
    "write_raw": {"fields": ["noise"]},
    "write_plotfile": {"fields": ["noise"]},
    "write_vtkhdf": {"fields": ["noise"]},
    "write_openpmd": {"fields": ["noise"]},
    "write_idx": {"fields": ["noise"], "aggregators": 1},
    "image": {"draw": [{"volume": {"field": "noise"}}], "size": [256, 256]},
}


@pytest.mark.parametrize("case", STAGES)
def test_stages_take_what_check_says(build, tmp_path, case):
    stage = case.split(",")[0]
    mesh = {"kind": "uniform", "cells": [CELLS] * 3, "length": [1, 1, 1], "periodic": True}
    configuration = {
        "meshes": {"cube": mesh},
        "fields": {"noise": {"mesh": "cube", "type": "float64"}},
        "analyses": {"one": {"stages": [{stage: STAGES[case]}]}},
    }
    (tmp_path / "pillion.yaml").write_text(json.dumps(configuration))
    check = [build / "bin/pillion-check", "pillion.yaml", "--ranks", "1", "--json"]
    said = limits.run(check, cwd=tmp_path, capture_output=True, check=True, timeout=30)
    (node,) = json.loads(said.stdout)["memory"]
    (use,) = node["uses"]
    assert use["origin"] == f"'{stage}' of analysis 'one'"
    run = [sys.executable, PROGRAMS / "measure_memory.py", "pillion.yaml", str(CELLS)]
    done = limits.run(
        run,
        cwd=tmp_path,
        env={**os.environ, **environment(build)},
        capture_output=True,
        text=True,
        timeout=90,
        check=True,
    )
    rise = int(done.stdout.split()[-1])
    assert 0.3 * use["bytes"] - SLACK < rise < 1.1 * use["bytes"] + SLACK


ATOMS, SIDE = 150_000, 10
FIELDS = {
    "noise": {"mesh": "cube", "type": "float64"},
    "flow": {"mesh": "cube", "type": "float64", "components": 3},
    "position": {"mesh": "atoms", "type": "float64", "components": 3},
    "velocity": {"mesh": "atoms", "type": "float64", "components": 3},
    "mass": {"mesh": "atoms", "type": "float64"},
    "id": {"mesh": "atoms", "type": "int64"},
    "type": {"mesh": "atoms", "type": "int32"},
    "xyz": {"mesh": "elements", "type": "float64", "components": 3},
    "heat": {"mesh": "elements", "type": "float64"},
}
# By the prime number of the one step at which each is due.
CHAINS = {
    2: [{"statistics": {"fields": ["noise"]}}],
    3: [
        {
            "histogram": {
                "field": "noise",
                "bins": 1000,
                "range": [0, 9],
                "against": {"field": "flow", "component": 0, "bins": 1000, "range": [-4, 4]},
            }
        }
    ],
    5: [{"slice": {"field": "noise", "pixels": 1024}}],
    7: [{"average": {"field": "noise", "onto": "coarse", "into": "mean"}}],
    11: [{"deposit": {"position": "position", "mesh": "cube", "into": "density"}}],
    13: [
        {
            "lyman_alpha": {
                "neutral_hydrogen": "noise",
                "temperature": "noise",
                "velocity": "flow",
                "omega_m": 0.3,
                "h": 0.7,
                "redshift": 3,
                "length_units": "Mpc",
                "axes": ["x"],
            }
        }
    ],
    17: [{"rdf": {"species": {"A": [1]}, "pairs": [["A", "A"]], "cutoff": 0.01}}],
    19: [{"msd": {"image": None, "origins": {"every": 1, "keep": 4}}}],
    23: [{"vacf": {"origins": "first", "remove_drift": "system"}}],
    29: [{"truncate": {"fields": ["heat"], "error": 1e-3}}],
    31: [{"average": {"field": "heat", "into": "mean_heat"}}],
    37: [
        {"average": {"field": "noise", "onto": "coarse", "into": "mean"}},
        {"autocorrelation": {"field": "mean", "lags": 3, "fit_every": 1}},
    ],
    41: [{"magnitude": {"field": "flow", "into": "speed"}}],
}


def configuration_of(chains):
    return {
        "output": "results",
        "meshes": {
            "cube": {
                "kind": "uniform",
                "cells": [CELLS] * 3,
                "length": [1, 1, 1],
                "periodic": True,
            },
            "coarse": {
                "kind": "uniform",
                "cells": [CELLS // 4] * 3,
                "length": [1, 1, 1],
                "periodic": True,
            },
            "atoms": {"kind": "particles"},
            "elements": {"kind": "spectral", "order": 5, "coordinates": "xyz"},
        },
        "fields": FIELDS,
        "analyses": {
            f"a{step}": {"every": f"{step} steps", "stages": stages}
            for step, stages in chains.items()
        },
    }


def bytes_that_check_says(build, folder, chains):
    (folder / "one.yaml").write_text(json.dumps(configuration_of(chains)))
    check = [build / "bin/pillion-check", "one.yaml", "--ranks", "1", "--json"]
    said = json.loads(
        limits.run(check, cwd=folder, capture_output=True, check=True, timeout=30).stdout
    )
    (node,) = said["memory"]
    items = {"atoms": ATOMS, "elements": SIDE**3}
    return node["bytes"] + sum(
        items[mesh] * each for use in node["uses"] for mesh, each in use["bytes_per_item"].items()
    )


def test_no_stage_takes_more_than_check_says(build, tmp_path):
    """Particles and elements too, whose numbers check does not know, so it says bytes for each."""
    said = {
        step: bytes_that_check_says(build, tmp_path, {step: stages})
        for step, stages in CHAINS.items()
    }
    (tmp_path / "pillion.yaml").write_text(json.dumps(configuration_of(CHAINS)))
    numbers = [CELLS, ATOMS, SIDE, *CHAINS]
    run = [sys.executable, PROGRAMS / "measure_all.py", "pillion.yaml", *map(str, numbers)]
    done = limits.run(
        run,
        cwd=tmp_path,
        env={**os.environ, **environment(build)},
        capture_output=True,
        text=True,
        timeout=90,
        check=True,
    )
    rises = [line.split()[1:] for line in done.stdout.splitlines() if line.startswith("rise")]
    wrong = {
        next(iter(CHAINS[int(step)][-1])): (said[int(step)], int(rise))
        for step, rise, _ in rises
        if int(rise) > 1.1 * said[int(step)] + SLACK  # less, where earlier stages left memory
    }
    assert len(rises) == len(CHAINS) and not wrong
