# SPDX-License-Identifier: BSD-3-Clause
"""Draws the pictures that the site makes from what is in the repository: figures of the concepts
from code, and plots of the studies from their results. They are not in the repository; pages link
to them as if they lay beside them.
"""

import os
import runpy
from pathlib import Path

import matplotlib
from figures import FIGURES
from places import ROOT

# Scripts of study/, and the pictures that their function `draw` makes in a folder.
PLOTS = {
    "plots": ("scale-study-ratio", "scale-study-grid"),
    "intransit_plots": ("intransit-split", "intransit-gain"),
    "mapping_plots": ("mapping-steps", "mapping-links", "mapping-files"),
    "advise": ("advise-2048",),
}
NAMES = {f"{name}.svg" for name in (*FIGURES, *(n for made in PLOTS.values() for n in made))}


def draw_all(folder: Path) -> None:
    """Draws all of NAMES, the same bytes each time."""
    os.environ.setdefault("SOURCE_DATE_EPOCH", "0")  # the date in Matplotlib's files
    folder.mkdir(parents=True, exist_ok=True)
    for name, draw in FIGURES.items():
        draw().save(folder / f"{name}.svg")
    with matplotlib.rc_context({"svg.hashsalt": "pillion"}):
        for script in PLOTS:
            runpy.run_path(str(ROOT / f"study/{script}.py"))["draw"](folder)
