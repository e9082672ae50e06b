# SPDX-License-Identifier: BSD-3-Clause
"""Who is alive: processes of this machine by their numbers, others by the change of their files,
whatever the clocks of the two machines and however late the file system shows what is new.
"""

import errno
import fcntl
import os
import struct
import subprocess
import sys
from pathlib import Path

import limits
import pytest
from pillion import liveness, shared_files
from pillion.errors import Error
from pillion.launch.line import Follower
from pillion.liveness import (
    Observer,
    find_runs,
    is_locked,
    patience_for,
    process_start,
    state_of,
    this_machine,
)
from pillion.progress import State, read_parts, read_progress
from pillion.watch.model import make_view
from pillion.whereabouts import description, runs_elsewhere, way_to
from progress_sample import progress, sidecars, write

PATIENCE = 15.0  # of a heartbeat of 2 s


class Clock:
    """One whose time passes when it is slept on."""

    def __init__(self, now=0.0):
        self.now = now

    def __call__(self):
        return self.now

    def sleep(self, seconds):
        self.now += seconds


def observer(clock, locked=False):
    return Observer(clock, clock.sleep, is_locked=lambda _: locked)


# --- on the run's own machine ---


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
    # The number was given to another process.
    again = progress(pid_started=process_start(os.getpid()) - 1)
    assert state_of(read_progress(write(tmp_path, again))) is State.GONE
    ended = progress(pid=child.pid, state="ended")
    assert state_of(read_progress(write(tmp_path, ended))) is State.ENDED


@pytest.mark.parametrize(
    "there", [{"host": "elsewhere"}, {"boot": "another"}, {"pid_namespace": 1}], ids=str
)
def test_a_number_says_nothing_elsewhere(tmp_path, there):
    """Neither that of a process that lives here, nor one that no process has."""
    for pid in (os.getpid(), 2**22 - 1):
        read = read_progress(write(tmp_path, progress(pid=pid, pid_started=-1, **there)))
        assert observer(Clock()).state_of(read) is State.SILENT


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


def test_a_process_that_cannot_be_looked_at_is_known_by_its_file(tmp_path, monkeypatch):
    clock = Clock()
    eye = observer(clock)
    said = progress(pid=1, pid_started=1)
    read = read_progress(write(tmp_path, said))
    assert eye.state_of(read) is State.GONE  # another process has number 1
    machine = this_machine()

    def hidden(*_args, **_kwargs):
        raise FileNotFoundError  # as with hidepid=2

    monkeypatch.setattr(liveness, "this_machine", lambda: machine)
    monkeypatch.setattr(Path, "read_text", hidden)
    assert process_start(2**22) is None  # larger than any: there is no such process
    with pytest.raises(OSError):
        process_start(1)
    assert eye.state_of(read) is State.SILENT
    write(tmp_path, said | {"written": 1012.0})
    assert eye.state_of(read_progress(tmp_path / "progress.json")) is State.RUNNING
    clock.sleep(PATIENCE + 1)
    assert eye.state_of(read_progress(tmp_path / "progress.json")) is State.GONE


# --- from another machine ---


class Run:
    """A run on another node, whose clock is `ahead`. It writes every two seconds until it dies; a
    reader sees what was there `late` seconds before, as through a cache that is filled so often.
    """

    def __init__(self, folder, clock, ahead=0.0, late=0.0, dies=1e9):
        self.folder, self.clock, self.ahead, self.late, self.dies = folder, clock, ahead, late, dies
        self.show()

    def show(self):
        seen_at = self.clock.now - self.clock.now % self.late if self.late else self.clock.now
        beat = min(seen_at, self.dies) // 2 * 2
        written = 5000.0 + self.ahead + beat
        there = {"host": "n0", "boot": "there", "started": 4000.0 + self.ahead}
        write(self.folder, progress(written=written, changed=4990.0 + self.ahead, **there))
        return read_progress(self.folder / "progress.json")


@pytest.mark.parametrize("ahead", [0, -3600, 3600, 1e9])
@pytest.mark.parametrize("late", [0, 3, 10])
@pytest.mark.parametrize("dies", [0.0, 61.0, 1e9])
def test_alive_is_alive_and_dead_is_dead(tmp_path, ahead, late, dies):
    """By what one reader sees, twice a second: never dead while it lives, and known to be dead
    after the patience and the delay of the file system.
    """
    clock = Clock()
    run, eye = Run(tmp_path, clock, ahead, late, dies), observer(clock)
    states = []
    while clock.now < 120:
        said = run.show()
        states.append((clock.now, eye.state_of(said)))
        if clock.now < dies:
            assert states[-1][1] is not State.GONE, clock.now
            assert abs(eye.time_of(said) - (5000 + ahead + clock.now)) <= 2 + late
        clock.sleep(0.5)
    known = [state for at, state in states if at > 2 + late and at < dies]
    assert set(known) <= {State.RUNNING}
    dead = [state for at, state in states if at > dies + PATIENCE + late]
    assert set(dead) <= {State.GONE} and (dies > 1e6 or dead)


