#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Draws dissipation over time: what taylor_green has printed, beside curves of another solver.

    plot_decay.py decay.svg RUN.txt=REFERENCE.csv=LABEL ...

tests/taylor_green/pseudo_spectral.py writes such references.
"""

import re
import sys
from pathlib import Path

import matplotlib as mpl
import numpy as np

mpl.use("svg")
mpl.rcParams["svg.hashsalt"] = "decay"
import matplotlib.pyplot as plt  # noqa: E402


def dissipation(run: Path) -> np.ndarray:
    """Times and values of the lines that a run has printed."""
    line = re.compile(r"t=\s*(\S+) .* dissipation=\s*(\S+)")
    return np.array(line.findall(run.read_text(encoding="utf-8")), float).T


def main() -> None:
    figure, axes = plt.subplots(figsize=(7, 4.2), layout="constrained")
    for number, argument in enumerate(sys.argv[2:]):
        run, reference, label = argument.split("=", 2)
        t, _, curve = np.loadtxt(reference, delimiter=",", skiprows=2, unpack=True)
        colour = f"C{number}"
        axes.plot(*dissipation(Path(run)), color=colour, label=f"{label}: spectral elements")
        axes.plot(
            t[::5], curve[::5], "o", ms=3.5, mfc="none", color=colour, label="pseudo-spectral"
        )
    axes.set(xlabel="time", ylabel="dissipation", xlim=(0, None), ylim=(0, None))
    axes.legend(frameon=False)
    axes.spines[["top", "right"]].set_visible(False)
    figure.savefig(sys.argv[1], metadata={"Date": None})


if __name__ == "__main__":
    main()
