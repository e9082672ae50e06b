# SPDX-License-Identifier: BSD-3-Clause
"""The page of a run: it is whole by itself, and everything that a run says is on it."""

import html
import json
import os
import re
import shutil
from base64 import b64decode
from html.parser import HTMLParser
from xml.etree import ElementTree

import progress_sample
import pytest
from pillion import Error, make_report, units
from pillion.report.page import write_whole
from pillion.tables import read_table
from sample import make_sample


@pytest.fixture
def sample(tmp_path):
    return make_sample(tmp_path)


VOID = {"meta", "link", "br", "img", "input", "hr"}


class Page(HTMLParser):
    """Tags with their attributes, text per line, and whether tags close as they open."""

    def __init__(self, text):
        super().__init__()
        self.tags, self.texts, self.open = [], [], []
        self.feed(text)
        self.close()
        assert not self.open, f"not closed: {self.open}"

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.texts.append(data)

    @property
    def text(self):
        return " ".join("".join(self.texts).split())

    @property
    def labels(self):
        return [a["aria-label"] for tag, a in self.tags if tag == "svg"]


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """A run with its page, for tests that only look."""
    return make_sample(tmp_path_factory.mktemp("whole"))


@pytest.fixture(scope="module")
def page(whole):
    made = make_report(whole.folder)
    assert made.problems == []
    assert made.path == whole.folder / "report.html"
    return Page(made.path.read_text(encoding="utf-8"))


def test_loads_nothing(page):
    loading = {"script", "link", "img", "iframe", "object", "embed", "audio", "video", "source"}
    assert not loading & {tag for tag, _ in page.tags}
    for tag, attributes in page.tags:
        for name, value in attributes.items():
            if name in {"href", "src", "xlink:href", "data", "action", "srcset"}:
                assert value.startswith("#"), f"<{tag} {name}={value}>"
            assert "url(" not in (value or "") or "url(#" in value
    style = "".join(page.texts)
    assert "@import" not in style
    assert "url(http" not in style


def test_ids_are_unique_and_references_hold(page):
    ids = [a["id"] for _, a in page.tags if "id" in a]
    assert len(ids) == len(set(ids))
    used = {a["xlink:href"][1:] for _, a in page.tags if "xlink:href" in a}
    used |= {
        m for _, a in page.tags for v in a.values() for m in re.findall(r"url\(#(.*?)\)", v or "")
    }
    assert used
    assert used <= set(ids)


def test_plots_are_well_formed_and_have_their_curves(whole, page):
    text = (whole.folder / "report.html").read_text(encoding="utf-8")
    for number, svg in enumerate(re.findall(r"<svg.*?</svg>", text, flags=re.DOTALL)):
        root = ElementTree.fromstring(svg)
        curves = root.get("aria-label").split(": ")[1].split(", ")
        groups = [g.get("id") for g in root.iter("{http://www.w3.org/2000/svg}g") if g.get("id")]
        if not root.get("aria-label").startswith("timeline"):
            drawn = [g for g in groups if re.search(r"-curve-\d+$", g)]
            assert len(drawn) == len(curves), f"plot {number}"


def test_every_curve_is_there(whole, page):
    named = {name for label in page.labels for name in re.split(": |, ", label)}
    for path in ("structure/rdf.csv", "motion/msd.csv", "motion/vacf.csv"):
        columns = list(read_table(whole.folder / path).columns)[1:]
        assert set(columns) - {"lag_steps"} <= named
    assert {"min", "max", "mean", "standard_deviation", "rms"} <= named
    assert {f"density at step {step}" for step in range(0, 1001, 200)} <= named


def test_diffusion_coefficients(page):
    assert "0.131" in page.text  # 1.31e-05 Å²/fs in 1e-9 m²/s
    assert "0.202" in page.text
    assert "0.247" in page.text
    assert page.text.count("slope of the mean squared displacement") == 3
    assert page.text.count("integral of the velocity autocorrelation") == 3


