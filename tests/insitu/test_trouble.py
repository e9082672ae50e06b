# SPDX-License-Identifier: BSD-3-Clause
"""Stages in Python that fail: the simulation goes on, other analyses have every step, and people
read what went wrong and where. Those that end their process do what the promises of that placement
say.
"""

import json

import pytest
from conftest import read_table
from insitu import (
    STAGES,
    Place,
    analysis_of,
    box,
    configure,
    needs_modules,
    places,
    report_of,
    simulate,
)

pytestmark = needs_modules

INSIDE = Place(2)
NETWORK = Place(2, "{ranks: 2, when_full: wait}", 2)
NODE = Place(2, "{per_node: 1, when_full: wait}", 1)
SEPARATE = Place(2, "{job: separate, when_full: wait, deadline: 3 s}")
STEPS = 4


def run_beside(build, folder, place, name, steps=STEPS, pause=0, **more):
    """A stage in trouble, and one that must not be harmed."""
    configure(
        folder,
        place,
        f'  bad: {{stages: [{{python: {{call: "{STAGES}/trouble.py:{name}"}}}}]}}\n'
        "  good: {stages: [{statistics: {fields: [density]}}]}\n",
    )
    awaits = "joined" if place.is_separate else ""
    return simulate(
        build,
        folder,
        place,
        box(steps=steps, pause=pause, sidecars=place.more, awaits=awaits),
        **more,
    )


def good_steps(folder):
    return read_table(folder / "results/good/statistics_density.csv")["step"].tolist()


FAILURES = {
    "raises": "ValueError: this cannot be in two lines (trouble.py, line",
    "raises_on_one": "RuntimeError: only here (trouble.py, line",
    "leaves": "SystemExit: enough",
    "returns_nonsense": "'returns_nonsense' returned [1, 2, 3]; a stage returns nothing, or",
    "returns_texts": "'returns_texts' returned 'a text' as 'name', which is not a number",
    "returns_other_columns": "'returns_other_columns' returned b, and a before",
    "keeps": "'keeps' has kept an array of step 0",
    "keeps_step": "used a step after it was over",
    "writes": "read-only",
    "bad_table": "the columns of table 't' have lengths [1, 2], not one",
    "bad_role": "'c' has or gives a role, but is not a column of the table",
    "recurses": "RecursionError",
    "sums_of_other_shapes": "peers reduced arrays of different shapes, (",
    "sums_texts": "'three' cannot be reduced",
}

# The steps at which a stage fails, if these are not all.
FAILS = {key: [1] for key in ["raises", "raises_on_one", "leaves", "returns_nonsense", "recurses"]}
FAILS |= {key: [1, 2, 3] for key in ["returns_other_columns", "keeps_step"]}


@pytest.mark.parametrize("name", FAILURES)
@places([INSIDE])
def test_failures(build, tmp_path, name, place):
    check_failure(build, tmp_path, name, place)


@pytest.mark.parametrize("name", ["raises", "raises_on_one", "leaves", "keeps"])
@places([NETWORK, NODE, SEPARATE])
def test_failures_in_sidecars(build, tmp_path, name, place):
    check_failure(build, tmp_path, name, place)


def check_failure(build, folder, name, place):
    done = run_beside(build, folder, place, name)
    assert done.stdout.count("done") == place.ranks, "the simulation went on to its end"
    bad, warnings = analysis_of(folder, "bad"), report_of(folder)["warnings"]
    (words,) = [text for text in warnings if "'bad' loses the publication of step " in text]
    assert FAILURES[name] in words, words
    assert str(STAGES.parent.parent.parent) not in words.split("\n")[0]
    # One failure costs a publication, and three in a row are the end of the analysis.
    failures = [step for step in range(STEPS) if step in FAILS.get(name, range(STEPS))]
    assert (bad["disabled"] is not None) == (len(failures) > 2), bad
    if len(failures) <= 2:
        lost = bad["dropped"] + bad["lost"]
        assert (lost, bad["publications"]) == (len(failures), STEPS - len(failures)), bad
    logged = getattr(done, "sidecar_job", done.stderr)
    assert FAILURES[name] in logged, logged
    assert analysis_of(folder, "good")["disabled"] is None
    assert good_steps(folder) == list(range(STEPS))


