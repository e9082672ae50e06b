# SPDX-License-Identifier: BSD-3-Clause
"""Systems in which something is unlike the plain periodic box: a rank without atoms, a tilted box,
a box that changes its size, a group of atoms, run commands that begin where the last one ended.
"""

import json

import limits
import numpy as np
import pytest
from conftest import read_table
from lammps_inputs import (
    MIXTURE,
    ONE,
    OWN_RDF,
    RDF,
    RIDE,
    SPECIES,
    TWO,
    own_columns,
    own_correlations,
)
from lammps_runs import configuration, lmp, pair_counts, read_scalars, read_vectors

ANALYSES = {
    "all": {
        "every": "10 steps",
        "stages": [{"rdf": RDF}, {"msd": {"species": SPECIES, "origins": "first"}}],
    }
}
TILT = "change_box all triclinic\nchange_box all xy delta 1.0 xz delta 0.5 yz delta -0.7 remap\n"
SWELL = "unfix move\nfix move all npt temp 3.0 3.0 0.5 iso 4.0 4.0 0.5\n"


@pytest.mark.parametrize(("ranks", "sidecars"), [(2, 0), (3, 2)])
@pytest.mark.parametrize("change", [TILT, SWELL], ids=["tilted", "swelling"])
def test_boxes(build, tmp_path, change, ranks, sidecars):
    text = MIXTURE + change + OWN_RDF + own_correlations() + RIDE + "run 50\n"
    lmp(build, tmp_path, text, configuration(ANALYSES, sidecars), ranks + sidecars)

    rdf = read_table(tmp_path / "results/all/rdf.csv")
    own = pair_counts(read_vectors(tmp_path / "rdf.txt"), [ONE, ONE, TWO])
    for pair, counts in zip(("one_one", "one_two", "two_two"), own):
        assert np.array_equal(rdf[f"count_{pair}"], counts)
    msd, rows = read_table(tmp_path / "results/all/msd.csv"), read_scalars(tmp_path / "own.txt")
    for species in SPECIES:
        expected = own_columns(rows, "msd", species)[3]
        np.testing.assert_allclose(msd[f"msd_{species}"], expected, rtol=1e-10, atol=1e-15)


SLAB = f"""
units           lj
atom_style      atomic
boundary        p p f
processors      1 1 *
lattice         fcc 0.8442
region          box block 0 5 0 5 0 20
region          slab block 0 5 0 5 2 5
create_box      1 box
create_atoms    1 region slab
mass            1 1.0
velocity        all create 1.0 87287 loop geom
pair_style      lj/cut 2.5
pair_coeff      * * 1.0 1.0
comm_modify     cutoff 4.8
fix             move all nve
compute         g all rdf 60 1 1 cutoff 4.0
fix             g all ave/time 10 1 10 c_g[*] mode vector file rdf.txt format " %.17g"
compute         m all msd
fix             m all ave/time 10 1 10 c_m[4] file msd.txt format " %.17g"
{RIDE}
run             40
"""


@pytest.mark.parametrize("sidecars", [0, 2])
def test_a_rank_without_atoms(build, tmp_path, sidecars):
    species = {"it": [1]}
    rdf = {"species": species, "pairs": [["it", "it"]], "cutoff": 4.0, "bins": 60}
    stages = [{"rdf": rdf}, {"msd": {"species": species, "origins": "first"}}]
    analyses = {"slab": {"every": "10 steps", "stages": stages}}
    lmp(build, tmp_path, SLAB, configuration(analyses, sidecars), 3 + sidecars)

    log = (tmp_path / "log.lammps").read_text()
    atoms = next(line.split() for line in log.splitlines() if line.startswith("Nlocal:"))
    assert atoms[5:7] == ["0", "min"]
    blocks = read_vectors(tmp_path / "rdf.txt")
    count = int(next(line.split()[1] for line in log.splitlines() if line.startswith("Created 3")))
    table = read_table(tmp_path / "results/slab/rdf.csv")
    assert np.array_equal(table["count_it_it"], pair_counts(blocks, [count])[0])
    expected = read_scalars(tmp_path / "msd.txt")[:, 1]
    msd = read_table(tmp_path / "results/slab/msd.csv")["msd_it"]
    np.testing.assert_allclose(msd, expected, rtol=1e-10, atol=1e-15)


@pytest.mark.parametrize(("ranks", "sidecars"), [(1, 0), (3, 1)])
def test_only_the_group_is_seen(build, tmp_path, ranks, sidecars):
    """Every field that is shared for a group is gathered; the sums over all atoms show it."""
    text = MIXTURE + OWN_RDF + own_correlations() + "fix ride one pillion\nrun 30\n"
    rdf = {**RDF, "pairs": [["one", "one"]], "species": {"one": [1, 2]}}
    everything = {"origins": "first", "remove_drift": "system"}
    stages = [{"rdf": rdf}, {"msd": everything}, {"vacf": {"origins": "first"}}]
    config = configuration({"group": {"every": "10 steps", "stages": stages}}, sidecars)
    lmp(build, tmp_path, text, config, ranks + sidecars)

    results, rows = tmp_path / "results/group", read_scalars(tmp_path / "own.txt")
    counts = pair_counts(read_vectors(tmp_path / "rdf.txt"), [ONE])[0]
    assert np.array_equal(read_table(results / "rdf.csv")["count_one_one"], counts)
    msd = read_table(results / "msd.csv")["msd_all"]
    expected = own_columns(rows, "drift", "one")[3]
    np.testing.assert_allclose(msd, expected, rtol=1e-10, atol=1e-15)
    vacf = read_table(results / "vacf.csv")["vacf_all"]
    np.testing.assert_allclose(vacf, own_columns(rows, "vacf", "one")[3], rtol=1e-10)


