# SPDX-License-Identifier: BSD-3-Clause
"""How the fault tests start fault_driver and read what its ranks say."""

import re
from pathlib import Path

from conftest import mpirun

GRID = """
output: out
meshes: {grid: {kind: uniform, cells: [8, 4]}}
fields: {density: {mesh: grid, type: float64, units: kg}}
"""
LINE = re.compile(r"^rank (\d+): (.*)$", re.MULTILINE)


def drive(
    build: Path, folder: Path, config: str, ranks: int, *args, timeout: float = 30, more_env=None
):
    """Runs fault_driver on a configuration; returns the process. A hang fails the test."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "pillion.yaml").write_text(config)
    driver = build / "tests" / "faults" / "fault_driver"
    env = {"PILLION_STAGE_PATH": build / "tests" / "faults" / "stages", **(more_env or {})}
    arguments = args or ("pillion.yaml", 10)
    return mpirun(ranks, driver, *arguments, timeout=timeout, env=env, cwd=folder, check=False)


def said(process) -> dict[int, list[str]]:
    """What each rank printed, by rank."""
    lines: dict[int, list[str]] = {}
    for rank, text in LINE.findall(process.stdout):
        lines.setdefault(int(rank), []).append(text)
    return lines


def one_error(process, ranks: int) -> str:
    """The error that every rank printed, the same on all."""
    lines = said(process)
    errors = {text for texts in lines.values() for text in texts}
    assert sorted(lines) == list(range(ranks)), (process.stdout, process.stderr)
    assert len(errors) == 1, errors
    assert process.returncode != 0
    error = errors.pop()
    message = error.split(": ", 1)[1]
    assert process.stderr.count(f"pillion: error: {message}") == 1, process.stderr
    return error
