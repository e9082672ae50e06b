# SPDX-License-Identifier: BSD-3-Clause
"""Nyx's Exec/LyA, built once without Pillion and patched; a program with Pillion is linked for the
build under test. Runs of either, in a folder with what Nyx reads.
"""

import fcntl
import os
import shutil
import subprocess
from pathlib import Path

from cached_codes import built
from conftest import mpirun

HERE = Path(__file__).parent
PATCH = HERE.parents[1] / "adapters/amrex/nyx/nyx.patch"


class Nyx:
    """`plain` is the program without Pillion, `program` that with it."""

    def __init__(self, build: Path, prefix: Path) -> None:
        self._code = built("nyx", HERE / "build_nyx.sh", PATCH, limit=3600)
        self.plain = self._code / "Nyx3d.plain.ex"
        self.program = prefix / "Nyx3d.ex"
        install = ["cmake", "--install", str(build), "--prefix", str(prefix)]
        subprocess.run(install, check=True, capture_output=True)
        folder = self._code / "Nyx/Exec/LyA"
        # Programs for several builds of Pillion share a folder.
        with open(self._code / "make.lock", "w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            for old in (*folder.glob("tmp_build_dir/o/*/nyx_main.o"), *folder.glob("*.ex")):
                old.unlink()
            done = subprocess.run(
                [self._code / "make.sh", f"PILLION_HOME={prefix}"],
                capture_output=True,
                text=True,
                timeout=1200,
            )
            assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-4000:]
            shutil.move(next(folder.glob("*.ex")), self.program)

    def run(
        self, folder: Path, inputs: str, words: list[str], ranks: int, yaml: str | None, **more
    ):
        """Runs the program with Pillion if there is a configuration, or else the plain one."""
        folder.mkdir(parents=True, exist_ok=True)
        for name in ("32.nyx", "TREECOOL_middle", inputs):
            if not (folder / name).exists():
                os.symlink(self._code / "Nyx/Exec/LyA" / name, folder / name)
        program = self.plain
        if yaml is not None:
            (folder / "pillion.yaml").write_text(yaml)
            program, words = self.program, [*words, "pillion.file=pillion.yaml"]
        return mpirun(ranks, program, inputs, *words, cwd=folder, timeout=900, **more)
