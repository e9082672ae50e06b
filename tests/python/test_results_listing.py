# SPDX-License-Identifier: BSD-3-Clause
"""What `pillion.results` lists and says: keys, what is not there, what a run adds while it goes on,
and how few files are opened for that.
"""

import io
import json
import os
import sys
import threading
import time
from dataclasses import asdict
from pathlib import Path

import limits
import numpy as np
import pillion
import pytest
from pillion import liveness
from pillion.datasets import listing
from pillion.errors import Error
from pillion.liveness import this_machine
from results_sample import profile, put, things
from sample import add_attached_job, make_sample
from test_results_fields import put_hdf5, put_raw
from view_sample import arrays, write

PACKAGE = Path(__file__).parents[2] / "python"


@pytest.fixture
def opened(monkeypatch):
    """Paths of the files that were opened for reading."""
    found, real, lower = [], io.open, os.open
    monkeypatch.setattr(io, "open", lambda p, *a, **k: found.append(str(p)) or real(p, *a, **k))
    monkeypatch.setattr(os, "open", lambda p, *a, **k: found.append(str(p)) or lower(p, *a, **k))
    return found


def test_keys(tmp_path):
    make_sample(tmp_path)
    (tmp_path / "speeds/.histogram_velocity.000001100.csv.part").write_text("half")
    (tmp_path / "speeds/notes.txt").write_text("no product")
    (tmp_path / "compare/motion").mkdir(parents=True)
    results = pillion.results(tmp_path)
    keys = ["motion/msd", "motion/vacf", "speeds/histogram_velocity", "structure/rdf"]
    assert list(results) == list(results.keys()) == [*keys, "watch/statistics_temperature"]
    assert len(results) == 5
    assert results.analyses == ["motion", "speeds", "structure", "watch"]
    assert "motion/msd" in results and "motion/nothing" not in results and 7 not in results
    assert results.get("motion/nothing") is None
    assert results.get("motion/msd").attrs["stage"] == "msd"
    assert results.product("speeds/histogram_velocity").steps == tuple(range(0, 1001, 100))
    assert results._ipython_key_completions_() == list(results)


def test_a_name_in_several_formats(tmp_path):
    put_hdf5(tmp_path, "d", {0: 3})
    put_raw(tmp_path, {0: arrays()})
    results = pillion.results(tmp_path)
    assert list(results) == ["a/d", "a/r"]
    assert results["a/d.hdf5"].identical(results["a/d"])
    write(tmp_path / "a")
    assert list(results) == ["a/d.hdf5", "a/d.idx", "a/r"]
    assert {*results["a/d.idx"].data_vars} == {"f0", "f1"}
    with pytest.raises(Error, match=r"no product 'a/d' in .*, but a/d.hdf5, a/d.idx"):
        results["a/d"]
    with pytest.raises(Error, match=r"no product 'a/r\.idx'"):
        results["a/r.idx"]


def test_what_is_not_there(tmp_path):
    make_sample(tmp_path)
    results = pillion.results(tmp_path)
    with pytest.raises(Error, match=r"no product 'motion/mds' in .*; did you mean motion/msd"):
        results["motion/mds"]
    with pytest.raises(Error, match="did you mean motion/msd"):
        results["msd"]
    with pytest.raises(Error, match=r"no product 'motion' in .*, but motion/msd, motion/vacf"):
        results["motion"]
    with pytest.raises(Error, match=r"there are motion/msd, .*statistics_temperature$"):
        results["zzz"]
    with pytest.raises(Error, match=r"there is no folder .*: give the output folder of a run"):
        pillion.results(tmp_path / "nothing")
    (tmp_path / "empty").mkdir()
    with pytest.raises(Error, match="there are none yet"):
        pillion.results(tmp_path / "empty")["a/b"]


