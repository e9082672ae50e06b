# SPDX-License-Identifier: BSD-3-Clause
"""Runs configurations on one rank, one after the other, and prints as JSON what each quarter of the
steps took: bytes and calls that wrote, and seconds of CPU time. The arguments are the steps, the
cells along an axis, the blocks of each mesh, whether values are random or all 1, and the files.
"""

import json
import sys
import time
from itertools import pairwise
from pathlib import Path

import numpy as np
import pillion

ORDER = 3


def elements(count):
    """Coordinates of the points of `count` elements in a row."""
    points = np.polynomial.legendre.Legendre.basis(ORDER).deriv().roots()
    points = (np.concatenate([[-1], np.sort(points.real), [1]]) + 1) / 2
    z, y, x = np.meshgrid(points, points, points, indexing="ij")
    out = np.empty((count, 3, *x.shape))
    for e in range(count):
        for axis, values in enumerate((x + e, y, z)):
            out[e, axis] = values
    return out


def boxes(cells, blocks):
    """The lower and upper ends [x, y, z] of blocks that divide a cube: halves of halves."""
    found = [((0, 0, 0), (cells,) * 3)]
    while len(found) < blocks:
        lo, hi = found.pop(0)
        axis = int(np.argmax(np.subtract(hi, lo)))
        middle = (lo[axis] + hi[axis]) // 2
        low, high = list(hi), list(lo)
        low[axis] = high[axis] = middle
        found += [(lo, tuple(low)), (tuple(high), hi)]
    return found


def arrays_of(cells, random):
    rng = np.random.default_rng(1)
    grid, count = (cells,) * 3, cells**3
    some = rng.random if random else np.ones
    return {
        "noise": some(grid),
        "other": some(grid),
        "flow": some((*grid, 3)),
        "leaf": some(grid),
        "position": rng.random((count, 3)),
        "velocity": some((count, 3)),
        "id": np.arange(count),
        "type": np.ones(count, "int32"),
        "xyz": elements(count // 8),
        "heat": some((count // 8, *(ORDER + 1,) * 3)),
        "number": np.arange(count // 8),
    }


def share(session, name, array, cells, blocks):
    if name in ("noise", "other", "flow", "leaf"):
        for lo, hi in boxes(cells, blocks):
            session.share(name, array[lo[2] : hi[2], lo[1] : hi[1], lo[0] : hi[0]], lo=lo)
        return
    session.share(name, array)


def spent():
    """Bytes and calls that wrote, and CPU time, so far."""
    lines = Path("/proc/self/io").read_text().splitlines()
    io = {key: int(value) for key, _, value in (line.partition(": ") for line in lines)}
    return io["wchar"], io["syscw"], time.process_time()


def run(configuration, steps, cells, blocks, random):
    arrays = arrays_of(cells, random)
    marks = []
    with pillion.open(configuration) as session:
        session.set_domain("atoms", (0, 0, 0), (1, 1, 1))
        for name, array in arrays.items():
            share(session, name, array, cells, blocks)
        for step in range(steps):
            if step % (steps // 4) == 0:
                marks.append(spent())
            # Steps are not equally far apart, so that no list of them is short.
            session.step(17 * step + step % 3, 0.1 * step)
        marks.append(spent())
    return [[b - a for a, b in zip(p, q)] for p, q in pairwise(marks)]


def main(steps, cells, blocks, values, *configurations):
    numbers = int(steps), int(cells), int(blocks)
    print(json.dumps({file: run(file, *numbers, values == "random") for file in configurations}))


if __name__ == "__main__":
    main(*sys.argv[1:])
