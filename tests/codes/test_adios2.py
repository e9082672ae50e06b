# SPDX-License-Identifier: BSD-3-Clause
"""Programs that write with ADIOS2 through the plug-in engine, built against PyPI's ADIOS2."""

import os
import sys
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest
import yaml
from adios2_runs import build_engine, build_program
from conftest import mpirun, read_table
from datasets import read_raw
from placements import EVERYTHING

HERE = Path(__file__).parent
ENGINE = HERE.parents[1] / "adapters/adios2"
pytestmark = pytest.mark.skipif(
    not EVERYTHING or find_spec("adios2") is None,
    reason="runs with PILLION_TEST_ALL only, with the package adios2",
)
XML, STEPS = HERE / "adios2.xml", 3


@pytest.fixture(scope="module")
def programs(build, tmp_path_factory) -> Path:
    """A folder with the engine, and the program in C++."""
    folder = tmp_path_factory.mktemp("adios2")
    build_engine(build, folder)
    build_program("adios2_writer", folder)
    return folder


CONFIGURATION = """
output: results
meshes: {beads: {kind: particles}}
fields: {charge: {mesh: beads, type: float64}}
analyses:
  grids:
    stages:
      - write_raw: {fields: [density], durable: false}
      - write_raw: {fields: [column], durable: false}
  beads: {stages: [statistics: {fields: [charge]}]}
"""


def play(programs, folder, language, text, *manner, xml=XML, check=True):
    (folder / "analyses.yaml").write_text(text)
    xml = xml.read_text()
    if manner == ("fortran",):
        line = '<parameter key="ArrayOrder" value="Fortran"/>'
        xml = xml.replace("</engine>", f"{line}</engine>")
    (folder / "adios2.xml").write_text(xml)
    program = (programs / "adios2_writer",)
    if language == "python":
        program = (sys.executable, HERE / "adios2_writer.py")
    env = {"ADIOS2_PLUGIN_PATH": str(programs / "build")}
    return mpirun(3, *program, STEPS, *manner, cwd=folder, env=os.environ | env, check=check)


MANNERS = [("python",), ("c++",), ("python", "fortran"), ("python", "lone")]


