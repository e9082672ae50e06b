# SPDX-License-Identifier: BSD-3-Clause
"""Runs of a simulation in Python where its analyses sit in its own ranks, on a rank alone, on
sidecars over the network, or on a sidecar of the node."""

import json
import os
import sys
from collections.abc import Callable
from pathlib import Path

from conftest import mpirun

HERE = Path(__file__).parent
# Ranks of the simulation, ranks beside them, and what the configuration says of these.
PLACES = {
    "inside": (3, 0, ""),
    "one": (1, 0, ""),
    "network": (3, 2, "{ranks: 2, when_full: wait}"),
    "node": (2, 1, "{per_node: 1, when_full: wait, memory: 4 MiB}"),
}


def runner(program: str, places: dict[str, tuple[int, int, str]] = PLACES) -> Callable[..., str]:
    """A function that runs a program of this folder and returns what it says. In the text of its
    configuration, SIDECARS is the entry of that name, and STAGES the folder of stages in Python.
    """

    def run(
        folder: Path, build: Path, place: str, text: str, *arguments: str, check: bool = True
    ) -> str:
        ranks, more, sidecars = places[place]
        if not sidecars:
            text = text.replace(", at: simulation", "")
        text = text.replace("SIDECARS", f"sidecars: {sidecars}" if sidecars else "")
        text = text.replace("STAGES", str(HERE / "stages"))
        (folder / "run.yaml").write_text(text)
        env = os.environ | {"PYTHONPATH": f"{build / 'python'}:{HERE}"}
        words = [sys.executable, HERE / program, *arguments]
        done = mpirun(ranks + more, *words, env=env, cwd=folder, check=check)
        return done.stdout + done.stderr

    return run


def results_of(folder: Path, publications: int, never: str = "") -> Path:
    """The results, once all analyses but one that is `never` due are known to have had all
    publications.
    """
    report = json.loads((folder / "results/report.json").read_text())
    for analysis in report["analyses"]:
        assert analysis["disabled"] is None, analysis["disabled"]
        wanted = 0 if analysis["name"] == never else publications
        assert analysis["publications"] == wanted and analysis["dropped"] == 0, analysis
    return folder / "results"
