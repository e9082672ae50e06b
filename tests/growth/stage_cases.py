# SPDX-License-Identifier: BSD-3-Clause
"""A small case of every stage that a build may have: a catalogue, and the stages of an analysis."""

import json
from functools import cache
from pathlib import Path

import limits

CELLS = 8  # along each axis of the cube


def catalogue(cells: int = CELLS) -> dict:
    mesh = {"kind": "uniform", "length": [1, 1, 1], "periodic": True, "units": "Mpc"}
    cube = {"mesh": "cube", "type": "float64"}
    vector = {"type": "float64", "components": 3}
    return {
        "meshes": {
            "cube": {**mesh, "cells": [cells] * 3},
            "coarse": {**mesh, "cells": [cells // 2] * 3},
            "tree": {**mesh, "cells": [cells] * 3, "levels": {"count": 2}},
            "atoms": {"kind": "particles"},
            "elements": {"kind": "spectral", "order": 3, "coordinates": "xyz"},
        },
        "fields": {
            "noise": cube,
            "other": cube,
            "flow": {**vector, "mesh": "cube"},
            "leaf": {"mesh": "tree", "type": "float64"},
            "position": {**vector, "mesh": "atoms"},
            "velocity": {**vector, "mesh": "atoms"},
            "id": {"mesh": "atoms", "type": "int64"},
            "type": {"mesh": "atoms", "type": "int32"},
            "xyz": {**vector, "mesh": "elements"},
            "heat": {"mesh": "elements", "type": "float64"},
            "number": {"mesh": "elements", "type": "int64", "centering": "cell"},
        },
    }


_NOISE = {"fields": ["noise"]}
_LYMAN = {
    "neutral_hydrogen": "noise",
    "temperature": "other",
    "velocity": "flow",
    "omega_m": 0.3,
    "h": 0.7,
    "redshift": 3,
}
# The stage in question is the last of its list; what follows a comma is a way to use it.
CASES: dict[str, list[dict]] = {
    "autocorrelation": [{"autocorrelation": {"field": "noise", "lags": 3, "fit_every": 2}}],
    "average": [{"average": {"field": "noise", "onto": "coarse", "into": "mean"}}],
    "catalyst": [{"catalyst": {"script": "pipeline.py", **_NOISE}}],
    "deposit": [{"deposit": {"position": "position", "mesh": "cube", "into": "density"}}],
    "encode": [{"encode": {**_NOISE, "error": 1e-3}}],
    "flatten": [{"flatten": {"fields": ["leaf"], "level": "finest"}}],
    "halos": [{"halos": {"field": "noise", "thresholds": [[0.5, 0.9]]}}],
    "histogram": [{"histogram": {"field": "noise", "range": [0, 1]}}],
    "image, cinema": [
        {
            "image": {
                "draw": [{"slice": {"field": "noise"}}],
                "size": [16, 16],
                "cinema": {"phi": 2},
            }
        }
    ],
    "image": [{"image": {"draw": [{"slice": {"field": "noise"}}], "size": [32, 32]}}],
    "lyman_alpha": [{"lyman_alpha": _LYMAN}],
    "magnitude": [{"magnitude": {"field": "flow", "into": "speed"}}],
    "matter": [
        {
            "matter": {
                "gas": "noise",
                "dark_matter": "other",
                "baryon_fraction": 0.16,
                "into": "total",
            }
        }
    ],
    "msd": [{"msd": {"image": None, "origins": {"every": 4, "keep": 3}}}],
    "power_spectrum": [{"power_spectrum": {"field": "noise"}}],
    "python": [{"python": {"call": "own_stage.py:mean"}}],
    "rdf": [{"rdf": {"species": {"A": [1]}, "pairs": [["A", "A"]], "cutoff": 0.1}}],
    "slice": [{"slice": {"field": "noise"}}],
    "statistics": [{"statistics": _NOISE}],
    "time_average": [{"time_average": {**_NOISE, "output_every": 2}}],
    "truncate": [{"truncate": {"fields": ["heat"], "error": 1e-3}}],
    "uncertainty": [
        {"autocorrelation": {"field": "noise", "lags": 3, "fit_every": 2}},
        {"uncertainty": {"field": "noise"}},
    ],
    "vacf": [{"vacf": {"origins": {"every": 4, "keep": 3}}}],
    "write_hdf5": [{"write_hdf5": {**_NOISE, "durable": False}}],
    "write_idx": [{"write_idx": {**_NOISE, "durable": False}}],
    "write_nek": [{"write_nek": {"fields": ["heat"], "durable": False}}],
    "write_openpmd": [{"write_openpmd": {**_NOISE, "durable": False}}],
    "write_plotfile": [{"write_plotfile": {**_NOISE, "durable": False}}],
    "write_raw": [{"write_raw": {**_NOISE, "durable": False}}],
    "write_vtkhdf": [{"write_vtkhdf": {**_NOISE, "durable": False}}],
}
OWN_STAGE = """
import pillion


@pillion.stage("noise")
def mean(step):
    return {"sum": step.sum(sum(float(block["noise"].sum()) for block in step.blocks))}
"""


def configuration(stages: list[dict], cells: int = CELLS, **analysis) -> dict:
    """A run with one analysis of these stages, due at every step."""
    one = {"every": "1 steps", **analysis, "stages": stages}
    return {"output": "out", **catalogue(cells), "analyses": {"a": one}}


@cache
def stages_of(build: Path) -> dict[str, list[dict]]:
    """The parameters of every stage in the build, by name."""
    listed = limits.run(
        [build / "bin/pillion-stages", "--json"],
        capture_output=True,
        check=True,
        timeout=60,
        text=True,
    )
    return {stage["name"]: stage["parameters"] for stage in json.loads(listed.stdout)}
