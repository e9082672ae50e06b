# SPDX-License-Identifier: BSD-3-Clause
"""A simulation with two levels whose cells exist in part, as embedded boundaries leave them. Cells
without any part hold what is not a number.
"""

import numpy as np
import pillion

COARSE = ((0, 0), (6, 4)), ((6, 0), (12, 4))  # boxes of level 0, 12 x 4 cells
FINE = ((4, 2), (12, 6)), ((12, 2), (20, 6))  # of level 1
STEPS = 2


def part(lo, hi, level, step):
    """Of each cell: 0 for a third of them, and different steps for the others."""
    i, j = np.meshgrid(np.arange(lo[0], hi[0]), np.arange(lo[1], hi[1]), indexing="ij")
    return ((i + 2 * j + step + level) % 3) * (1 + (i + j) % 4) / 8


def values(lo, hi, level, step):
    i, j = np.meshgrid(np.arange(lo[0], hi[0]), np.arange(lo[1], hi[1]), indexing="ij")
    inside = part(lo, hi, level, step) > 0
    return np.where(inside, np.cos(i + step) + 0.3 * j + level, np.nan)


if __name__ == "__main__":
    with pillion.open("run.yaml") as session:
        if session.serve():
            raise SystemExit
        rank, ranks = session.communicator.rank, session.communicator.size
        for step in range(STEPS):
            kept = []
            for field, make in (("heat", values), ("part", part)):
                with session.blocks(field):
                    for number, (lo, hi) in enumerate([*COARSE, *FINE]):
                        level = number // 2
                        if (number + step) % ranks != rank:
                            continue
                        kept.append(make(lo, hi, level, step))
                        session.share(field, kept[-1], lo, level=level)
            session.step(step, float(step))
