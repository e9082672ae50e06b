# SPDX-License-Identifier: BSD-3-Clause
"""The page of a run with sidecars on the node: what befell publications, which way they went, and
what attached jobs added.
"""

import json
import re

import pytest
from pillion import make_report
from sample import add_attached_job, make_sample
from test_report import Page


@pytest.fixture
def sample(tmp_path):
    return make_sample(tmp_path)


def page_of(folder, problems=()):
    made = make_report(folder)
    assert made.problems == list(problems)
    return Page(made.path.read_text(encoding="utf-8"))


def cells(page_text: str, name: str) -> list[str]:
    """Cells of a row of the table of costs, by analysis."""
    row = re.search(rf'<th scope="row">{name}<.*?</tr>', page_text, re.DOTALL)
    assert row, f"there is no row '{name}'"
    found = re.findall(r"<td>(.*?)</td>", row[0], re.DOTALL)
    return [re.sub(r"<.*?>", "", cell) for cell in found]


def test_what_befell_publications(sample):
    for number, word in enumerate(("coarsened", "spilled", "dropped", "lost"), start=1):
        sample.analyses[1][word] = 10 * number
    sample.write()
    text = make_report(sample.folder).path.read_text(encoding="utf-8")
    for number, word in enumerate(("coarsened", "spilled", "dropped", "lost"), start=1):
        assert cells(text, word) == ["0", str(10 * number), "0", "0"]


def test_what_befell_none_has_no_row(sample):
    text = make_report(sample.folder).path.read_text(encoding="utf-8")
    assert cells(text, "skipped") == ["0", "2", "0", "0"]
    for word in ("coarsened", "spilled", "dropped", "lost"):
        assert f">{word}<" not in text


@pytest.mark.parametrize(
    ("changes", "shown"),
    [
        ({}, ["simulation + sidecar", "through the network"]),
        ({"transport": "node"}, ["simulation + sidecar", "through the memory of the nodes"]),
        (
            {"transport": "node", "job": "separate", "restarts": 1},
            ["sidecar, in a job of their own, restarted 1 time", "memory of the nodes"],
        ),
        (
            {"transport": "node", "job": "separate", "restarts": 3},
            ["in a job of their own, restarted 3 times"],
        ),
    ],
)
def test_where_sidecars_were(sample, changes, shown):
    sample.write(sidecars=sample.report()["sidecars"] | changes)
    page = page_of(sample.folder)
    for text in shown:
        assert text in page.text
    assert ("restarted" in page.text) == ("restarts" in changes)


def test_memory_is_told_when_sidecars_were_gone_at_the_end(sample):
    sample.write(sidecars=sample.report()["sidecars"] | {"ranks": 0, "transport": "node"})
    assert "at most 1.177 MiB" in page_of(sample.folder).text


def test_gaps_stand_beside_a_table(sample):
    path = sample.folder / "motion/msd.csv"
    text = path.read_text(encoding="utf-8")
    text = text.replace("# skipped: 0", "# skipped: 7").replace("# coarsened: 0", "# coarsened: 8")
    path.write_text(text.replace("# lost: 0", "# lost: 9"), encoding="utf-8")
    text = page_of(sample.folder).text
    assert "21 publications, 7 skipped, 8 coarsened, 9 lost · motion/msd.csv" in text
    assert "21 publications · motion/vacf.csv" in text


def test_a_attached_job(sample):
    add_attached_job(sample)
    made = make_report(sample.folder)
    assert made.problems == []
    text = made.path.read_text(encoding="utf-8")
    page = Page(text)
    assert "Attached job late" in page.text
    assert "Joined with 2 ranks" in page.text
    assert "hydrogen: # <bonds>" in page.text
    assert "Hydrogen bonds" in page.text
    assert "2 warnings" in page.text, "what both reports say is told once"
    assert page.text.count("joined after step 500") == 1
    assert [label.startswith("timeline") for label in page.labels].count(True) == 4
    ids = [a["id"] for _, a in page.tags if "id" in a]
    assert len(ids) == len(set(ids))
    # What it did is in its own report, what it cost the simulation in that of the run.
    assert cells(text, "placement")[-1] == "sidecar, brought by attached job late"
    assert cells(text, "publications")[-1] == "31"
    assert cells(text, "lost")[-1] == "2"
    assert cells(text, "time in the sidecars")[-1] == "600 ms (750 ms)"
    assert cells(text, "time in the simulation")[-1] == "41.2 ms (61.8 ms)"
    assert cells(text, "if run synchronously")[-1].startswith("410 ms")  # 0.01 + 0.6 * 2 / 3


def test_several_attached_jobs(sample):
    add_attached_job(sample, "one")
    second = add_attached_job(sample, "two")
    second["analyses"][0]["name"] = "other"
    (sample.folder / "report-two.json").write_text(json.dumps(second), encoding="utf-8")
    text = page_of(sample.folder).text
    assert text.index("Attached job one") < text.index("Attached job two")


def test_a_attached_job_of_an_earlier_run_is_left_out(sample):
    add_attached_job(sample, "old", started="2026-11-20T08:00:00Z")
    assert "Attached job old" not in page_of(sample.folder).text


def test_a_broken_report_of_a_attached_job_does_not_hide_the_run(sample):
    (sample.folder / "report-late.json").write_text("{")
    made = make_report(sample.folder)
    assert ["report-late.json is not JSON" in problem for problem in made.problems] == [True]
    assert "Diffusion coefficients" in Page(made.path.read_text(encoding="utf-8")).text
