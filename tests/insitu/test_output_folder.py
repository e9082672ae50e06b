# SPDX-License-Identifier: BSD-3-Clause
"""An output folder is one run's: products say which, results of an earlier run are kept aside, and
two runs do not write there at once. Where it is follows from the folder in which the session was
opened, whatever the program's working folder is later."""

import json
import os
import re
import subprocess
import sys

import h5py
import limits
import pillion
import pytest
from conftest import read_table
from insitu import Place, environment, needs_modules, run_name, simulate
from PIL import Image

pytestmark = needs_modules

HEAD = """\
meshes: {grid: {kind: uniform, cells: [8, 8, 8], length: [1, 1, 1]}}
fields: {density: {mesh: grid, type: float64}}
"""
ALONE = Place(1)
ANALYSES = """\
analyses:
  sums:
    stages:
      - statistics: {fields: [density]}
      - histogram: {field: density, range: [0, 10]}
  kept:
    every: 2 steps
    stages:
      - write_idx: {fields: [density]}
      - write_hdf5: {fields: [density]}
      - write_raw: {fields: [density]}
      - write_plotfile: {fields: [density]}
      - image: {draw: [slice: {field: density}], size: [64, 48]}
      - image: {draw: [slice: {field: density}], name: around, cinema: {phi: 1}, size: [64, 48]}
"""
PROGRAM = """\
import os, sys, time
import numpy as np
import pillion

with pillion.open("run.yaml", restart=os.environ.get("RESUME", "")) as session:
    for code in sys.argv[1:]:
        exec(code)
    if not session.serve():
        rank, size = session.communicator.rank, session.communicator.size
        mine = np.full((8 // size, 8, 8), float(os.environ.get("VALUE", "1")))
        session.share("density", mine, lo=(rank * (8 // size), 0, 0))
        first = int(os.environ.get("FIRST", "0"))
        for step in range(first, first + int(os.environ.get("STEPS", "3"))):
            session.step(step, 0.5 * step)
            exec(os.environ.get("EACH", ""))
        if "CHECKPOINT" in os.environ:
            session.checkpoint(os.environ["CHECKPOINT"])
"""


@pytest.fixture
def run(build, tmp_path):
    """Runs the program, with a file run.yaml of these lines before its analyses."""
    (tmp_path / "program.py").write_text(PROGRAM)

    def run(head="", *words, place=ALONE, analyses=ANALYSES, check=True, **env):
        (tmp_path / "run.yaml").write_text(head + place.head + HEAD + analyses)
        program = [sys.executable, tmp_path / "program.py", *words]
        return simulate(build, tmp_path, place, program, check=check, **env)

    return run


def said(folder, name="report.json"):
    return json.loads((folder / name).read_text())


def files(folder):
    return {str(p.relative_to(folder)) for p in folder.rglob("*") if p.is_file()}


def test_every_product_bears_the_run(run, tmp_path):
    run()
    results = tmp_path / "results"
    id_ = said(results)["run"]["id"]
    assert re.fullmatch("[0-9a-f]{16}", id_)
    assert said(results, "progress.json")["id"] == id_
    assert said(results, "timeline/simulation-000000.json")["otherData"]["run"] == id_
    assert f"id: {id_}\n" in (results / ".pillion-run").read_text()
    line = f'run: "{id_}"\n'
    with h5py.File(results / "kept/grid_hdf5/grid.000000002.h5") as file:
        assert line in file.attrs["origin"]
    for name in ("grid.idx", "grid.raw.yaml", "grid.xmf", "grid_raw/grid.000000002.yaml"):
        text = (results / "kept" / name).read_text().replace("&quot;", '"')
        assert line.strip() in text, name
    pictures = [*results.glob("kept/*.png"), *results.glob("kept/around.cdb/*.png")]
    assert len(pictures) == 4
    for picture in pictures:
        assert line in Image.open(picture).text["Comment"]
    tables = [*results.glob("*/*.csv")]
    assert len(tables) > 4
    for table in tables:
        assert f"# {line}" in table.read_text()
    assert pillion.results(results)["kept/grid.hdf5"].attrs["run"] == id_


