# SPDX-License-Identifier: BSD-3-Clause
"""A simulation with values at points of meshes of boxes, which ranks share at their borders."""

import itertools

import numpy as np
import pillion

CUBE, PLANE, RING = (7, 6, 5), (9, 12), (4, 10)
FACES = [np.arange(10.0) ** 1.5, np.linspace(-30, 60, 13)]  # longitude and latitude of the plane
STEPS = 3


def values(lo, hi, step, more=1):
    """At points of a box of cells, or with no `more`, at cells; the first axis first."""
    indices = np.indices([b - a + more for a, b in zip(lo, hi, strict=True)])
    shifted = [n + a for n, a in zip(indices, lo, strict=True)]
    return np.sin(0.3 * shifted[0] + 0.7 * shifted[1] + step) + 0.1 * shifted[-1]


def vectors(lo, hi, step):
    return np.stack([c + values(lo, hi, step) ** (c + 1) for c in range(3)], axis=-1)


def ring_points(lo, hi):
    i, j = np.meshgrid(*[np.arange(a, b + 1.0) for a, b in zip(lo, hi, strict=True)], indexing="ij")
    return np.stack([(1 + i) * np.cos(0.4 * j), (1 + i) * np.sin(0.4 * j)], axis=-1)


def boxes(cells, step, rank, ranks):
    """Pieces along the second axis: several for each rank, and other ones from step 2 on."""
    pieces = min(2 * ranks + (1 if step >= 2 else 0), cells[1])
    edges = np.linspace(0, cells[1], pieces + 1).astype(int)
    for n, (a, b) in enumerate(itertools.pairwise(edges)):
        if n % ranks == rank:
            lo, hi = [0] * len(cells), list(cells)
            lo[1], hi[1] = int(a), int(b)
            yield lo, hi


def share(session, step, kept):
    comm = session.communicator
    makers = {
        "t": (CUBE, values),
        "v": (CUBE, vectors),
        "plane_t": (PLANE, values),
        "plane_c": (PLANE, lambda lo, hi, step: values(lo, hi, step, more=0)),
        "ring_t": (RING, values),
        "ring_x": (RING, lambda lo, hi, step: ring_points(lo, hi)),
    }
    for name, (cells, make) in makers.items():
        with session.blocks(name):
            for lo, hi in boxes(cells, step, comm.rank, comm.size):
                array = make(lo, hi, step)
                if name == "t":
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
            session.step(step, 0.1 * step)
