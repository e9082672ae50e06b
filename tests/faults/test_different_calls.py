# SPDX-License-Identifier: BSD-3-Clause
"""Ranks that do not make the same calls each get one error that names the difference, and end well:
no crash, no hang, and no table made of two different steps."""

import re
import sys

import pytest
from conftest import launch, mpirun, read_table
from faults import GRID, said

SENTENCE = "simulation ranks do not make the same calls: "
ANALYSES = {
    "each step": "{stages: [{statistics: {fields: [density]}}]}",
    "condition": "{when: max(density) > -1, stages: [{statistics: {fields: [density]}}]}",
    "in time": "{every: 0.1 time, stages: [{statistics: {fields: [density]}}]}",
}
PLACEMENTS = {
    "simulation": ("{ranks: 0}", 0),
    "node": ("{per_node: 1}", 1),
    "network": ("{ranks: 1}", 1),
    "separate": ("{job: separate, memory: 16 MiB, deadline: 1 s}", 0),
}
# In what the last rank differs, and which calls of the two the error names, if it can.
MODES = {
    "only": ("pillion_ready or its first pillion_step", "pillion_close"),
    "none": ("pillion_ready or its first pillion_step", "pillion_close"),
    "fewer": ("pillion_step", "pillion_close"),
    "closes": ("pillion_step", "pillion_close"),
    "ready": None,
    "late": None,
    "skips": None,
    "time": None,
    "checkpoint": ("pillion_step", "pillion_checkpoint"),
}


def drive(build, folder, placement, mode, *more, ranks=2, analysis="each step", env=None):
    sidecars, extra = PLACEMENTS[placement]
    config = GRID + f"sidecars: {sidecars}\nanalyses:\n  a: {ANALYSES[analysis]}\n"
    (folder / "pillion.yaml").write_text(config)
    driver = build / "tests/faults/calls_driver"
    return mpirun(
        *(ranks + extra, driver, "pillion.yaml", mode, *more),
        cwd=folder,
        timeout=60,
        check=False,
        env=env,
    )


def expect_one_sentence(process, ranks, names=None):
    """Each rank has the same error, and ends well."""
    assert process.returncode == 0, (process.stdout, process.stderr)
    lines = said(process)
    assert sorted(lines) == list(range(ranks)), process.stdout
    errors = set()
    for texts in lines.values():
        assert texts[-1] == "ok", lines
        found = {text.split(": ", 1)[1] for text in texts[:-1]}
        assert len(found) == 1, lines
        errors |= found
    for error in errors:
        assert error.startswith(SENTENCE), lines
        assert names is None or all(name in error for name in names), error


@pytest.mark.drawn
@pytest.mark.parametrize("placement", PLACEMENTS)
@pytest.mark.parametrize("mode", MODES)
def test_ranks_that_call_differently(build, tmp_path, placement, mode):
    expect_one_sentence(drive(build, tmp_path, placement, mode), 2, MODES[mode])


@pytest.mark.parametrize("analysis", ["condition", "in time"])
@pytest.mark.parametrize("mode", ["fewer", "late", "time"])
def test_ranks_that_differ_where_analyses_are_seldom_due(build, tmp_path, analysis, mode):
    for placement in ("simulation", "node"):
        folder = tmp_path / placement
        folder.mkdir()
        process = drive(build, folder, placement, mode, ranks=3, analysis=analysis)
        expect_one_sentence(process, 3)


@pytest.mark.parametrize("differs", [0, 1, 2])
def test_whichever_rank_differs_all_learn_it(build, tmp_path, differs):
    expect_one_sentence(drive(build, tmp_path, "simulation", "fewer", differs, ranks=3), 3)


def test_a_step_that_one_rank_offers_twice_is_ignored_there(build, tmp_path):
    process = drive(build, tmp_path, "simulation", "twice")
    assert all(texts == ["ok"] for texts in said(process).values()), process.stdout
    table = read_table(tmp_path / "out" / "a" / "statistics_density.csv")
    assert list(table.columns["step"]) == list(range(12))


def test_sidecars_finish_what_all_ranks_published(build, tmp_path):
    expect_one_sentence(drive(build, tmp_path, "node", "closes"), 2)
    steps = list(read_table(tmp_path / "out" / "a" / "statistics_density.csv").columns["step"])
    assert steps == list(range(len(steps)))
    assert 4 <= len(steps) <= 6


LATE = re.compile(r"not all simulation ranks came to pillion_(close|checkpoint) within 3 s")


@pytest.mark.parametrize("placement", ["simulation", "node"])
def test_a_rank_that_closes_while_others_wait_for_it_elsewhere(build, tmp_path, placement):
    """Each waits for the other, in a call of the program's own and in Pillion: which gives up, and
    closes the session at MPI_Finalize, so that nothing is lost."""
    env = {"PILLION_PRETEND_PATIENCE": "3"}
    process = drive(build, tmp_path, placement, "absent", env=env)
    assert process.returncode == 0, (process.stdout, process.stderr)
    lines = said(process)
    assert all(LATE.search(texts[0]) and texts[-1] == "ok" for texts in lines.values()), lines
    table = read_table(tmp_path / "out" / "a" / "statistics_density.csv")
    assert list(table.columns["step"]) == list(range(12))
    assert (tmp_path / "out" / "report.json").exists()


@pytest.mark.parametrize("placement", ["simulation", "node"])
def test_a_checkpoint_that_one_rank_alone_wants(build, tmp_path, placement):
    env = {"PILLION_PRETEND_PATIENCE": "3"}
    process = drive(build, tmp_path, placement, "never", env=env)
    assert process.returncode == 0, (process.stdout, process.stderr)
    lines = said(process)
    assert LATE.search(lines[1][0]), lines
    assert SENTENCE in lines[1][1] and SENTENCE in lines[0][0], lines
    assert all(texts[-1] == "ok" for texts in lines.values()), lines


@pytest.mark.parametrize("placement", ["simulation", "node"])
def test_a_child_that_closes_its_copy_of_a_session(build, tmp_path, placement):
    """The session is the parent's: the other ranks wait for that."""
    process = drive(build, tmp_path, placement, "fork")
    assert process.returncode == 0, (process.stdout, process.stderr)
    assert all(texts == ["ok"] for texts in said(process).values()), process.stdout
    table = read_table(tmp_path / "out" / "a" / "statistics_density.csv")
    assert list(table.columns["step"]) == list(range(12))


PROGRAM = """
import sys, numpy as np, pillion
from mpi4py import MPI
with pillion.open("pillion.yaml") as s:
    comm = s.communicator
    k = comm.rank
    s.share("density", np.zeros((4, 4)), lo=(4 * k, 0))
    try:
        for i in range(6 if k else 4):
            s.step(i, 0.1 * i)
    except pillion.Error as error:
        print(f"rank {k}: step: {error}")
    if not k:
        try:
            s.close()
        except pillion.Error as error:
            print(f"rank {k}: close: {error}")
assert comm.allreduce(1) == 2
print(f"rank {k}: ok", flush=True)
"""


def test_in_python(build, tmp_path):
    (tmp_path / "program.py").write_text(PROGRAM)
    config = GRID + f"sidecars: {{ranks: 0}}\nanalyses:\n  a: {ANALYSES['each step']}\n"
    (tmp_path / "pillion.yaml").write_text(config)
    env = {"PYTHONPATH": build / "python"}
    process = launch((2, sys.executable, "program.py"), cwd=tmp_path, check=False, env=env)
    expect_one_sentence(process, 2, ("pillion_step for step 4 at time 0.4", "pillion_close"))
