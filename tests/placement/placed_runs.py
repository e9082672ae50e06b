# SPDX-License-Identifier: BSD-3-Clause
"""Runs in which every rank says where it is."""

import json
import os
import sys
from dataclasses import dataclass
from pathlib import Path

import pillion
from conftest import launch, read_table

BUILD = Path(os.environ.get("PILLION_BUILD", "build"))
PYTHON = sys.executable
# Plans need the compiled module of the build, beside the package in the source tree.
pillion.__path__.append(str(BUILD / "python/pillion"))

PROGRAM = Path(__file__).parent / "programs/locations.py"
CONFIGURATION = """
output: results
sidecars: {{{sidecars}}}
meshes: {{grid: {{kind: uniform, cells: [{cells}, 4, 4], length: [1, 1, 1]}}}}
fields: {{f: {{mesh: grid, type: float64}}}}
analyses:
  sums: {{every: 1 steps, stages: [{{statistics: {{fields: [f], at: sidecar}}}}]}}
"""


@dataclass(frozen=True)
class Told:
    """What ranks wrote."""

    cpus: list[list[int]]  # by rank
    sidecars: list[int]
    means: list[float]  # of the ranks that simulate, from the product


def prepared(folder: Path, ranks: int, sidecars: str, count: int) -> list[str]:
    """The words that start a rank of a run in `folder`, `count` of whose ranks become sidecars."""
    (folder / "told").mkdir()
    text = CONFIGURATION.format(sidecars=sidecars, cells=4 * (ranks - count))
    (folder / "pillion.yaml").write_text(text)
    return [sys.executable, str(PROGRAM), "told"]


def environment(build: Path) -> dict[str, str]:
    return {"PYTHONPATH": str(build / "python"), "PILLION_PYTHON": sys.executable}


def read_told(folder: Path, ranks: int) -> Told:
    told = [json.loads((folder / "told" / str(rank)).read_text()) for rank in range(ranks)]
    table = read_table(folder / "results/sums/statistics_f.csv")
    return Told(
        [t["cpus"] for t in told],
        [rank for rank, t in enumerate(told) if not t["simulates"]],
        table.columns["mean"].tolist(),
    )


def run(build, folder, ranks: int, sidecars: str, count: int, **env) -> tuple[Told, str]:
    """What the ranks told, and what the run said."""
    words = prepared(folder, ranks, sidecars, count)
    done = launch((ranks, *words), cwd=folder, env=environment(build) | env)
    return read_told(folder, ranks), done.stderr + done.stdout
