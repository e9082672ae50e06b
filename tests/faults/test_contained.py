# SPDX-License-Identifier: BSD-3-Clause
"""A stage that fails disables its analysis and nothing else, wherever it runs and on whichever rank
it fails; slow sidecars never hold the simulation beyond what its user allowed."""

import json
import os

import limits
import pytest
from conftest import launch, read_table
from faults import GRID, drive, said

BOTH = """
analyses:
  bad:
    disable_after: {most}
    stages:
      - statistics: {{fields: [density]}}
      - trouble: {{fail_at: 3, fail_on: {peer}, how: {how}}}
  good: {{stages: [{{trouble: {{}}}}]}}
"""


def ended_well(process, ranks):
    assert process.returncode == 0, (process.stdout, process.stderr)
    lines = said(process)
    assert all(lines[rank][-1] == "ok" for rank in range(ranks)), lines


def report(folder):
    loaded = json.loads((folder / "out" / "report.json").read_text())
    return loaded, {a["name"]: a for a in loaded["analyses"]}


@pytest.mark.parametrize("sidecars", [0, 2])
@pytest.mark.parametrize("how", ["exception", "calls"])
def test_a_failure_costs_its_publication(build, tmp_path, sidecars, how):
    """One peer fails at one step: the stage before has seen it, and all go on with the next."""
    config = GRID + BOTH.format(peer=1, how=how, most=2)
    if sidecars:
        config += f"sidecars: {{ranks: {sidecars}, when_full: wait}}\n"
    process = drive(build, tmp_path, config, 2 + sidecars)
    ended_well(process, 2 + sidecars)
    whole, analyses = report(tmp_path)
    bad = analyses["bad"]
    assert bad["disabled"] is None and bad["publications"] == 10 and bad["dropped"] == 1, bad
    (warning,) = whole["warnings"]
    assert warning.startswith("analysis 'bad' loses the publication of step 3"), warning
    for product, steps in (("seen", [0, 1, 2, *range(4, 11)]), ("statistics_density", range(11))):
        kept = read_table(tmp_path / "out" / "bad" / f"{product}.csv")
        assert list(kept["step"]) == list(steps)
        assert kept.head["lost"] == 1


@pytest.mark.drawn
@pytest.mark.parametrize("sidecars", [0, 1, 2])
@pytest.mark.parametrize("peer", [-1, 0, 1])
@pytest.mark.parametrize("how", ["exception", "number", "memory", "calls"])
def test_a_stage_that_throws(build, tmp_path, sidecars, peer, how):
    peers = sidecars or 2
    if peer >= peers or (how == "calls" and (peers == 1 or peer < 0)):
        pytest.skip("there is no such peer, or none to differ from")
    config = GRID + BOTH.format(peer=peer, how=how, most=1)
    if sidecars:
        config += f"sidecars: {{ranks: {sidecars}}}\n"
    ranks = 2 + sidecars
    process = drive(build, tmp_path, config, ranks)
    ended_well(process, ranks)
    whole, analyses = report(tmp_path)
    assert analyses["good"]["publications"] == 11
    assert analyses["good"]["disabled"] is None
    expected = {
        "exception": "told to throw",
        "memory": "out of memory",
        "number": "not a std::exception",
    }
    assert expected.get(how, "did not make the same calls") in analyses["bad"]["disabled"]
    assert any("'bad' is disabled" in text for text in whole["warnings"])
    assert "'bad' is disabled" in process.stderr
    # What it had computed is written; the stage before the one that failed has one row more.
    for product, steps in (("seen", 3), ("statistics_density", 4)):
        kept = read_table(tmp_path / "out" / "bad" / f"{product}.csv")
        assert list(kept["step"]) == list(range(steps))
        assert kept.head["publications"] == steps
        assert kept.head["disabled"] == analyses["bad"]["disabled"]
    assert analyses["bad"]["publications"] == 3
    seen = read_table(tmp_path / "out" / "good" / "seen.csv")
    assert list(seen.columns["step"]) == list(range(11))
    assert set(seen.columns["cells"]) == {32}


def test_ranks_without_blocks(build, tmp_path):
    """Twelve ranks share eight columns of cells: four have nothing."""
    config = GRID + "analyses: {a: {stages: [{trouble: {}}]}}\nsidecars: {ranks: 2}\n"
    process = drive(build, tmp_path, config, 14, timeout=60)
    ended_well(process, 14)
    assert set(read_table(tmp_path / "out" / "a" / "seen.csv").columns["cells"]) == {32}


