# SPDX-License-Identifier: BSD-3-Clause
"""A simulation that shares boxes which do not fit together at some steps, and good ones after."""

import sys

import numpy as np
import pillion

PLAIN = {
    "good": [((0, 0), (4, 8)), ((4, 0), (8, 8))],
    "hole": [((0, 0), (4, 8)), ((5, 0), (8, 8))],
    "overlap": [((0, 0), (5, 8)), ((4, 0), (8, 8))],
    "outside": [((0, 0), (4, 8)), ((4, 0), (8, 8))],
}
FINE = {
    "good": [(1, (2, 2), (6, 6)), (2, (6, 6), (10, 10))],
    "hole": [(1, (2, 2), (6, 6))],
    "overlap": [(1, (2, 2), (6, 6)), (1, (4, 4), (8, 8))],
    "outside": [(1, (2, 2), (6, 6)), (2, (10, 10), (14, 14))],
}


def share(session, field, boxes):
    comm = session.communicator
    with session.blocks(field):
        for number, (level, lo, hi) in enumerate(boxes):
            if number % comm.size == comm.rank:
                shape = tuple(b - a for a, b in zip(lo, hi, strict=True))
                session.share(field, np.full(shape, 1.0 + level), lo, level=level)


with pillion.open("run.yaml") as session:
    if session.serve():
        raise SystemExit
    for step, mode in enumerate(sys.argv[1:]):
        coarse = [(0, lo, hi) for lo, hi in PLAIN[mode]]
        share(session, "plain", coarse)
        share(session, "refined", coarse + FINE[mode])
        try:
            session.step(step, 0.1 * step)
        except pillion.Error as error:
            print(f"rank {session.communicator.rank}: {error}")
            raise SystemExit from None
