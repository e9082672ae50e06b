# SPDX-License-Identifier: BSD-3-Clause
"""A run that is resumed counts its publications as one that was never interrupted: in the heads of
tables, in the report and in the progress file, wherever it is resumed, and on any number of ranks.
Seconds and bytes are those of an execution."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import limits
import pytest
import test_when_full
import yaml
from conftest import launcher, mpirun, read_table
from placements import EVERYTHING
from scenes import Placement, SidecarJob, new_run, wait_for

HERE = Path(__file__).parent
STOP, FRAMES = 30, test_when_full.FRAMES
COUNTS = ("publications", "skipped", "coarsened", "spilled", "dropped", "lost")
# As a manifest lists them.
SAVED = ("publications", "here", "skipped", "dropped", "withdrawn", "coarsened", "spilled",
         "thinned", "lost")  # fmt: skip

LATER = [
    Placement(2, 0, "many", memory="1 MiB"),
    Placement(1, 2, "many"),
    Placement(2, 1, "empty", "node", memory="1 MiB"),
    Placement(4, 1, "many", "separate", memory="1 MiB"),
]


def counts_in(results: Path, name: str) -> dict[str, int]:
    analyses = json.loads((results / "report.json").read_text())["analyses"]
    (found,) = [a for a in analyses if a["name"] == name]
    return {key: found[key] for key in COUNTS}


def head_of(table: Path) -> dict[str, int]:
    head = read_table(table).head
    return {key: head[key] for key in ("publications", "skipped", "coarsened", "lost")}


def as_in_head(counts: dict[str, int]) -> dict[str, int]:
    """What the head of a table says of publications with these counts."""
    head = {key: counts[key] for key in ("publications", "skipped", "coarsened")}
    return head | {"lost": counts["lost"] + counts["dropped"]}


@pytest.fixture(scope="module")
def interrupted(build, tmp_path_factory):
    """By policy: a run that had no room for a while, and the checkpoint at its end."""
    found = {}

    def get(policy: str) -> tuple[Path, Path]:
        if policy not in found:
            folder = tmp_path_factory.mktemp("interrupted")
            results, _ = test_when_full.scene().run(
                build, folder, test_when_full.place(policy, "many"), last=STOP,
                checkpoint=folder / "state", meet_at=test_when_full.MEETING,
            )  # fmt: skip
            found[policy] = results, folder / "state"
        return found[policy]

    return get


def resume(build, folder: Path, place: Placement, state: Path) -> Path:
    results, _ = test_when_full.scene().run(build, folder, place, first=STOP, restart=state)
    return results


CASES = [("skip", 0), ("coarsen", 1), ("coarsen", 3), ("spill", 2)]


@pytest.mark.parametrize(
    ("policy", "place"),
    [(p, n) for p in ("skip", "coarsen", "spill") for n in range(4)] if EVERYTHING else CASES,
)
def test_a_shortage_outlives_a_restart(policy, place, interrupted, build, tmp_path):
    before, state = interrupted(policy)
    after = resume(build, tmp_path, LATER[place], state)
    was = counts_in(before, "values")
    assert was[{"skip": "skipped", "coarsen": "coarsened", "spill": "spilled"}[policy]] > 0
    # What no sidecar was there for at the end of the run before is known since its checkpoint.
    expected = was | {"publications": was["publications"] + FRAMES - STOP}
    assert counts_in(after, "values") == expected
    assert head_of(after / "values/statistics_density.csv") == as_in_head(expected)
    run_before, run_after = (
        json.loads((results / "report.json").read_text())["run"] for results in (before, after)
    )
    assert run_after["first_step"] == 0 and run_after["steps"] == FRAMES
    assert run_after["publications"] == run_before["publications"] + FRAMES - STOP
    assert run_after["skipped"] == run_before["skipped"]
    assert run_after["earlier"] == {
        key: run_before[key] for key in ("steps", "publications", "skipped")
    }


def crc32c(data: bytes) -> int:
    value = 0xFFFFFFFF
    for byte in data:
        value ^= byte
        for _ in range(8):
            value = value >> 1 ^ (0x82F63B78 if value & 1 else 0)
    return value ^ 0xFFFFFFFF


def with_counts(state: Path, to: Path, name: str, counts: list[int]) -> Path:
    """A copy of a checkpoint that has other counts of an analysis."""
    shutil.copytree(state, to)
    manifest = to / "manifest.yaml"
    lines = manifest.read_text().splitlines(keepends=True)[:-1]
    inside = False
    for number, line in enumerate(lines):
        inside = line.startswith(f'  "{name}":') or (inside and line.startswith("    "))
        if inside and line.startswith("    counts: "):
            lines[number] = f"    counts: {counts}\n"
    text = "".join(lines)
    manifest.write_text(text + f'checksum: "{crc32c(text.encode()):08x}"\n')
    assert yaml.safe_load(manifest.read_text())["analyses"][name]["counts"] == counts
    return to


@pytest.mark.parametrize("place", LATER, ids=str)
def test_every_count_is_taken_over(place, interrupted, build, tmp_path):
    """Also counts that stay 0 in this run: each has a number of its own here."""
    _, state = interrupted("skip")
    were = dict(zip(SAVED, range(101, 101 + len(SAVED)), strict=True))
    copy = with_counts(state, tmp_path / "state", "seldom", list(were.values()))
    results = resume(build, tmp_path / "run", place, copy)
    steps = [n for n in range(STOP, FRAMES) if n % 3 == 0]
    expected = {key: were[key] for key in COUNTS}
    expected["publications"] += len(steps)
    expected["dropped"] += were["withdrawn"]
    assert counts_in(results, "seldom") == expected
    last = results / f"seldom/histogram_density.{steps[-1]:09}.csv"
    head = head_of(last)
    assert head["publications"] > 0  # a table of one step has its own count
    del head["publications"]
    assert head == {k: v for k, v in as_in_head(expected).items() if k != "publications"}
    progress = json.loads((results / "progress.json").read_text())
    (live,) = [a for a in progress["analyses"] if a["name"] == "seldom"]
    for key in ("skipped", "coarsened", "spilled"):
        assert live[key] == expected[key], key
    analyses = json.loads((results / "report.json").read_text())["analyses"]
    (earlier,) = [a["earlier"] for a in analyses if a["name"] == "seldom"]
    assert earlier["publications"] == were["publications"] and earlier["thinned"] == were["thinned"]


LOSSY = """\
output: results
run: RUN
SIDECARS
meshes: {line: {kind: uniform, cells: [12]}}
fields: {density: {mesh: line, type: float64}}
analyses:
  values: {stages: [statistics: {fields: density}]}
  mortal: {stages: [{python: {call: "STAGES/mortal.py:dies", with: {at: 3, note: NOTE}}}]}