def test_a_tree(tmp_path):
    make_sample(tmp_path)
    results = pillion.results(tmp_path)
    tree = results.tree()
    assert {*tree.children} == {"motion", "speeds", "structure", "watch"}
    np.testing.assert_array_equal(tree["motion/msd/msd_O"], results["motion/msd"]["msd_O"])
    assert {*results.tree("motion").children} == {"msd", "vacf"}
    with pytest.raises(Error, match="no product 'motio'"):
        results.tree("motio")


def test_the_report(tmp_path):
    sample = make_sample(tmp_path)
    results = pillion.results(tmp_path)
    assert [a.name for a in results.report.analyses] == ["structure", "motion", "watch", "speeds"]
    add_attached_job(sample)
    assert results.report.analyses[-1].attached_job == "late"
    (tmp_path / "report.json").unlink()
    assert results.report is None and results.progress is None


def test_what_a_run_adds_is_seen(tmp_path):
    results = pillion.results(tmp_path)
    assert list(results) == []
    put(tmp_path, "a/profile", profile(0), step=0)
    first = results["a/profile"]
    put(tmp_path, "a/profile", profile(10), step=10)
    put(tmp_path, "b/halos", things(0, 2))
    assert list(results) == ["a/profile", "b/halos"]
    assert (first.sizes["step"], results["a/profile"].sizes["step"]) == (1, 2)
    put(tmp_path, "b/halos", things(1, 7))
    assert results["b/halos"].sizes["row"] == 7


def test_folders_are_listed_again_only_if_they_have_changed(tmp_path, monkeypatch):
    put(tmp_path, "a/profile", profile(0), step=0)
    now = [100.0]
    monkeypatch.setattr(listing, "monotonic", lambda: now[0])
    listed, scandir = [], os.scandir
    monkeypatch.setattr(os, "scandir", lambda p: listed.append(Path(p)) or scandir(p))
    results = pillion.results(tmp_path)
    assert list(results) == ["a/profile"]
    now[0] += 3  # the last time that it is listed: the time of change has stood for seconds
    listed.clear()
    assert all(list(results) == ["a/profile"] for _ in range(3))
    assert listed == [tmp_path, tmp_path / "a"]
    put(tmp_path, "a/more", profile(0))
    assert list(results) == ["a/more", "a/profile"]
    assert {*listed[2:]} == {tmp_path / "a"}
    listed.clear()
    assert len(results.refresh()) == 2 and listed == [tmp_path, tmp_path / "a"]


@pytest.mark.parametrize("ahead", [0, -3600, 3600])
def test_what_comes_within_one_tick_of_the_clock(tmp_path, ahead):
    """A folder's time of change may be the same before and after, if it was just now; by whatever
    clock the file system has.
    """
    put(tmp_path, "a/profile", profile(0), step=0)
    stamp = (tmp_path / "a").stat().st_mtime_ns + ahead * 10**9
    os.utime(tmp_path / "a", ns=(stamp, stamp))
    results = pillion.results(tmp_path)
    assert list(results) == ["a/profile"]
    put(tmp_path, "a/more", profile(0))
    os.utime(tmp_path / "a", ns=(stamp, stamp))
    assert list(results) == ["a/more", "a/profile"]


def test_five_thousand_steps(tmp_path, opened):
    """One head of each product is enough to list it, two tables to open it."""
    text = put(tmp_path, "a/profile", profile(0), step=0).read_text()
    for name in ("profile", "other"):
        for step in range(2500):
            (tmp_path / f"a/{name}.{step:09}.csv").write_text(text)
    opened.clear()
    results = pillion.results(tmp_path)
    assert list(results) == ["a/other", "a/profile"]
    assert [path for path in opened if path.endswith(".csv")] == []
    assert "step: 2500" in repr(results)
    assert [Path(p).name for p in opened if p.endswith(".csv")] == [
        "other.000002499.csv",
        "profile.000002499.csv",
    ]
    opened.clear()
    found = results["a/profile"]
    assert found.sizes["step"] == 2500
    found["density"].isel(step=slice(100, 103)).load()
    names = {Path(p).name for p in opened if p.endswith(".csv")}
    assert names == {f"profile.{step:09}.csv" for step in (0, 100, 101, 102, 2499)}


