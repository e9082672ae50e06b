# SPDX-License-Identifier: BSD-3-Clause
"""Runs of code_saturne with Pillion: restarts, moving meshes, numbers of ranks, mistakes."""

import json
import sys
from pathlib import Path

import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "conformance"))

from cached_codes import needs_codes
from conftest import read_table
from saturne_cases import Study, stored
from saturne_files import ensight, vtkhdf
from scenes import SidecarJob, new_run

pytestmark = needs_codes

SIDECARS = "sidecars: {per_node: 1, when_full: wait}\n"


def configuration(stages: list[str], head: str = "", every: int = 2) -> str:
    lines = "".join(f"      - {stage}\n" for stage in stages)
    return f"output: results\n{head}analyses:\n  a:\n    every: {every} steps\n    stages:\n{lines}"


STATISTICS = configuration(["statistics: {fields: [velocity, temperature]}"])


@pytest.fixture(scope="module")
def study(build, tmp_path_factory) -> Study:
    if "HDF5_WORKS:INTERNAL=1" not in (build / "CMakeCache.txt").read_text():
        pytest.skip("the stage write_vtkhdf was not built")
    return Study(build, tmp_path_factory.mktemp("saturne"))


def test_a_restart_continues_analyses_on_another_number_of_ranks(study):
    stages = [
        "statistics: {fields: [velocity]}",
        "time_average: {fields: [velocity], weights: equal, output_every: 5}",
        "write_vtkhdf: {fields: [velocity_mean], name: mean, durable: false}",
    ]
    text = configuration(stages, SIDECARS, every=1)
    series = configuration(["write_vtkhdf: {fields: [velocity], durable: false}"], every=1)
    first = study.run("junction", "first", 3, text, steps=5)
    assert (first / "checkpoint/pillion").is_dir()
    second = study.run("junction", "second", 4, text, steps=9, restart=first)
    said = (second / "output").read_text()
    assert f"resumes from {first}/checkpoint/pillion" in said
    assert f"continues the results in {first}/results" in said
    assert not (second / "results").exists()
    table = read_table(first / "results/a/statistics_velocity.csv")
    assert table["step"].tolist() == list(range(10))
    report = json.loads((first / "results/report.json").read_text())
    assert report["run"]["continues"]
    # The means over steps 0 to 9 are those of the steps as both runs had them.
    before = study.run("junction", "series", 2, series, steps=5)
    after = study.run("junction", "later", 3, series, steps=9, restart=before)
    assert "resumes" in (after / "output").read_text()
    steps = [vtkhdf(before, "fluid", step).by_id("velocity") for step in range(10)]
    found = vtkhdf(first, "mean", 9).by_id("velocity_mean")
    np.testing.assert_allclose(found, np.mean(steps, axis=0), rtol=0, atol=1e-5)
    assert np.abs(np.mean(steps[5:], axis=0) - np.mean(steps, axis=0)).max() > 1e-2


@pytest.mark.parametrize("key", ["moving", "rotor"])
def test_a_restart_finds_the_mesh_where_it_is(study, key):
    text = configuration(["write_vtkhdf: {fields: [temperature], durable: false}"], every=1)
    first = study.run(key, "begin", 2, text, steps=3)
    second = study.run(key, "end", 3, text, steps=6, restart=first)
    for step, run in ((3, first), (4, second), (6, second)):
        # Both runs have their products in one folder, and their EnSight files in two.
        ours, wanted = vtkhdf(first, "fluid", step), ensight(run, "FLUID_DOMAIN", 0.005 * step)
        for kind in np.unique(wanted.types):
            here = ours.order[ours.types[ours.order] == kind]
            there = np.flatnonzero(wanted.types == kind)
            for a, b in zip(here, there, strict=True):
                np.testing.assert_array_equal(ours.corners(a), wanted.corners(b))
            values = ours.cells["temperature"][here].astype(np.float32)
            np.testing.assert_array_equal(values, wanted.cells["TempC"][there])


