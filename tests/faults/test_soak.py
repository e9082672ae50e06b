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


def grown(use: dict[str, int]) -> list[str]:
    """What a process has more of than chance explains."""
    most = {kind: GROWTH - 1 for kind in ("anonymous", "resident", "shared")}
    most |= {kind: 2 for kind in ("mappings", "descriptors")}
    return [kind for kind in most if use[f"{kind}_late"] - use[f"{kind}_early"] > most[kind]]


# Without a pause the simulation is faster than the sidecars. Those of the last case read 64 KiB in
# place, and each block is replaced after eight publications.
CASES = {
    "network": {"side": "network"},
    "separate": {"side": "separate"},
    "in_place": {"side": "separate", "columns": 1024, "more": ("regrid",)},
}


@pytest.mark.parametrize("case", CASES)
def test_nothing_grows(build, tmp_path, case):
    """A leak grows in each of two runs. MPI's pools grow where the machine holds up one side."""
    first = memory_of_run(build, tmp_path / "first", case)
    if any(map(grown, first)):
        second = memory_of_run(build, tmp_path / "second", case)
        leaks = [set(grown(a)) & set(grown(b)) for a, b in zip(first, second, strict=True)]
        assert leaks == [set(), set()], (first, second)


def memory_of_run(build, folder, case) -> tuple[dict[str, int], dict[str, int]]:
    """What the simulation and its sidecar have, early and late."""
    folder.mkdir()
    options = {"ranks": 1, "sidecars": 1, "steps": PUBLICATIONS, "pause": 0} | CASES[case]
    side = options.pop("side")
    with steady_run(build, folder, side, **options) as run:
        said = limits.communicate(run.simulation, timeout=SECONDS)[0]
        assert run.simulation.returncode == 0, said
        if run.sidecars is not None:
            assert limits.wait(run.sidecars, timeout=30) == 0
    words = [line.split() for line in said.splitlines()]
    simulation = {key: int(value) for key, value in (w for w in words if len(w) == 2)}
    attributes = read_table(folder / "out/a/steady.csv").attributes
    assert attributes["count"] == PUBLICATIONS
    sidecar = {key: int(value) for key, value in attributes.items()}
    print(case, "simulation", simulation, "sidecar", sidecar)
    return simulation, sidecar
