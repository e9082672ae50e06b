# SPDX-License-Identifier: BSD-3-Clause
"""Timelines made fit for a picture: nothing of any length is lost by joining spans."""

import itertools
import json

import numpy as np
import pytest
from pillion import Error
from pillion.report.timeline import (
    BINS,
    Span,
    Strip,
    close_up,
    merge,
    merged,
    read_timeline,
    shares,
    timeline_files,
    whole,
)
from sample import make_sample


@pytest.fixture
def sample(tmp_path):
    return make_sample(tmp_path)


def test_ranks_in_order(sample):
    strips = read_timeline(timeline_files(sample.folder).paths)
    assert [s.label for s in strips] == [
        "simulation 0",
        "simulation 1",
        "simulation 2",
        "sidecar 0",
    ]
    assert len(strips[0].spans) == 21
    assert len(strips[3].spans) == 63
    assert {s.kind for s in strips[0].spans} == {"publish"}
    assert {s.kind for s in strips[3].spans} == {"structure", "motion", "speeds"}


def test_whole_run_ends_with_the_last_event(sample):
    window = whole(read_timeline(timeline_files(sample.folder).paths))
    assert window.begin == 0
    assert window.end == pytest.approx(12.0 + 0.002 + 2 * 0.095 + 0.09)


def test_close_up_shows_three_publications(sample):
    window = close_up(read_timeline(timeline_files(sample.folder).paths))
    assert window.end - window.begin == pytest.approx(3 * 0.6)
    assert len(window.strips[0].spans) == 3


def test_merging_keeps_what_is_covered():
    rng = np.random.default_rng(3)
    begins = rng.uniform(0, 10, 400)
    spans = [Span("a" if i % 2 else "b", t, t + 0.01) for i, t in enumerate(begins)]
    points = np.linspace(0, 10.1, 5001)
    for kind in "ab":
        mine = [s for s in spans if s.kind == kind]
        joined = [s for s in merged(spans, 0.02) if s.kind == kind]
        assert all(b.begin - a.end > 0.02 for a, b in itertools.pairwise(joined))
        inside = [any(s.begin <= p <= s.end for s in joined) for p in points]
        near = [min(max(s.begin - p, p - s.end) for s in mine) for p in points]
        assert all(i or n > 0 for i, n in zip(inside, near, strict=True))
        assert all(n <= 0.01 or not i for i, n in zip(inside, near, strict=True))


def test_shares_add_up_to_what_spans_last():
    rng = np.random.default_rng(5)
    begins = np.sort(rng.uniform(0, 9.9, 3000))
    spans = [Span("ab"[i % 2], t, t + rng.uniform(0, 0.03) ** 2) for i, t in enumerate(begins)]
    strip = Strip("rank 0", spans)
    window = whole([strip])
    assert window.crowded
    for kind in "ab":
        lasted = sum(s.end - s.begin for s in spans if s.kind == kind)
        width = (window.end - window.begin) / BINS
        assert shares(window, strip, kind).sum() * width == pytest.approx(lasted, rel=1e-9)
    middle = shares(window, strip, "a")[BINS // 2]
    low, high = window.end * (BINS // 2) / BINS, window.end * (BINS // 2 + 1) / BINS
    inside = [max(0, min(s.end, high) - max(s.begin, low)) for s in spans if s.kind == "a"]
    assert middle == pytest.approx(sum(inside) / (high - low), rel=1e-9)


def test_few_spans_are_not_crowded(sample):
    assert not whole(read_timeline(timeline_files(sample.folder).paths)).crowded


def test_no_event_is_no_picture(tmp_path):
    path = tmp_path / "timeline.json"
    path.write_text('{"traceEvents": []}')
    assert whole(read_timeline([path])) is None
    assert close_up(read_timeline([path])) is None


def test_sums_of_events_count_with_their_share(tmp_path):
    """After its first events a rank sums up: 0.5 s of work in 2 s."""
    event = {"ph": "X", "name": "fft", "cat": "analysis", "pid": 1, "tid": 0, "ts": 1e6, "dur": 2e6}
    event["args"] = {"step": 7, "events": 12, "seconds": 0.5}
    path = tmp_path / "simulation-000000.json"
    path.write_text(json.dumps({"traceEvents": [event]}))
    strips = read_timeline([path])
    assert strips[0].busy == pytest.approx(0.5)
    window = whole(strips)
    assert window.crowded
    assert shares(window, strips[0], "fft").max() == pytest.approx(0.25)


def test_nodes_are_found_in_order_and_other_runs_left_out(tmp_path):
    place = tmp_path / "timeline"
    place.mkdir()
    for rank, run in ((0, "aa"), (64, "aa"), (128, "bb"), (1000000, "aa")):
        head = f'{{"displayTimeUnit":"ms","otherData":{{"run":"{run}"}},"traceEvents":[\n'
        (place / f"simulation-{rank:06}.json").write_text(head + "]}\n")
    found = timeline_files(tmp_path, "aa")
    assert [path.stem for path in found.paths] == [
        "simulation-000000",
        "simulation-000064",
        "simulation-1000000",
    ]
    with pytest.raises(Error, match="no timeline of this run"):
        timeline_files(tmp_path, "cc")


def test_of_many_nodes_some_are_read(tmp_path, monkeypatch):
    monkeypatch.setattr("pillion.report.timeline.MOST_BYTES", 5000)
    place = tmp_path / "timeline"
    place.mkdir()
    for rank in range(100):
        (place / f"simulation-{rank:06}.json").write_text('{"traceEvents": []}' + " " * 982)
    found = timeline_files(tmp_path)
    assert found.nodes == 100
    assert 2 <= len(found.paths) <= 5


def test_merged_timelines_are_one_trace(sample):
    files = timeline_files(sample.folder)
    merge(files.paths, sample.folder / "all.json")
    assert read_timeline([sample.folder / "all.json"]) == read_timeline(files.paths)


@pytest.mark.parametrize("text", ["", "[", '{"events": []}', json.dumps({"traceEvents": [{}]})])
def test_broken(tmp_path, text):
    path = tmp_path / "timeline.json"
    path.write_text(text)
    with pytest.raises(Error, match=r"timeline\.json is not a timeline"):
        read_timeline([path])


def test_kinds_of_work_all_look_different():
    from pillion.report.draw import KIND_COLOURS, looks_of

    kinds = [*KIND_COLOURS, *(f"analysis {n}" for n in range(12))]
    looks = looks_of(kinds)
    assert list(looks) == kinds
    assert len({(look["facecolor"], look.get("hatch")) for look in looks.values()}) == len(kinds)


def test_shares_of_simulation_ranks_are_of_their_own_time():
    """Sidecars may work on after the simulation has ended."""
    strips = [
        Strip("simulation 0", [Span("publish", 0.0, 1.0), Span("stall", 3.0, 4.0)]),
        Strip("sidecar 0", [Span("a", 0.0, 10.0)]),
    ]
    window = whole(strips, 5.0)
    assert (window.begin, window.end) == (0.0, 10.0)
    assert [window.share(strip) for strip in window.strips] == [0.4, 1.0]
    assert whole(strips[:1], 8.0).end == 8.0  # a run that ends after its last event