@pytest.mark.alone
def test_waiting_for_a_late_rank_is_not_computing(build, tmp_path):
    """One rank takes 30 ms for each of 11 publications, for which the other waits."""
    stage = "trouble: {milliseconds: 30, late_on: 1}"
    process = drive(build, tmp_path, GRID + f"analyses: {{a: {{stages: [{stage}]}}}}\n", 2)
    ended_well(process, 2)
    _, analyses = report(tmp_path)
    seconds = analyses["a"]["seconds"]
    assert seconds["simulation"]["max"] > 0.3
    assert seconds["simulation"]["mean"] < 0.75 * seconds["simulation"]["max"]
    assert seconds["waiting"]["max"] > 0.2
    trace = json.loads((tmp_path / "out" / "timeline" / "simulation-000000.json").read_text())[
        "traceEvents"
    ]
    waited = [e["args"].get("waited", 0) for e in trace if e.get("cat") == "analysis"]
    assert sum(waited) > 0.2e6


def slow(pause):
    return GRID + f"analyses: {{a: {{stages: [{{trouble: {{milliseconds: {pause}}}}}]}}}}\n"


def test_skip_never_waits_and_counts_what_it_skips(build, tmp_path):
    # Room for two publications of 32 cells on two ranks, head included.
    config = slow(50) + "sidecars: {ranks: 1, memory: 3 KiB, when_full: skip}\n"
    process = drive(build, tmp_path, config, 3, "pillion.yaml", 200)
    ended_well(process, 3)
    whole, analyses = report(tmp_path)
    a = analyses["a"]
    assert whole["run"]["skipped"] > 50
    assert a["skipped"] == whole["run"]["skipped"]
    assert a["publications"] + a["skipped"] + a["dropped"] == 201
    assert a["seconds"]["stall"]["max"] == 0
    assert whole["sidecars"]["peak_bytes"] <= whole["sidecars"]["memory_bytes_per_rank"]
    seen = read_table(tmp_path / "out" / "a" / "seen.csv")
    assert seen.head["skipped"] == a["skipped"]
    assert seen.head["publications"] == a["publications"] == len(seen.columns["step"])
    progress = [line for line in said(process)[0] if line.startswith("progress")]
    assert f"skipped={a['skipped']} stall=0.000" in progress[0]


def test_wait_loses_nothing(build, tmp_path):
    config = slow(20) + "sidecars: {ranks: 1, memory: 3 KiB, when_full: wait}\n"
    process = drive(build, tmp_path, config, 3, "pillion.yaml", 50)
    ended_well(process, 3)
    whole, analyses = report(tmp_path)
    assert analyses["a"]["publications"] == 51
    assert analyses["a"]["skipped"] == analyses["a"]["dropped"] == 0
    assert analyses["a"]["seconds"]["stall"]["max"] > 0.3
    assert whole["sidecars"]["peak_bytes"] <= whole["sidecars"]["memory_bytes_per_rank"]


@pytest.mark.alone
def test_wait_ends_at_its_deadline(build, tmp_path):
    config = slow(1000)
    config += "sidecars: {ranks: 1, memory: 3 KiB, when_full: wait, deadline: 100 ms}\n"
    process = drive(build, tmp_path, config, 3, "pillion.yaml", 10)
    ended_well(process, 3)
    _, analyses = report(tmp_path)
    a = analyses["a"]
    # Who has waited in vain once does not wait again until something has been finished. What the
    # sidecar has not finished a deadline after the end is lost.
    assert a["publications"] + a["dropped"] + a["skipped"] + a["lost"] == 11
    assert a["dropped"] >= 1
    assert a["seconds"]["stall"]["max"] < 10 * 0.1 + limits.limit(0.5)


def test_a_fault_in_the_middle_drops_publications_and_not_the_run(build, tmp_path):
    config = GRID + "analyses: {a: {stages: [{trouble: {}}]}}\nsidecars: {ranks: 1}\n"
    process = drive(build, tmp_path, config, 3, "pillion.yaml", 10, "late")
    ended_well(process, 3)
    _, analyses = report(tmp_path)
    assert analyses["a"]["publications"] == 5
    assert analyses["a"]["dropped"] == 6
    assert "was shared as float32" in process.stderr


