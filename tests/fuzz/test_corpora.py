# SPDX-License-Identifier: BSD-3-Clause
"""Replays the inputs that fuzzers of Python code have found, without Atheris. Those of compiled
targets are replayed by ctest: fuzz.NAME.
"""

import importlib
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE))
INPUTS = [path for name in ("view", "products") for path in (HERE / "corpus" / name).iterdir()]


@pytest.mark.parametrize("path", INPUTS, ids=lambda path: f"{path.parent.name}/{path.name}")
def test_input(build, path):
    importlib.import_module(f"fuzz_{path.parent.name}").one_input(path.read_bytes())
