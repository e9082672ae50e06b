# SPDX-License-Identifier: BSD-3-Clause
"""A run that is killed leaves no product that looks finished and is not, and no report. Datasets
hold every step that they tell of."""

import os
import re
import signal
import subprocess
from pathlib import Path

import limits
import pytest
from conftest import launcher, read_table
from faults import GRID
from read_idx import read

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


def kill_when(build, folder, config, ranks, ready):
    """Starts a run of a hundred thousand steps, and kills all its ranks when `ready` is true."""
    (folder / "pillion.yaml").write_text(config)
    driver = build / "tests" / "faults" / "fault_driver"
    command = [*launcher(), "-n", str(ranks), driver, "pillion.yaml", "100000", "pause=1"]
    process = subprocess.Popen(
        [str(word) for word in command],
        cwd=folder,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    try:
        limits.until(ready, 20, "what is waited for before the kill", 0.05)
    finally:
        ranks = children_of(process.pid)
        for rank in ranks:
            os.kill(rank, signal.SIGKILL)
        limits.wait(process, timeout=30)
    assert ranks
    assert not (folder / "out" / "report.json").exists()


@pytest.mark.parametrize("sidecars", [0, 1])
def test_killed_in_the_middle(build, tmp_path, sidecars):
    products = tmp_path / "out" / "a"
    config = CONFIG + f"sidecars: {{ranks: {sidecars}}}\n"
    kill_when(
        build, tmp_path, config, 2 + sidecars, lambda: len(list(products.glob("*.csv"))) >= 50
    )
    tables = sorted(products.glob("*.csv"))
    assert len(tables) >= 50
    for path in tables:
        assert len(read_table(path).columns) >= 3


def steps_of(path: Path) -> list[int]:
    """Those that a dataset tells of, which are all up to the last."""
    if not path.exists():
        return []
    first, last, step = re.findall(r"^time%09d/ \((\d+),(\d+),(\d+)\)$", path.read_text(), re.M)[0]
    return list(range(int(first), int(last) + 1, int(step)))


@pytest.mark.parametrize("sidecars", [0, 1])
def test_datasets_hold_the_steps_that_they_tell_of(build, tmp_path, sidecars):
    """Cells hold the number of the step."""
    if not (build / "stages" / "write_idx.so").exists():
        pytest.skip("the stage write_idx was not built: zlib or LZ4 was not found")
    dataset = tmp_path / "out" / "a" / "grid.idx"
    write = (
        "analyses: {a: {stages: [{write_idx: {fields: [density], durable: false, name: grid}}]}}\n"
    )
    config = GRID + write + f"sidecars: {{ranks: {sidecars}}}\n"
    kill_when(build, tmp_path, config, 2 + sidecars, lambda: len(steps_of(dataset)) >= 20)
    steps = steps_of(dataset)
    assert len(steps) >= 20
    level = re.search(r"\(bits\)\nV(\d+)", dataset.read_text())[1]
    found = read(dataset, [("density", step, len(level)) for step in steps])
    for values, step in zip(found, steps, strict=True):
        assert (values == step).all(), step
