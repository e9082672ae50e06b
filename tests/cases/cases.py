# SPDX-License-Identifier: BSD-3-Clause
"""What several cases use."""

import json
import subprocess
import sys
from pathlib import Path

import limits
import pillion

GRID = "meshes: {m: {kind: uniform, cells: [4, 4, 4], length: [1, 1, 1]}}\n"


def configuration(text: str, name: str = "pillion.yaml") -> Path:
    path = Path(name)
    path.write_text(text, encoding="utf-8")
    return path


def session_of(text: str, **options) -> pillion.Session:
    """A session with a configuration of that text."""
    return pillion.open(configuration(text), **options)


def refusal_of(text: str) -> str:
    """Why no session can be opened with a configuration; "" if one can."""
    try:
        session_of(text).close()
    except pillion.Error as error:
        return str(error)
    return ""


def command(*words: object, check: bool = True) -> str:
    """What a `pillion` command prints, errors included."""
    done = limits.run(
        [sys.executable, "-m", "pillion", *map(str, words)],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=60,
    )
    assert not check or done.returncode == 0, done.stdout
    return done.stdout


def mistakes_of(text: str, *words: str) -> list[str]:
    """LINE: MESSAGE of each mistake that `pillion check` finds."""
    found = json.loads(command("check", configuration(text), "--json", *words, check=False))
    return [f"{one['line']}: {one['message']}" for one in found["mistakes"]]


def notes_of(text: str, *words: str) -> list[str]:
    found = json.loads(command("check", configuration(text), "--json", *words, check=False))
    return [f"{one['line']}: {one['message']}" for one in found["notes"]]
