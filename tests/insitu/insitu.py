# SPDX-License-Identifier: BSD-3-Clause
"""Runs of simulations in Python, and of stages in Python: where they run, and what they leave."""

import hashlib
import json
import os
import subprocess
import sys
import threading
from dataclasses import dataclass
from pathlib import Path

import limits
import pytest
from conftest import mpirun

HERE = Path(__file__).parent
_BUILD = Path(os.environ.get("PILLION_BUILD", "build"))
# A build without nanobind has no modules for Python.
needs_modules = pytest.mark.skipif(
    not any((_BUILD / "python/pillion").glob("_stage*.so")), reason="no modules for Python"
)
PROGRAMS = HERE / "programs"
STAGES = HERE / "stages"


@dataclass(frozen=True)
class Place:
    """So many simulation ranks, and where stages run that do not say."""

    ranks: int
    sidecars: str = ""  # of the configuration
    more: int = 0  # ranks that become sidecars

    def __str__(self) -> str:
        kinds = {"": "inside", "{r": "network", "{p": "node", "{j": "separate"}
        return f"{self.ranks}+{self.more}-{kinds[self.sidecars[:2]]}"

    @property
    def is_separate(self) -> bool:
        return "separate" in self.sidecars

    @property
    def head(self) -> str:
        return f"sidecars: {self.sidecars}\n" if self.sidecars else ""


PLACES = [
    Place(1),
    Place(3),
    Place(2, "{ranks: 1, when_full: wait}", 1),
    Place(2, "{ranks: 2, when_full: wait}", 2),
    Place(2, "{per_node: 1, when_full: wait}", 1),
    Place(3, "{per_node: 2, when_full: wait}", 2),
    Place(2, "{job: separate, when_full: wait}"),
]


def environment(build: Path, **more) -> dict:
    """With which Python finds the package of the build."""
    found = {"PYTHONPATH": str(build / "python"), "PILLION_PYTHON": sys.executable}
    return {**found, "OMP_NUM_THREADS": "1", **{k: str(v) for k, v in more.items()}}


def simulate(
    build: Path, folder: Path, place: Place, program: list, *, check=True, timeout=90, **more
):
    """Runs a simulation, with a separate job of sidecars if the place has one."""
    env = environment(build, **more)
    sidecar_job = _SidecarJob(build, folder, env) if place.is_separate else None
    try:
        ranks = place.ranks + place.more
        done = mpirun(ranks, *program, timeout=timeout, env=env, check=check, cwd=folder)
        if sidecar_job is not None:
            done.sidecar_job, done.sidecar_job_status = sidecar_job.end()
        return done
    finally:
        if sidecar_job is not None:
            sidecar_job.process.kill()


class _SidecarJob:
    """A separate job of sidecars. When they have joined, the file `joined` appears, for which
    programs may wait."""

    def __init__(self, build: Path, folder: Path, env: dict):
        self.joined = folder / "joined"
        self.joined.unlink(missing_ok=True)
        self.lines: list[str] = []
        self.process = subprocess.Popen(
            [build / "bin/pillion-attach", run_name(folder), "--wait", "60"],
            cwd=folder,
            env={**os.environ, **env},
            stderr=subprocess.PIPE,
            text=True,
        )
        self.reader = threading.Thread(target=self._read, daemon=True)
        self.reader.start()

    def _read(self) -> None:
        for line in self.process.stderr:
            self.lines.append(line)
            if "have joined" in line:
                self.joined.touch()

    def end(self) -> tuple[str, int]:
        status = limits.wait(self.process, 60)
        self.reader.join(10)
        return "".join(self.lines), status


def box(config="run.yaml", **wanted) -> list:
    """The command of a simulation of a known field; see programs/box.py."""
    wanted = {"division": "slabs", "order": "C", "steps": 3, **wanted, "config": config}
    return [sys.executable, PROGRAMS / "box.py", json.dumps(wanted)]


def configure(folder: Path, place: Place, analyses: str, cells=(12, 10, 8), kind="float64") -> None:
    (folder / "run.yaml").write_text(
        f"output: results\nrun: {run_name(folder)}\n{place.head}"
        f"meshes: {{grid: {{kind: uniform, cells: {list(cells)}, periodic: true}}}}\n"
        f"fields: {{density: {{mesh: grid, type: {kind}, units: g}}}}\n"
        f"analyses:\n{analyses}"
    )


def run_name(folder: Path) -> str:
    """By which sidecars find this run among others on the machine."""
    return "insitu-" + hashlib.sha1(str(folder).encode()).hexdigest()[:12]


def report_of(folder: Path) -> dict:
    return json.loads((folder / "results/report.json").read_text())


def analysis_of(folder: Path, name: str) -> dict:
    return next(a for a in report_of(folder)["analyses"] if a["name"] == name)


def places(chosen=PLACES):
    return pytest.mark.parametrize("place", chosen, ids=str)
