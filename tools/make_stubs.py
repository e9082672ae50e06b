#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Writes the type stubs of the package's compiled modules, python/pillion/_*.pyi, from a build:
  tools/make_stubs.py BUILD [--check]
With --check nothing is written, and the status is 1 if they are not what they should be."""

import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PACKAGE = ROOT / "python/pillion"
HEAD = "# SPDX-License-Identifier: BSD-3-Clause\n"


def stub(build: Path, module: str) -> str:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"{module}.pyi"
        subprocess.run(
            [sys.executable, "-m", "nanobind.stubgen", "-q", "-m", f"pillion.{module}", "-o", path],
            cwd=build / "python",
            check=True,
        )
        # The generator has no name for the type of a capsule.
        path.write_text(HEAD + path.read_text().replace(": PyCapsule", ": object"))
        configuration = ["--config", str(ROOT / "pyproject.toml")]
        for words in (["check", "-q", "--fix", "--ignore", "E501"], ["format", "-q"]):
            ruff = [sys.executable, "-m", "ruff", *words, *configuration, path]
            subprocess.run([str(word) for word in ruff], check=True)
        return path.read_text()


def main() -> int:
    build, check = Path(sys.argv[1]), "--check" in sys.argv
    stale = 0
    for module in ("_core", "_idx", "_placement", "_stage"):
        path, text = PACKAGE / f"{module}.pyi", stub(build, module)
        if not check:
            path.write_text(text)
        elif path.read_text() != text:
            print(f"{path} is not what tools/make_stubs.py makes of the build", file=sys.stderr)
            stale = 1
    return stale


sys.exit(main())
