# SPDX-License-Identifier: BSD-3-Clause
"""The memory that `pillion check` says stages need is what they take: never more than it says, and
no small part of it. Stages work on noise, which is what takes most."""

import json
import os
import subprocess
import sys

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
    said = subprocess.run(check, cwd=tmp_path, capture_output=True, check=True, timeout=30)
    (node,) = json.loads(said.stdout)["memory"]
    (use,) = node["uses"]
    assert use["origin"] == f"'{stage}' of analysis 'one'"
    run = [sys.executable, PROGRAMS / "measure_memory.py", "pillion.yaml", str(CELLS)]
    done = subprocess.run(
        run,
        cwd=tmp_path,
        env={**os.environ, **environment(build)},
        capture_output=True,
        text=True,
        timeout=90,
        check=True,
    )
    rise = int(done.stdout.split()[-1])
    assert 0.5 * use["bytes"] - SLACK < rise < 1.1 * use["bytes"] + SLACK
