# SPDX-License-Identifier: BSD-3-Clause
"""Progress files of runs that never were, for the tests of what reads them."""

import json
import os
from pathlib import Path

from pillion.liveness import process_start, this_machine


def analysis(name="decay", placement="sidecar", **changes) -> dict:
    said = {
        "name": name,
        "placement": placement,
        "every": "10 steps",
        "when": None,
        "last_step": 40,
        "publications": 5,
        "skipped": 0,
        "coarsened": 0,
        "spilled": 0,
        "dropped": 0,
        "lost": 0,
        "disabled": None,
        "seconds": {"simulation": 0.25, "sidecar": 0, "stall": 0},
        "bytes_moved": 4096,
        "lag_seconds": {"last": 0, "mean": 0, "max": 0},
        "products": [],
    }
    return said | changes


def progress(role="simulation", analyses=None, **changes) -> dict:
    """Of this process, so that it is taken to live."""
    said = {
        "pillion": "progress 1",
        "version": "0.1.0",
        "role": role,
        "attached_job": None,
        "run": "box",
        "id": "00000000000000aa",
        "state": "running",
        "failure": None,
        "pid": os.getpid(),
        "pid_started": process_start(os.getpid()),
        "pid_namespace": this_machine().pid_namespace,
        "host": this_machine().host,
        "boot": this_machine().boot,
        "batch_job": None,
        "started": 1000.0,
        "written": 1010.0,
        "changed": 1010.0,
        "heartbeat_seconds": 2.0,
        "ranks": {"simulation": 4, "sidecar": 1},
        "step": 50,
        "time": 2.5,
        "time_units": "fs",
        "steps_per_second": 5.0,
        "waiting": False,
        "working": None,
        "publications": 6,
        "skipped": 0,
        "behind": 1,
        "restarts": 0,
        "memory": {"budget_bytes": 1 << 20, "in_use_bytes": 1 << 18, "peak_bytes": 1 << 19},
        "analyses": analyses if analyses is not None else [analysis()],
        "warnings": [],
    }
    return said | changes


def sidecars(analyses=None, **changes) -> dict:
    nothing = {"budget_bytes": None, "in_use_bytes": None, "peak_bytes": None}
    theirs = {"behind": None, "memory": nothing, "steps_per_second": None}
    return progress("sidecars", analyses, **(theirs | changes))


def write(folder: Path, said: dict) -> Path:
    """Where the library writes it."""
    names = {"simulation": "progress.json", "sidecars": "progress-sidecars.json"}
    folder.mkdir(exist_ok=True)
    path = folder / names.get(said["role"], f"progress-{said['attached_job']}.json")
    path.write_text(json.dumps(said), encoding="utf-8")
    return path
