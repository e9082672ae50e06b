# SPDX-License-Identifier: BSD-3-Clause
"""Checks what the example has left: the mass, which is 1, the number of leaf cells, and that all
products agree with the plotfiles.

Usage: check_products.py OUTPUT [OUTPUT …]. The outputs are of different numbers of ranks.
"""

import csv
import math
import re
import sys
from array import array
from itertools import product
from pathlib import Path

SIDE, STEPS, WRITTEN = 8, 25, (0, 12, 24)
Place = tuple[int, ...]  # of a box, in boxes of its level
Hierarchy = list[dict[Place, array]]  # values by level and place


def rows(path: Path) -> list[dict[str, float]]:
    lines = [line for line in path.read_text(encoding="utf-8").splitlines() if line[0] != "#"]
    return [{k: float(v) for k, v in row.items()} for row in csv.DictReader(lines)]


def read_level(folder: Path) -> dict[Place, array]:
    """Values of all boxes of a level of a plotfile, by their places."""
    text = (folder / "Cell_H").read_text(encoding="ascii")
    boxes = re.findall(r"\(\((\d+),(\d+),(\d+)\) \(\d+,\d+,\d+\) \(0,0,0\)\)", text)
    files = re.findall(r"FabOnDisk: (\S+) (\d+)", text)
    found = {}
    for box, (file, offset) in zip(boxes, files, strict=True):
        with (folder / file).open("rb") as stream:
            stream.seek(int(offset))
            stream.readline()
            values = array("d", stream.read(8 * SIDE**3))
        found[tuple(int(n) // SIDE for n in box)] = values
    return found


def leaves(levels: Hierarchy, level: int) -> list[Place]:
    """Boxes without finer ones in them. A box is refined as a whole or not at all."""
    if level + 1 == len(levels):
        return [*levels[level]]
    refined = {tuple(n // 2 for n in place) for place in levels[level + 1]}
    for place in refined:
        assert place in levels[level], f"boxes of level {level + 1} in {place} are not nested"
    children = [tuple(2 * n + d for n, d in zip(p, e, strict=True)) for p in refined for e in EIGHT]
    assert sorted(children) == sorted(levels[level + 1])
    return [place for place in levels[level] if place not in refined]


EIGHT = [*product((0, 1), repeat=3)]


def check_step(output: Path, step: int) -> tuple[int, float]:
    """The number of leaf cells, and the sum of squares of their densities times their volumes."""
    folder = output / f"files/cube_plotfiles/plt{step:09}"
    levels = [read_level(path) for path in sorted(folder.glob("Level_*"))]
    assert len(levels) == 3
    cells, mass, square = 0, 0.0, 0.0
    for level in range(3):
        volume = (32 << level) ** -3
        for place in leaves(levels, level):
            cells += SIDE**3
            mass += volume * math.fsum(levels[level][place])
            square += volume * math.fsum(value * value for value in levels[level][place])
    assert math.isclose(mass, 1, rel_tol=1e-12), mass
    bins = rows(output / f"mass/histogram_density.{step:09}.csv")
    assert math.isclose(sum(row["count"] for row in bins), cells), "leaf cells in the histogram"
    check_plane(levels, rows(output / f"uniform/slice_fine_z.{step:09}.csv"))
    return cells, square


def check_plane(levels: Hierarchy, plane: list[dict[str, float]]) -> None:
    """The plane z = 0.4 on finest cells has the mass of the leaf cells that it cuts."""
    wanted = 0.0
    for level in range(3):
        cell = int(0.4 * (32 << level))
        for place in leaves(levels, level):
            if place[2] == cell // SIDE:
                begin = cell % SIDE * SIDE**2
                layer = levels[level][place][begin : begin + SIDE**2]
                wanted += math.fsum(layer) / (32 << level) ** 2
    assert len(plane) == 128**2
    found = math.fsum(row["mean"] for row in plane) / len(plane)
    assert math.isclose(found, wanted, rel_tol=1e-12), (found, wanted)


def check(output: Path) -> None:
    mass = rows(output / "mass/statistics_density.csv")
    assert len(mass) == STEPS
    for row in mass:
        assert math.isclose(row["mean"], 1, rel_tol=1e-12), row["mean"]
    for step in WRITTEN:
        cells, square = check_step(output, step)
        assert mass[step]["count"] == cells, (mass[step]["count"], cells)
        assert math.isclose(mass[step]["rms"] ** 2, square, rel_tol=1e-12)
    print(f"{output}: {[int(mass[step]['count']) for step in WRITTEN]} leaf cells")


def main() -> None:
    outputs = [Path(argument) for argument in sys.argv[1:]]
    assert outputs, __doc__
    for output in outputs:
        check(output)


if __name__ == "__main__":
    main()
