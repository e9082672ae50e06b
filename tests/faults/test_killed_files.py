# SPDX-License-Identifier: BSD-3-Clause
"""What is on disk at every moment: a run that is killed between any two operations on files leaves
a whole checkpoint, whole tables, and a whole report or none."""

import os
import sys
from pathlib import Path

import pytest
from conftest import mpirun, seed_of_the_day

HERE = Path(__file__).parent


@pytest.mark.parametrize(
    ("kind", "exchanges", "least"),
    [("checkpoint", True, 90), ("checkpoint", False, 90), ("products", True, 10)],
    ids=["checkpoint", "checkpoint-without-exchange", "products"],
)
def test_killed_between_two_operations(kind, exchanges, least, build, tmp_path):
    env = os.environ | {"LD_PRELOAD": str(build / "tests/faults/killed_files.so")}
    env |= {"PYTHONPATH": str(build / "python"), "PILLION_PROGRESS": "0"}
    if not exchanges:
        env["KILLED_FILES_NO_EXCHANGE"] = "1"
    words = [sys.executable, HERE / "killed_files_program.py", kind, seed_of_the_day()]
    done = mpirun(1, *words, env=env, cwd=tmp_path, timeout=120)
    assert int(done.stdout.split()[-1]) >= least, "operations on files are not counted"
