# SPDX-License-Identifier: BSD-3-Clause
"""Whichever allocation of one rank fails inside whichever call, no other rank waits for ever. A
step succeeds all the same; every other call has the same status on all ranks, and the session
works on. By default each call at each placement has one victim, and every few allocations fail;
PILLION_TEST_ALL=1 tries every rank and more of them."""

import os

import pytest
from conftest import mpirun

ALL = os.environ.get("PILLION_TEST_ALL", "") not in ("", "0")
CONFIG = """
output: {path: out, if_exists: overwrite}
meshes: {grid: {kind: uniform, cells: [8, 8], length: [1, 1], units: m, periodic: true}}
fields: {density: {mesh: grid, type: float64, units: kg}}
analyses:
  all: {stages: [{statistics: {fields: [density]}}]}
  some: {when: max(density) > -1, stages: [{statistics: {fields: [density]}}]}
  timed: {every: 0.1 time, stages: [{statistics: {fields: [density]}}]}
  moved: {stages: [{power_spectrum: {field: density, contrast: false}}]}
"""
# By placement: `sidecars:` and the ranks of the job.
PLACEMENTS = {
    "simulation": ("{ranks: 0}", 3),
    "node": ("{per_node: 1, memory: 4 MiB}", 3),
    "network": ("{ranks: 1}", 3),
    "separate": ("{job: separate, memory: 16 MiB, deadline: 1 s}", 2),
}
# How many allocations of the call there are, at least, and how many are between two that fail.
CALLS = {
    "open": 61,
    "restart": 61,
    "ready": 7,
    "first": 37,
    "step": 17,
    "checkpoint": 37,
    "close": 17,
}


def cases():
    for placement, (_, ranks) in PLACEMENTS.items():
        simulation = ranks - (placement in ("node", "network"))
        for call, stride in CALLS.items():
            victims = range(ranks if call in ("open", "restart") else simulation)
            if (placement, call) == ("simulation", "open"):
                stride = 1  # cheap: each allocation
            chosen = victims if ALL else [(len(placement) + len(call)) % len(victims)]
            for victim in chosen:
                yield pytest.param(
                    placement, call, victim, max(1, stride // 8) if ALL else stride,
                    id=f"{call}-{placement}-{victim}",
                )  # fmt: skip


skip_with_sanitizers = pytest.mark.skipif(
    "ASAN_OPTIONS" in os.environ, reason="the driver has an operator new of its own"
)


@skip_with_sanitizers
@pytest.mark.drawn
@pytest.mark.parametrize(("placement", "call", "victim", "stride"), list(cases()))
def test_no_rank_waits_for_one_that_lacks_memory(build, tmp_path, placement, call, victim, stride):
    sidecars, ranks = PLACEMENTS[placement]
    (tmp_path / "pillion.yaml").write_text(CONFIG + f"sidecars: {sidecars}\n")
    driver = build / "tests/faults/memory_driver"
    if call == "restart":
        # Sidecars of a job of their own, which save their part, are not attached here.
        saved = "{ranks: 0}" if placement == "separate" else sidecars
        (tmp_path / "save.yaml").write_text(CONFIG + f"sidecars: {saved}\n")
        done = mpirun(ranks, driver, "save.yaml", stride, "save", victim, cwd=tmp_path)
        assert done.stdout == "1 sessions\n"
    done = mpirun(
        *(ranks, driver, "pillion.yaml", stride, call, victim),
        cwd=tmp_path,
        timeout=900 if ALL else 120,
    )
    expect_sessions(done.stdout)


def expect_sessions(said: str):
    """The driver found nothing wrong, and an allocation failed in some session."""
    lines = said.splitlines()
    assert len(lines) == 1 and lines[0].endswith("sessions"), said
    assert int(lines[0].split()[0]) > 1


@pytest.mark.parametrize("placement", ["network", "node", "simulation"])
@pytest.mark.parametrize(("victim", "first"), [(0, -30), (1, 1)])
@skip_with_sanitizers
def test_close_without_any_one_allocation(build, tmp_path, placement, victim, first):
    """Rank 0 lacks each of the last ones, which come after ranks have met for the last time. Rank 1
    lacks each one, also that of the message which ends the run: no sidecar waits for the deadline.
    """
    sidecars, ranks = PLACEMENTS[placement]
    (tmp_path / "pillion.yaml").write_text(CONFIG + f"sidecars: {sidecars}\n")
    driver = build / "tests/faults/memory_driver"
    done = mpirun(ranks, driver, "pillion.yaml", 1, "close", victim, first, cwd=tmp_path)
    expect_sessions(done.stdout)
