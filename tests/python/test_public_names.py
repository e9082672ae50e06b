# SPDX-License-Identifier: BSD-3-Clause
"""The public names of the package: what type checkers see of them, and that they are there."""

import os
import sys
from pathlib import Path

import limits
import pillion
import pytest

PACKAGE = Path(__file__).parents[2] / "python"
USE = """\
import pillion

version: str = pillion.__version__


@pillion.stage("density", layout="slabs", ghosts=1)
def total(step: pillion.Step) -> dict[str, float]:
    return {"total": step.sum(sum(float(b["density"].sum()) for b in step.blocks))}


def run(table: pillion.Table) -> pillion.Results:
    with pillion.open("run.yaml", role="any") as session:
        session.step(1, 0.5)
    return pillion.results("results")


reveal_type(pillion.open("run.yaml"))
reveal_type(total)
"""
WRONG = """\
import pillion

pillion.open(1)
pillion.opened("run.yaml")
pillion.__version__ + 1
"""


@pytest.fixture(scope="module")
def said(tmp_path_factory) -> dict[str, list[str]]:
    """What mypy, at its strictest, says of two programs of a user, by their names."""
    pytest.importorskip("mypy")
    folder = tmp_path_factory.mktemp("programs")
    programs = {"use": USE, "wrong": WRONG}
    for name, text in programs.items():
        (folder / f"{name}.py").write_text(text)
    done = limits.run(
        [sys.executable, "-m", "mypy", "--strict", "--ignore-missing-imports", *folder.iterdir()],
        env={**os.environ, "MYPYPATH": str(PACKAGE)},
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=300,
    )
    lines = (done.stdout + done.stderr).splitlines()
    return {name: [line for line in lines if line.startswith(f"{name}.py")] for name in programs}


def test_type_checkers_see_the_public_names(said):
    opened, total = said["use"]
    assert 'Revealed type is "pillion.insitu.session.Session"' in opened
    assert 'Revealed type is "def (step: pillion.insitu.step.Step) -> ' in total


def test_type_checkers_find_wrong_uses(said):
    argument, name, operator = said["wrong"]
    assert "[arg-type]" in argument and '"opened"' in name and "[operator]" in operator


def test_every_public_name_is_there(monkeypatch):
    monkeypatch.setenv("PILLION_VERSION", "1.2.3")
    vars(pillion).pop("__version__", None)
    assert pillion.__version__ == "1.2.3"
    assert all(hasattr(pillion, name) for name in pillion.__all__)
    assert {*pillion.__all__} <= {*dir(pillion)}
    with pytest.raises(AttributeError, match="no attribute 'opened'"):
        pillion.opened  # noqa: B018