def test_every_cost_is_there(whole, page):
    titles = " ".join(a["title"] for _, a in page.tags if "title" in a)
    for analysis in whole.analyses:
        seconds = analysis["seconds"]
        for kind in ("simulation", "sidecar", "stall"):
            if seconds[kind]["max"] > 0:
                assert f"mean {seconds[kind]['mean']}, max {seconds[kind]['max']} s" in titles
        assert f"{seconds['synchronous_estimate']} s" in titles
        assert f"{analysis['bytes_moved']} bytes" in titles
        assert analysis["name"] in page.text
    for shown in ("41.2 ms (61.8 ms)", "3.21 s (4.01 s)", "12.3 ms (45.6 ms)", "1.19 s (9.67 %)"):
        assert shown in page.text
    assert "0.335 %" in page.text  # 0.0412 s of 12.3 s
    assert "0.169 %" in page.text  # 0.0187 s and 0.0021 s of stall
    assert "magnitude → histogram" in page.text
    assert "hybrid" in page.text


def test_waiting_and_thinning_have_lines_where_there_were_any(page, sample):
    assert "waiting for others" not in page.text and "thinned" not in page.text
    sample.analyses[0]["seconds"]["sidecar_waiting"] = {"mean": 0.0191, "max": 0.0222}
    sample.analyses[0]["thinned"] = 17
    sample.write()
    text = make_report(sample.folder).path.read_text(encoding="utf-8")
    assert text.count("waiting for others") == 1 and "19.1 ms (22.2 ms)" in text
    assert re.search(r"thinned.*<td>17</td>", text)


def test_total_share(page):
    total = 0.0412 + 0.0353 + 0.00345 + 0.0187 + 0.0021
    assert f"took {100 * total / 12.3:.3g} % of the simulation" in page.text


def test_memory(page):
    assert "at most 1.177 MiB of a simulation rank’s share of 85.33 MiB (1.38 %)" in page.text
    assert "the budget is 256 MiB per node, and when it is full: skip" in page.text


def test_configuration_and_version(page):
    assert "# <structure> & more" in page.text
    assert "Pillion 0.1.0" in page.text


def test_warnings_are_prominent(sample):
    sample.warnings.append("2 publications were <skipped>")
    sample.analyses[0]["disabled"] = "rdf: no atoms at all"
    sample.write(products=[p for p in sample.products if p["stage"] == "msd"])
    page = Page(make_report(sample.folder).path.read_text(encoding="utf-8"))
    assert "2 warnings" in page.text
    assert "2 publications were <skipped>" in page.text
    assert "analysis structure was disabled: rdf: no atoms at all" in page.text
    assert page.text.index("2 warnings") < page.text.index("Diffusion coefficients")


def test_no_warning_no_section(page):
    assert not re.search(r"\d warnings?\b", page.text)


def test_a_broken_table_does_not_hide_the_others(sample):
    (sample.folder / "motion/msd.csv").write_text("# pillion: table 1\n")
    (sample.folder / "motion/vacf.csv").unlink()
    made = make_report(sample.folder)
    assert len(made.problems) == 2
    page = Page(made.path.read_text(encoding="utf-8"))
    assert "2 warnings" in page.text
    assert "msd.csv has a head without columns" in page.text
    assert "g(r) over r: g_ion_O, g_O_O" in page.labels


def test_a_file_per_step_is_one_product(sample, page):
    assert page.text.count("Distribution of velocity") == 1
    assert "11 steps from 0 to 1000" in page.text
    stray = sample.folder / "speeds/histogram_velocity.000002000.csv"
    stray.write_text("of an earlier, longer run")
    sample.write(products=[p for p in sample.products if p["analysis"] == "speeds"])
    made = make_report(sample.folder)
    assert made.problems == []
    (sample.folder / "speeds/histogram_velocity.000001000.csv").unlink()
    assert "there is no such file" in make_report(sample.folder).problems[0]


PICTURE = b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8BQDwAEhQGAhKmMIQAAAABJRU5ErkJggg=="
)


def add_files(sample, title, *names):
    folder = sample.folder / "pictures"
    folder.mkdir(exist_ok=True)
    for name in names:
        (folder / name).write_bytes(PICTURE)
    entry = {"analysis": "pictures", "stage": "python", "path": f"pictures/{names[-1]}"}
    sample.products.append(entry | {"title": title})
    sample.write()