def test_no_step_is_offered_twice(build, tmp_path):
    """Every run command begins with the step that ended the one before. Of a minimisation the last
    step is offered, too."""
    text = MIXTURE + RIDE + "run 0\nrun 30\nrun 0\nrun 20\nminimize 0 0 5 5\n"
    lmp(build, tmp_path, text, configuration(ANALYSES, 1), 3)
    report = json.loads((tmp_path / "results/report.json").read_text())
    assert report["run"]["steps"] == 52
    assert report["run"]["publications"] == 6
    assert read_table(tmp_path / "results/all/rdf.csv").attributes["frames"] == 6
    # The run leaves its fields for checks of the next configuration.
    words = [build / "bin/pillion", "check", "--catalogue", "results/catalogue.yaml"]
    limits.run([*words, "pillion.yaml"], cwd=tmp_path, timeout=60, check=True)


def test_the_fix_can_be_taken_away_and_put_back(build, tmp_path):
    text = MIXTURE + RIDE + "run 20\nunfix ride\nrun 20\n" + RIDE + "run 10\n"
    lmp(build, tmp_path, text, configuration(ANALYSES, 1), 2)
    report = json.loads((tmp_path / "results/report.json").read_text())
    assert report["run"]["publications"] == 5


def test_progress_in_thermo_output_and_on_stderr(build, tmp_path):
    text = MIXTURE + RIDE.rstrip() + " progress 0.001\n"
    text += "thermo_style custom step f_ride[1] f_ride[2]\nthermo 20\nrun 40\n"
    done = lmp(build, tmp_path, text, configuration(ANALYSES, 1), 2)
    lines = [line.split() for line in (tmp_path / "log.lammps").read_text().splitlines()]
    assert ["40", "5", "0"] in lines
    last = [line for line in done.stderr.splitlines() if line.startswith("pillion: step")][-1]
    for words in ("step 40 of 40", "publications 5", "skipped 0"):
        assert words in last
    assert "Pillion report: " in done.stdout


MEANS = {"means": {"every": "10 steps", "stages": [{"statistics": {"fields": ["velocity"]}}]}}


@pytest.mark.parametrize("sidecars", [0, 1])
def test_the_step_may_be_reset_between_runs(build, tmp_path, sidecars):
    """Each run is a segment; no product of one overwrites that of another."""
    text = MIXTURE + RIDE + "run 40\nreset_timestep 0\nrun 30\nreset_timestep 100\nrun 10\n"
    lmp(build, tmp_path, text, configuration(MEANS, sidecars), 2 + sidecars)
    table = read_table(tmp_path / "results/means/statistics_velocity.csv")
    steps = table["step"].tolist()
    assert steps[:5] == [0, 10, 20, 30, 40]
    assert steps == sorted(set(steps)) and all(step % 10 == 0 for step in steps)
    # LAMMPS's steps 10, 20, 30, 100, 110, and 0 where `reset_timestep` sets the time back, too.
    assert len(steps) - 5 == 5 + np.any(np.diff(table["time"]) < 0)
    report = json.loads((tmp_path / "results/report.json").read_text())
    assert any("the program offered step" in text for text in report["remarks"])
    assert not report["warnings"]


def test_a_restart_file_without_its_companion_is_a_warning(build, tmp_path):
    """Its name is too long with `.pillion` behind it."""
    name = "x" * 250
    text = MIXTURE + RIDE + f"run 20\nwrite_restart {name}\nrun 20\n"
    done = lmp(build, tmp_path, text, configuration(MEANS, 1), 3)
    assert (tmp_path / name).exists()
    assert "could not write" in done.stderr and "WARNING" in (tmp_path / "log.lammps").read_text()
    rows = read_table(tmp_path / "results/means/statistics_velocity.csv")
    assert rows["step"].tolist() == [0, 10, 20, 30, 40]


@pytest.mark.parametrize("sidecars", [0, 1])
def test_clear_before_and_between_systems(build, tmp_path, sidecars):
    """`clear` makes a new LAMMPS within the program, which must know the fix again. The second
    system is the first one, and its steps, which begin again at 0, follow those of the first.
    """
    system = "clear\n" + MIXTURE + RIDE + "run 20\n"
    analyses = {"all": {"every": "10 steps", "stages": [{"statistics": {"fields": ["velocity"]}}]}}
    lmp(build, tmp_path, 2 * system, configuration(analyses, sidecars), 2 + sidecars)

    table = read_table(tmp_path / "results/all/statistics_velocity.csv")
    steps = table["step"].tolist()
    assert len(steps) == 6 and steps[:3] == [0, 10, 20] and steps == sorted(set(steps)), steps
    np.testing.assert_allclose(table["rms_x"][3:], table["rms_x"][:3], rtol=1e-9)
    assert not json.loads((tmp_path / "results/report.json").read_text())["warnings"]
