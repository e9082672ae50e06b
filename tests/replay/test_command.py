# SPDX-License-Identifier: BSD-3-Clause
"""`pillion replay` as a shell sees it, what it reads, and that it never leaves anything out."""

import json
import re

import h5py
import limits
import numpy as np
import pytest
from conftest import read_table
from replaying import needs_hdf5, replay, write_hdf5, write_npy

CONFIGURATION = """
output: results
sidecars: {sidecars}
meshes: {{grid: {{kind: uniform, cells: [32, 32, 32]}}}}
fields: {{gas: {{mesh: grid, type: float64}}}}
analyses:
  a:
    every: {every}
    stages:
      - statistics: {{fields: gas}}
"""
MEGABYTES = 32**3 * 8 / 1e6


def prepare(folder, steps, sidecars="{}", every="1 steps"):
    (folder / "c.yaml").write_text(CONFIGURATION.format(sidecars=sidecars, every=every))
    for step in steps:
        write_npy(folder / "f", "gas", step, np.full((32, 32, 32), float(step)))


def pillion(build, folder, *words):
    command = [str(word) for word in (build / "bin/pillion", *words)]
    return limits.run(command, cwd=folder, capture_output=True, text=True, timeout=60)


def test_ranks_are_started(build, tmp_path):
    prepare(tmp_path, range(3))
    done = pillion(build, tmp_path, "replay", "-n", 3, "--output", "it's $here", "f", "c.yaml")
    assert done.returncode == 0, done.stderr
    assert done.stdout == (
        "pillion-replay: 3 steps, 0 to 2; 3 were due; 1 fields, 0.8 MB read; "
        "products are in it's $here\n"
    )
    report = json.loads((tmp_path / "it's $here/report.json").read_text())
    assert report["run"]["simulation_ranks"] == 3
    assert not (tmp_path / "results").exists()


def test_statuses_and_help(build, tmp_path):
    helped = pillion(build, tmp_path, "replay", "--help")
    assert helped.returncode == 0 and helped.stdout.startswith("usage: pillion replay [-n RANKS]")
    for option in (
        "--set",
        "--name",
        "--axes",
        "--steps",
        "--time-per-step",
        "--domain",
        "--about",
    ):
        assert option in helped.stdout
    assert pillion(build, tmp_path, "replay", "-n", "many", "f", "c.yaml").returncode == 2
    assert pillion(build, tmp_path, "replay", "-n", 2, "f").returncode == 2
    assert pillion(build, tmp_path, "replay", "f", "c.yaml").returncode == 1


@pytest.mark.parametrize(
    ("every", "due"),
    [("20 steps", [20, 40]), ("0.3 time", [10, 20, 30, 40]), ("7 steps", []), ("1 steps", None)],
)
def test_what_is_not_due_is_not_read(build, tmp_path, every, due):
    steps = [5, 10, 20, 30, 40]
    prepare(tmp_path, steps, every=every)
    done = replay(build, tmp_path, 2, "--time-per-step", 0.03, "f", "c.yaml")
    due = steps if due is None else due
    said = re.search(r"; (\d+) were due; 1 fields, (.*) MB read", done.stdout)
    assert int(said[1]) == len(due) and float(said[2]) == pytest.approx(
        len(due) * MEGABYTES, abs=0.06
    )
    assert ("nothing was due" in done.stderr) == (not due)
    if due:
        table = read_table(tmp_path / "results/a/statistics_gas.csv")
        assert list(table["step"]) == due and list(table["mean"]) == due


@pytest.mark.parametrize(
    "sidecars",
    [
        "{per_node: 1, memory: 300 KiB, when_full: skip}",
        "{ranks: 1, memory: 300 KiB, when_full: skip}",
        "{per_node: 1, memory: 300 KiB, when_full: spill, spill: {folder: nowhere}}",
        "{per_node: 1, memory: 300 KiB, job: separate, restart: 1, launch: nothing}",
    ],
)
def test_nothing_is_left_out(build, tmp_path, sidecars):
    """There is room for one publication, and the configuration would rather skip than wait."""
    steps = range(30)
    prepare(tmp_path, steps, sidecars)
    replay(build, tmp_path, 2, "f", "c.yaml")
    table = read_table(tmp_path / "results/a/statistics_gas.csv")
    assert list(table["step"]) == list(steps) and list(table["mean"]) == list(steps)
    report = json.loads((tmp_path / "results/report.json").read_text())
    assert report["sidecars"]["when_full"] == "wait" and report["sidecars"]["ranks"] == 1


@pytest.mark.parametrize("sidecars", ["{}", "{per_node: 1}"])
def test_an_analysis_that_fails(build, tmp_path, sidecars):
    """The others go on, and the status says that something is missing."""
    prepare(tmp_path, range(3), sidecars)
    with (tmp_path / "c.yaml").open("a") as file:
        file.write("  bad: {stages: [cells: {fields: gas, folder: /proc/none}]}\n")
    env = {"PILLION_STAGE_PATH": build / "tests/conformance/stages"}
    done = replay(build, tmp_path, 2, "f", "c.yaml", check=False, env=env)
    assert done.returncode == 1 and "pillion-replay: analysis 'bad' failed: " in done.stderr
    assert list(read_table(tmp_path / "results/a/statistics_gas.csv")["step"]) == [0, 1, 2]


@pytest.mark.parametrize("sidecars", ["{}", "{per_node: 1}"])
def test_a_file_that_breaks_on_one_rank(build, tmp_path, sidecars):
    """Nobody can know before it is read; then all ranks stop, with what was done so far."""
    needs_hdf5(build)
    (tmp_path / "c.yaml").write_text(CONFIGURATION.format(sidecars=sidecars, every="1 steps"))
    for step in range(3):
        write_hdf5(
            tmp_path / f"f/s{step}.h5", {"gas": np.random.default_rng(step).random((32,) * 3)}
        )
    with h5py.File(tmp_path / "f/s1.h5") as file:
        gas = file["gas"].id
        last = max((gas.get_chunk_info(n) for n in range(gas.get_num_chunks())), key=lambda c: c[0])
    with (tmp_path / "f/s1.h5").open("r+b") as file:
        file.seek(last.byte_offset)
        file.write(bytes(last.size))
    done = replay(build, tmp_path, 4, "f", "c.yaml", check=False)
    assert done.returncode == 1
    ours = [line for line in done.stderr.splitlines() if line.startswith("pillion")]
    assert len(ours) == 1 and "'f/s1.h5', dataset '/gas' cannot be read" in ours[0]
    assert list(read_table(tmp_path / "results/a/statistics_gas.csv")["step"]) == [0]
