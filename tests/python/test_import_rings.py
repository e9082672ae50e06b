# SPDX-License-Identifier: BSD-3-Clause
"""Modules of the package do not import each other in rings, and tools/check_layers.py would see."""

import runpy
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
python_ring = runpy.run_path(str(ROOT / "tools/check_layers.py"))["python_ring"]


def test_the_package_has_no_ring():
    assert python_ring(ROOT / "python") == []


@pytest.mark.parametrize(
    "text",
    [
        "from package.a import x",
        "from package import a",
        "import package.a",
        "def f():\n    from package.a import x",
        "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from package import a",
        "from package import b",
    ],
)
def test_rings_are_found_wherever_the_import_stands(tmp_path, text):
    package = tmp_path / "package"
    package.mkdir()
    (package / "__init__.py").write_text("")
    (package / "a.py").write_text("from package.b import y\nimport os\n")
    (package / "b.py").write_text("import sys\n")
    assert python_ring(tmp_path) == []
    (package / "b.py").write_text(f"{text}\n")
    ring = python_ring(tmp_path)
    assert ring[0] == ring[-1] and "package.b" in ring


def test_compiled_modules_are_no_import_of_their_package(tmp_path):
    package = tmp_path / "package"
    package.mkdir()
    (package / "__init__.py").write_text("from package.a import x\n")
    (package / "_core.pyi").write_text("")
    (package / "a.py").write_text("from package import _core\n")
    assert python_ring(tmp_path) == []
    (package / "a.py").write_text("from package import name\n")
    assert {*python_ring(tmp_path)} == {"package", "package.a"}
