# SPDX-License-Identifier: BSD-3-Clause
"""Sidecars that attach to a LAMMPS that runs: as its own (`job: separate`), or as attached jobs
that add an analysis halfway. The oracles are LAMMPS's own computes in the same run, and, for what
an attached job must not change, a run without it.
"""

import json
import uuid

import numpy as np
from attached import Attached, lammps, say, until, wait_for
from conftest import read_table
from lammps_inputs import MIXTURE, ONE, OWN_RDF, PAIRS, RDF, RIDE, SPECIES, TWO
from lammps_runs import configuration, lmp, pair_counts, read_vectors
from test_oracles import ANALYSES, INPUT, assert_as_lammps_itself

EVERY = 20
OWN = {
    "structure": {
        "every": f"{EVERY} steps",
        "products_every": 1,
        "stages": [{"rdf": {**RDF, "bins": 40}}],
    }
}
# Finer bins than the run's own, at other steps, and a field that the run itself does not need. Its
# statistics have a row for every step that it worked on.
ATTACHED_JOB = {
    "finer": {"every": "10 steps", "stages": [{"rdf": RDF}, {"statistics": {"fields": ["force"]}}]}
}
SLICE = 200
LAST = (
    "dump last all custom 1 last.txt id x y z vx vy vz\n"
    "dump_modify last sort id format float %.17g\n"
)


def run_of(name: str) -> str:
    """A name that no other test that runs at the same time has."""
    return f"{name}-{uuid.uuid4().hex[:8]}"


def test_separate_sidecars(build, tmp_path):
    name = run_of("separate")
    spec = {"job": "separate", "when_full": "wait", "memory": "16 MiB"}
    text = MIXTURE + until("go", "shell sleep 0.05\n") + INPUT
    attached = Attached(build, tmp_path, name)
    with lammps(build, tmp_path, text, configuration(ANALYSES, spec, run=name), 2):
        attached.await_joined()
        say(tmp_path, "go")
    attached.await_end()
    assert_as_lammps_itself(tmp_path)
    report = json.loads((tmp_path / "results/report.json").read_text())
    assert report["sidecars"]["job"] == "separate"
    assert [analysis["lost"] for analysis in report["analyses"]] == [0, 0, 0]


def with_attached_job(build, folder, name, config) -> None:
    """A run that goes on until an attached job has joined, and then for another 200 steps."""
    (folder / "attached job.yaml").write_text(json.dumps({"analyses": ATTACHED_JOB}))
    text = MIXTURE + OWN_RDF + RIDE + until("go", f"run {SLICE}\n") + f"{LAST}run {SLICE}\n"
    with lammps(build, folder, text, config, 3) as run:
        product = folder / "results/structure/rdf.csv"
        wait_for(lambda: product.exists() or run.done(), "a product of the run itself")
        attached_job = Attached(build, folder, name, "attached job.yaml", "--name", "late")
        attached_job.await_joined()
        say(folder, "go")
    attached_job.await_end()


def without_attached_job(build, folder, slices: int, config) -> None:
    text = MIXTURE + OWN_RDF + RIDE
    text += f"variable n loop {slices}\nlabel again\nrun {SLICE}\nnext n\njump SELF again\n"
    lmp(build, folder, f"{text}{LAST}run {SLICE}\n", config, 3)


def test_a_attached_job_adds_an_rdf_halfway(build, tmp_path):
    name = run_of("guested")
    # All of the time, so that no step is left out.
    sidecars = {"per_node": 1, "when_full": "wait", "attached": {"time": "100 %"}}
    config = configuration(OWN, sidecars, run=name)
    folder, alone = tmp_path / "with", tmp_path / "without"
    folder.mkdir()
    with_attached_job(build, folder, name, config)

    blocks = read_vectors(folder / "rdf.txt")
    rows = read_table(folder / "results/finer/statistics_force.csv")
    steps = [int(step) for step in rows["step"]]
    assert set(steps) < set(blocks)
    assert steps[0] > 0, "it joined after the run had begun"
    assert steps == list(range(steps[0], max(blocks) + 1, 10)), "from then on it missed nothing"
    assert len(steps) >= SLICE // 10
    assert_counts(read_table(folder / "results/finer/rdf.csv"), {s: blocks[s] for s in steps})

    without_attached_job(build, alone, max(blocks) // SLICE - 1, config)
    assert (folder / "last.txt").read_text() == (alone / "last.txt").read_text()
    tables = [read_table(f / "results/structure/rdf.csv") for f in (folder, alone)]
    assert tables[0].head["publications"] == max(blocks) // EVERY + 1
    assert tables[0].columns.keys() == tables[1].columns.keys()
    for column in tables[0].columns:
        assert np.array_equal(tables[0][column], tables[1][column])
    assert_report_names_the_attached_job(folder / "results", steps)


def assert_counts(table, blocks) -> None:
    assert table.head["publications"] == len(blocks)
    assert table.head["step"] == max(blocks)
    for (one, two), counts in zip(PAIRS, pair_counts(blocks, [ONE, ONE, TWO])):
        assert counts.sum() > 10000
        assert np.array_equal(table[f"count_{one}_{two}"], counts)
    assert [round(table.attributes[f"particles_{s}"]) for s in SPECIES] == [ONE, TWO]


def assert_report_names_the_attached_job(results, steps) -> None:
    report = json.loads((results / "report.json").read_text())
    assert any("attached job 'late' joined after step" in text for text in report["remarks"])
    own = json.loads((results / "report-late.json").read_text())
    (finer,) = (a for a in own["analyses"] if a["name"] == "finer")
    assert finer["publications"] == len(steps)
    assert {p["path"] for p in own["products"]} == {
        "finer/rdf.csv",
        "finer/statistics_force.csv",
    }
