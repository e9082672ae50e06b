# SPDX-License-Identifier: BSD-3-Clause
"""Inputs for LAMMPS that several tests use: a hot mixture of two kinds of Lennard-Jones particles,
and commands with which LAMMPS computes by itself what Pillion's stages compute.
"""

BINS = 80
CUTOFF = 4.0

# 500 atoms in a box of 8.4; two fifths are of type 2 and heavier. It has molten after 60 steps.
MIXTURE = """
units           lj
atom_style      atomic
lattice         fcc 0.8442
region          box block 0 5 0 5 0 5
create_box      2 box
create_atoms    1 box
set             type 1 type/subset 2 200 4321
group           one type 1
group           two type 2
mass            1 1.0
mass            2 3.0
velocity        all create 4.0 87287 loop geom
pair_style      lj/cut 2.5
pair_coeff      * * 1.0 1.0
pair_coeff      1 2 1.2 0.9
neighbor        0.3 bin
comm_modify     cutoff 4.8
fix             move all nve
run             60
reset_timestep  0
"""
ONE, TWO = 300, 200

# The same in two dimensions: 200 atoms in a box of 16.3, half a unit thick.
FLAT_MIXTURE = (
    MIXTURE.replace("atom_style", "dimension       2\natom_style", 1)
    .replace("lattice         fcc 0.8442", "lattice         sq2 0.75")
    .replace("block 0 5 0 5 0 5", "block 0 10 0 10 -0.15 0.15")
    .replace("type/subset 2 200", "type/subset 2 80")
    .replace("fix             move all nve", "fix             move all nve\nfix flat all enforce2d")
)
FLAT_ONE, FLAT_TWO = 120, 80
SPECIES = {"one": [1], "two": [2]}
PAIRS = [["one", "one"], ["one", "two"], ["two", "two"]]
RDF = {"species": SPECIES, "pairs": PAIRS, "cutoff": CUTOFF, "bins": BINS}

RIDE = "fix ride all pillion\n"

# What LAMMPS computes by itself, every ten steps, with all digits.
OWN_RDF = f"""
compute         g all rdf {BINS} 1 1 1 2 2 2 cutoff {CUTOFF}
fix             g all ave/time 10 1 10 c_g[*] mode vector file rdf.txt format " %.17g"
"""


def own_correlations(suffix: str = "") -> str:
    """compute msd and compute vacf of both species, from now on; see own_columns."""
    lines = []
    for group in ("one", "two"):
        lines += [
            f"compute msd_{group}{suffix} {group} msd com no",
            f"compute drift_{group}{suffix} {group} msd com yes",
            f"compute vacf_{group}{suffix} {group} vacf",
        ]
    values = " ".join(
        f"c_{kind}_{group}{suffix}[{axis}]"
        for kind in ("msd", "drift", "vacf")
        for group in ("one", "two")
        for axis in (1, 2, 3, 4)
    )
    lines.append(
        f'fix own{suffix} all ave/time 10 1 10 {values} file own{suffix}.txt format " %.17g"'
    )
    return "\n".join(lines) + "\n"


def own_columns(rows, kind: str, species: str):
    """Columns x, y, z and total of one quantity in a file that own_correlations made."""
    at = 1 + 8 * ["msd", "drift", "vacf"].index(kind) + 4 * ["one", "two"].index(species)
    return rows[:, at : at + 4].T
