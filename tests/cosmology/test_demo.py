# SPDX-License-Identifier: BSD-3-Clause
"""`make demo-cosmology`, smaller: the page shows what it should beside theory, and the large waves
of the simulation grow as theory says.
"""

import csv
import os
import re
import sys
from pathlib import Path

import limits
import numpy as np
import pytest
from conftest import read_table, some

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def output(build, tmp_path_factory):
    if not (build / "miniapps/cosmology/cosmology").exists():
        pytest.skip("miniapps/cosmology was not built: FFTW with MPI was not found")
    folder = tmp_path_factory.mktemp("demo")
    command = [ROOT / "tools/run_demo_cosmology.sh", build, folder]
    command += ["cells=32", "box=16", "length=128", "steps=100"]
    environment = {**os.environ, "PYTHON": sys.executable, "RANKS": "2"}
    done = limits.run(command, env=environment, capture_output=True, text=True, timeout=240)
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip().endswith("report.html")
    return folder


def theory(output, name):
    with (output / "compare" / "matter" / name).open(encoding="utf-8") as file:
        assert file.readline().startswith("# ")
        rows = list(csv.reader(file))
    return dict(zip(rows[0], np.array(rows[1:], float).T, strict=True))


def test_large_waves_grow_as_theory_says(output):
    """Amplitudes at the start are those expected; waves of 16 cells and more are followed well
    until they are no longer linear."""
    for path in some((output / "matter").glob("power_spectrum_matter.*.csv")):
        table, linear = read_table(path), theory(output, path.name)
        np.testing.assert_allclose(linear["k"], table["k"], rtol=1e-12)
        large = (table["k"] < 2 * np.pi / 64) & (linear["dimensionless"] < 0.1)
        assert large.any() or "100.csv" in path.name
        np.testing.assert_allclose(table["power"][large], linear["power"][large], rtol=0.06)


def test_the_page_shows_it_all(output):
    page = (output / "report.html").read_text(encoding="utf-8")
    assert "warning" not in re.sub(r"<style>.*?</style>", "", page, flags=re.DOTALL)
    assert page.count("data:image/png") >= 4 + 4 + 1  # slices, and temperature against density
    labels = re.findall(r'aria-label="([^"]*)"', page)
    for words in ["power over k", "density over halo mass function", "gas temperature against gas"]:
        assert any(words in label for label in labels), (words, labels)
    assert "compared-0" in page
    for title in ["Lyman-alpha flux power spectrum along x", "Halos of matter", "Merge tree"]:
        assert title in page