@pytest.mark.parametrize("sidecars", [0, 1])
def test_a_program_that_forgets_to_close(build, tmp_path, sidecars):
    config = GRID + "analyses: {a: {stages: [{trouble: {}}]}}\n"
    config += f"sidecars: {{ranks: {sidecars}}}\n"
    # The program leaks its session, which is its own fault and not what is tested.
    process = drive(
        build, tmp_path, config, 2 + sidecars, "pillion.yaml", 10, "no-close",
        more_env={"ASAN_OPTIONS": "detect_leaks=0"},
    )  # fmt: skip
    ended_well(process, 2 + sidecars)
    assert len(read_table(tmp_path / "out" / "a" / "seen.csv").columns["step"]) == 11
    assert (tmp_path / "out" / "report.json").exists()


def test_several_programs_under_one_mpirun(build, tmp_path):
    (tmp_path / "pillion.yaml").write_text(GRID + "analyses: {a: {stages: [{trouble: {}}]}}\n")
    process = launch(
        (2, build / "tests" / "faults" / "fault_driver", "pillion.yaml", 10),
        (2, build / "bin" / "pillion-sidecar"),
        env={"PILLION_STAGE_PATH": build / "tests" / "faults" / "stages"},
        cwd=tmp_path,
    )
    ended_well(process, 2)
    whole, _ = report(tmp_path)
    assert whole["run"]["sidecar_ranks"] == 2
    assert len(read_table(tmp_path / "out" / "a" / "seen.csv").columns["step"]) == 11


def test_sidecars_alone_are_told_so(build, tmp_path):
    process = launch((2, build / "bin" / "pillion-sidecar"), cwd=tmp_path, check=False)
    assert process.returncode != 0
    assert process.stderr.count("start the simulation in the same mpirun") == 1


STARVED = """
output: out
meshes: {grid: {kind: uniform, cells: [8, 4]}, store: {kind: uniform, cells: [8388608]}}
fields:
  density: {mesh: grid, type: float64, units: kg}
  ballast: {mesh: store, type: float64}
analyses:
  hungry: {stages: [{trouble: {fail_at: 1, fail_on: 0, how: starve}}]}
  large: {when: step > 5, stages: [{histogram: {field: ballast, range: [0, 2], bins: 2}}]}
  here: {stages: [{statistics: {fields: [density], at: simulation}}]}
"""


@pytest.mark.skipif(
    "ASAN_OPTIONS" in os.environ, reason="AddressSanitizer ends who runs out of memory"
)
@pytest.mark.parametrize("policy", ["skip", "wait"])
@pytest.mark.parametrize("sidecars", [1, 2])
def test_sidecars_that_run_out_of_memory_outside_any_stage(build, tmp_path, sidecars, policy):
    """The simulation continues to its end, and learns the reason. Ranks that the sidecar serves do
    not wait; others may wait one deadline for sidecars that hang with it."""
    deadline = 600 if sidecars == 1 else 2
    config = STARVED
    config += f"sidecars: {{ranks: {sidecars}, when_full: {policy}, deadline: {deadline} s}}\n"
    process = drive(build, tmp_path, config, 2 + sidecars, "pillion.yaml", 200, "ballast")
    assert "a sidecar ended early" in process.stderr
    lines = said(process)
    assert all(lines[rank][-1] == "ok" for rank in range(2)), (lines, process.stderr)
    assert (process.returncode == 0) == (sidecars == 1)  # a job with others is ended by force
    whole, analyses = report(tmp_path)
    assert "the sidecars ended early" in analyses["large"]["disabled"]
    assert any("sidecars ended early" in text for text in whole["warnings"])
    assert analyses["here"]["disabled"] is None
    table = read_table(tmp_path / "out" / "here" / "statistics_density.csv")
    assert list(table.columns["step"]) == list(range(201))


def test_a_move_of_its_own_accord_says_why(build, tmp_path):
    stage = "trouble: {milliseconds: 10, at: auto}"
    config = GRID + f"analyses: {{a: {{stages: [{{{stage}}}]}}}}\nsidecars: {{ranks: 1}}\n"
    process = drive(build, tmp_path, config, 3, "pillion.yaml", 40)
    ended_well(process, 3)
    whole, analyses = report(tmp_path)
    moves = analyses["a"]["moves"]
    assert moves and moves[0]["to"] == "sidecar"
    assert moves[0]["why"] == "to see what it takes in the sidecars"
    said = f"moves to the sidecars at step {moves[0]['step']}: {moves[0]['why']}"
    assert said in whole["remarks"][0]
