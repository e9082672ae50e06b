# SPDX-License-Identifier: BSD-3-Clause
"""A run that is killed leaves no product that looks finished and is not, and no report."""

import os
import signal
import subprocess
import time
from pathlib import Path

import pytest
from conftest import launcher, read_table
from faults import GRID

CONFIG = (
    GRID
    + """
analyses:
  a:
    products_every: 1
    stages:
      - statistics: {fields: [density]}
      - histogram: {field: density, range: [0, 9], bins: 9}
"""
)


def children_of(parent: int) -> list[int]:
    """Processes that `parent` has started; the fourth field of /proc/PID/stat names it."""
    children = []
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = stat.read_text().rpartition(")")[2].split()
        except OSError:
            continue
        if int(fields[1]) == parent:
            children.append(int(stat.parent.name))
    return children


@pytest.mark.parametrize("sidecars", [0, 1])
def test_killed_in_the_middle(build, tmp_path, sidecars):
    (tmp_path / "pillion.yaml").write_text(CONFIG + f"sidecars: {{ranks: {sidecars}}}\n")
    driver = build / "tests" / "faults" / "fault_driver"
    command = [*launcher(), "-n", str(2 + sidecars), driver, "pillion.yaml", "100000", "pause=1"]
    process = subprocess.Popen(
        [str(word) for word in command],
        cwd=tmp_path,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    products = tmp_path / "out" / "a"
    end = time.monotonic() + 20
    while time.monotonic() < end and len(list(products.glob("*.csv"))) < 50:
        time.sleep(0.05)
    ranks = children_of(process.pid)
    assert ranks
    for rank in ranks:
        os.kill(rank, signal.SIGKILL)
    process.wait(timeout=30)
    tables = sorted(products.glob("*.csv"))
    assert len(tables) >= 50
    for path in tables:
        assert len(read_table(path).columns) >= 3
    assert not (tmp_path / "out" / "report.json").exists()
