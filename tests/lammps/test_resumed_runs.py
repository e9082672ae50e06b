# SPDX-License-Identifier: BSD-3-Clause
"""A run that is stopped at one of LAMMPS's restart files and resumed on other numbers of simulation
and sidecar ranks gives what the uninterrupted run gives.
"""

import json

import numpy as np
import pytest
from conftest import read_table
from lammps_inputs import MIXTURE, RDF, RIDE, SPECIES
from lammps_runs import configuration, lmp

SEVERAL = {"species": SPECIES, "origins": {"every": 3, "keep": 4}}
STAGES = [{"rdf": RDF}, {"msd": {**SEVERAL, "remove_drift": "species"}}, {"vacf": SEVERAL}]
ANALYSES = {"motion": {"every": "10 steps", "stages": STAGES}}
RESUMED = f"""
read_restart    half.restart
neighbor        0.3 bin
comm_modify     cutoff 4.8
fix             move all nve
{RIDE}
run             60
"""


def config(sidecars):
    return configuration(ANALYSES, sidecars)


def lammps_restart(tmp_path, folder):
    """Puts the restart file and what Pillion saved beside it where the resumed run looks."""
    folder.mkdir()
    for name in ("half.restart", "half.restart.pillion"):
        (folder / name).symlink_to(tmp_path / "first" / name)


@pytest.mark.parametrize(
    ("before", "after"),
    [((2, 1), (3, 2)), ((3, 2), (1, 0)), ((1, 0), (2, 1))],
    ids=["more", "fewer-and-inside", "from-inside"],
)
def test_a_resumed_run_goes_on(build, tmp_path, before, after):
    whole = MIXTURE + RIDE + "run 70\nwrite_restart whole.restart\nrun 60\n"
    # On the same ranks as the first half: which atoms become type 2 depends on them.
    lmp(build, tmp_path / "whole", whole, config(1), before[0] + 1)
    first = MIXTURE + RIDE + "run 70\nwrite_restart half.restart\n"
    lmp(build, tmp_path / "first", first, config(before[1]), sum(before))
    lammps_restart(tmp_path, tmp_path / "second")
    option = ["-restart", "half.restart.pillion"]
    lmp(build, tmp_path / "second", RESUMED, config(after[1]), sum(after), *option)

    for kind in ("msd", "vacf"):
        one, two = (
            read_table(tmp_path / run / f"results/motion/{kind}.csv") for run in ("whole", "second")
        )
        assert list(one["lag_steps"]) == list(two["lag_steps"])
        # This LAMMPS counts its time from 0 after read_restart.
        np.testing.assert_allclose(two["lag"], one["lag"], rtol=1e-12)
        for species in SPECIES:
            assert np.array_equal(one[f"samples_{species}"], two[f"samples_{species}"])
            # Restarting sums forces in another order; a hot liquid amplifies that.
            np.testing.assert_allclose(
                two[f"{kind}_{species}"], one[f"{kind}_{species}"], rtol=1e-7, atol=1e-12
            )
    report = json.loads((tmp_path / "second/results/report.json").read_text())
    assert report["run"]["last_step"] == 130
    assert report["run"]["restarted_from"]


def test_the_resumed_run_needs_what_was_saved(build, tmp_path):
    """The counts of the rdf of a resumed run contain those from before the stop."""
    first = MIXTURE + RIDE + "restart 70 half.restart\nrun 70\n"
    lmp(build, tmp_path / "first", first, config(1), 2)
    for name in ("half.restart", "half.restart.pillion"):
        (tmp_path / "first" / f"half.restart.70{name[12:]}").rename(tmp_path / "first" / name)
    lammps_restart(tmp_path, tmp_path / "second")
    lmp(build, tmp_path / "second", RESUMED, config(1), 2, "-restart", "half.restart.pillion")
    before = read_table(tmp_path / "first/results/motion/rdf.csv")
    after = read_table(tmp_path / "second/results/motion/rdf.csv")
    assert before.attributes["frames"] == 8
    assert after.attributes["frames"] == 14
    assert (after["count_one_two"] >= before["count_one_two"]).all()


def test_checkpoints_can_be_turned_off(build, tmp_path):
    text = MIXTURE + RIDE.rstrip() + " checkpoint no\nrun 10\nwrite_restart half.restart\n"
    lmp(build, tmp_path, text, config(0), 1)
    assert (tmp_path / "half.restart").exists()
    assert not (tmp_path / "half.restart.pillion").exists()
