# SPDX-License-Identifier: BSD-3-Clause
"""The example's analyses of particles and grids together give the same wherever they run. Its boxes
are so large that sidecars divide them anew once they have seen them."""

import shutil

import numpy as np
import pytest
from conftest import mpirun, read_table
from simulation import YAML

TABLES = ["power_spectrum_matter", "halos_matter", "slice_matter_z"]


def run(build, folder, sidecars, ranks):
    """All products of the analysis of matter, which is made at every step."""
    program = build / "miniapps/cosmology/cosmology"
    if not program.exists():
        pytest.skip("miniapps/cosmology was not built: FFTW with MPI was not found")
    text = YAML.read_text(encoding="utf-8")
    head, analyses = text.split("analyses:\n")
    matter = analyses.split("  matter:\n")[1].split("  # Before")[0]
    head = head.replace("{per_node: 1, memory: 1 GiB, when_full: skip}", sidecars)
    folder.mkdir()
    (folder / "pillion.yaml").write_text(
        f"{head}analyses:\n  matter:\n{matter.replace('20 steps', '1 steps')}", encoding="utf-8"
    )
    settings = ["cells=64", "box=32", "steps=8", "final_redshift=3", "length=32"]
    mpirun(ranks, program, *settings, cwd=folder, timeout=60)
    found = {path.name: read_table(path) for path in (folder / "results/matter").glob("*.csv")}
    shutil.rmtree(folder)
    return found


@pytest.fixture(scope="module")
def in_simulation(build, tmp_path_factory):
    return run(build, tmp_path_factory.mktemp("here") / "run", "{ranks: 0}", 2)


@pytest.mark.parametrize(("sidecars", "ranks"), [("ranks: 3", 4), ("per_node: 2", 4)])
def test_the_same_in_sidecars(build, tmp_path, in_simulation, sidecars, ranks):
    policy = f"{{{sidecars}, memory: 1 GiB, when_full: wait}}"
    found = run(build, tmp_path / "run", policy, ranks)
    assert found.keys() == in_simulation.keys()
    for name, table in found.items():
        if name.split(".")[0] in TABLES:
            for column, values in table.columns.items():
                np.testing.assert_allclose(values, in_simulation[name][column], rtol=1e-8)
