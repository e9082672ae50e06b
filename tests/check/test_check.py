# SPDX-License-Identifier: BSD-3-Clause
"""`pillion check` finds mistakes, each with its place and a helpful sentence, all of them at once
and quickly; and it says what will happen where there are none."""

import os
import re
import shutil
import statistics
from pathlib import Path

import limits
import pytest
from checking import checker
from conftest import mpirun
from wrong import GOOD
from wrong_configurations import ALL

ROOT = Path(__file__).parents[2]

seconds = []


@pytest.fixture
def program(build):
    return build / "bin/pillion-check"


@pytest.fixture
def check(build, tmp_path):
    return checker(build, tmp_path)


def test_the_good_one_has_no_mistakes(check, tmp_path):
    before = sorted(tmp_path.rglob("*"))
    answer = check(GOOD, "--ranks", 6)
    assert answer.mistakes == []
    assert answer.status == 0
    assert answer.notes == []
    assert sorted(tmp_path.rglob("*")) == sorted([*before, tmp_path / "checked.yaml"])


@pytest.mark.parametrize("sidecars", ["{per_node: 1}", "{ranks: 1}"])
def test_copies_of_constant_fields_take_memory(check, sidecars):
    """As many bytes as the field has, where sidecars are; other fields take none."""
    text = (
        f"output: results\nsidecars: {sidecars}\n"
        "meshes: {ocean: {kind: uniform, cells: [360, 180]}}\n"
        "fields:\n  depth: {mesh: ocean, type: float64, constant: true}\n"
        "  height: {mesh: ocean, type: float64}\n"
        "  unused: {mesh: ocean, type: float64, constant: true}\n"
        "analyses: {a: {stages: [statistics: {fields: [depth, height]}]}}\n"
    )
    node = check(text, "--ranks", 2).said["memory"][-1]
    assert [use["bytes"] for use in node["uses"] if use["purpose"] == "constant fields"] == [
        360 * 180 * 8
    ]


@pytest.mark.parametrize("wrong", ALL, ids=lambda wrong: wrong.name)
def test_each_mistake_is_found_and_nothing_else(check, wrong):
    answer = check(wrong.text(), *wrong.arguments)
    assert answer.status == 1
    seconds.append(answer.seconds)
    (mistake,) = answer.mistakes
    assert mistake["file"] == "checked.yaml"
    assert mistake["line"] == (None if wrong.line == "-" else wrong.line_number())
    for word in wrong.words:
        assert word in mistake["message"]


def test_there_are_enough_of_them_and_they_are_found_quickly():
    assert len({wrong.name for wrong in ALL}) == len(ALL) >= 45
    if len(seconds) < len(ALL):
        pytest.skip("needs the times of all mistakes")
    assert statistics.median(seconds) < limits.limit(2)


def test_mistakes_do_not_hide_each_other(check):
    """Several of each kind in one file are all found, at their lines, and nothing else is said."""
    names = {
        *("duration", "no cells", "interval of none", "products below none"),
        *("condition on no field", "shells without bins", "range as a number"),
        *("thresholds upside down", "result without a name", "matter density below none"),
        *("cutoff of nothing", "phases", "nothing to summarise"),
    }
    chosen = [wrong for wrong in ALL if wrong.name in names]
    assert len(chosen) == len(names)
    text = GOOD
    for wrong in chosen:
        assert text.count(wrong.old) == 1
        text = text.replace(wrong.old, wrong.new)
    found = {mistake["line"]: mistake["message"] for mistake in check(text).mistakes}
    for wrong in chosen:
        message = found.pop(wrong.line_number(text))
        assert all(word in message for word in wrong.words)
    assert found == {}


def test_everything_that_lacks_a_parameter_is_left_alone(check):
    text = GOOD.replace("parameters: {n: 16, bins: 20}\n", "")
    assert [re.match(r"parameter '(\$\w+)' has no value", m)[1] for m in check(text).messages] == [
        "$n",
        "$bins",
    ]
    assert check(text, "--set", "n=16", "--set", "bins=20").mistakes == []


