# SPDX-License-Identifier: BSD-3-Clause
"""Sidecars of a separate job that write random words into the memory that they share with the
simulation do not harm it, and what is lost of their products is counted. PILLION_TEST_ALL=1 tries
20 seeds, others every day; PILLION_FAULT_SEED=N sets the first."""

import contextlib
import json
import os
import signal
import subprocess
import time
import uuid

import limits
import pytest
from conftest import launcher

CONFIGURATION = """
output: out
run: {run}
sidecars: {{job: separate, memory: 1 MiB, when_full: skip, deadline: 0.5 s}}
meshes: {{grid: {{kind: uniform, cells: [16, 16]}}, atoms: {{kind: particles}}}}
fields:
  density: {{mesh: grid, type: float64}}
  id: {{mesh: atoms, type: int64}}
  velocity: {{mesh: atoms, type: float64, components: 3}}
analyses:
  words: {{every: 2 steps, stages: [{{stray: {{seed: {seed}}}}}]}}
"""
STEPS = 1000
ALL = os.environ.get("PILLION_TEST_ALL", "") not in ("", "0")
COUNT = 20 if ALL else 2
TODAY = int(time.time() // 86400) * COUNT if ALL else 0
FIRST = int(os.environ.get("PILLION_FAULT_SEED") or TODAY)
SEEDS = range(FIRST, FIRST + COUNT)


@pytest.mark.parametrize("seed", SEEDS)
def test_stray_stores_do_not_reach_the_simulation(build, tmp_path, seed):
    run = f"stray-{uuid.uuid4().hex}"
    (tmp_path / "pillion.yaml").write_text(CONFIGURATION.format(run=run, seed=seed))
    faults = build / "tests" / "faults"
    more = ["allocate"] if seed % 2 else []

    def command(program, milliseconds, state):
        whole = [*launcher(), "-n", 1, faults / program]
        whole += ["pillion.yaml", 16, STEPS, milliseconds, state, -1, *more]
        return [str(word) for word in whole]

    env = {**os.environ, "PILLION_STAGE_PATH": str(faults / "stages")}
    options = {"cwd": tmp_path, "env": env, "stdin": subprocess.DEVNULL}
    alone = limits.run(command("node_driver_noop", 0, "expected"), timeout=60, **options)
    assert alone.returncode == 0
    attach = [str(build / "bin" / "pillion-attach"), run, "--wait", "2"]
    simulation = subprocess.Popen(
        command("node_driver", 1, "state"),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        start_new_session=True,
        **options,
    )
    end = limits.Limit(60)
    try:
        while simulation.poll() is None and not end.over():
            # A wrong word may end the sidecar; the next one carries on.
            with open(tmp_path / "attach.log", "a") as log:
                limits.run(attach, timeout=60, stdout=log, stderr=log, **options)
        said = limits.communicate(simulation, timeout=20)[0].decode()
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(simulation.pid, signal.SIGKILL)
        limits.wait(simulation, 20)
    assert simulation.returncode == 0, said
    assert (tmp_path / "state").read_bytes() == (tmp_path / "expected").read_bytes()
    words = sum(map(int, (tmp_path / "stray-words").read_text().split()))
    assert words >= 20, (tmp_path / "attach.log").read_text()
    # A report exists, and accounts once for all that was due.
    report = json.loads((tmp_path / "out" / "report.json").read_text())
    counted = next(a for a in report["analyses"] if a["name"] == "words")
    parts = [counted[key] for key in ("publications", "skipped", "dropped", "lost")]
    assert min(parts) >= 0, counted
    due = STEPS // 2
    if counted["disabled"] is not None:  # by a word of the job, and from then on nothing is due
        due = report["run"]["publications"]
    assert due - sum(parts) in (0, counted["disabled"] is not None), (report["run"], counted)