def test_pictures_are_shown_and_other_files_named(sample):
    add_files(sample, "Density <map>", *[f"map.{step:09}.png" for step in (0, 10, 20, 30, 40)])
    add_files(sample, "All of it", "whole.idx")
    stray = sample.folder / "pictures/map.000000050.png"
    stray.write_text("of an earlier, longer run")
    made = make_report(sample.folder)
    assert made.problems == []
    page = Page(made.path.read_text(encoding="utf-8"))
    shown = [a for tag, a in page.tags if tag == "img"]
    assert [a["alt"] for a in shown] == [f"map.{step:09}.png" for step in (0, 20, 40)]
    assert {b64decode(a["src"].removeprefix("data:image/png;base64,")) for a in shown} == {PICTURE}
    assert "Density <map>" in page.text
    assert "stage python · 5 steps · pictures/map.000000040.png" in page.text
    assert f"pictures/whole.idx, {units.size(len(PICTURE))}" in page.text


def test_a_file_that_is_gone_is_told(sample):
    add_files(sample, "Map", "map.png")
    (sample.folder / "pictures/map.png").unlink()
    assert ["map.png: there is no such file" in p for p in make_report(sample.folder).problems] == [
        True
    ]


def test_a_missing_timeline_is_told(sample):
    shutil.rmtree(sample.folder / "timeline")
    sample.write(products=[])
    made = make_report(sample.folder)
    assert ["holds no timeline" in problem for problem in made.problems] == [True]


@pytest.mark.parametrize("state", ["active", "killed", "failed", "ended"])
def test_a_run_without_a_report_has_a_page(sample, state):
    """Of its progress, and of the products that it has written so far."""
    (sample.folder / "report.json").unlink()
    shutil.rmtree(sample.folder / "timeline")
    table = "structure/rdf.csv"
    structure = progress_sample.analysis(
        "structure", products=[table, "structure/not_yet.csv"], skipped=7
    )
    changes = {
        "active": {},
        "killed": {"pid_started": 1},
        "failed": {"state": "failed", "failure": "no more memory"},
        "ended": {"state": "ended"},
    }[state]
    progress_sample.write(sample.folder, progress_sample.progress(analyses=[structure], **changes))
    theirs = progress_sample.analysis(
        "structure", seconds={"simulation": 0, "sidecar": 1.5, "stall": 0}
    )
    progress_sample.write(sample.folder, progress_sample.sidecars(analyses=[theirs], **changes))
    made = make_report(sample.folder)
    assert made.problems == []
    page = made.path.read_text()
    said = {
        "active": "the run is active",
        "killed": "killed, crashed or ran out of time",
        "failed": "ended early: no more memory",
        "ended": "ended, but wrote no report",
    }
    assert said[state] in html.unescape(page)
    assert "Radial distribution functions" in page
    assert "last step" in page and "structure" in page
    assert "rdf: {pairs" in page  # the table tells the configuration


def test_a_report_of_an_earlier_run_does_not_hide_the_active_one(sample):
    progress_sample.write(sample.folder, progress_sample.progress(started=4e9))
    assert "the run is active" in make_report(sample.folder).path.read_text()
    progress_sample.write(
        sample.folder, progress_sample.progress(started=1000.0)
    )  # an older one does not count
    assert "the run is active" not in make_report(sample.folder).path.read_text()


def test_a_product_outside_the_folder_is_refused(sample):
    sample.write(products=[sample.products[0] | {"path": "../secret.csv"}])
    assert "outside the output folder" in make_report(sample.folder).problems[0]


def test_a_run_without_products_or_analyses(sample):
    sample.write(products=[], analyses=[])
    page = Page(make_report(sample.folder).path.read_text(encoding="utf-8"))
    assert "Diffusion" not in page.text
    assert "12.3 s" in page.text


def test_no_report(tmp_path):
    with pytest.raises(Error, match="when the session closes"):
        make_report(tmp_path)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{", "not JSON"),
        ("[]", "not a run report"),
        ('{"pillion": "report 2"}', "found 'report 2'"),
        ('{"pillion": "report 1", "run": {}, "version": "1"}', "lacks the entry"),
    ],
)
def test_broken_report(tmp_path, text, message):
    (tmp_path / "report.json").write_text(text)
    with pytest.raises(Error, match=message):
        make_report(tmp_path)
    assert not (tmp_path / "report.html").exists()