def test_traceback(build, tmp_path):
    """It is that of the stage, without the frames of Pillion."""
    done = run_beside(build, tmp_path, INSIDE, "raises")
    lines = done.stderr.splitlines()
    start = lines.index("Traceback (most recent call last):")
    assert 'trouble.py", line' in lines[start + 1] and lines[start + 1].endswith("in raises")
    assert "runner.py" not in done.stderr and "box.py" not in done.stderr


def test_circles_are_no_failure(build, tmp_path):
    run_beside(build, tmp_path, INSIDE, "forgets")
    assert analysis_of(tmp_path, "bad")["disabled"] is None


def test_death_in_a_job_of_its_own(build, tmp_path):
    """os._exit kills the sidecars; the simulation does not notice until its end."""
    done = run_beside(build, tmp_path, SEPARATE, "dies")
    assert done.returncode == 0 and done.stdout.count("done") == 2
    assert done.sidecar_job_status == 3
    report = json.loads((tmp_path / "results/report.json").read_text())
    assert report["run"]["steps"] == STEPS
    assert analysis_of(tmp_path, "bad")["lost"] > 0


def test_sidecars_that_died_are_started_again(build, tmp_path):
    """Another sidecar job goes on behind the step that killed the first one."""
    place = Place(2, "{job: separate, when_full: wait, restart: 3, deadline: 30 s}")
    done = run_beside(build, tmp_path, place, "dies", steps=8, pause=0.7)
    assert done.returncode == 0
    report = json.loads((tmp_path / "results/report.json").read_text())
    assert report["sidecars"]["restarts"] >= 1
    # The step that kills, and what the first sidecar job had not kept yet.
    assert 1 <= analysis_of(tmp_path, "bad")["lost"] <= 2
    assert good_steps(tmp_path)[-1] == 7


@places([INSIDE, NODE])
def test_death_in_the_job(build, tmp_path, place):
    """By MPI's rules the job ends with it, and does not hang."""
    done = run_beside(build, tmp_path, place, "dies", check=False)
    assert done.returncode != 0


WRONG = {
    "no file": ("none.py:f", "{}", "there is no file none.py in"),
    "no colon": ("analyses.py", "{}", "must be FILE.py:NAME or MODULE:NAME"),
    "no such function": (f"{STAGES}/trouble.py:raise", "{}", "has no 'raise'; it has"),
    "no stage": (f"{STAGES}/trouble.py:no_stage", "{}", "put @pillion.stage(fields=…) before it"),
    "no module": ("nowhere.at_all:f", "{}", "ModuleNotFoundError: No module named 'nowhere'"),
    "syntax": ("broken.py:f", "{}", "SyntaxError: '(' was never closed (broken.py, line 1)"),
    "unknown parameter": (
        f"{STAGES}/analyses.py:histogram",
        "{bin: 3}",
        "takes bins, range: got an unexpected keyword argument 'bin'",
    ),
    "with is no map": (f"{STAGES}/analyses.py:histogram", "[3]", "'with' must be a map"),
    "bad output": (f"{STAGES}/trouble.py:bad_output", "{}", "cannot be of type 'complex64'"),
    "bad input": (f"{STAGES}/trouble.py:bad_input", "{cutoff: 2}", "density"),
    "missing parameter": (f"{STAGES}/trouble.py:bad_input", "{}", "cutoff"),
}


@pytest.mark.drawn
@pytest.mark.parametrize("case", WRONG)
def test_refused_before_the_first_step(build, tmp_path, case):
    """On every rank alike, with the line of the configuration."""
    call, parameters, expected = WRONG[case]
    (tmp_path / "broken.py").write_text("f = (1,\n")
    configure(
        tmp_path, INSIDE, f'  a: {{stages: [{{python: {{call: "{call}", with: {parameters}}}}}]}}\n'
    )
    done = simulate(build, tmp_path, INSIDE, box(), check=False)
    assert done.returncode != 0 and "done" not in done.stdout
    said = [line for line in done.stderr.splitlines() if line.startswith("pillion: error:")]
    assert len(said) == 1 and expected in said[0], done.stderr
    assert "run.yaml:6" in said[0]
    assert "pillion.errors.Error: " in done.stderr


def test_unknown_names(build, tmp_path):
    configure(
        tmp_path,
        INSIDE,
        f'  a: {{stages: [{{python: {{call: "{STAGES}/analyses.py:extremes",'
        " names: {temperature: density}}}]}\n",
    )
    done = simulate(build, tmp_path, INSIDE, box(), check=False)
    assert "run.yaml:6: this stage names no field 'temperature'; it names density" in done.stderr
