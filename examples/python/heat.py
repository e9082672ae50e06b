# SPDX-License-Identifier: BSD-3-Clause
"""Heat in a periodic cube, in Python: each rank has a slab. The lines with Pillion are marked.

mpirun -n 3 python heat.py 60     two ranks compute, one analyses what pillion.yaml says
"""

import sys

import numpy as np
import pillion  # 1
from mpi4py import MPI

CELLS, NUMBER = 48, 0.125  # along each side; diffusivity * step / width²


def start(comm):
    """A wave along each axis: this rank's slab, and the index at which it begins."""
    first, end = (CELLS * r // comm.size for r in (comm.rank, comm.rank + 1))
    waves = [np.cos(2 * np.pi * (np.arange(CELLS) + 0.5) / CELLS) for _ in range(3)]
    x, y, z = waves[0][first:end, None, None], waves[1][None, :, None], waves[2][None, None, :]
    return 300 + 10 * (x + y + z), first


def advance(t, comm):
    """One step, in place."""
    below = comm.sendrecv(t[-1], (comm.rank + 1) % comm.size, source=(comm.rank - 1) % comm.size)
    above = comm.sendrecv(t[0], (comm.rank - 1) % comm.size, source=(comm.rank + 1) % comm.size)
    wide = np.concatenate([below[None], t, above[None]])
    around = wide[:-2] + wide[2:]
    for axis in (1, 2):
        around += np.roll(t, 1, axis) + np.roll(t, -1, axis)
    t += NUMBER * (around - 6 * t)


def main(steps):
    with pillion.open("pillion.yaml", MPI.COMM_WORLD, parameters={"n": CELLS}) as session:  # 2
        comm = session.communicator  # 3
        t, first = start(comm)
        session.share("temperature", t, lo=(first, 0, 0))  # 4
        for step in range(steps + 1):
            if step > 0:
                advance(t, comm)
            session.step(step, float(step))  # 5


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 60)
