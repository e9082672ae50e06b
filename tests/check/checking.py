# SPDX-License-Identifier: BSD-3-Clause
"""What the tests of `pillion check` share: the program, run in a folder of its own."""

import json
import os
import time
from dataclasses import dataclass
from pathlib import Path

import limits

TIME_LIMIT = 10  # of one check on a busy machine; the median of all is looked at, too


@dataclass(frozen=True)
class Answer:
    """What a check said, and how long it took."""

    status: int
    said: dict
    seconds: float

    @property
    def mistakes(self):
        return self.said["mistakes"]

    @property
    def messages(self):
        return [mistake["message"] for mistake in self.mistakes]

    @property
    def notes(self):
        return [note["message"] for note in self.said["notes"]]


def checker(build: Path, folder: Path):
    """A function that checks a text or a file in a folder, which holds a file called `file`."""
    (folder / "file").write_text("")

    def run(configuration, *arguments, cwd=folder, env=None):
        if isinstance(configuration, str):
            (folder / "checked.yaml").write_text(configuration, encoding="utf-8")
            configuration = Path("checked.yaml")
        begin = time.monotonic()
        done = limits.run(
            [build / "bin/pillion-check", configuration, "--json", *map(str, arguments)],
            cwd=cwd,
            env={**os.environ, **(env or {})},
            capture_output=True,
            text=True,
            timeout=TIME_LIMIT,
        )
        assert done.stderr == ""
        return Answer(done.returncode, json.loads(done.stdout), time.monotonic() - begin)

    return run
