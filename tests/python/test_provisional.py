# SPDX-License-Identifier: BSD-3-Clause
"""A report that sidecars were to complete, and did not: the products say what became of
publications, and a run that has lost everything has not ended well."""

import json

import pytest
from pillion.launch.ending import faults
from pillion.report.run import read_run
from progress_sample import sidecars, write
from sample import make_sample


def provisional(folder, **facts):
    """All analyses have published 30; in the tables of the sample are 21."""
    sample = make_sample(folder)
    for analysis in sample.analyses:
        analysis |= {"publications": 27, "lost": 3}
    report = sample.report()
    report["run"] |= {"provisional": True, "id": "00ab"} | facts
    (folder / "report.json").write_text(json.dumps(report))
    return sample


def counts(run) -> dict[str, tuple[int, int]]:
    return {a.name: (a.publications, a.lost) for a in run.analyses}


def test_lost_publications_are_counted_from_the_products(tmp_path):
    sample = provisional(tmp_path)
    run = read_run(tmp_path)
    for analysis in run.analyses:
        has_series = any(
            path.parent.name == analysis.name and path.suffixes == [".csv"]
            for path in tmp_path.rglob("*.csv")
        )
        inside = analysis.placement == "simulation"
        expected = (21, 9) if has_series and not inside else (27, 3)
        assert (analysis.publications, analysis.lost) == expected, analysis.name
    assert (21, 9) in counts(run).values() and (27, 3) in counts(run).values()
    assert any("counted from the products" in text for text in run.warnings)
    sample.write()  # a report that is complete stays as it is
    assert set(counts(read_run(tmp_path)).values()) == {(27, 3)}


def test_a_table_with_more_than_was_published_changes_nothing(tmp_path):
    provisional(tmp_path)
    for path in tmp_path.rglob("*.csv"):
        path.write_text(path.read_text().replace("# publications: 21", "# publications: 40   "))
    assert set(counts(read_run(tmp_path)).values()) <= {(30, 0), (27, 3)}


@pytest.mark.parametrize("live", [True, False])
def test_it_says_whether_sidecars_are_still_at_work(live, tmp_path, monkeypatch):
    from pillion.progress import State
    from pillion.report import completion

    provisional(tmp_path)
    write(tmp_path, sidecars([], id="00ab"))
    monkeypatch.setattr(completion, "state_of", lambda _: State.RUNNING if live else State.GONE)
    assert live == any("still at work" in text for text in read_run(tmp_path).warnings)


def test_lost_publications_are_faults(tmp_path):
    sample = make_sample(tmp_path)
    run = read_run(tmp_path)
    assert faults(run, None) == []
    sample.analyses[0] |= {"publications": 0, "lost": 9, "dropped": 2}
    sample.analyses[1] |= {"publications": 1, "lost": 20}
    sample.write()
    first, second = faults(read_run(tmp_path), None)
    assert first == f"analysis {sample.analyses[0]['name']} has lost all of its 11 publications"
    assert second == f"analysis {sample.analyses[1]['name']} has lost 20 publications"
