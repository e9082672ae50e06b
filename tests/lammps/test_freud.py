# SPDX-License-Identifier: BSD-3-Clause
"""RDF against freud on a frame that LAMMPS dumped. freud computes in single precision, so atoms lie
on a grid whose distances single precision holds exactly, and pair counts can be compared as
integers.
"""

import numpy as np
import pytest
from conftest import read_table
from lammps_inputs import RIDE
from lammps_runs import configuration, lmp, read_dump

freud = pytest.importorskip("freud")

LENGTH, ATOMS, CUTOFF, BINS = 16.0, 1200, 4.3, 50
INPUT = f"""
units           lj
atom_style      atomic
read_data       atoms.txt
pair_style      zero {CUTOFF}
pair_coeff      * *
mass            * 1.0
dump            frame all custom 1 frame.txt id type x y z
dump_modify     frame format float %.17g
fix             move all nve
{RIDE}
run             0
"""


def write_atoms(path):
    """Different places on a grid of 1/16, two thirds of type 1."""
    generator = np.random.default_rng(7)
    places = generator.choice(256**3, ATOMS, replace=False)
    places = np.stack(np.unravel_index(places, (256,) * 3), axis=1) / 16
    lines = ["atoms on a grid\n", f"{ATOMS} atoms", "2 atom types"]
    lines += [f"0 {LENGTH} {axis}lo {axis}hi" for axis in "xyz"]
    lines += ["\nAtoms\n"]
    for number, (x, y, z) in enumerate(places):
        lines.append(f"{number + 1} {1 if number % 3 else 2} {x} {y} {z}")
    path.write_text("\n".join(lines) + "\n")


@pytest.mark.parametrize(("ranks", "sidecars"), [(2, 0), (3, 2)])
def test_the_same_as_freud(build, tmp_path, ranks, sidecars):
    write_atoms(tmp_path / "atoms.txt")
    species = {"a": [1], "b": [2]}
    rdf = {
        "species": species,
        "pairs": [["a", "a"], ["a", "b"], ["b", "a"]],
        "cutoff": CUTOFF,
        "bins": BINS,
    }
    config = configuration({"frame": {"every": "1 steps", "stages": [{"rdf": rdf}]}}, sidecars)
    lmp(build, tmp_path, INPUT, config, ranks + sidecars)
    table = read_table(tmp_path / "results/frame/rdf.csv")

    _, rows = read_dump(tmp_path / "frame.txt")[0]
    assert len(rows) == ATOMS
    points = {name: rows[rows[:, 1] == kind, 2:] - LENGTH / 2 for name, (kind,) in species.items()}
    box = freud.box.Box.cube(LENGTH)
    for one, two in rdf["pairs"]:
        mode = "finite_size" if one == two else "exact"
        other = freud.density.RDF(BINS, CUTOFF, normalization_mode=mode)
        query = None if one == two else points[one]
        other.compute((box, points[two]), query_points=query)
        assert np.array_equal(table[f"count_{one}_{two}"], other.bin_counts.astype(np.int64))
        np.testing.assert_allclose(table[f"g_{one}_{two}"], other.rdf, rtol=1e-5)
        np.testing.assert_allclose(table["r"], other.bin_centers, rtol=1e-6)
