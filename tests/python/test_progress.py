# SPDX-License-Identifier: BSD-3-Clause
"""Reading what runs say of themselves."""

import pytest
from pillion.errors import Error
from pillion.progress import read_parts, read_progress
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
    for heartbeat in (0, -1, 1e300, "often", None):
        with pytest.raises(Error, match="wrong kind"):
            read_progress(write(tmp_path, progress(heartbeat_seconds=heartbeat)))
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


def test_a_run_lasts_as_long_as_the_clock_of_its_head_says(tmp_path):
    """Sidecars on another node may have a clock that is an hour ahead."""
    write(tmp_path, progress(state="ended", started=1000.0, written=1010.0))
    write(tmp_path, sidecars(state="ended", written=1015.0))
    assert read_parts(tmp_path).seconds == 15.0
    write(tmp_path, sidecars(state="ended", host="elsewhere", written=4615.0))
    assert read_parts(tmp_path).seconds == 10.0


def test_sidecars_alone_are_a_run_too(tmp_path):
    write(tmp_path, sidecars(started=2000.0, id="new"))
    write(tmp_path, progress("attached_job", attached_job="old", id="old"))
    assert read_parts(tmp_path).sidecars.id == "new"
