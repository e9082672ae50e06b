# SPDX-License-Identifier: BSD-3-Clause
"""A simulation whose fields never change. It shares them at each step from other memory: with ghost
cells, as three components apart, and on elements. Boxes change each REGRID steps.
"""

import sys
import time
from contextlib import ExitStack
from pathlib import Path

import numpy as np
import pillion
from points_program import boxes

CELLS, ELEMENTS, STEPS = (8, 10, 6), 5, 12
REGRID = 6
HOW = sys.argv[1] if len(sys.argv) > 1 else ""


def places(lo, hi):
    indices = np.indices([b - a for a, b in zip(lo, hi, strict=True)], dtype=float)
    return indices + np.reshape(lo, (3, 1, 1, 1))


def changing(lo, hi, step):
    i, j, k = places(lo, hi)
    return np.sin(0.3 * i + 0.7 * j + step) + 0.1 * k


def constant(lo, hi, c=0):
    i, j, k = (n % cells for n, cells in zip(places(lo, hi), CELLS, strict=True))
    return 100 * i + 10 * j + k + 0.25 * c


def share(session, step, kept):
    comm = session.communicator
    with ExitStack() as blocks:
        for name in ("u", "c", "vx", "vy", "vz"):
            blocks.enter_context(session.blocks(name))
        for lo, hi in boxes(CELLS, step // REGRID % 2 * 2, comm.rank, comm.size):
            arrays = [changing(lo, hi, step)]
            wide = constant([n - 1 for n in lo], [n + 1 for n in hi])
            wide[0] = wide[-1] = -1e30  # ghost cells are not published
            arrays.append(wide)
            arrays += [np.asfortranarray(constant(lo, hi, c)) for c in range(3)]
            if HOW == "liar" and step == 5:
                arrays[1] += 1
            session.share("u", arrays[0], lo)
            session.share("c", wide, lo, ghosts=1)
            for name, array in zip(("vx", "vy", "vz"), arrays[2:], strict=True):
                session.share(name, array, lo)
            kept += arrays
    first = ELEMENTS * comm.rank
    of_elements = np.arange(first, first + ELEMENTS)[:, None, None, None] + np.zeros((2, 2, 2))
    session.share("q", of_elements)
    session.share("t", of_elements * (step + 1))
    kept += [of_elements]


if __name__ == "__main__":
    with pillion.open("run.yaml") as session:
        if session.serve():
            raise SystemExit
        for step in range(10**6 if HOW == "until-stop" else STEPS):
            kept = []
            if HOW == "until-stop":
                time.sleep(0.05)
                if session.communicator.bcast(Path("stop").exists()):
                    break
            share(session, step, kept)
            session.step(step, 0.1 * step)
            if HOW == "held" and step == REGRID + 1:
                Path("go").touch()
                time.sleep(0.5)  # for sidecars to make room
