# SPDX-License-Identifier: BSD-3-Clause
"""The example of sodium chloride in water, made small: motion of whole molecules against LAMMPS's
own computes over chunks, and the units of what comes out.
"""

import shutil
from pathlib import Path

import numpy as np
import pytest
from conftest import read_table
from lammps_runs import configuration, lmp, read_dump, read_vectors

EXAMPLE = Path(__file__).resolve().parents[2] / "examples/nacl"
SMALL = ["-var", "sites", "7", "-var", "pairs", "6", "-var", "warmup", "20", "-var", "steps", "60"]
SPECIES = {"water": [1, 2], "Na": [3], "Cl": [4]}
OWN = """
compute         mol all chunk/atom molecule
compute         moved all msd/chunk mol
compute         speed all vcm/chunk mol
fix             moved all ave/time 20 1 20 c_moved[*] mode vector file moved.txt format " %.17g"
fix             speed all ave/time 20 1 20 c_speed[*] mode vector file speed.txt format " %.17g"
dump            who all custom 1000 who.txt id mol type
fix             ride"""


def molecules_by_species(folder):
    """Numbers of molecules, from 0, by the name of their species."""
    _, rows = read_dump(folder / "who.txt")[0]
    kind = {int(molecule): int(atom_type) for _, molecule, atom_type in rows}
    return {
        name: [molecule - 1 for molecule in sorted(kind) if kind[molecule] in types]
        for name, types in SPECIES.items()
    }


@pytest.mark.parametrize(("ranks", "sidecars"), [(2, 0), (2, 2)])
def test_whole_molecules(build, tmp_path, ranks, sidecars):
    shutil.copy(EXAMPLE / "spce.mol", tmp_path)
    text = (EXAMPLE / "in.nacl").read_text()
    assert text.count("\nfix             ride") == 1
    text = text.replace("\nfix             ride", OWN)
    motion = {"species": SPECIES, "per": "molecule", "origins": "first"}
    analyses = {"motion": {"every": "20 steps", "stages": [{"msd": motion}, {"vacf": motion}]}}
    lmp(build, tmp_path, text, configuration(analyses, sidecars), ranks + sidecars, *SMALL)

    moved, speed = read_vectors(tmp_path / "moved.txt"), read_vectors(tmp_path / "speed.txt")
    msd = read_table(tmp_path / "results/motion/msd.csv")
    vacf = read_table(tmp_path / "results/motion/vacf.csv")
    assert list(msd["lag"]) == [0.0, 40.0, 80.0, 120.0]
    members = molecules_by_species(tmp_path)
    assert {name: len(list_) for name, list_ in members.items()} == {"water": 331, "Na": 6, "Cl": 6}
    for name, which in members.items():
        expected = [moved[step][which, 3].mean() for step in sorted(moved)]
        np.testing.assert_allclose(msd[f"msd_{name}"], expected, rtol=1e-10, atol=1e-15)
        products = [(speed[step] * speed[0]).sum(axis=1) for step in sorted(speed)]
        expected = [each[which].mean() for each in products]
        np.testing.assert_allclose(vacf[f"vacf_{name}"], expected, rtol=1e-10)
    assert msd.units["lag"] == "fs"
    assert msd.units["msd_water"] == "Å^2"
    assert vacf.units["vacf_water"] == "Å^2/fs^2"
