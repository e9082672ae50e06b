# SPDX-License-Identifier: BSD-3-Clause
"""What Pillion has beside the program's memory stays within `memory` on meshes of all kinds,
wherever stages run, while sidecars finish nothing: shared memory and private memory. What they get
afterwards is right."""

import json
import os
import subprocess
import uuid
from pathlib import Path

import limits
import pytest
from conftest import launcher, read_table

MIB = 1 << 20
MEMORY = 8 * MIB
# Heads of messages, words of the channel, pages that are begun, and what malloc keeps.
SLACK = 6 * MIB
# Values of one step on two ranks, at least: of six fields, and the corners of `bent`.
PUBLICATION = 2 * 8 * (32 * 32 * 4 * 3 + 33 * 33 * 5 * 3 + 4000 * 2 + 1000)
STEPS = 60
EVERYTHING = os.environ.get("PILLION_TEST_ALL", "") not in ("", "0")
FIELDS = ["density", "heat", "shear", "speed", "mass", "flow"]
FACES = list(range(33))
CONFIGURATION = f"""
output: out
meshes:
  plain: {{kind: uniform, cells: [32, 32, 8]}}
  rows: {{kind: rectilinear, coordinates: [{FACES}, {FACES}, {FACES[:9]}]}}
  bent: {{kind: curvilinear, cells: [32, 32, 8], coordinates: corners}}
  elements: {{kind: spectral, order: 2}}
  dots: {{kind: particles}}
  pipe: {{kind: unstructured}}
fields:
  density: {{mesh: plain, type: float64}}
  depth: {{mesh: plain, type: float64, constant: true}}
  heat: {{mesh: rows, type: float64}}
  corners: {{mesh: bent, type: float64, components: 3, centering: point}}
  shear: {{mesh: bent, type: float64}}
  speed: {{mesh: elements, type: float64}}
  mass: {{mesh: dots, type: float64}}
  flow: {{mesh: pipe, type: float64, centering: cell}}
"""
GATE = "gate: {field: density, file: open}"
STATISTICS = f"statistics: {{fields: [{', '.join([*FIELDS, 'depth'])}]}}"
SIDECARS = f"memory: {MEMORY}, when_full: %s, deadline: %s"


class Run:
    """A run of the driver, and sidecars of other jobs."""

    def __init__(self, build: Path, folder: Path, side: str, policy: str, *stages: str) -> None:
        self.build, self.folder = build, folder
        self.name = f"budget-{uuid.uuid4().hex}"
        deadline = "1 s" if policy == "wait" else f"{limits.limit(20):.0f} s"
        rest = SIDECARS % (policy, deadline)
        (folder / "pillion.yaml").write_text(
            f"run: {self.name}{CONFIGURATION}sidecars: {{{side}, {rest}}}\n"
            f"analyses: {{a: {{stages: [{', '.join(f'{{{s}}}' for s in stages)}]}}}}\n"
        )
        self.environment = {**os.environ, "PILLION_STAGE_PATH": str(build / "tests/faults/stages")}
        self.processes: list[subprocess.Popen] = []

    def start(self, ranks: int, program: str, *arguments) -> subprocess.Popen:
        words = [*launcher(), "-n", ranks, self.build / program, *arguments]
        process = subprocess.Popen(
            [str(word) for word in words],
            cwd=self.folder,
            env=self.environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            text=True,
        )
        self.processes.append(process)
        return process

    def attach(self, *arguments) -> None:
        self.start(1, "bin/pillion-attach", self.name, *arguments, "--wait", 30)

    def attach_when_open(self) -> None:
        driver, file = self.processes[0], self.folder / "open"
        limits.until(lambda: file.exists() or driver.poll() is not None, 60, "no end of the steps")
        self.attach()

    def finish(self, seconds: float) -> int:
        """What the driver has measured."""
        ends = [limits.communicate(process, timeout=seconds)[0] for process in self.processes]
        assert [process.returncode for process in self.processes] == [0] * len(ends), ends
        return int(ends[0])

    def stop(self) -> None:
        for process in self.processes:
            process.kill()
            limits.communicate(process, timeout=20)


@pytest.fixture
def start(build, tmp_path):
    """A function that writes a run; whatever runs at the end of the test is stopped."""
    runs: list[Run] = []

    def write(*arguments: str) -> Run:
        runs.append(Run(build, tmp_path, *arguments))
        return runs[-1]

    yield write
    for run in runs:
        run.stop()


def check_values(folder: Path, least: int = 10) -> None:
    """Each row has the values of its step, and there are so many at least."""
    for field in [*FIELDS, "depth"]:
        table = read_table(folder / f"statistics_{field}.csv")
        steps = table["step"]
        assert len(steps) >= least and list(steps) == sorted(set(steps))
        for name in ("min", "max"):
            assert list(table[name]) == [1.0 if field == "depth" else s for s in steps], field


def check_report(folder: Path, least: int = MEMORY // 4) -> None:
    """The run was whole, and sidecars have held so much of what was published at least."""
    report = json.loads((folder / "report.json").read_text())
    (analysis,) = (a for a in report["analyses"] if a["name"] == "a")
    assert analysis["disabled"] is None and analysis["lost"] == 0
    peak, share = report["sidecars"]["peak_bytes"], report["sidecars"]["memory_bytes_per_rank"]
    assert least < peak <= MEMORY, (peak, share)


def check_sidecar(folder: Path, limit: int) -> None:
    """The one that waited has taken no more private memory than that meanwhile."""
    assert int((folder / "open.grown").read_text()) <= limit + SLACK


PLACES = {"node": "per_node: 1", "network": "ranks: 1", "separate": "job: separate"}
POLICIES = ["skip", "wait", "coarsen", "spill"]
CASES = [(a, b) for a in PLACES for b in POLICIES if (a, b) != ("network", "spill")]
EVERYDAY = [(a, "skip") for a in PLACES]


@pytest.mark.parametrize(("place", "policy"), CASES if EVERYTHING else EVERYDAY)
def test_memory_stays_within_the_budget(start, tmp_path, place, policy):
    run = start(PLACES[place], policy, GATE, STATISTICS)
    driver = ("tests/faults/budget_driver", "pillion.yaml", STEPS)
    if place == "separate":  # there is no sidecar until the steps are through
        run.start(2, *driver)
        run.attach_when_open()
    else:
        run.start(3, *driver, "open.here")
    most = run.finish(100)
    assert most <= MEMORY + SLACK, f"{most / MIB:.1f} MiB"
    check_values(tmp_path / "out/a")
    check_report(tmp_path / "out")
    check_sidecar(tmp_path, 4 * MEMORY if place == "network" else 0)


def test_memory_stays_within_the_budget_while_an_attached_job_waits(start, tmp_path):
    run = start("attached: {time: 100 %}, per_node: 1", "skip", STATISTICS)
    extra = f"analyses: {{theirs: {{stages: [{{{GATE}}}, {{{STATISTICS}}}]}}}}\n"
    (tmp_path / "extra.yaml").write_text(extra)
    run.start(3, "tests/faults/budget_driver", "pillion.yaml", STEPS, "open.here")
    run.attach("extra.yaml")
    most = run.finish(100)
    assert most <= MEMORY + SLACK, f"{most / MIB:.1f} MiB"
    check_values(tmp_path / "out/a")
    check_values(tmp_path / "out/theirs", 2)
    check_report(tmp_path / "out", PUBLICATION)  # the run's own sidecar may have kept up
    check_sidecar(tmp_path, MEMORY)
