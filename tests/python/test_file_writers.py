# SPDX-License-Identifier: BSD-3-Clause
"""Files are written by functions that leave them whole; tools/check_writers.py finds others."""

import runpy
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
TOOL = runpy.run_path(str(ROOT / "tools/check_writers.py"))


def test_no_file_is_written_otherwise():
    assert TOOL["main"]() == 0


@pytest.mark.parametrize(
    ("name", "line"),
    [
        ("a.cpp", "  std::ofstream out(path);"),
        ("a.cpp", "  fs::rename(from, to, error);"),
        ("a.cpp", "  if (::renameat2(a, b, c, d, 2) != 0) fail();"),
        ("a.c", '  FILE* file = fopen(path, "w");'),
        ("a.hpp", "  open(path, O_WRONLY | O_CREAT | O_TRUNC, 0666)"),
        ("a.py", '    path.write_text("x")'),
        ("a.py", '    with path.open("w") as file:'),
        ("a.py", "    os.replace(aside, path)"),
    ],
)
def test_a_writer_is_found(tmp_path, name, line):
    path = tmp_path / name
    path.write_text(f"first\n{line}\n")
    assert list(TOOL["writes_in"](path)) == [2]


@pytest.mark.parametrize(
    ("name", "line"),
    [
        ("a.py", "text.replace(a, b)"),
        ("a.py", 'open("x.yaml")'),
        ("a.cpp", "std::ifstream in(path);"),
    ],
)
def test_what_writes_nothing_is_not(tmp_path, name, line):
    (tmp_path / name).write_text(line)
    assert not list(TOOL["writes_in"](tmp_path / name))