def overview_sample(folder):
    make_sample(folder)
    put(folder, "structure/halos", things(0, 4), step=0)
    put(folder, "structure/broken", profile(0)).write_text("# pillion: table 9\n")
    put_hdf5(folder, "ions", {0: 5, 10: 5})
    return pillion.results(folder)


def test_the_overview(tmp_path):
    lines = repr(overview_sample(tmp_path)).splitlines()
    assert lines[0] == f"Results in {tmp_path}: 8 products, the run has ended"
    shown = {line.split()[0]: " ".join(line.split()[1:]) for line in lines[1:]}
    assert shown["motion/msd"].startswith("(lag: 41) msd_Na [Å^2], msd_x_Na [Å^2], … step 1000")
    assert shown["speeds/histogram_velocity"].startswith(
        "(step: 11, bin) density [fs/Å], count step 0 … 1000"
    )
    assert shown["structure/halos"].startswith("(step: 1, row) mass [kg], x [m] step 0")
    assert "(step: 2, particle: 5, component3: 3) position [nm], id step 0 … 10" in shown["a/ions"]
    assert "!! " in shown["structure/broken"] and "found 'table 9'" in shown["structure/broken"]


def test_what_an_earlier_run_has_left(tmp_path):
    """The overview marks it, by when this run has begun, as its progress says or its report."""
    results = overview_sample(tmp_path)
    long_ago = time.time() - 7200
    os.utime(tmp_path / "motion/msd.csv", (long_ago, long_ago))
    for begun, said in ((3600, True), (10800, False)):
        progress(tmp_path, "ended", started=time.time() - begun)
        lines = {line.split()[0]: line for line in repr(results).splitlines()}
        assert lines["motion/msd"].endswith("2 h ago, before this run" if said else "2 h ago")
        assert "before this run" not in lines["motion/vacf"]
    (tmp_path / "progress.json").unlink()
    report = json.loads((tmp_path / "report.json").read_text())
    report["run"]["started"] = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(long_ago + 3600))
    (tmp_path / "report.json").write_text(json.dumps(report))
    assert "2 h ago, before this run" in repr(results)


@pytest.mark.parametrize("ahead", [-7200, 7200])
def test_what_a_run_with_another_clock_has_made_is_its_own(tmp_path, ahead):
    """Times of change are the file system's; the start of the run is on the clock of its node."""
    results = overview_sample(tmp_path)
    there = ahead + tmp_path.stat().st_mtime
    progress(tmp_path, "ended", started=there - 60, written=there)
    assert "before this run" not in repr(results)
    long_ago = time.time() - 3600
    os.utime(tmp_path / "motion/msd.csv", (long_ago, long_ago))
    assert repr(results).count("before this run") == 1


def test_the_overview_in_a_notebook(tmp_path):
    page = overview_sample(tmp_path)._repr_html_()
    assert page.count("<tr") == 1 + 8
    assert "Å<sup>2</sup>" in page and "found &#x27;table 9&#x27;" in page
    assert 'title="Mean squared displacement"' in page


