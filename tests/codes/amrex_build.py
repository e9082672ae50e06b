# SPDX-License-Identifier: BSD-3-Clause
"""AMReX, built once, and test programs over it, built for the Pillion under test."""

from pathlib import Path

import limits
from cached_codes import built

HERE = Path(__file__).parent
ROOT = HERE.parents[1]


def amrex_of() -> Path:
    return built("amrex", HERE / "build_amrex.sh")


def program_of(build: Path, source: str) -> Path:
    """The program of `source`.cpp; a warning of Pillion's headers fails the test."""
    program = build / "tests/codes" / source
    program.parent.mkdir(parents=True, exist_ok=True)
    folders = (ROOT / "include", build / "include", ROOT / "adapters/amrex/include")
    words = [f"-I{path}" for path in folders]
    words += [f"-L{build / 'lib'}", "-lpillion", f"-Wl,-rpath,{build / 'lib'}"]
    script = HERE / "build_amrex_program.sh"
    done = limits.run(
        [script, amrex_of(), HERE / f"{source}.cpp", program, *words],
        capture_output=True,
        text=True,
        timeout=600,
    )
    assert done.returncode == 0, done.stderr
    assert "pillion" not in done.stderr, done.stderr
    return program