"""


def program(folder: Path, build: Path, ranks: int, *arguments: object) -> list[str]:
    del folder, build
    words = [*launcher(), "-n", ranks, sys.executable, HERE / "counts_program.py", *arguments]
    return [str(word) for word in words]


def environment(build: Path) -> dict[str, str]:
    return os.environ | {"PYTHONPATH": f"{build / 'python'}:{HERE}"}


def write_lossy(folder: Path, run: str, sidecars: str, note: Path) -> None:
    folder.mkdir(exist_ok=True)
    text = LOSSY.replace("RUN", run).replace("SIDECARS", sidecars)
    text = text.replace("STAGES", str(HERE / "stages")).replace("NOTE", str(note))
    (folder / "run.yaml").write_text(text)


@pytest.mark.parametrize(
    ("ranks", "more", "sidecars"),
    [(2, 0, ""), (1, 1, "sidecars: {ranks: 1}"), (2, 1, "sidecars: {per_node: 1}")],
    ids=["inside", "network", "node"],
)
def test_lost_publications_outlive_a_restart(ranks, more, sidecars, lossy, build, tmp_path):
    before, state = lossy
    was = counts_in(before, "values")
    assert was["lost"] > 0 and was["publications"] + was["lost"] == 8
    assert head_of(before / "values/statistics_density.csv") == as_in_head(was)
    write_lossy(tmp_path, new_run(), sidecars, state.parent / "died")
    words = [sys.executable, HERE / "counts_program.py", 8, 12, "", state]
    mpirun(ranks + more, *words, env=environment(build), cwd=tmp_path)
    expected = was | {"publications": was["publications"] + 4}
    assert counts_in(tmp_path / "results", "values") == expected
    assert head_of(tmp_path / "results/values/statistics_density.csv") == as_in_head(expected)


@pytest.fixture(scope="module")
def lossy(build, tmp_path_factory):
    """A run whose sidecars died at step 3, and whose other sidecars worked until its checkpoint."""
    folder = tmp_path_factory.mktemp("lossy")
    run = new_run()
    write_lossy(folder, run, "sidecars: {job: separate, memory: 1 MiB, when_full: wait}",
                folder / "died")  # fmt: skip
    command = program(folder, build, 2, 0, 8, folder / "state", "", 0, 6)
    simulation = subprocess.Popen(command, cwd=folder, env=environment(build))
    jobs = []
    try:
        for step in (0, 6):
            if step:
                wait_for(lambda: (folder / "died").exists(), "sidecars die")
                (folder / f"lost-{step}").touch()
                limits.wait(jobs[-1].process, 20)
            wait_for((folder / f"here-{step}").exists, "the simulation comes to the place")
            jobs.append(SidecarJob(build, folder, run, 1))
            jobs[-1].await_joined()
            (folder / f"meet-{step}").touch()
        assert limits.wait(simulation, 60) == 0
        jobs[-1].await_end()
    finally:
        for job in jobs:
            job.stop()
        if simulation.poll() is None:
            simulation.kill()
            limits.wait(simulation, 10)
    return folder / "results", folder / "state"
