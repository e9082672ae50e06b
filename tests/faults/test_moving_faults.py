# SPDX-License-Identifier: BSD-3-Clause
"""Stages that fail while they change sides: the run goes on, and is told what became of them."""

import json

import pytest
from conftest import read_table
from faults import GRID, drive, said

SIDECARS = "sidecars: {{{way}, when_full: wait}}\n"
OTHER = "  good: {stages: [{statistics: {fields: [density], at: auto}}]}\n"


def play(build, folder, stage: str, moves: str, way: str = "ranks: 2", disable_after: int = 3):
    steps = 10
    bad = f"  bad: {{disable_after: {disable_after}, stages: [{stage}]}}\n"
    config = GRID + "analyses:\n" + bad + OTHER
    config += SIDECARS.format(way=way)
    ranks = 4 if way == "ranks: 2" else 3
    process = drive(
        build, folder, config, ranks, "pillion.yaml", steps, more_env={"PILLION_MOVE_AT": moves}
    )
    assert process.returncode == 0, (process.stdout, process.stderr)
    assert all(lines[-1] == "ok" for lines in said(process).values())
    whole = json.loads((folder / "out" / "report.json").read_text())
    analyses = {a["name"]: a for a in whole["analyses"]}
    seen = read_table(folder / "out" / "good" / "statistics_density.csv")
    assert list(seen.columns["step"]) == list(range(steps + 1))
    assert analyses["good"]["disabled"] is None
    assert not list((folder / "out").glob(".moving*"))
    return analyses["bad"], whole["warnings"]


WAYS = ["ranks: 2", "per_node: 1"]


@pytest.mark.parametrize("way", WAYS)
def test_disabled_before_it_is_called_back(way, build, tmp_path):
    bad, warnings = play(build, tmp_path, "{trouble: {fail_at: 3, at: auto}}", "2,5", way, 1)
    assert "told to throw" in bad["disabled"]
    assert [move["to"] for move in bad["moves"]] == ["sidecar"]
    assert len(warnings) == 1 and "'bad' is disabled" in warnings[0]


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize(("step", "moves"), [(0, []), (3, ["sidecar"])])
def test_what_cannot_be_saved_stays(step, moves, way, build, tmp_path):
    stage = f"{{mishap: {{point: save, step: {step}, how: throw, at: auto}}}}"
    bad, warnings = play(build, tmp_path, stage, "2,5", way)
    assert bad["disabled"] is None and bad["publications"] == 11
    assert [move["to"] for move in bad["moves"]] == moves
    assert any("'bad' stays in the" in text for text in warnings)


@pytest.mark.parametrize("way", WAYS)
def test_what_comes_back_too_late_stays(way, build, tmp_path):
    """The simulation gives up after a deadline; sidecars that then save the state and let the
    analysis go take it again, so that no publication is left out."""
    config = GRID + "analyses:\n  bad: {stages: ["
    config += "{mishap: {point: save, step: 3, how: sleep, at: auto}}]}\n"
    config += f"sidecars: {{{way}, when_full: wait, deadline: 0.2 s}}\n"
    ranks = 4 if way == "ranks: 2" else 3
    more_env = {"PILLION_MOVE_AT": "2,5"}
    process = drive(
        build, tmp_path, config, ranks, "pillion.yaml", 100, "pause=20", more_env=more_env
    )
    assert process.returncode == 0, (process.stdout, process.stderr)
    whole = json.loads((tmp_path / "out" / "report.json").read_text())
    (bad,) = whole["analyses"]
    assert any("'bad' stays in the sidecars" in text for text in whole["warnings"])
    assert bad["disabled"] is None
    assert [move["to"] for move in bad["moves"]] == ["sidecar"]
    seen = list(read_table(tmp_path / "out" / "bad" / "seen.csv").columns["step"])
    assert seen == list(range(101)) and bad["publications"] == 101


@pytest.mark.parametrize("way", WAYS)
def test_what_cannot_be_restored_is_disabled(way, build, tmp_path):
    stage = "{mishap: {point: restore, how: throw, at: auto}}"
    bad, _ = play(build, tmp_path, stage, "2,5", way)
    assert "told to throw" in bad["disabled"]
    assert bad["publications"] == 1


def test_what_moves_finds_the_room_that_there_is(build, tmp_path):
    """The ranks last spoke of room when there was none, before it came back to the simulation."""
    config = GRID + "analyses:\n" + OTHER
    config += "sidecars: {ranks: 1, memory: 1200 B, when_full: skip}\n"
    more_env = {"PILLION_MOVE_AT": "2,5,9"}
    drive(build, tmp_path, config, 3, "pillion.yaml", 10, "pause=20", more_env=more_env)
    whole = json.loads((tmp_path / "out" / "report.json").read_text())
    assert [move["step"] for move in whole["analyses"][0]["moves"]] == [1, 4, 8]
    steps = list(read_table(tmp_path / "out" / "good" / "statistics_density.csv").columns["step"])
    assert 8 in steps, steps


@pytest.mark.parametrize("point", ["save", "restore"])
def test_what_a_killed_run_was_moving_is_removed_by_the_next(point, build, tmp_path):
    config = GRID + f"analyses:\n  bad: {{stages: [{{mishap: {{point: {point}, at: auto}}}}]}}\n"
    config += SIDECARS.format(way="ranks: 2")
    for is_killed in (True, False):
        process = drive(
            build, tmp_path, config, 4, "pillion.yaml", 10, more_env={"PILLION_MOVE_AT": "2,4"}
        )
        assert (process.returncode != 0) == is_killed
        # Nothing is on disk before all ranks of a node have saved their state.
        is_left = is_killed and point == "restore"
        assert bool(list((tmp_path / "out").glob(".moving*"))) == is_left


def test_a_run_that_is_killed_leaves_nothing_that_has_moved(build, tmp_path):
    config = GRID + "analyses:\n" + OTHER
    config += "  bad: {stages: [{mishap: {step: 8, point: run, at: simulation}}]}\n"
    config += SIDECARS.format(way="per_node: 1")
    process = drive(
        build, tmp_path, config, 3, "pillion.yaml", 10, more_env={"PILLION_MOVE_AT": "2,4"}
    )
    assert process.returncode != 0
    assert len(list((tmp_path / "out").iterdir())) > 0
    assert not list((tmp_path / "out").glob(".moving*"))
