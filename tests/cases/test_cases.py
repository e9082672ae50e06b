# SPDX-License-Identifier: BSD-3-Clause
"""Runs every case of this folder; README.md describes what a case is."""

import ast
import importlib.util
import os
import sys
from dataclasses import dataclass
from pathlib import Path

import limits
import pytest
from conftest import mpirun

HERE = Path(__file__).parent
BUILD = Path(os.environ.get("PILLION_BUILD", "build")).resolve()
pytestmark = pytest.mark.skipif(
    not any((BUILD / "python/pillion").glob("_core*.so")), reason="no modules for Python"
)


@dataclass(frozen=True)
class Case:
    """A program, and what its docstring asks for."""

    path: Path
    ranks: int = 0  # 0: no launcher
    seconds: int = 40
    packages: tuple[str, ...] = ()
    stages: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        return f"{self.path.parent.name}/{self.path.stem}"


def read_case(path: Path) -> Case:
    text = ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))) or ""
    lines = (line.partition(": ") for line in text.splitlines())
    said = {key.strip(): value for key, colon, value in lines if colon}
    return Case(
        path,
        ranks=int(said.get("ranks", 0)),
        seconds=int(said.get("seconds", 40)),
        packages=tuple(said.get("needs", "").split()),
        stages=tuple(said.get("needs stage", "").split()),
    )


CASES = [read_case(path) for path in sorted(HERE.glob("*/*.py"))]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_case(case, tmp_path):
    for package in case.packages:
        if importlib.util.find_spec(package) is None:
            pytest.skip(f"no {package}")
    for stage in case.stages:
        if not (BUILD / f"stages/{stage}.so").exists():
            pytest.skip(f"the stage {stage} is not built")
    env = {
        "PYTHONPATH": os.pathsep.join(map(str, [BUILD / "python", HERE, HERE.parent])),
        "PILLION_PYTHON": sys.executable,
        "PILLION_BIN": str(BUILD / "bin"),
        "OMP_NUM_THREADS": "1",
    }
    program = [sys.executable, case.path]
    if case.ranks:
        done = mpirun(
            case.ranks, *program, cwd=tmp_path, env=env, check=False, timeout=case.seconds
        )
    else:
        done = limits.run(
            program,
            cwd=tmp_path,
            env={**os.environ, **env},
            capture_output=True,
            text=True,
            timeout=case.seconds,
        )
    assert done.returncode == 0, f"{done.stdout}\n{done.stderr}"


def test_there_are_cases():
    assert CASES
