#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Fails if a source file belongs to no target of a configured build, for what is not built rots.

    check_builds.py BUILD_DIRECTORY [--all]

Reads compile_commands.json, and the files that unity builds include. A source file of C, C++ or
Fortran must be compiled there, or by something else that is listed below and names it, or belong to
an optional target, whose requirement is listed below. Prints what is left out and why. With --all,
as in `make test-builds`, it fails if anything is left out.
"""

import json
import re
import subprocess
import sys
from fnmatch import fnmatch
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
SUFFIXES = {".c", ".cpp", ".f", ".f90", ".F90"}

# Patterns of files that CMake does not compile; beside each, the files that compile them. A file
# that none of these names, with or without its suffix, is not compiled.
ELSEWHERE = {
    "adapters/adios2/*.cpp": "adapters/adios2/CMakeLists.txt",  # tests/codes, with ADIOS2 2.12
    "adapters/code_saturne/*.c": "adapters/code_saturne/*.py.in",  # with each case
    "adapters/lammps/plugin/*.cpp": "adapters/lammps/CMakeLists.txt",  # make test-codes
    "adapters/nek5000/*.f": "adapters/nek5000/pillion.mk",  # with each case
    "docs/examples/frames/*": "docs/*.md",  # blocks of pages, by tests/docs
    "study/engine*.cpp": "study/library.sh",  # make test-scale, as the next ones
    "study/intransit.cpp": "study/intransit.sh",
    "study/m*.cpp": "study/mapping.sh",
    "study/pattern.cpp": "study/mapping.sh",
    "study/*.cpp": "study/smpi.sh",
    "tests/cluster/*.c": "tests/cluster/*.py",
    "tests/code_saturne/coupled.c": "tests/code_saturne/test_coupled.py",
    "tests/codes/*.cpp": "tests/codes/*.py",
    "tests/install/*": "tests/install/*/CMakeLists.txt",
}

# Optional targets: patterns of their files, and what they need.
FORTRAN = "a Fortran compiler and mpi_f08 (tools/install_deps.sh stages)"
UNIT = "doctest (tools/install_deps.sh test), and PILLION_UNIT_TESTS"
OPTIONAL = {
    "adapters/lammps/*": "LAMMPS (tools/install_deps.sh run)",
    "bench/kernels.cpp": "FFTW with MPI (tools/install_deps.sh stages)",
    "bench/s3d.cpp": "PnetCDF and HDF5 with MPI (tools/install_deps.sh develop)",
    "bench/spectrum.cpp": "FFTW with MPI (tools/install_deps.sh stages)",
    "bench/truncate.cpp": "zlib, lz4 (tools/install_deps.sh stages)",
    "examples/*.f90": FORTRAN,
    "fortran/*": FORTRAN,
    "tests/*/*.f90": FORTRAN,
    "tests/api/integers.f": FORTRAN,
    "miniapps/*": "FFTW with MPI, Fortran (tools/install_deps.sh stages)",
    "python/*": "nanobind and Python's headers (tools/install_deps.sh run)",
    "stages/*": "libraries of single stages (tools/install_deps.sh stages)",
    "tests/unit/*/*": UNIT,
    "tests/unit/headers.cpp": UNIT,
    "tests/unit/main.cpp": UNIT,  # tests of adapters have the main program without MPI
}


def sources() -> list[str]:
    command = ["git", "ls-files", "-co", "--exclude-standard"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    files = sorted(set(done.stdout.splitlines()))
    return [f for f in files if Path(f).suffix in SUFFIXES and (ROOT / f).exists()]


def compiled(build: Path) -> set[str]:
    """Sources of all targets, relative to the checkout."""
    found = set()
    for entry in json.loads((build / "compile_commands.json").read_text(encoding="utf-8")):
        path = Path(entry["directory"], entry["file"])
        files = [path]
        if path.parent.name == "Unity":
            text = path.read_text(encoding="utf-8")
            files = [Path(name) for name in re.findall(r'^#include "(.*)"', text, re.MULTILINE)]
        for file in map(Path.resolve, files):
            if file.is_relative_to(ROOT):
                found.add(str(file.relative_to(ROOT)))
    return found


def matching(file: str, patterns: dict[str, str]) -> list[str]:
    return [value for pattern, value in patterns.items() if fnmatch(file, pattern)]


def is_compiled_elsewhere(file: str) -> bool:
    """Whether one of the files that should compile it names it."""
    names = re.compile(rf"\b{re.escape(Path(file).stem)}\b|\*\.{Path(file).suffix[1:]}\b")
    return any(
        names.search(by.read_text(encoding="utf-8"))
        for pattern in matching(file, ELSEWHERE)
        for by in ROOT.glob(pattern)
    )


def beside(file: str, known: set[str]) -> list[str]:
    """Compiled sources of the same part, such as a stage: an optional part is left out whole."""
    part = "/".join(file.split("/")[:2])
    return [other for other in known if other.startswith(f"{part}/")]


def main(arguments: list[str]) -> int:
    is_strict = "--all" in arguments
    (build,) = (Path(a) for a in arguments if a != "--all")
    known, files = compiled(build), sources()
    rest = [file for file in files if file not in known]
    elsewhere = {file for file in rest if is_compiled_elsewhere(file)}
    lost, left_out = [], {}
    for file in rest:
        if file in elsewhere:
            continue
        pattern = next((p for p in OPTIONAL if fnmatch(file, p)), None)
        if pattern and not any(fnmatch(other, pattern) for other in beside(file, known)):
            left_out[file] = OPTIONAL[pattern]
        else:
            lost.append(file)
    for file in lost:
        print(f"{file} belongs to no target: add it to one, or list it in tools/check_builds.py")
    for file, needs in left_out.items():
        print(f"left out: {file}, which needs {needs}")
    print(
        f"check_builds: {len(files)} sources, {len(files) - len(rest)} in targets, "
        f"{len(elsewhere)} compiled by scripts, {len(left_out)} left out, {len(lost)} lost"
    )
    return int(bool(lost) or (is_strict and bool(left_out)))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
