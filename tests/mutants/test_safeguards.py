# SPDX-License-Identifier: BSD-3-Clause
"""The list of `make test-mutants` fits the tree: the text of every mutant is there once, and so is
its test."""

import re
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))
from run_mutants import ROOT, read_mutants


def cases() -> dict[str, str]:
    """Names of the cases of unit tests, and the file of each."""
    found = {}
    for path in (ROOT / "tests/unit").rglob("*.cpp"):
        text = re.sub(r'"\s*\n\s*"', "", path.read_text())
        found |= {
            name: path.name for name in re.findall(r'TEST_CASE\(\s*"((?:[^"\\]|\\.)*)"', text)
        }
    return found


CASES = cases()


@pytest.mark.parametrize("mutant", read_mutants(), ids=lambda m: m.safeguard)
def test_mutant_fits_the_tree(mutant):
    assert (ROOT / mutant.file).read_text().count(mutant.old) == 1
    assert mutant.old != mutant.new
    if not mutant.is_unit:
        path, _, name = mutant.test.partition("::")
        name = name.partition("[")[0]
        assert re.search(rf"^def {name}\(", (ROOT / path).read_text(), re.MULTILINE)
        return
    assert mutant.case in CASES
    lists = [ROOT / "tests/unit" / name for name in ("CMakeLists.txt", "stages/CMakeLists.txt")]
    text = "".join(path.read_text() for path in lists)
    assert CASES[mutant.case] in text and mutant.program.removeprefix("unit_") in text


def test_mutants_have_names_of_their_own():
    names = [mutant.safeguard for mutant in read_mutants()]
    assert len(names) == len(set(names))
