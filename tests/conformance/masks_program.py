# SPDX-License-Identifier: BSD-3-Clause
"""A simulation whose meshes have cells that do not exist, and cells that exist in part."""

import os

import numpy as np
import pillion
from points_program import boxes, ring_points

SEA, CUT, BAR, RING = (9, 12), (7, 6, 5), (6, 8), (4, 10)
FACES = [np.arange(7.0) ** 1.5, np.cumsum(np.arange(9.0))]
STEPS = 3


def at(lo, hi, more=0):
    """Indices of the cells of a box, or with `more` of its points, the first axis first."""
    indices = np.indices([b - a + more for a, b in zip(lo, hi, strict=True)])
    return [n + a for n, a in zip(indices, lo, strict=True)]


def values(lo, hi, step, more=0):
    indices = at(lo, hi, more)
    return np.sin(0.3 * indices[0] + 0.7 * indices[1] + step) + 0.1 * indices[-1]


def mask(lo, hi, step):
    """0 where a cell does not exist, other numbers elsewhere; at the last step all cells exist."""
    indices = at(lo, hi)
    holes = (indices[0] * 5 + indices[1] * 3 + step) % 4 == 0
    return np.where(holes & (step < STEPS - 1), 0, indices[0] - 20)


def weight(lo, hi, step):
    indices = at(lo, hi)
    parts = (1 + (2 * indices[0] + indices[1] + step) % 5) / 5 * ((indices[1] + step) % 6 > 0)
    return parts * float(os.environ.get("PARTS_OF", "1"))


FIELDS = {
    "sea_t": (SEA, values),
    "wet": (SEA, lambda *box: mask(*box) != 0),  # as NumPy's booleans
    "cut_t": (CUT, lambda *box: values(*box).astype(np.float32)),
    "part": (CUT, weight),
    "bar_t": (BAR, values),
    "bar_m": (BAR, lambda *box: mask(*box).astype(np.int8)),
    "bar_w": (BAR, lambda *box: weight(*box).astype(np.float32)),
    "ring_c": (RING, values),
    "ring_p": (RING, lambda *box: values(*box, more=1)),
    "ring_x": (RING, lambda lo, hi, step: ring_points(lo, hi)),
    "ring_m": (RING, lambda *box: mask(*box).astype(np.int16)),
    "ring_w": (RING, weight),
}


STRIP = np.cumsum(np.arange(12.0))  # where a strip of quadrilaterals is cut


def strip(session, step, kept):
    """Quadrilaterals between neighbours of STRIP, one high, divided evenly among the ranks."""
    comm = session.communicator
    mine = np.array_split(np.arange(len(STRIP) - 1), comm.size)[comm.rank]
    x = STRIP[mine[0] : mine[-1] + 2]
    points = np.array([[a, b, 0.0] for b in (0, 1) for a in x])
    first, up = np.arange(len(mine)), len(x)
    session.share_points("strip", points, block=0)
    corners = np.stack([first, first + 1, first + 1 + up, first + up], axis=1)
    types, offsets = np.full(len(mine), 9, np.uint8), 4 * np.arange(len(mine) + 1)
    session.share_cells("strip", types=types, offsets=offsets, points=corners.ravel(), block=0)
    at_cells, parts = np.cos(mine + step), (1.0 + (mine + step) % 3) / 3
    at_points = points[:, 0] + step
    for name, array in [("strip_t", at_cells), ("strip_w", parts), ("strip_p", at_points)]:
        session.share(name, array, block=0)
    kept.append((at_cells, parts, at_points))


def share(session, step, kept):
    comm = session.communicator
    for number, (name, (cells, make)) in enumerate(FIELDS.items()):
        cut = 2 if name == os.environ.get("CUT_APART") else step
        with session.blocks(name):
            for lo, hi in boxes(cells, cut, comm.rank, comm.size):
                array = np.ascontiguousarray(make(lo, hi, step))
                if number % 2 == 0:
                    array = np.asfortranarray(array)
                session.share(name, array, lo)
                kept.append(array)


if __name__ == "__main__":
    with pillion.open("run.yaml") as session:
        if session.serve():
            raise SystemExit
        for step in range(STEPS):
            kept = []
            share(session, step, kept)
            strip(session, step, kept)
            session.step(step, 0.1 * step)