def test_a_restart_without_the_state_of_analyses_begins_a_new_run(study):
    first = study.run(
        "junction", "unsaved", 2, STATISTICS, steps=3, PILLION_SATURNE_CHECKPOINT="no"
    )
    assert not (first / "checkpoint/pillion").exists()
    second = study.run("junction", "anew", 2, STATISTICS, steps=6, restart=first)
    assert "resumes" not in (second / "output").read_text()
    assert read_table(second / "results/a/statistics_velocity.csv")["step"].tolist() == [4, 6]


@pytest.mark.parametrize("ranks", [2, 3])
def test_a_moving_mesh_is_where_code_saturne_writes_it(study, ranks):
    """Two ranks of code_saturne; with a third, a sidecar."""
    stages = ["write_vtkhdf: {fields: [velocity, cell_volume, disale], durable: false}"]
    text = configuration(stages, SIDECARS if ranks == 3 else "")
    run = study.run("moving", f"on{ranks}", ranks, text)
    start = vtkhdf(run, "fluid", 0)
    for step in (2, 4, 6):
        ours, wanted = vtkhdf(run, "fluid", step), ensight(run, "FLUID_DOMAIN", 0.005 * step)
        for a, b in zip(ours.order, range(len(ours.order)), strict=True):
            np.testing.assert_array_equal(ours.corners(a), wanted.corners(b))
        np.testing.assert_allclose(ours.volumes(), ours.cells["cell_volume"], rtol=1e-10)
        for before, now, moved in zip(
            start.points, ours.points, ours.at_points("disale"), strict=True
        ):
            np.testing.assert_allclose(now, before + moved, rtol=0, atol=1e-12)
            assert np.abs(moved).max() > 1e-4


@pytest.mark.parametrize("ranks", [1, 4])
def test_other_numbers_of_ranks(study, ranks):
    """One rank does without MPI, but for Pillion."""
    stages = [
        "statistics: {fields: [velocity, temperature]}",
        "write_vtkhdf: {fields: [velocity], durable: false}",
    ]
    run = study.run("junction", f"ranks{ranks}", ranks, configuration(stages))
    fluid = vtkhdf(run, "fluid", 6)
    assert len(fluid.parts) == ranks
    wanted = np.reshape(stored(run, "velocity::vals::0"), (-1, 3))
    np.testing.assert_array_equal(fluid.by_id("velocity"), wanted)
    assert json.loads((run / "results/report.json").read_text())["run"]["simulation_ranks"] == ranks


def test_one_rank_and_a_sidecar(study):
    text = STATISTICS + SIDECARS
    run = study.run("junction", "pair", 2, text)
    plain = study.run("junction", "alone", 1)
    assert stored(run, "velocity::vals::0") == stored(plain, "velocity::vals::0")
    report = json.loads((run / "results/report.json").read_text())
    assert report["run"]["simulation_ranks"] == 1 and report["sidecars"]["ranks"] == 1


def test_sidecars_in_a_job_of_their_own(build, study):
    name = new_run()
    head = f"run: {name}\nsidecars: {{job: separate, when_full: wait}}\n"
    text = configuration(["statistics: {fields: [velocity]}"], head)
    job = SidecarJob(build, study.folder, name, 1)
    try:
        run = study.run("junction", "separate", 2, text, steps=40)
        job.await_end()
    finally:
        job.stop()
    report = json.loads((run / "results/report.json").read_text())
    assert report["sidecars"]["job"] == "separate"
    steps = read_table(run / "results/a/statistics_velocity.csv")["step"].tolist()
    assert steps[-1] == 40 and len(steps) > 5


def test_cells_weigh_by_their_porosity(study):
    stages = [
        "statistics: {fields: [temperature]}",
        "write_vtkhdf: {fields: [temperature, porosity, cell_volume], durable: false}",
    ]
    run = study.run("porous", "run", 2, configuration(stages))
    cells = vtkhdf(run, "fluid", 6).cells
    assert np.unique(cells["porosity"]).tolist() == [0.7, 1]
    volumes = cells["cell_volume"] * cells["porosity"]
    table = read_table(run / "results/a/statistics_temperature.csv")
    assert table["volume"][-1] == pytest.approx(volumes.sum(), rel=1e-12)
    mean = (volumes * cells["temperature"]).sum() / volumes.sum()
    assert table["mean"][-1] == pytest.approx(mean, rel=1e-12)


