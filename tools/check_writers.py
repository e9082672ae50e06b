#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Fails if a file of the library, of a stage, of an adapter or of the Python package makes, renames
or replaces files by itself. A file has to be whole or absent, also if its process is killed between
two operations; src/products/whole_file.hpp, stages/common/files.hpp and pillion.report.page have
functions for that. Prints each place that is not in the table, and entries of the table that are
out of date."""

import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent

# Files that may, each with what becomes of a file that a killed process has not finished.
WRITERS = {
    "src/products/whole_file.cpp": "written aside, renamed; folders exchanged",
    "src/node/shared_file.cpp": "shared memory, without a name or with one that goes at once",
    "src/run/run_folder.cpp": "the marker, in place under a lock; results are moved",
    "stages/common/files.hpp": "written aside, renamed; folders exchanged",
    "stages/common/hdf5.cpp": "a file aside, which its writer renames",
    "stages/encode/compressed_file.cpp": "a file aside, which its writer renames",
    "stages/encode/sz3_box.cpp": "in memory",
    "stages/write/hdf5/compression.cpp": "in memory",
    "stages/write/openpmd/file.cpp": "a file aside, which its writer renames",
    "stages/write/step_list.cpp": "lines are appended; readers leave out one that is cut",
    "adapters/code_saturne/saturne_session.cpp": "written aside, renamed",
    "python/pillion/report/page.py": "written aside, renamed",
    "python/pillion/tables.py": "of the user, by a command that has not ended",
    "python/pillion/advise/short_runs.py": "in a temporary folder, or of the user",
    "python/pillion/command/run.py": "of the user, by a command that has not ended",
    "python/pillion/command/plan.py": "of the user, by a command that has not ended",
    "python/pillion/command/products.py": "of the user, by a command that has not ended",
    "python/pillion/datasets/nek_writing.py": "of the user, by a command that has not ended",
    "python/pillion/grids/pair.py": "nothing: the null device",
    "python/pillion/view/server.py": "in a temporary folder",
}
IN_C = re.compile(
    r"\brename(?:at2?)?\(|\bofstream\b|\bfopen\(|\bO_CREAT\b|\bO_TRUNC\b|\bH5Fcreate\(|\bcreat\("
)
IN_PYTHON = re.compile(
    r"\bos\.(?:replace|rename)\(|\.rename\(|\baside\.replace\(|\.write_(?:text|bytes)\("
    r"|\bopen\([^()]*[\"'][wax]b?[\"']|\bnp\.savez?\(\w+\.|\.tofile\(|\bshutil\.move\("
)
# A method of stages that is called so, and writes through the library.
NOT_FILES = re.compile(r"self\._work\.write_text\(")
SUFFIXES = {".h": IN_C, ".hpp": IN_C, ".c": IN_C, ".cpp": IN_C, ".py": IN_PYTHON}


def writes_in(path: Path):
    """Numbers of lines that make, rename or replace files."""
    pattern = SUFFIXES[path.suffix]
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        if pattern.search(NOT_FILES.sub("", line)):
            yield number


def main() -> int:
    faults, writers, looked = [], set(), 0
    for folder in ("src", "stages", "adapters", "python"):
        for path in sorted((ROOT / folder).rglob("*")):
            if path.suffix not in SUFFIXES or not path.is_file():
                continue
            looked += 1
            name = str(path.relative_to(ROOT))
            lines = list(writes_in(path))
            if lines and name in WRITERS:
                writers.add(name)
            else:
                faults += [
                    f"{name}:{line}: writes a file by itself; use a function that leaves it whole, "
                    "or add the file to the table of tools/check_writers.py with the reason"
                    for line in lines
                ]
    faults += [f"{name}: writes no file, but is in the table" for name in WRITERS.keys() - writers]
    print("\n".join(faults) or f"check_writers: {len(writers)} of {looked} files write files")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
