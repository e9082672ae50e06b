# SPDX-License-Identifier: BSD-3-Clause
"""A simulation on staggered grids: velocities at the faces of cells, a potential at their edges."""

import numpy as np
import pillion
from points_program import boxes

GRID, PLANE = (7, 6, 5), (9, 12)
FACES = [np.arange(10.0) ** 1.5, np.cumsum(np.arange(13.0))]  # coordinates of the plane
STEPS = 3
# Where values lie: one more than cells along these axes of the mesh.
FIELDS = {
    "u": (GRID, (1, 0, 0)),
    "v": (GRID, (0, 1, 0)),
    "w": (GRID, (0, 0, 1)),
    "ex": (GRID, (0, 1, 1)),
    "ez": (GRID, (1, 1, 0)),
    "c": (GRID, (0, 0, 0)),
    "pu": (PLANE, (1, 0)),
    "pv": (PLANE, (0, 1)),
}


def values(name, lo, hi, step):
    more = FIELDS[name][1]
    n = np.indices([b - a + m for a, b, m in zip(lo, hi, more, strict=True)], dtype=float)
    n += np.reshape(lo, (-1,) + (1,) * len(lo))
    return np.sin(0.3 * n[0] + 0.7 * n[1] + step + len(name)) + 0.1 * n[-1]


def share(session, step, kept):
    comm = session.communicator
    for number, (name, (cells, _)) in enumerate(FIELDS.items()):
        with session.blocks(name):
            for lo, hi in boxes(cells, step, comm.rank, comm.size):
                array = values(name, lo, hi, step)
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
            session.step(step, 0.1 * step)
