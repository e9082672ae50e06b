# SPDX-License-Identifier: BSD-3-Clause
"""Atoms that get other ids while LAMMPS runs, against its own computes, which follow atoms and not
ids. Displacements begin again where ids have changed, or the analysis ends; and they do neither
where atoms are removed and the others keep their ids.
"""

import json

import numpy as np
import pytest
from conftest import read_table
from lammps_runs import configuration, lmp, read_scalars

MELT = """
units lj
lattice fcc 0.8442
region box block 0 4 0 4 0 4
create_box 2 box
create_atoms 1 box
mass * 1.0
velocity all create 1.44 87287
pair_style lj/cut 2.5
pair_coeff * * 1 1
neighbor 0.3 bin
fix 1 all nve
fix ride all pillion
compute m all msd
fix first all ave/time 20 1 20 c_m[4] file first.txt format " %.17g"
run 100
region corner block 0 2 0 2 0 2
REMOVE
run 20
unfix first
compute after all msd
fix second all ave/time 20 1 20 c_after[4] c_m[4] file second.txt format " %.17g"
run 80
"""
REMOVE = {
    "compress": "delete_atoms region corner",
    "reset": "delete_atoms region corner compress no\nreset_atom_ids sort yes",
    "kept": "delete_atoms region corner compress no",
}
ANALYSES = {
    "motion": {"every": "20 steps", "stages": [{"msd": {"origins": "first"}}]},
    "strict": {
        "every": "20 steps",
        "stages": [{"msd": {"origins": "first", "when_ids_change": "fail"}}],
    },
    "memory": {"every": "4 steps", "stages": [{"vacf": {"origins": "first"}}]},
}


@pytest.mark.parametrize("how", REMOVE)
def test_atoms_that_are_removed(build, tmp_path, how):
    lmp(build, tmp_path, MELT.replace("REMOVE", REMOVE[how]), configuration(ANALYSES, 0), 2)
    report = json.loads((tmp_path / "results/report.json").read_text())
    motion, strict, _ = report["analyses"]
    assert motion["disabled"] is None
    table = read_table(tmp_path / "results/motion/msd.csv")
    found = dict(zip(table["lag_steps"].tolist(), table["msd_all"].tolist(), strict=True))
    first = {int(row[0]): row[1] for row in read_scalars(tmp_path / "first.txt")}
    second = {int(row[0]): row[1:] for row in read_scalars(tmp_path / "second.txt")}
    if how == "kept":
        assert not report["warnings"] and strict["disabled"] is None
        for step in (140, 160, 180, 200):
            assert found[step] == pytest.approx(second[step][1], rel=1e-10)
        return
    # The origin of step 0 with 256 atoms, then that of step 120 with the ones that are left.
    assert max(found) == 100
    atoms = int(table["samples_all"][1] - 256)
    for lag in (20, 40, 60, 80):
        wanted = (256 * first[lag] + atoms * second[120 + lag][0]) / (256 + atoms)
        assert found[lag] == pytest.approx(wanted, rel=1e-10), lag
    assert found[100] == pytest.approx(first[100], rel=1e-10)
    (warning,) = [w for w in report["warnings"] if "'motion'" in w]
    assert "particles of mesh 'atoms' are not the ones" in warning and "step 120" in warning
    assert "compress no" in warning
    assert "when_ids_change: begin_again" in str(strict["disabled"])
    assert any("'memory'" in w for w in report["warnings"])
    assert np.isfinite(read_table(tmp_path / "results/memory/vacf.csv")["vacf_all"]).all()