@pytest.mark.parametrize("ahead", [-7200, 0, 7200])
def test_one_look_waits_until_it_is_known(tmp_path, ahead):
    clock = Clock()

    def settled(dies):
        run = Run(tmp_path, clock, ahead, dies=dies)
        told = []
        eye = Observer(clock, lambda s: (clock.sleep(s), run.show()), is_locked=lambda _: False)
        begin = clock.now
        parts = eye.settled(tmp_path, told.append)
        return eye.state_of(parts.simulation), clock.now - begin, told

    state, took, _ = settled(1e9)
    assert state is State.RUNNING and took <= 2.5
    state, took, told = settled(clock.now)
    assert state is State.GONE and PATIENCE <= took <= PATIENCE + 0.5
    assert told == ["waiting for a sign of life from node n0, at most 15 s"]
    # The same process asks again: it knows.
    write(tmp_path, progress(state="ended", host="n0"))
    assert observer(clock).settled(tmp_path).simulation.said == "ended"


def test_a_run_that_beats_seldom_is_waited_for_a_minute(tmp_path):
    clock = Clock()
    write(tmp_path, progress(host="n0", heartbeat_seconds=4e6))
    parts = observer(clock).settled(tmp_path)
    assert 60 <= clock.now < 61
    assert observer(clock).state_of(parts.simulation) is State.SILENT


def test_a_writer_that_is_suspended_holds_its_folder(tmp_path):
    """Its file does not change, but the lock of its folder is taken; that of a dead one is not."""
    clock = Clock()
    eye = observer(clock, locked=True)
    read = read_progress(write(tmp_path, progress(host="n0")))
    clock_states = []
    for _ in range(4):
        clock_states.append(eye.state_of(read))
        clock.sleep(10)
    assert set(clock_states) == {State.SILENT}
    assert not eye.is_undecided(read)
    # Sidecars that are alive hold the lock themselves, so it says nothing of the simulation.
    for written in (1010.0, 1012.0):
        theirs = read_progress(write(tmp_path, sidecars(host="n1", written=written)))
        eye.state_of(theirs)
    assert eye.state_of(theirs) is State.RUNNING and eye.state_of(read) is State.GONE


def test_the_lock_of_a_folder_is_seen(tmp_path):
    assert not is_locked(tmp_path)  # no marker
    marker = tmp_path / ".pillion-run"
    marker.write_text("pillion: run 1\n")
    assert not is_locked(tmp_path)
    with marker.open("r+") as file:
        whole = struct.pack("hhqqi4x", fcntl.F_RDLCK, os.SEEK_SET, 0, 0, 0)
        fcntl.fcntl(file, fcntl.F_OFD_SETLK, whole)
        assert is_locked(tmp_path)
    assert not is_locked(tmp_path)


def test_a_successor_takes_a_file_over(tmp_path):
    clock = Clock()
    eye = observer(clock)
    for written in (1010.0, 1012.0):
        eye.state_of(read_progress(write(tmp_path, sidecars(host="n0", written=written))))
    clock.sleep(PATIENCE + 1)
    assert eye.state_of(read_parts(tmp_path).sidecars) is State.GONE
    read = read_progress(write(tmp_path, sidecars(host="n0", pid=7, written=500.0)))
    assert eye.state_of(read) is State.SILENT
    read = read_progress(write(tmp_path, sidecars(host="n0", pid=7, written=502.0)))
    assert eye.state_of(read) is State.RUNNING


@pytest.mark.parametrize("ahead", [-3600, 3600])
def test_a_view_has_the_clock_of_the_run(tmp_path, ahead):
    """Durations are those of the run, whatever the reader's calendar."""
    clock = Clock(7.0)
    eye = observer(clock)
    started = 1e9 + ahead
    there = {"host": "n0", "started": started, "changed": started + 50, "written": started + 60}
    work = {"analysis": "decay", "step": 40, "since": started + 58}
    write(tmp_path, progress(working=work, **there))
    parts = read_parts(tmp_path)
    view = make_view(parts, eye.state_of, eye.time_of)
    assert (view.elapsed, view.silent, view.rows[0].busy) == (60.0, 0.0, 2.0)
    write(tmp_path, progress(working=work, **(there | {"written": started + 62})))
    parts = read_parts(tmp_path)
    make_view(parts, eye.state_of, eye.time_of)
    clock.sleep(1)
    view = make_view(parts, eye.state_of, eye.time_of)
    assert (view.elapsed, view.silent, view.rows[0].busy) == (63.0, 13.0, 5.0)