def test_earlier_results_are_kept_aside(run, tmp_path):
    """Two runs of other lengths and values, which would have been one with steps 0 to 5."""
    run(STEPS=6, VALUE=1)
    first = said(tmp_path / "results")["run"]["id"]
    (tmp_path / "results/log.txt").write_text("mpirun's")
    done = run(STEPS=3, VALUE=2)
    told = "the earlier results in 'results' were moved to 'results.001'"
    assert told in said(tmp_path / "results")["remarks"]
    assert done.returncode == 0 and f"warning: {told}" in done.stderr
    results = pillion.results(tmp_path / "results")
    assert results["sums/histogram_density"]["step"].values.tolist() == [0, 1, 2]
    assert results["sums/statistics_density"]["mean"].values.tolist() == [2.0] * 3
    earlier = pillion.results(tmp_path / "results.001")
    assert earlier["sums/histogram_density"]["step"].values.tolist() == [0, 1, 2, 3, 4, 5]
    assert earlier.report.facts["id"] == earlier.owner.id == first
    assert (tmp_path / "results/log.txt").read_text() == "mpirun's"
    assert "log.txt" not in files(tmp_path / "results.001")


def test_what_the_configuration_says_of_earlier_results(run, build, tmp_path):
    only = "analyses: {sums: {stages: [{statistics: {fields: [density]}}]}}\n"
    run("output: {path: out, if_exists: refuse}\n", analyses=only)
    before = {name: (tmp_path / "out" / name).read_bytes() for name in files(tmp_path / "out")}
    done = run("output: {path: out, if_exists: refuse}\n", analyses=only, check=False)
    checked = limits.run(
        [build / "bin/pillion-check", "run.yaml"], cwd=tmp_path, capture_output=True, text=True
    )
    assert (done.returncode, checked.returncode) == (1, 1)
    for text in (done.stderr, checked.stdout):
        assert "the output folder 'out' holds results of run" in text
    assert "run.yaml:1: " in checked.stdout
    assert before == {n: (tmp_path / "out" / n).read_bytes() for n in files(tmp_path / "out")}
    (tmp_path / "out/notes.txt").write_text("mine")
    run("output: {path: out, if_exists: overwrite}\n", analyses=only, VALUE=5)
    assert sorted(p.name for p in tmp_path.glob("out*")) == ["out"]
    assert read_table(tmp_path / "out/sums/statistics_density.csv")["mean"][0] == 5
    assert (tmp_path / "out/notes.txt").exists()


def begin_and_wait(build, folder):
    """The program, its session open, waiting for a file `on`."""
    for name in ("on", "there"):
        (folder / name).unlink(missing_ok=True)
    wait = "open('there', 'w').close()\nwhile not os.path.exists('on'): time.sleep(0.02)"
    program = subprocess.Popen(
        [sys.executable, "program.py", wait], cwd=folder, env={**os.environ, **environment(build)}
    )
    limits.until((folder / "there").exists, 30, "the program opens its session")
    return program


def test_two_live_runs(run, build, tmp_path):
    """The second is refused, whatever its file says, and the first goes on undisturbed."""
    (tmp_path / "program.py").write_text(PROGRAM)
    (tmp_path / "run.yaml").write_text(HEAD + ANALYSES)
    first = begin_and_wait(build, tmp_path)
    try:
        marker = (tmp_path / "results/.pillion-run").read_text()
        second = run("output: {path: results, if_exists: overwrite}\n", check=False)
        assert second.returncode == 1
        id_ = re.search("^id: (.*)$", marker, re.MULTILINE)[1]
        assert f"run {id_} (process {first.pid} on host " in second.stderr
        assert (tmp_path / "results/.pillion-run").read_text() == marker
        (tmp_path / "on").touch()
        assert limits.wait(first, 30) == 0
    finally:
        first.kill()
    assert said(tmp_path / "results")["run"]["id"] == id_
    # A run that is killed leaves no lock, and nothing to keep if it has made no step.
    (tmp_path / "run.yaml").write_text(HEAD + ANALYSES)
    killed = begin_and_wait(build, tmp_path)
    killed.kill()
    limits.wait(killed, 10)
    run()
    assert sorted(p.name for p in tmp_path.glob("results.*")) == ["results.001"]


def test_a_resumed_run_continues_the_folder(run, tmp_path):
    run(STEPS=3, CHECKPOINT="results/state")
    first = said(tmp_path / "results")["run"]["id"]
    run(STEPS=3, FIRST=3, RESUME="results/state")
    results = pillion.results(tmp_path / "results")
    assert results["sums/histogram_density"]["step"].values.tolist() == [0, 1, 2, 3, 4, 5]
    assert results["sums/statistics_density"].sizes["step"] == 6
    assert said(tmp_path / "results")["run"]["continues"] == [first]
    assert said(tmp_path / "results", "progress.json")["continues"] == [first]
    assert not list(tmp_path.glob("results.*"))