@pytest.mark.parametrize("manner", MANNERS, ids="-".join)
def test_what_programs_put(programs, tmp_path, manner):
    language, *more = manner
    play(programs, tmp_path, language, CONFIGURATION, *more)
    k, j, i = np.indices((12, 5, 4))
    results = tmp_path / "results/grids"
    for step, (_, blocks) in read_raw(results, "grid_12_5_4.raw.yaml").items():
        assert len(blocks) == 6
        for block in blocks:
            at = tuple(slice(a, b) for a, b in zip(block["lo"], block["hi"], strict=True))[::-1]
            wanted = (step // 10 + i + 10 * j + 100 * k)[at]
            np.testing.assert_array_equal(block["density"].reshape(wanted.shape), wanted)
    found = read_raw(results, "grid_5_4.raw.yaml")
    assert sorted(found) == [0, 10, 20]
    for step, (_, (block,)) in found.items():
        np.testing.assert_array_equal(block["column"], step // 10 + np.arange(20))
    table = read_table(tmp_path / "results/beads/statistics_charge.csv")
    counts = [2 * (n + 2) for n in range(STEPS)]
    assert list(table["count"]) == counts
    np.testing.assert_allclose(table["mean"], [(count - 1) / 2 for count in counts])
    head = yaml.safe_load((results / "grid_5_4.raw.yaml").read_text())
    for n, entry in enumerate(head["steps"]):
        index = yaml.safe_load((results / entry["index"]).read_text())
        assert entry["time"] == 0.5 * n and index["scalars"]["dt"]["value"] == 0.25 * n


def test_schedules_follow_values_that_one_rank_puts(programs, tmp_path):
    text = CONFIGURATION.replace("  grids:", "  grids:\n    every: 0.5 time\n    when: dt > 0.1")
    text = text.replace("beads: {stages", "beads: {every: 20 steps, stages")
    play(programs, tmp_path, "python", text, "lone")
    # A condition holds from the next step on at which its analysis is scheduled.
    assert sorted(read_raw(tmp_path / "results/grids", "grid_12_5_4.raw.yaml")) == [20]
    table = read_table(tmp_path / "results/beads/statistics_charge.csv")
    assert table["step"].tolist() == [0, 20]


@pytest.mark.parametrize(
    ("entry", "said"),
    [
        (
            "charge: {mesh: beads, type: float64, components: 3}",
            "the 3 components in the catalogue",
        ),
        ("density: {mesh: beads, type: float64}", "set 'components' to the length"),
        ("density: {mesh: box, type: float64}", "needs 'cells: [4, 5, 12]', found [12, 5, 4]"),
        ("density: {mesh: box, type: float64, components: 3}", "the shape 12 x 5 x 4, so its fast"),
    ],
)
def test_arrays_that_are_not_as_the_catalogue_says(programs, tmp_path, entry, said):
    box = "meshes: {box: {kind: uniform, cells: [12, 5, 4], length: [1, 1, 1]}, beads"
    text = CONFIGURATION.replace("meshes: {beads", box)
    text = (
        text.replace("fields: {", f"fields: {{{entry}, ")
        if "charge" not in entry
        else (text.replace("charge: {mesh: beads, type: float64}", entry))
    )
    done = play(programs, tmp_path, "python", text, check=False)
    assert done.returncode != 0 and said in done.stderr


def test_sidecars_in_the_job_are_refused(programs, tmp_path):
    done = play(programs, tmp_path, "c++", CONFIGURATION + "sidecars: {ranks: 1}\n", check=False)
    assert done.returncode != 0 and "set 'sidecars: {job: separate}'" in done.stderr


def test_an_array_that_changes_its_shape(programs, tmp_path):
    """Its publication is dropped, and no other."""
    done = play(programs, tmp_path, "python", CONFIGURATION, "grown")
    assert "'density' with the shape 13 x 5 x 4, so mesh 'grid_12_5_4' needs" in done.stderr
    table = read_table(tmp_path / "results/beads/statistics_charge.csv")
    assert table["step"].tolist() == [0, 10, 20]
    assert sorted(read_raw(tmp_path / "results/grids", "grid_12_5_4.raw.yaml")) == [0, 20]


@pytest.mark.parametrize("step", [0, 1])
def test_a_fault_of_one_rank(programs, tmp_path, step):
    """At the first step it ends the program on all ranks; later the publication is dropped."""
    done = play(programs, tmp_path, "python", CONFIGURATION, "fault", step, check=False)
    assert "density" in done.stderr
    if step == 0:
        assert done.returncode != 0
        return
    assert done.returncode == 0
    table = read_table(tmp_path / "results/beads/statistics_charge.csv")
    assert table["step"].tolist() == [0, 10, 20]
    assert sorted(read_raw(tmp_path / "results/grids", "grid_12_5_4.raw.yaml")) == [0, 20]


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("analyses.yaml", "absent.yaml", "absent.yaml"),
        ("Domain:beads", "ArrayOrder", "'ArrayOrder' is '0 0 0 10 10 10 periodic'"),
        ("10 periodic", "10 perodic", "found '0 0 0 10 10 10 perodic'"),
        ('"Configuration"', '"Config"', "the engine has no parameter 'Config'"),
    ],
)
def test_mistakes_in_the_engines_parameters(programs, tmp_path, old, new, said):
    text = XML.read_text().replace(old, new)
    (tmp_path / "wrong.xml").write_text(text)
    done = play(
        programs, tmp_path, "python", CONFIGURATION, xml=tmp_path / "wrong.xml", check=False
    )
    assert done.returncode != 0 and said in done.stderr


def test_particles_need_a_domain(programs, tmp_path):
    text = CONFIGURATION.replace("beads", "pearls")
    done = play(programs, tmp_path, "c++", text, check=False)
    assert done.returncode != 0 and "the parameter 'Domain:pearls'" in done.stderr
