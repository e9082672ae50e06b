# SPDX-License-Identifier: BSD-3-Clause
"""How the tests of the LAMMPS adapter run LAMMPS and read what it wrote: starting pillion-lmp with
an input and a configuration, and reading the files of `fix ave/time` and `dump custom`, in which
tests have LAMMPS print all digits.
"""

import itertools
import os
from pathlib import Path

import numpy as np
import pytest
import yaml
from conftest import mpirun

ALL = bool(os.environ.get("PILLION_TEST_ALL"))


def placements(everyday):
    """Pairs of simulation ranks and sidecar ranks (0: analyses run in the simulation).

    All of 1 to 4 by 0 to 3; those not in `everyday` only if PILLION_TEST_ALL is set.
    """
    everyday = set(everyday)
    rarely = pytest.mark.skipif(not ALL, reason="set PILLION_TEST_ALL=1 to run every placement")
    return [
        pytest.param(
            *pair, id=f"{pair[0]}sim-{pair[1]}side", marks=[] if pair in everyday else [rarely]
        )
        for pair in itertools.product([1, 2, 3, 4], [0, 1, 2, 3])
    ]


def configuration(analyses: dict, sidecars: int | dict, **more) -> str:
    """A YAML file: products go to `results`; sidecars, if they are only counted, never skip."""
    content = {"output": "results", "analyses": analyses, **more}
    if isinstance(sidecars, dict):
        content["sidecars"] = sidecars
    elif sidecars:
        content["sidecars"] = {"ranks": sidecars, "when_full": "wait"}
    return yaml.safe_dump(content, sort_keys=False)


def lmp(build: Path, folder: Path, text: str, config: str | None, ranks: int, *options, **how):
    """Runs an input under pillion-lmp, in `folder`; without `config` it is LAMMPS alone."""
    program = build / "bin" / "pillion-lmp"
    if not program.exists():
        pytest.skip("pillion-lmp is not built: no LAMMPS library was found")
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "in.test").write_text(text)
    arguments = ["-in", "in.test", "-screen", "none", *options]
    if config is not None:
        (folder / "pillion.yaml").write_text(config)
        arguments = ["-pillion", "pillion.yaml", *arguments]
    how = {"timeout": 120, **how}
    return mpirun(ranks, program, *arguments, cwd=folder, **how)


def read_scalars(path: Path) -> np.ndarray:
    """Rows of `fix ave/time`: the step, then one number for each argument."""
    return np.loadtxt(path, comments="#", ndmin=2)


def read_vectors(path: Path) -> dict[int, np.ndarray]:
    """Blocks of `fix ave/time … mode vector`: for each step its rows, without the row number."""
    lines = [line.split() for line in path.read_text().splitlines() if not line.startswith("#")]
    blocks, at = {}, 0
    while at < len(lines):
        step, rows = int(lines[at][0]), int(lines[at][1])
        body = lines[at + 1 : at + 1 + rows]
        blocks[step] = np.array([[float(word) for word in line[1:]] for line in body])
        at += 1 + rows
    return blocks


def pair_counts(blocks: dict[int, np.ndarray], centres: list[int]) -> list[np.ndarray]:
    """Ordered pairs per bin, added up over steps, from blocks of `compute rdf`.

    Its coordination numbers are running sums of the pairs found, divided by the number of central
    atoms, so their differences times that number are whole numbers but for round-off.
    """
    totals = []
    for pair, number in enumerate(centres):
        total = 0
        for block in blocks.values():
            pairs = np.diff(block[:, 2 + 2 * pair], prepend=0.0) * number
            whole = np.rint(pairs)
            assert np.abs(pairs - whole).max() < 1e-6
            total = total + whole.astype(np.int64)
        totals.append(total)
    return totals


def read_dump(path: Path) -> dict[int, tuple[np.ndarray, np.ndarray]]:
    """Frames of `dump custom` of an orthogonal box: for each step the box and the rows."""
    lines = path.read_text().splitlines()
    frames, at = {}, 0
    while at < len(lines):
        step, count = int(lines[at + 1]), int(lines[at + 3])
        box = np.array([line.split() for line in lines[at + 5 : at + 8]], dtype=float)
        rows = np.array([line.split() for line in lines[at + 9 : at + 9 + count]], dtype=float)
        frames[step] = (box, rows)
        at += 9 + count
    return frames