def test_patches_are_the_zones_of_the_step(study):
    stages = [
        "write_vtkhdf: {fields: [yplus, boundary_area], durable: false}",
        "statistics: {fields: [yplus], patches: [upper part]}",
    ]
    run = study.run("zones", "run", 2, configuration(stages))
    numbers, means = [], []
    for step in (2, 4, 6):
        boundary = vtkhdf(run, "boundary", step)
        height = np.array([boundary.corners(c)[:, 1].mean() for c in range(len(boundary.types))])
        patches = boundary.cells["patch"]
        upper = patches == patches.max()
        np.testing.assert_array_equal(upper, height > 0.3 * step)
        assert len({*patches}) >= 4  # outlet, symmetry, walls, and the upper part
        numbers.append(upper.sum())
        areas = boundary.cells["boundary_area"][upper]
        means.append(np.average(boundary.cells["yplus"][upper], weights=areas))
    table = read_table(run / "results/a/statistics_yplus.csv")
    np.testing.assert_allclose(table["mean"][1:], means, rtol=1e-12)
    assert list(table["count"][1:]) == numbers and means[-1] > 0
    assert numbers[0] > numbers[1] > numbers[2] > 0


def test_a_run_without_steps(study):
    run = study.run("quality", "run", 3, STATISTICS + SIDECARS)
    assert "pillion:" not in (run / "output").read_text()
    assert not (run / "results").exists()


def test_a_run_that_diverges_has_its_products(study):
    """code_saturne writes what it can, and so does Pillion, before the error ends the program."""
    text = configuration(["statistics: {fields: [temperature]}"], SIDECARS, every=1)
    run = study.run("diverging", "run", 3, text, check=False)
    assert "Error in calculation stage" in (run / "output").read_text()
    assert "divergence" in (run / "error").read_text()
    table = read_table(run / "results/a/statistics_temperature.csv")
    assert table["step"].tolist() == [0, 1, 2, 3, 4]
    assert (run / "results/report.json").exists()


@pytest.mark.parametrize(("ranks", "head"), [(1, ""), (2, ""), (3, SIDECARS)])
def test_mistakes_end_the_run_before_its_first_step(study, ranks, head):
    text = configuration(["statistics: {fields: [speed]}"], head)
    run = study.run("junction", f"mistake{ranks}", ranks, text, check=False)
    said = (run / "output").read_text()
    assert said.count("unknown field 'speed'; known: ") == 1 and "yplus" in said
    assert "Error in calculation stage" in said
    assert not (run / "results/a").exists()


WRONG = {
    "entry": ("output: results\nanalysis: {}\n", "lacks 'analyses'; is 'analysis' meant"),
    "ranks": (STATISTICS + "sidecars: {ranks: 2}\n", "sidecar"),
}


@pytest.mark.parametrize("what", WRONG)
def test_what_is_wrong_in_the_file_is_said_at_once(study, what):
    text, wanted = WRONG[what]
    run = study.run("junction", f"wrong_{what}", 2, text, check=False)
    said = (run / "output").read_text()
    assert said.count("pillion: error: ") == 1 and wanted in said
    assert "Error in calculation stage" in said
    assert not (run / "checkpoint").exists()


def test_a_case_with_the_line_alone_runs_as_without_it(study):
    run, plain = (study.run("junction", f"line{n}", 2, t) for n, t in ((1, ""), (2, None)))
    assert "pillion" not in (run / "output").read_text() and (run / "src/cs_pillion.c").exists()
    assert (run / "checkpoint/main").read_bytes() == (plain / "checkpoint/main").read_bytes()
    assert not (run / "results").exists()
