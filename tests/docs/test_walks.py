# SPDX-License-Identifier: BSD-3-Clause
"""docs/walks.md names files and functions; each function is in the file that is named before it."""

import re

import pytest
from code_blocks import ROOT

TEXT = (ROOT / "docs/walks.md").read_text(encoding="utf-8")
FILE = re.compile(r"[\w/]+\.(?:cpp|hpp|py)")
FUNCTION = re.compile(r"\w+::\w+|[a-z]+(?:_[a-z]+)*")


def steps() -> list[tuple[str, str]]:
    """Files with a function that the page says is in them; "" for the file alone."""
    found = []
    for item in re.split(r"\n(?=\d+\. )", TEXT)[1:]:
        file = None
        for name in re.findall(r"`([^`]+)`", item.split("\n\n")[0]):
            if FILE.fullmatch(name):
                file = name
                found.append((file, ""))
            elif file and FUNCTION.fullmatch(name):
                found.append((file, name))
    return found


@pytest.mark.parametrize(("file", "function"), steps(), ids=str)
def test_functions_are_where_the_page_says(file, function):
    path = ROOT / file
    assert path.is_file(), f"docs/walks.md: there is no {file}"
    text = path.read_text(encoding="utf-8")
    holder, _, name = function.rpartition("::")
    pattern = rf"\b{name}\b *\(" if name else ""
    if holder and path.suffix == ".cpp" and f"class {holder}" not in text:
        pattern = rf"\b{holder}::{name}\b"
    elif holder:
        assert re.search(rf"\b(class|struct) {holder}\b", text), f"{file} has no {holder}"
    assert re.search(pattern, text), f"docs/walks.md: {file} has no {function}"


def test_walks_are_short():
    walks = TEXT.split("\n## ")[1:]
    assert len(walks) == 3
    assert all(len(walk.splitlines()) <= 40 for walk in walks)
    assert len(steps()) > 50
