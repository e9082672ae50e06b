# SPDX-License-Identifier: BSD-3-Clause
"""Draws a plane of plotfiles, of each cell the finest value that there is, and the boxes of all
levels: draw_levels.py FIELD Z PICTURE.png PLOTFILE [PLOTFILE …]
"""

import sys

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes
from matplotlib.patches import Rectangle
from pillion.datasets import Plotfile, open_plotfile

COLOURS = ("#ffffff", "#ffb454", "#ff5c5c", "#7ee081")


def draw(axes: Axes, plotfile: Plotfile, field: str, z: float) -> None:
    finest = plotfile.levels[-1]
    plane = np.full(finest.cells[1::-1], np.nan)
    x0, y0 = plotfile.origin[:2]
    boxes = []
    for level in plotfile.levels:
        cell = int((z - plotfile.origin[2]) / level.spacing[2])
        ratio = finest.ratio_to(level)
        dx, dy = level.spacing[:2]
        for number, (lo, hi) in enumerate(level.boxes):
            if not lo[2] <= cell < hi[2]:
                continue
            values = level.read(number, field)[cell - lo[2]]
            fine = np.repeat(np.repeat(values, ratio[1], 0), ratio[0], 1)
            at = (slice(a * r, b * r) for a, b, r in zip(lo, hi, ratio, strict=True))
            x, y = [*at][:2]
            plane[y, x] = fine
            corner, sides = (x0 + lo[0] * dx, y0 + lo[1] * dy), (hi - lo)[:2] * (dx, dy)
            boxes.append((corner, sides, level.number))
    extent = (x0, x0 + plotfile.length[0], y0, y0 + plotfile.length[1])
    axes.imshow(plane, origin="lower", extent=extent, cmap="viridis", interpolation="nearest")
    for corner, (width, height), level in boxes:
        colour, line = COLOURS[level % len(COLOURS)], 1.2 - 0.3 * level
        axes.add_patch(Rectangle(corner, width, height, fill=False, ec=colour, lw=line, alpha=0.8))
    axes.set_title(f"t = {plotfile.time:g}, {sum(len(of.boxes) for of in plotfile.levels)} boxes")
    axes.set_xticks([])
    axes.set_yticks([])


def main() -> None:
    field, z, picture, *paths = sys.argv[1:]
    mpl.use("Agg")
    from matplotlib import pyplot as plt

    figure, axes = plt.subplots(1, len(paths), figsize=(3.6 * len(paths), 3.9), squeeze=False)
    for one, path in zip(axes[0], paths, strict=True):
        draw(one, open_plotfile(path), field, float(z))
    figure.tight_layout()
    figure.savefig(picture, dpi=110)


if __name__ == "__main__":
    main()