def test_nothing_heavy_is_imported_before_it_is_used(tmp_path):
    make_sample(tmp_path)
    code = (
        f"import pillion, sys; r = pillion.results({str(tmp_path)!r}); list(r); "
        "heavy = {'xarray', 'h5py', 'pandas', 'matplotlib'}; "
        "assert not heavy & {*sys.modules}, heavy & {*sys.modules}; r['motion/msd']; "
        "assert not {'h5py', 'matplotlib'} & {*sys.modules}; print(type(r['motion/msd']))"
    )
    done = limits.run(
        [sys.executable, "-c", code],
        env={"PYTHONPATH": str(PACKAGE)},
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.returncode == 0, done.stderr
    assert "xarray" in done.stdout


def progress(folder, state, pid=None, role="simulation", started=1.0, written=None, **changes):
    """What a run says of itself, as far as it matters here."""
    said = {"pillion": "progress 1", "role": role, "attached_job": None, "run": "r", "id": "1"}
    said |= {"state": state, "failure": None, "started": started, "step": 40}
    said |= {"pid": pid or os.getpid(), "pid_started": -1, "written": written or time.time()}
    said |= {"changed": time.time(), "heartbeat_seconds": 2.0, "batch_job": None}
    said |= asdict(this_machine()) | changes
    said |= {"ranks": {"simulation": 1, "sidecar": 1}, "time": 4.0, "time_units": "s"}
    said |= {"steps_per_second": 3.0, "waiting": False, "working": None, "publications": 4}
    said |= {"skipped": 0, "behind": 0, "restarts": 0, "warnings": [], "analyses": []}
    said |= {"memory": {"budget_bytes": None, "in_use_bytes": None, "peak_bytes": None}}
    name = "progress.json" if role == "simulation" else f"progress-{role}.json"
    aside = folder / ".aside"
    aside.write_text(json.dumps(said))
    aside.replace(folder / name)


def test_progress(tmp_path):
    progress(tmp_path, "running")
    results = pillion.results(tmp_path)
    assert results.progress.simulation.step == 40 and not results.has_ended
    assert "the run is active, step 40" in repr(results)
    progress(tmp_path, "ended")
    progress(tmp_path, "running", role="sidecars")
    assert not results.has_ended, "sidecars may still write"
    progress(tmp_path, "ended", role="sidecars")
    assert results.has_ended and "the run ended, step 40" in repr(results)
    done = limits.run(["true"], check=True)
    assert done.returncode == 0
    progress(tmp_path, "running", pid=2**22 - 1)
    assert results.has_ended and "ended without a word" in repr(results)


def test_progress_of_a_run_on_another_node(tmp_path, monkeypatch):
    """It ends without a word, and is known to have ended when its file has not changed for long."""
    now = [0.0]
    eye = liveness.Observer(lambda: now[0], lambda s: now.__setitem__(0, now[0] + s))
    monkeypatch.setattr(liveness, "observer", eye)
    progress(tmp_path, "running", host="n0", written=500.0)
    results = pillion.results(tmp_path)
    assert "no sign of life yet, step 40" in repr(results) and now[0] == 0
    progress(tmp_path, "running", host="n0", written=502.0)
    assert not results.has_ended and now[0] == 0
    assert "the run is active, step 40" in repr(results)
    now[0] += 16
    assert results.has_ended and now[0] == 16
    assert "ended without a word" in repr(results)
    assert list(results.follow("a/profile")) == []


def test_following(tmp_path):
    """From before the first step to after the last, none missed at the end."""
    progress(tmp_path, "running")

    def run():
        for step in range(0, 50, 10):
            put(tmp_path, "a/profile", profile(step), step=step)
            time.sleep(0.05)
        progress(tmp_path, "ended")

    thread = threading.Thread(target=run)
    thread.start()
    seen = [d.sizes["step"] for d in pillion.results(tmp_path).follow("a/profile", every=0.01)]
    thread.join()
    assert seen == sorted(set(seen)) and seen[-1] == 5 and len(seen) > 1


def test_what_changes_while_it_is_read_is_seen_once(tmp_path):
    progress(tmp_path, "running")
    put(tmp_path, "a/profile", profile(0), step=0)

    class Overtaken(type(pillion.results(tmp_path))):
        reads = 0

        def open(self, key):
            self.reads += 1
            if self.reads == 1:
                put(tmp_path, "a/profile", profile(10), step=10)
                progress(tmp_path, "ended")
            return super().open(key)

    seen = [d.sizes["step"] for d in Overtaken(tmp_path).follow("a/profile", every=0.01, at_most=5)]
    assert seen == [2]


def test_following_what_does_not_come(tmp_path):
    progress(tmp_path, "running")
    begun = time.monotonic()
    assert list(pillion.results(tmp_path).follow("a/profile", at_most=0.2)) == []
    assert time.monotonic() - begun >= 0.2
    progress(tmp_path, "ended")
    assert list(pillion.results(tmp_path).follow("a/profile")) == []


ONE, TWO = "00000000000000a1", "00000000000000b2"


def mark(folder, run, *, folders=(), continues=()):
    """What a run writes into its output folder before its first step."""
    lines = ["# whose it is", "pillion: run 1", f"id: {run}", "started: 2026-11-23T04:00:00Z"]
    lines += [f"continues: {r}" for r in continues] + [f"folder: {f}" for f in folders]
    (folder / ".pillion-run").write_text("\n".join([*lines, "a line that is cut off: "]))


def test_steps_of_another_run_are_left_out(tmp_path):
    """Of a folder into which somebody copied files of two runs, and whose steps lie between."""
    for step in (0, 4, 8):
        put(tmp_path, "a/profile", profile(step), step=step, run=TWO)
    for step in (2, 6):
        put(tmp_path, "a/profile", profile(step), step=step, run=ONE)
    put(tmp_path, "a/other", profile(0), run=ONE)
    put(tmp_path, "a/nobodys", profile(0))
    results = pillion.results(tmp_path)
    assert results.owner is None and results["a/profile"].sizes["step"] == 5
    mark(tmp_path, TWO)
    assert results.owner.id == TWO
    with pytest.warns(UserWarning, match=f"2 steps of a/profile .* of other runs than {TWO}"):
        assert results["a/profile"]["step"].values.tolist() == [0, 4, 8]
    with pytest.warns(UserWarning, match=f"a/other in .* is of run {ONE}, not of run {TWO}"):
        assert results["a/other"].attrs["run"] == ONE
    lines = {line.split()[0]: line for line in repr(results).splitlines()[1:]}
    assert lines["a/other"].endswith(f", of run {ONE}")
    assert "of run" not in lines["a/profile"] + lines["a/nobodys"]
    mark(tmp_path, TWO, continues=[ONE])
    assert results["a/profile"].sizes["step"] == 5
    assert "of run" not in repr(results)


def test_a_folder_that_is_one_runs_is_believed(tmp_path, opened):
    """Heads of two steps are looked at, however many there are."""
    text = put(tmp_path, "a/profile", profile(0), step=0, run=ONE).read_text()
    for step in range(50):
        (tmp_path / f"a/profile.{step:09}.csv").write_text(text)
    mark(tmp_path, ONE, folders=["a"])
    opened.clear()
    assert pillion.results(tmp_path)["a/profile"].sizes["step"] == 50
    assert len({path for path in opened if path.endswith(".csv")}) == 2


def test_a_run_owns_what_it_continues_whatever_its_clock(tmp_path):
    """It resumed on a node whose clock is behind that of the first run's."""
    mark(tmp_path, TWO, continues=[ONE])
    said = {"run": {"id": ONE, "continues": [], "started": "2026-11-23T09:00:00Z"}}
    (tmp_path / "report.json").write_text(json.dumps(said))
    assert pillion.results(tmp_path).owner.id == TWO


@pytest.mark.parametrize("newest", ["report.json", "progress.json"])
def test_whose_a_copy_without_marker_is(tmp_path, newest):
    """Of what names a run the newest counts: the marker may be that of a run before."""
    mark(tmp_path, ONE)
    later = {"report.json": "2026-11-23T05:00:00Z", "progress.json": 1795410000.0}[newest]
    said = {"id": TWO, "continues": [], "started": later}
    (tmp_path / newest).write_text(json.dumps({"run": said} if "report" in newest else said))
    assert pillion.results(tmp_path).owner.id == TWO
    (tmp_path / newest).write_text("broken")
    assert pillion.results(tmp_path).owner.id == ONE