def test_an_entry_that_is_missing_is_named(sample):
    del sample.analyses[1]["seconds"]["stall"]
    sample.write()
    with pytest.raises(Error, match="lacks the entry 'stall'"):
        make_report(sample.folder)


def test_a_link_that_lies_where_the_page_is_written_aside_is_not_followed(tmp_path):
    precious, page = tmp_path / "precious", tmp_path / "report.html"
    precious.write_text("precious")
    (tmp_path / f".report.html.{os.getpid()}").symlink_to(precious)
    write_whole(page, "page")
    assert (precious.read_text(), page.read_text()) == ("precious", "page")
    assert not page.is_symlink() and sorted(tmp_path.iterdir()) == [precious, page]


def test_tables_of_another_run_are_not_in_the_report(tmp_path):
    """What somebody copied into the folder: some steps, and a table over the whole run."""
    make_sample(tmp_path)
    facts = json.loads((tmp_path / "report.json").read_text())
    facts["run"] |= {"id": "00a1", "continues": ["00a0"]}
    (tmp_path / "report.json").write_text(json.dumps(facts))

    def rename(path, run):
        path.write_text(path.read_text().replace("\n", f'\n# run: "{run}"\n', 1))

    rename(tmp_path / "motion/msd.csv", "00b2")
    rename(tmp_path / "motion/vacf.csv", "00a0")
    for step in (100, 200):
        rename(tmp_path / f"speeds/histogram_velocity.{step:09}.csv", "00b2")
    made = make_report(tmp_path)
    assert made.problems == [
        f"{tmp_path}/motion/msd.csv is of run 00b2, not of run 00a1 that is reported"
    ]
    page = made.path.read_text()
    assert "9 steps from 0 to 1000" in page and "Velocity autocorrelation" in page


def test_a_product_that_cannot_be_drawn_leaves_the_others(sample, monkeypatch):
    from pillion.report import results

    drawn = results.draw_plot

    def draw(plot, prefix):
        if plot.y_label == "g(r)":
            raise RuntimeError("no such glyph")
        return drawn(plot, prefix)

    monkeypatch.setattr(results, "draw_plot", draw)
    made = make_report(sample.folder)
    assert made.problems == [f"{sample.folder}/structure/rdf.csv cannot be shown: no such glyph"]
    page = Page(made.path.read_text(encoding="utf-8"))
    assert "rdf.csv cannot be shown" in page.text and "no such glyph" in page.text
    assert "Mean squared displacement" in page.text


def test_the_cost_has_all_that_ranks_wait(sample):
    """12.3 s of 3 ranks and a sidecar: 0.6 s of work, 1.2 s for others, 3 s at the end."""
    sample.analyses.clear()
    sample.analysis("a", ["rdf"], "sidecar", 0.6, 2.0, waiting=2.0, closing=3.0, closing_max=3.3)
    sample.analyses[0]["seconds"]["waiting"]["mean"] = 1.2
    sample.write(products=[])
    page = Page(make_report(sample.folder).path.read_text(encoding="utf-8"))
    assert "All analyses together took 39 % of the simulation’s time" in page.text  # 4.8 of 12.3
    assert "including 3 s (24.4 %) of waiting for sidecars at the end" in page.text
    assert "One of its 4 ranks was set aside" in page.text
    assert "54.3 % of the time of all ranks" in page.text  # (4.8 / 12.3 * 3 + 1) / 4
    assert "stall at the end" in page.text


def test_a_run_without_sidecars_sets_none_aside(sample):
    report = sample.report()
    report["run"] |= {"sidecar_ranks": 0}
    for analysis in report["analyses"]:
        analysis["placement"] = "simulation"
    (sample.folder / "report.json").write_text(json.dumps(report))
    page = Page(make_report(sample.folder).path.read_text(encoding="utf-8"))
    assert "set aside" not in page.text and "simulation, without sidecars" in page.text


def test_the_head_tells_which_run_it_was(sample):
    report = sample.report()
    report["run"] |= {"name": "big <box>", "host": "node7", "command": "./heat 32 & more"}
    (sample.folder / "report.json").write_text(json.dumps(report))
    page = Page(make_report(sample.folder).path.read_text(encoding="utf-8"))
    assert "Pillion run report: big <box>" in page.text
    assert "on node7" in page.text and "./heat 32 & more" in page.text