def test_a_file_that_is_not_there(check):
    answer = check(Path("none.yaml"))
    assert answer.status == 1
    assert "No such file" in answer.messages[0]


def test_what_overrides_the_file(check):
    assert "'lots'" in check(GOOD, "--override", "sidecars.memory=lots").messages[0]
    answer = check(GOOD, "--override", "sidecars.memory=2 GiB")
    assert answer.said["sidecars"]["memory"] == 2 << 30


def test_people_see_the_line(program, tmp_path):
    (tmp_path / "a.yaml").write_text(GOOD.replace("ranks: 2", "ranks: two"))
    done = limits.run([program, "a.yaml"], cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 1
    assert done.stdout.splitlines() == [
        "a.yaml:4: expected an integer, found 'two'",
        "      4 | sidecars: {ranks: two, memory: 1 MiB, when_full: skip}",
        "a.yaml: 1 mistake",
    ]


@pytest.mark.parametrize(
    "words", [(), ("a.yaml", "b.yaml"), ("a.yaml", "--rank", "3"), ("a.yaml", "--ranks", "many")]
)
def test_wrong_use(program, tmp_path, words):
    done = limits.run([program, *words], cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 2
    assert "usage" in done.stderr
    assert done.stdout == ""


def test_what_will_happen(check):
    said = check(GOOD, "--ranks", 6).said
    assert said["simulation_ranks"] == 4
    crossing = {(one["field"], one["made_by"]): one for one in said["crossing"]}
    cells = 16**3
    assert {names: (one["bytes"], one["per"]) for names, one in crossing.items()} == {
        ("density", None): (8 * cells, "mesh"),
        ("velocity", None): (24 * cells, "mesh"),
        ("warmth", None): (8 * cells, "mesh"),
        ("n_HI", None): (4 * cells, "mesh"),
        ("heat", None): (4 * 64, "mesh"),
        ("speed", "speed"): (8 * cells, "mesh"),
        ("position", None): (24, "particle"),
        ("type", None): (4, "particle"),
    }
    assert said["bytes"] == 52 * cells + 4 * 64
    assert said["bytes_per_rank"] == said["bytes"] // 4
    analyses = {analysis["name"]: analysis for analysis in said["analyses"]}
    assert analyses["speed"]["stages"] == [
        {"name": "magnitude", "at": "simulation"},
        {"name": "statistics", "at": "sidecar"},
    ]
    assert analyses["speed"]["needs"] == ["velocity"]
    assert analyses["spectrum"]["when"] == "max(density) > 1e3 and step > 100"
    assert analyses["halos"]["every"] == "0.5 time"
    assert analyses["keep"]["folder"] == "results/keep"


def test_people_are_told_what_will_happen(program, tmp_path):
    (tmp_path / "a.yaml").write_text(GOOD)
    done = limits.run(
        [program, "a.yaml", "--ranks", "6"], cwd=tmp_path, capture_output=True, text=True
    )
    assert done.returncode == 0
    for words in (
        "a.yaml: no mistakes",
        "2 ranks of the job, through the network; 1.0 MiB",
        "4.0 MiB to receive on every node with sidecars",
        "initialises MPI with MPI_THREAD_MULTIPLE",
        "spectrum: every 5 steps, when max(density) > 1e3 and step > 100, in the sidecars",
        "stages    magnitude | statistics",
        "made in analysis 'speed'",
        "28 B for each particle of 'atoms'",
        "from each of 4 simulation ranks",
    ):
        assert words in done.stdout


def test_a_place_may_be_left_open(check, program, tmp_path):
    text = GOOD.replace("thresholds: [[80, 200]], at: sidecar", "thresholds: [[80, 200]], at: auto")
    text = text.replace("statistics: {fields: [speed]}", "statistics: {fields: [speed], at: auto}")
    answer = check(text)
    assert answer.status == 0 and answer.notes == []
    analyses = {analysis["name"]: analysis for analysis in answer.said["analyses"]}
    assert analyses["halos"]["stages"] == [{"name": "halos", "at": "auto"}]
    assert [stage["at"] for stage in analyses["speed"]["stages"]] == ["simulation", "auto"]
    (tmp_path / "a.yaml").write_text(text)
    told = limits.run([program, "a.yaml"], cwd=tmp_path, capture_output=True, text=True).stdout
    assert "in the simulation or the sidecars as the run finds better\n" in told
    assert "in the simulation, then the simulation or the sidecars as the run finds" in told
    # Everything that might cross counts, wherever it begins.
    assert answer.said["bytes"] == check(GOOD).said["bytes"]


def test_a_place_left_open_where_there_is_no_choice(check):
    apart = re.sub(r"sidecars: \{ranks: 2", "sidecars: {job: separate", GOOD)
    assert apart != GOOD
    answer = check(apart.replace("at: sidecar}", "at: auto}"))
    assert answer.status == 1 and "job of their own, which may come and go" in str(answer.mistakes)
    alone = re.sub(r"sidecars: .*\n", "", GOOD).replace("at: sidecar}", "at: auto}")
    answer = check(alone)
    assert answer.status == 0
    assert any("'halos' says 'at: auto', but there are no sidecars" in n for n in answer.notes)


def test_oddities_are_notes(check):
    odd = GOOD.replace("fields: [heat]", "fields: [density]")
    odd = odd.replace("max(density) > 1e3 and step > 100", "step == 12")
    answer = check(odd, "--ranks", 5000)
    assert answer.status == 0
    assert any("no analysis needs field 'heat'" in note for note in answer.notes)
    assert any("analysis 'spectrum' is hardly ever due" in note for note in answer.notes)
    assert any("'line' has 64 cells for 4998 simulation ranks" in note for note in answer.notes)
    alone = re.sub(r"      - .*\n((          .*\n)+)?", "", GOOD.split("  spectrum:")[0])
    alone += "  a:\n    stages:\n      - statistics: {fields: [density], at: simulation}\n"
    assert "there are sidecars, but no stage runs in them" in check(alone).notes
    coarse = check(GOOD.replace("when_full: skip", "when_full: coarsen")).notes
    refusing = {"power_spectrum": "spectrum", "lyman_alpha": "forest"}
    assert [note.split(";")[0] for note in coarse] == [
        f"stage '{stage}' cannot use coarsened publications, so analysis '{name}' skips them"
        for stage, name in refusing.items()
    ]
    assert "needs 2 nodes" in check(GOOD.replace("1 MiB", "100 kB")).notes[0]


def test_particles_in_a_plane_cannot_be_deposited(check):
    flat = GOOD.replace("kind: particles", "kind: particles\n    dimensions: 2")
    assert check(flat).mistakes == []
    rdf = flat.index("- rdf:")
    deposit = "- deposit: {position: position, mesh: grid, into: density_of_atoms}"
    (message,) = check(flat[:rdf] + deposit + flat[flat.index("\n", rdf) :]).messages
    assert "mesh 'atoms' has two dimensions" in message


def test_fields_that_may_be_elsewhere(check):
    text = "analyses: {a: {stages: [statistics: {fields: [mass]}]}}\n"
    answer = check(text)
    assert "unknown field 'mass'" in answer.messages[0]
    assert "--catalogue FILE" in answer.notes[0]
    assert "--of RUN.yaml" in answer.notes[0]


def test_a_catalogue_of_the_program(check, tmp_path):
    (tmp_path / "c.yaml").write_text(
        "meshes: {m: {kind: particles}}\nfields:\n  mass: {mesh: m, type: flaot64}\n"
    )
    text = "analyses: {a: {stages: [statistics: {fields: [mass]}]}}\n"
    (mistake,) = check(text, "--catalogue", "c.yaml").mistakes
    assert (mistake["file"], mistake["line"]) == ("c.yaml", 3)
    assert "did you mean 'float64'?" in mistake["message"]


def test_what_is_added_to_a_run(check, tmp_path):
    (tmp_path / "run.yaml").write_text(GOOD)
    more = "analyses:\n  more:\n    stages:\n      - statistics: {fields: [density]}\n"
    answer = check(more, "--of", "run.yaml")
    assert answer.mistakes == []
    assert [one["field"] for one in answer.said["crossing"]] == ["density"]
    wrong = more.replace("density", "desity").replace("  more:", "  halos:") + "output: there\n"
    lines = {m["line"]: m["message"] for m in check(wrong, "--of", "run.yaml").mistakes}
    assert set(lines) == {2, 4, 5}
    assert "the run has an analysis 'halos' already" in lines[2]
    assert "did you mean 'density'?" in lines[4]
    assert "'output' is the run's to say" in lines[5]


def test_a_checkpoint_that_fits(check, build, tmp_path):
    """One that a run has made; and what does not fit it."""
    example = ROOT / "examples/stage"
    shutil.copy(example / "pillion.yaml", tmp_path)
    environment = {"PILLION_STAGE_PATH": str(build / "examples/stage/stages")}
    mpirun(1, build / "examples/stage/try_exceedance", cwd=tmp_path, env=environment)
    text = (tmp_path / "pillion.yaml").read_text()
    arguments = {"env": environment}
    assert check(text, "--restart", "checkpoint", **arguments).mistakes == []
    other = text.replace(
        "- exceedance: {field: ramp, above: [9.5, 20]}", "- histogram: {field: ramp, range: auto}"
    )
    (mistake,) = check(other, "--restart", "checkpoint", **arguments).mistakes
    assert "had other stages" in mistake["message"]
    assert "stage-0-histogram" in mistake["message"]
    renamed = check(text.replace("  ramp:\n", "  rump:\n"), "--restart", "checkpoint", **arguments)
    assert renamed.mistakes == []
    assert "'rump' is not in the checkpoint" in renamed.notes[0]


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write anywhere")
def test_a_folder_of_somebody_else(check, tmp_path):
    (tmp_path / "closed").mkdir(mode=0o500)
    assert "cannot be written" in check(GOOD.replace("results", "closed/in")).messages[0]


COSMOLOGY = (
    "cells=32 length=32 particle_mass=1e10 baryon_fraction=0.16 matter_density=4e10 omega_m=0.3 "
    "hubble=0.7"
)
EXAMPLES = {
    "heat": ("--ranks", 3),
    "spectral": ("--ranks", 3),
    "zero_copy": ("--ranks", 3),
    "stage": (),
    "nacl": ("--catalogue", "catalogue.yaml", "--ranks", 3),
    "cosmology": ("--ranks", 3, *(w for one in COSMOLOGY.split() for w in ("--set", one))),
}


@pytest.mark.parametrize(
    "name", sorted(p.parent.name for p in ROOT.glob("examples/*/pillion.yaml"))
)
def test_examples_are_good(check, build, name):
    environment = {"PILLION_STAGE_PATH": str(build / "examples/stage/stages")}
    arguments = EXAMPLES.get(name, ())
    answer = check(Path("pillion.yaml"), *arguments, cwd=ROOT / "examples" / name, env=environment)
    assert answer.mistakes == []


def test_what_the_examples_add_is_good(check):
    folder = ROOT / "examples/nacl"
    arguments = ("--of", "pillion.yaml", "--catalogue", "catalogue.yaml")
    assert check(Path("extra_rdf.yaml"), *arguments, cwd=folder).mistakes == []


def test_the_catalogue_of_lammps_is_what_the_adapter_offers():
    source = (ROOT / "adapters/lammps/catalogue.cpp").read_text(encoding="utf-8")
    offered = re.search(r'R"\((.*?)\)"', source, re.DOTALL)[1]
    assert (ROOT / "examples/nacl/catalogue.yaml").read_text().endswith(offered)
