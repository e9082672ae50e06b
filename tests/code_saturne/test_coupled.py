# SPDX-License-Identifier: BSD-3-Clause
"""The adapter in a program that is coupled with another one in the same job."""

from pathlib import Path

import limits
import pytest
from conftest import mpirun

HERE = Path(__file__).parent
SOURCES = HERE.parents[1] / "adapters/code_saturne"


@pytest.fixture(scope="module")
def program(build, tmp_path_factory) -> Path:
    out = tmp_path_factory.mktemp("coupled") / "coupled"
    libraries = [f"-L{build / 'lib'}", f"-Wl,-rpath,{build / 'lib'}", "-lpillion_code_saturne"]
    limits.run(
        ["mpicc", HERE / "coupled.c", f"-I{SOURCES}", *libraries, "-o", out], check=True, timeout=60
    )
    return out


def run(program, folder, field, **more):
    text = "output: results\nanalyses:\n  a:\n    stages: [statistics: {fields: [FIELD]}]\n"
    (folder / "pillion.yaml").write_text(text.replace("FIELD", field))
    return mpirun(4, program, cwd=folder, **more)


def test_zones_may_have_a_dollar_sign(program, tmp_path):
    assert run(program, tmp_path, "pressure").stdout.count("configured") == 2


def test_a_mistake_ends_the_whole_job(program, tmp_path):
    done = run(program, tmp_path, "heat", check=False)
    assert "unknown field 'heat'" in done.stderr and done.returncode != 0