PLACES = [
    Place(2),
    Place(1, "{ranks: 1, when_full: wait}", 1),
    Place(1, "{per_node: 1, when_full: wait}", 1),
    Place(1, "{job: separate, when_full: wait}"),
]


@pytest.mark.parametrize("place", PLACES, ids=str)
def test_a_program_that_changes_its_working_folder(place, run, tmp_path):
    """As Nek5000 does after it has opened the session."""
    (tmp_path / "elsewhere").mkdir()
    words = ["session.serve() or os.chdir('elsewhere')"]
    if place.is_separate:
        words.insert(0, "while not os.path.exists('joined'): time.sleep(0.02)")
    run(f"run: {run_name(tmp_path)}\n", *words, place=place)
    assert files(tmp_path / "elsewhere") == set()
    found = files(tmp_path / "results")
    assert {"report.json", "timeline/simulation-000000.json", "progress.json"} <= found
    assert {"sums/statistics_density.csv", "kept/grid.idx", "kept/image.000000002.png"} <= found
    report = said(tmp_path / "results")
    assert {product["analysis"] for product in report["products"]} == {"sums", "kept"}
    assert all((tmp_path / "results" / p["path"]).exists() for p in report["products"])


TWICE = """\
analyses:
  a:
    stages:
      - statistics: {fields: [density]AT}
      - statistics: {fields: [density]}
"""


@pytest.mark.parametrize("place", PLACES[:3], ids=str)
def test_two_stages_with_one_product_are_refused(place, run, tmp_path):
    """Alike where both are on one side and where each is on another."""
    at = ", at: simulation" if place.more else ""
    done = run(place=place, analyses=TWICE.replace("AT", at), check=False)
    assert done.returncode != 0
    lines = (tmp_path / "run.yaml").read_text().splitlines()
    first, second = (n for n, line in enumerate(lines, 1) if "statistics" in line)
    assert f"run.yaml:{second}: stage 'statistics' writes the product 'statistics_density.csv'" in (
        done.stderr
    )
    assert f"which stage 'statistics' on line {first} of the same analysis writes" in done.stderr
    assert not (tmp_path / "results/report.json").exists()


STAGE = """\
import pillion

@pillion.stage("density")
def note(step, value=0):
    return {"value": float(value)}

@pillion.stage("density", products=["declared.csv"])
def declared(step, value=0):
    return {"value": float(value)}
"""


def test_products_that_nobody_declared_do_not_overwrite_each_other(run, tmp_path):
    """Of functions, whose tables' names are known only when they write."""
    (tmp_path / "stage.py").write_text(STAGE)
    both = "analyses:\n  a:\n    stages:\n" + "".join(
        f"      - python: {{call: 'stage.py:note', with: {{value: {v}}}}}\n" for v in (1, 2)
    )
    done = run(analyses=both.replace(":note", ":declared"), check=False)
    assert "run.yaml:7: stage 'python' writes the product 'declared.csv', which" in done.stderr
    run(analyses=both)
    (analysis,) = said(tmp_path / "results")["analyses"]
    assert (
        "the product 'a/note.csv' of stage 2 ('python') would overwrite that of stage 1"
        in (analysis["disabled"])
    )
    assert read_table(tmp_path / "results/a/note.csv")["value"][0] == 1


def test_links_that_lie_where_files_are_written_aside_are_not_followed(run, tmp_path):
    """In a folder that a group may write to, a colleague could point them at any file."""
    names = [
        *("sums/.statistics_density.csv.partial", "sums/.histogram_density.000000002.csv.partial"),
        *("kept/.image.000000002.png.partial", "kept/.grid.idx.partial", "kept/.grid.xmf.partial"),
        *("kept/grid_hdf5/.grid.000000002.h5.part", "kept/around.cdb/.data.csv.part"),
        *("kept/grid_raw/.grid.000000002.000000.raw.part", ".report.json.partial"),
        *("kept/grid_raw/.grid.000000002.yaml.part", "timeline/.simulation-000000.json.partial"),
    ]
    (tmp_path / "precious").write_text("precious")
    links = f"[os.symlink('{tmp_path}/precious', 'results/' + n) for n in {names}]"
    plant = f"if step == 1: os.makedirs('results/timeline') or {links}"
    run(EACH=plant)
    assert (tmp_path / "precious").read_text() == "precious"
    results = tmp_path / "results"
    assert not [p for p in results.rglob("*") if p.is_symlink()]
    assert all(a["disabled"] is None for a in said(results)["analyses"])
    mode = (results / "sums/statistics_density.csv").stat().st_mode
    assert (results / "kept/grid_hdf5/grid.000000002.h5").stat().st_mode == mode
