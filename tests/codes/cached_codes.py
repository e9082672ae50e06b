# SPDX-License-Identifier: BSD-3-Clause
"""Builds other people's codes once, from sources in the folder PILLION_CODES, and keeps them
outside of the tree: in PILLION_CODES_BUILD, or else in ~/.cache/pillion-codes.
"""

import fcntl
import hashlib
import os
import subprocess
from pathlib import Path

import limits
import pytest
from placements import EVERYTHING

needs_codes = pytest.mark.skipif(
    not EVERYTHING or "PILLION_CODES" not in os.environ,
    reason="runs with PILLION_TEST_ALL only, on a code built from sources in PILLION_CODES",
)


def built(name: str, script: Path, *inputs: Path, limit: float = 1800) -> Path:
    """The folder in which `script FOLDER` has built the code `name`.

    A change of the script or of one of `inputs` (files that it compiles or unpacks) builds again. A
    build that failed leaves its folder; the next call tries again there.
    """
    digest = hashlib.sha256()
    for path in (script, *inputs):
        digest.update(path.read_bytes())
    cache = Path(os.environ.get("PILLION_CODES_BUILD", Path.home() / ".cache/pillion-codes"))
    folder = cache / f"{name}-{script.stem}-{digest.hexdigest()[:16]}"
    folder.mkdir(parents=True, exist_ok=True)
    done = folder / "built"
    # Test modules run in several processes; the second one waits for the first one's build.
    with open(folder / "lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not done.exists():
            with open(folder / "build.log", "w") as log:
                result = limits.run(
                    [script, folder], stdout=log, stderr=subprocess.STDOUT, timeout=limit
                )
            if result.returncode != 0:
                tail = "\n".join((folder / "build.log").read_text().splitlines()[-30:])
                pytest.fail(f"{script} failed for {name}; the end of {log.name}:\n{tail}")
            done.touch()
    return folder
