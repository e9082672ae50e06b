# SPDX-License-Identifier: BSD-3-Clause
"""Reading what runs say of themselves, and finding out who still lives."""

import os
import subprocess
import sys
from pathlib import Path

import limits
import pytest
from pillion.errors import Error
from pillion.progress import (
    State,
    find_runs,
    pid_namespace,
    process_start,
    read_parts,
    read_progress,
    state_of,
)
from progress_sample import analysis, progress, sidecars, write


def test_every_entry_is_read(tmp_path):
    work = {"analysis": "decay", "step": 40, "since": 1009.5}
    lag = {"last": 0.5, "mean": 0.25, "max": 1}
    decay = analysis(lag_seconds=lag, products=["decay/a.csv"], disabled="it broke")
    read = read_progress(write(tmp_path, progress(analyses=[decay], working=work)))
    assert (read.role, read.run, read.step, read.time, read.behind) == (
        "simulation",
        "box",
        50,
        2.5,
        1,
    )
    assert read.working.analysis == "decay" and read.working.since == 1009.5
    assert read.memory.budget == 1 << 20 and read.memory.peak == 1 << 19
    one = read.analyses[0]
    assert (one.last_lag, one.mean_lag, one.longest_lag) == (0.5, 0.25, 1)
    assert one.products == ("decay/a.csv",) and one.disabled == "it broke"


def test_broken_files_are_told(tmp_path):
    path = tmp_path / "progress.json"
    with pytest.raises(Error, match="cannot read"):
        read_progress(path)
    for text, why in (
        ("{", "not JSON"),
        ("[]", "tells no progress"),
        ('{"pillion": 1}', "found 1"),
    ):
        path.write_text(text)
        with pytest.raises(Error, match=why):
            read_progress(path)
    said = progress()
    del said["step"]
    with pytest.raises(Error, match="lacks the entry 'step'"):
        read_progress(write(tmp_path, said))
    with pytest.raises(Error, match="wrong kind"):
        read_progress(write(tmp_path, progress(analyses=[analysis(skipped="many")])))


def test_parts_of_one_run_are_found_and_others_are_not(tmp_path):
    assert read_parts(tmp_path).all == []
    write(tmp_path, progress())
    write(tmp_path, sidecars())
    write(tmp_path, progress("attached_job", attached_job="extra"))
    write(tmp_path, progress("attached_job", attached_job="of an earlier run", id="bb"))
    parts = read_parts(tmp_path)
    assert parts.simulation.role == "simulation" and parts.sidecars.role == "sidecars"
    assert [attached_job.attached_job for attached_job in parts.attached_jobs] == ["extra"]


def test_sidecars_alone_are_a_run_too(tmp_path):
    write(tmp_path, sidecars(started=2000.0, id="new"))
    write(tmp_path, progress("attached_job", attached_job="old", id="old"))
    assert read_parts(tmp_path).sidecars.id == "new"


def test_who_says_that_it_runs_may_be_gone(tmp_path):
    read = read_progress(write(tmp_path, progress()))
    assert state_of(read) is State.RUNNING
    child = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    said = progress(pid=child.pid, pid_started=process_start(child.pid))
    read = read_progress(write(tmp_path, said))
    assert state_of(read) is State.RUNNING
    child.kill()
    os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)
    assert state_of(read) is State.GONE  # a zombie does not run
    limits.wait(child, timeout=60)
    assert state_of(read) is State.GONE
    # The number was given to somebody else.
    again = progress(pid_started=process_start(os.getpid()) - 1)
    assert state_of(read_progress(write(tmp_path, again))) is State.GONE
    # Of other nodes nothing can be seen.
    there = progress(pid=child.pid, host="elsewhere")
    assert state_of(read_progress(write(tmp_path, there))) is State.RUNNING
    inside = progress(pid=child.pid, pid_namespace=pid_namespace() + 1)
    assert state_of(read_progress(write(tmp_path, inside))) is State.RUNNING
    ended = progress(pid=child.pid, state="ended")
    assert state_of(read_progress(write(tmp_path, ended))) is State.ENDED


def test_runs_are_found_by_who_holds_their_folder(tmp_path):
    write(tmp_path / "there", progress(run="found-by-name", id="f0f0"))
    assert tmp_path / "there" not in find_runs("found-by-name")
    held = os.open(tmp_path / "there", os.O_PATH | os.O_DIRECTORY)
    try:
        assert find_runs("found-by-name") == [tmp_path / "there"]
        assert find_runs("f0f0") == [tmp_path / "there"]
        assert tmp_path / "there" in find_runs()
        assert find_runs("another") == []
    finally:
        os.close(held)
    assert find_runs("found-by-name") == []


def test_processes_are_told_apart():
    assert process_start(os.getpid()) > 0
    assert process_start(int(Path("/proc/sys/kernel/pid_max").read_text()) + 1) is None


def test_a_process_that_cannot_be_looked_at_is_not_gone(tmp_path, monkeypatch):
    read = read_progress(write(tmp_path, progress(pid=1, pid_started=1)))
    assert state_of(read) is State.GONE  # another process has number 1

    def hidden(*_args, **_kwargs):
        raise FileNotFoundError  # as with hidepid=2

    monkeypatch.setattr(Path, "read_text", hidden)
    assert state_of(read) is State.RUNNING
    assert process_start(2**22) is None  # larger than any: there is no such process
    with pytest.raises(OSError):
        process_start(1)
