# SPDX-License-Identifier: BSD-3-Clause
"""Neither the simulation nor its sidecars have more memory, mappings or file descriptors at the end
of a long run than after a tenth of it. By default 30,000 publications, with PILLION_TEST_ALL=1, as
in `make test-faults`, a million."""

import os

import limits
import pytest
from conftest import read_table
from steady import steady_run

PUBLICATIONS = 10**6 if os.environ.get("PILLION_TEST_ALL", "") not in ("", "0") else 30_000
SECONDS = 60 + PUBLICATIONS // 500
# In KiB, of what the processes have of their own. The least that a leak takes, 32 bytes for each
# publication, is far above it; MPI's own pools grow a little when one side is late.
GROWTH = 640 + PUBLICATIONS // 250


def check_is_flat(use: dict[str, int]) -> None:
    for kind in ("anonymous", "resident", "shared"):
        assert use[f"{kind}_late"] - use[f"{kind}_early"] < GROWTH, use
    for kind in ("mappings", "descriptors"):
        assert use[f"{kind}_late"] - use[f"{kind}_early"] <= 2, use


# Without a pause the simulation is faster than the sidecars. Those of the last case read 64 KiB in
# place, and each block is replaced after eight publications.
CASES = {
    "network": {"side": "network"},
    "separate": {"side": "separate"},
    "in_place": {"side": "separate", "columns": 1024, "more": ("regrid",)},
}


@pytest.mark.parametrize("case", CASES)
def test_nothing_grows(build, tmp_path, case, record_property):
    options = {"ranks": 1, "sidecars": 1, "steps": PUBLICATIONS, "pause": 0} | CASES[case]
    side = options.pop("side")
    with steady_run(build, tmp_path, side, **options) as run:
        said = limits.communicate(run.simulation, timeout=SECONDS)[0]
        assert run.simulation.returncode == 0, said
        if run.sidecars is not None:
            assert limits.wait(run.sidecars, timeout=30) == 0
    words = [line.split() for line in said.splitlines()]
    simulation = {key: int(value) for key, value in (w for w in words if len(w) == 2)}
    attributes = read_table(tmp_path / "out/a/steady.csv").attributes
    assert attributes["count"] == PUBLICATIONS
    sidecar = {key: int(value) for key, value in attributes.items()}
    record_property("simulation", simulation)
    record_property("sidecar", sidecar)
    print(case, "simulation", simulation, "sidecar", sidecar)
    check_is_flat(simulation)
    check_is_flat(sidecar)
