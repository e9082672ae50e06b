# SPDX-License-Identifier: BSD-3-Clause
"""LAMMPS's own peptide and melt examples, unchanged but for one added line. The oracle is LAMMPS
running the same input without Pillion, but with its own compute rdf and a dump from which the
test computes the rest. (compute msd would count from before `fix shake` moves atoms on setup.)
"""

import os
import shutil
from pathlib import Path

import numpy as np
import pytest
from conftest import read_table
from lammps_runs import configuration, lmp, pair_counts, read_dump, read_vectors

EXAMPLES = Path(os.environ.get("LAMMPS_EXAMPLES", "/usr/share/lammps/examples"))

# name: (an atom type whose motion is watched, steps between publications, cutoff, time units)
CASES = {"melt": (1, 50, 2.5, "τ", "σ^2"), "peptide": (13, 50, 10.0, "fs", "Å^2")}


def before_run(text: str, added: str) -> str:
    """The input with lines added before its only run command."""
    lines = text.splitlines(keepends=True)
    at = [number for number, line in enumerate(lines) if line.startswith("run")]
    assert len(at) == 1
    return "".join([*lines[: at[0]], added, *lines[at[0] :]])


def own_computes(kind: int, every: int, cutoff: float) -> str:
    return (
        f"group watched type {kind}\n"
        f"dump watched watched custom {every} watched.txt id xu yu zu vx vy vz\n"
        "dump_modify watched sort id format float %.17g\n"
        f"compute g all rdf 50 {kind} {kind} cutoff {cutoff}\n"
        f"fix g all ave/time {every} 1 {every} c_g[*] mode vector file rdf.txt "
        'format " %.17g"\n'
    )


def thermo(log: str) -> list[str]:
    """What LAMMPS prints of the run's thermodynamics, without timings."""
    body = log.split("Per MPI rank memory allocation")[1].split("Loop time")[0]
    return [line.split("CPU =")[0] for line in body.splitlines()[1:]]


@pytest.mark.parametrize("name", CASES)
def test_the_example_runs_with_one_line_added(build, tmp_path, name):
    if not EXAMPLES.is_dir():
        pytest.skip("LAMMPS's examples are not installed; set LAMMPS_EXAMPLES to their folder")
    kind, every, cutoff, time_units, area_units = CASES[name]
    for folder in ("with", "without"):
        shutil.copytree(EXAMPLES / name, tmp_path / folder)
    text = (EXAMPLES / name / f"in.{name}").read_text()
    species = {"it": [kind]}
    rdf = {"species": species, "pairs": [["it", "it"]], "cutoff": cutoff, "bins": 50}
    motion = {"species": species, "origins": "first"}
    stages = [{"rdf": rdf}, {"msd": motion}, {"vacf": motion}]
    config = configuration({"example": {"every": f"{every} steps", "stages": stages}}, 1)
    lmp(build, tmp_path / "with", before_run(text, "fix ride all pillion\n"), config, 3)
    lmp(build, tmp_path / "without", before_run(text, own_computes(kind, every, cutoff)), None, 2)

    logs = [thermo((tmp_path / f / "log.lammps").read_text()) for f in ("with", "without")]
    assert logs[0] == logs[1]

    results = tmp_path / "with/results/example"
    frames = [rows for _, rows in read_dump(tmp_path / "without/watched.txt").values()]
    x, v = (np.array([rows[:, at : at + 3] for rows in frames]) for at in (1, 4))
    msd, vacf = read_table(results / "msd.csv"), read_table(results / "vacf.csv")
    assert msd.units["lag"] == time_units
    assert msd.units["msd_it"] == area_units
    np.testing.assert_allclose(
        msd["msd_it"], ((x - x[0]) ** 2).sum(axis=2).mean(axis=1), rtol=1e-7, atol=1e-12
    )
    np.testing.assert_allclose(vacf["vacf_it"], (v * v[0]).sum(axis=2).mean(axis=1), rtol=1e-7)
    blocks = read_vectors(tmp_path / "without/rdf.txt")
    table = read_table(results / "rdf.csv")
    number = round(table.attributes["particles_it"])
    assert np.array_equal(table["count_it_it"], pair_counts(blocks, [number])[0])
