# SPDX-License-Identifier: BSD-3-Clause
"""Names that formats give another meaning: each writer keeps them, and each reader finds them, or
the configuration is refused at its line before the first step. Datasets are compared with the
array that was shared; name_round_trip.py has the names.
"""

import os
import sys
from pathlib import Path

import limits
import pytest

HERE = Path(__file__).parent
BUILD = Path(os.environ.get("PILLION_BUILD", "build")).resolve()
WRITERS = ["raw", "idx", "hdf5", "plotfile", "openpmd", "vtkhdf", "tables"]
pytestmark = pytest.mark.skipif(
    not any((BUILD / "python/pillion").glob("_core*.so")), reason="no modules for Python"
)


def run(folder: Path, deed: str, writer: str) -> None:
    stage = {"tables": "statistics"}.get(writer, f"write_{writer}")
    if not (BUILD / f"stages/{stage}.so").exists():
        pytest.skip(f"the stage {stage} is not built")
    done = limits.run(
        [sys.executable, HERE / "name_round_trip.py", deed, writer],
        cwd=folder,
        env={
            **os.environ,
            "PYTHONPATH": str(BUILD / "python"),
            "OMP_NUM_THREADS": "1",
            "PILLION_PROGRESS": "0",
        },
        capture_output=True,
        text=True,
        timeout=90,
    )
    assert done.returncode == 0, done.stderr[-3000:]


@pytest.mark.parametrize("writer", WRITERS)
def test_fields_of_any_name_are_written_and_read(writer, tmp_path):
    run(tmp_path, "keep_fields", writer)


@pytest.mark.parametrize("writer", WRITERS)
def test_meshes_and_analyses_of_any_name_are_written_and_read(writer, tmp_path):
    run(tmp_path, "keep_meshes_and_analyses", writer)


def test_other_names_are_refused_at_their_line(tmp_path):
    run(tmp_path, "refuse_others", "tables")


def test_reports_show_any_name(tmp_path):
    run(tmp_path, "show_in_reports", "tables")
