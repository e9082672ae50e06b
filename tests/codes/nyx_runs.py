# SPDX-License-Identifier: BSD-3-Clause
"""Nyx, built once without Pillion and patched; a program with Pillion is linked for the build under
test. Runs of either, in a folder with what Nyx reads.
"""

import fcntl
import os
import shutil
from pathlib import Path

import limits
from cached_codes import built
from conftest import mpirun

HERE = Path(__file__).parent
PATCH = HERE.parents[1] / "adapters/amrex/nyx/nyx.patch"
BUILD = HERE / "build_nyx.sh"


class Nyx:
    """`plain` is the program of a folder of Nyx's Exec without Pillion, `program` that with it."""

    def __init__(self, build: Path, prefix: Path, folder: str = "LyA") -> None:
        self._code = (
            built("nyx", BUILD, PATCH, limit=3600)
            if folder == "LyA"
            else built("nyx_minisb", HERE / "build_nyx_minisb.sh", PATCH, BUILD, limit=3600)
        )
        self._exec = self._code / "Nyx/Exec" / folder
        self.plain = self._code / "Nyx3d.plain.ex"
        self.program = prefix / "Nyx3d.ex"
        install = ["cmake", "--install", str(build), "--prefix", str(prefix)]
        limits.run(install, check=True, capture_output=True, timeout=300)
        # Programs for several builds of Pillion share a folder.
        with open(self._code / "make.lock", "w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            self._link(prefix)

    def _link(self, prefix: Path) -> None:
        objects = self._exec.glob("tmp_build_dir/o/*/nyx_main.o")
        for old in (*objects, *self._exec.glob("*.ex")):
            old.unlink()
        done = limits.run(
            [self._code / "make.sh", f"PILLION_HOME={prefix}"],
            capture_output=True,
            text=True,
            timeout=1200,
        )
        assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-4000:]
        shutil.move(next(self._exec.glob("*.ex")), self.program)

    def link_inputs(self, folder: Path) -> None:
        """What Nyx reads, in a folder that may be new."""
        folder.mkdir(parents=True, exist_ok=True)
        for path in self._exec.iterdir():
            if path.is_file() and path.suffix != ".ex" and not (folder / path.name).exists():
                os.symlink(path, folder / path.name)

    def run(
        self,
        folder: Path,
        inputs: str,
        words: list[str],
        ranks: int,
        yaml: str | None,
        program: Path | None = None,
        check: bool = True,
    ):
        """Runs the program with Pillion if there is a configuration, or else the plain one."""
        self.link_inputs(folder)
        if yaml is not None:
            (folder / "pillion.yaml").write_text(yaml)
            program, words = self.program, [*words, "pillion.file=pillion.yaml"]
        program = program or self.plain
        return mpirun(ranks, program, inputs, *words, cwd=folder, timeout=900, check=check)
