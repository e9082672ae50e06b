# SPDX-License-Identifier: BSD-3-Clause
"""The command as a shell sees it: output, messages, exit status."""

import os
import sys
from pathlib import Path

import limits
import numpy as np
import pytest
from sample import make_sample, table_text

PACKAGE = Path(__file__).parents[2] / "python"


@pytest.fixture
def sample(tmp_path):
    return make_sample(tmp_path)


def pillion(*arguments):
    return limits.run(
        [sys.executable, "-m", "pillion", *map(str, arguments)],
        env={**os.environ, "PYTHONPATH": str(PACKAGE)},
        capture_output=True,
        text=True,
        timeout=120,
    )


def test_report(sample):
    done = pillion("report", sample.folder)
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() == str(sample.folder / "report.html")
    assert (sample.folder / "report.html").is_file()


def test_report_elsewhere(sample, tmp_path):
    done = pillion("report", sample.folder, "--to", tmp_path / "page.html")
    assert done.returncode == 0
    assert (tmp_path / "page.html").is_file()
    assert not (sample.folder / "report.html").exists()


def test_report_with_a_broken_table(sample):
    (sample.folder / "structure/rdf.csv").write_text("nonsense\n")
    done = pillion("report", sample.folder)
    assert done.returncode == 1
    assert "rdf.csv is not a table of Pillion" in done.stderr
    assert (sample.folder / "report.html").is_file()


def test_no_report(tmp_path):
    done = pillion("report", tmp_path)
    assert done.returncode == 1
    assert done.stdout == ""
    assert done.stderr.startswith("pillion: there is no ")
    assert "Traceback" not in done.stderr


def test_folder_that_cannot_be_written(sample):
    done = pillion("report", sample.folder, "--to", sample.folder / "none" / "page.html")
    assert done.returncode == 1
    assert "cannot write" in done.stderr


def test_table(sample):
    path = sample.folder / "motion/msd.csv"
    done = pillion("table", path, "--columns", "lag,msd_O", "--rows", 3)
    assert done.returncode == 0
    lines = done.stdout.splitlines()
    assert lines[0] == "Mean squared displacement (analysis motion, stage msd)"
    assert lines[2] == "21 publications"
    assert "diffusion_O = 2.47e-05 Å^2/fs" in lines
    assert lines[-5].split() == ["lag", "[fs]", "msd_O", "[Å^2]"]
    assert lines[-4].split() == ["0", "0"]
    assert lines[-1] == "… 38 more rows"


def test_table_tells_what_is_missing_in_it(tmp_path):
    columns = [("x", "", np.arange(3.0))]
    described = {"title": "t", "analysis": "a", "stage": "s", "name": "n", "columns": columns}
    path = tmp_path / "n.csv"
    path.write_text(table_text(**described, skipped=3, coarsened=4, lost=5), encoding="utf-8")
    done = pillion("table", path)
    assert done.stdout.splitlines()[2] == "21 publications, 3 skipped, 4 coarsened, 5 lost"


def test_table_without_such_a_column(sample):
    done = pillion("table", sample.folder / "motion/msd.csv", "--columns", "msd_Xe")
    assert done.returncode == 1
    assert "no column 'msd_Xe'; it has lag" in done.stderr


def test_wrong_use():
    assert pillion().returncode == 2
    assert pillion("dance").returncode == 2


def tree_file(folder):
    """Three maxima: the highest, one that joins it at 2, one that joins that at 4."""
    path = folder / "halo_tree_rho.000000007.csv"
    columns = [
        ("id", "", np.array([5, 9, 11])),
        ("peak", "g", np.array([10.0, 6.0, 4.5])),
        ("saddle_id", "", np.array([-1, 7, 8])),
        ("saddle", "g", np.array([np.nan, 2.0, 4.0])),
        ("peak_x", "m", np.array([0.5, 1.5, 2.5])),
    ]
    path.write_text(
        table_text(
            title="Merge tree of rho",
            analysis="a",
            stage="halos",
            name="halo_tree_rho",
            columns=columns,
            attributes=[("mean", 2.0, "g")],
        ),
        encoding="utf-8",
    )
    return path


def test_query_shows_halos_of_each_pair(tmp_path):
    path = tree_file(tmp_path)
    asked = ["--threshold", "1.5", "2", "--threshold", "2", "2.1"]
    out = pillion("query", path, *asked).stdout
    assert "2 halos of boundary 3, peak 4 g" in out
    assert "3 halos of boundary 4, peak 4.2 g" not in out  # at 4 the third is still a part
    assert "2 halos of boundary 4, peak 4.2 g" in out
    assert "peak_x [m]" in out
    assert "saddle" not in out


def test_query_writes_what_it_found(tmp_path):
    path, to = tree_file(tmp_path), tmp_path / "halos.csv"
    pillion("query", path, "--absolute", "--threshold", "4.1", "4.1", "--to", to)
    lines = to.read_text(encoding="utf-8").splitlines()
    assert lines[0] == "boundary,peak_threshold,id,peak,peak_x"
    assert lines[1:] == ["4.1,4.1,5,10.0,0.5", "4.1,4.1,9,6.0,1.5", "4.1,4.1,11,4.5,2.5"]


def test_query_wants_a_tree(tmp_path):
    table = make_sample(tmp_path).folder / "structure" / "rdf.csv"
    done = pillion("query", table, "--threshold", "1", "2")
    assert done.returncode == 1
    assert "not a merge tree" in done.stderr