@pytest.mark.parametrize("ahead", [-3600, 3600])
def test_a_run_that_was_just_started_is_known_by_its_id(tmp_path, ahead):
    """Not by its start, which is on the clock of another node."""
    write(tmp_path, progress(id="old", host="n0"))
    follower = Follower(tmp_path)
    assert follower.look() is None
    write(tmp_path, progress(id="new", host="n0", started=1000.0 + ahead))
    assert follower.look().step == 50


def test_runs_of_other_nodes_and_the_way_to_them(tmp_path):
    clock = Clock()
    there = {"host": "n0", "boot": "there"}
    job = {"system": "slurm", "id": "74", "nodes": "n[0-1]"}
    alive = tmp_path / "alive"
    (tmp_path / "members/1").mkdir(parents=True)
    write(alive, progress(run="big", id="aa", batch_job=job, **there))
    write(tmp_path / "dead", progress(run="old", id="bb", **there))
    write(tmp_path / "members/1/results", progress(run="deep", id="cc", **there))
    write(tmp_path / "over", progress(state="ended", **there))
    write(tmp_path / "mine", progress())

    def sleep(seconds):
        clock.sleep(seconds)
        write(alive, progress(run="big", id="aa", batch_job=job, written=clock.now, **there))

    eye = Observer(clock, sleep, is_locked=lambda _: False)
    found = {run.progress.run: run for run in runs_elsewhere(tmp_path, eye, clock, sleep)}
    assert {name: run.state for name, run in found.items()} == {
        "big": State.RUNNING,
        "old": State.SILENT,
    } and clock.now < 6
    text = description(found["big"])
    assert text == f"big (id aa): node n0, Slurm job 74 on n[0-1], writes to {alive}"
    step = "--jobid=74 --overlap --mem=0 --kill-on-bad-exit=1 -N2 -n2 pillion attach aa"
    assert way_to(found["big"]) == f"srun {step}"
    assert way_to(found["big"], "pmix") == f"srun --mpi=pmix {step}"
    assert description(found["old"]).endswith("no sign of life")
    assert way_to(found["old"]) == "on node n0 and the others of the run: pillion attach bb"
    members = runs_elsewhere(tmp_path / "members", eye, clock, sleep)
    assert [run.progress.run for run in members] == ["deep"]


# --- files that are replaced on another machine ---


@pytest.mark.parametrize(
    ("number", "listed", "again"),
    [
        (errno.ESTALE, False, True),
        (errno.ESTALE, True, True),
        (errno.ENOENT, True, True),
        (errno.ENOENT, False, False),
        (errno.EACCES, True, False),
    ],
)
def test_a_file_that_is_stale_is_opened_again(number, listed, again):
    tries = []

    def read():
        tries.append(1)
        if len(tries) < 3:
            raise OSError(number, "not now")
        return "text"

    if again:
        assert shared_files.again_if_stale(read, listed, lambda _: None) == "text"
        assert len(tries) == 3
    else:
        with pytest.raises(OSError):
            shared_files.again_if_stale(read, listed, lambda _: None)
        assert len(tries) == 1


def test_a_file_that_stays_stale_is_an_error(tmp_path, monkeypatch):
    path = write(tmp_path, progress())
    opened = []

    def stale(*_args, **_kwargs):
        opened.append(1)
        raise OSError(errno.ESTALE, os.strerror(errno.ESTALE))

    monkeypatch.setattr(shared_files, "PAUSES", (0.0, 0.0))
    with monkeypatch.context() as patch:
        patch.setattr(Path, "open", stale)
        with pytest.raises(Error, match="Stale"):
            read_progress(path)
    assert len(opened) == 3


def test_progress_that_is_replaced_while_it_is_read(tmp_path, monkeypatch):
    """The name is missing for a moment, or an old file is stale, between two good looks."""
    path = write(tmp_path, progress(step=1))
    opening = Path.open
    failures = [errno.ENOENT, errno.ESTALE]

    def flaky(self, *args, **kwargs):
        if self == path and failures:
            raise OSError(failures.pop(), "not now")
        return opening(self, *args, **kwargs)

    monkeypatch.setattr(Path, "open", flaky)
    assert read_parts(tmp_path).simulation.step == 1
    assert failures == []


def test_patience_is_some_heartbeats_and_the_delay_of_a_file_system(tmp_path):
    assert patience_for(read_progress(write(tmp_path, progress()))) == PATIENCE
    often = read_progress(write(tmp_path, progress(heartbeat_seconds=0.2)))
    assert patience_for(often) == 6.0
