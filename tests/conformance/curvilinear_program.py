# SPDX-License-Identifier: BSD-3-Clause
"""A simulation on a ring, and in a thick shell of a cylinder, whose points move outwards. Ranks
have several boxes each, which change at step 2; coordinates are one field, of one
array or two, or three fields."""

import itertools
import sys
from contextlib import ExitStack

import numpy as np
import pillion

FAULT = sys.argv[1] if len(sys.argv) > 1 else ""
RING, SHELL = (6, 24), (4, 12, 5)
STEPS = 3


def radius(i, step):
    return (1 + 0.5 * i + 0.05 * i**2) * (1 + 0.1 * step)


def places(lo, hi, step):
    """Of the points of a box of cells, x first, components last."""
    indices = np.meshgrid(
        *[np.arange(a, b + 1.0) for a, b in zip(lo, hi, strict=True)], indexing="ij"
    )
    r, angle = radius(indices[0], step), 2 * np.pi * indices[1] / (24 if len(lo) == 2 else 48)
    along = [r * np.cos(angle), r * np.sin(angle)]
    if len(lo) == 3:
        along.append(indices[2] ** 1.5)
    return np.stack(along, axis=-1)


def values(lo, hi, step):
    indices = np.indices([b - a for a, b in zip(lo, hi, strict=True)])
    shifted = [n + a for n, a in zip(indices, lo, strict=True)]
    return np.sin(0.3 * shifted[0] + 0.7 * shifted[1] + step) + 0.1 * shifted[-1]


def boxes(cells, step, rank, ranks):
    """Pieces along the second axis: several for each rank, other ones from step 2 on. At step 1 the
    last rank has all.
    """
    pieces = 2 * ranks + (1 if step >= 2 else 0)
    edges = np.linspace(0, cells[1], pieces + 1).astype(int)
    for n, (a, b) in enumerate(itertools.pairwise(edges)):
        if rank == (ranks - 1 if step == 1 else n % ranks):
            lo, hi = [0] * len(cells), list(cells)
            lo[1], hi[1] = int(a), int(b)
            yield lo, hi


def share(session, mesh, cells, step, kept):
    comm = session.communicator
    names = ["shell_x", "shell_y", "shell_z"] if mesh == "shell" else [f"{mesh}_x"]
    with ExitStack() as blocks:
        for name in [f"{mesh}_u", *names]:
            blocks.enter_context(session.blocks(name))
        for lo, hi in boxes(cells, step, comm.rank, comm.size):
            u, x = values(lo, hi, step), places(lo, hi, step)
            if FAULT and comm.rank == comm.size - 1 and step == int(FAULT[-1]):
                x = x[::-1].copy()  # left-handed
            apart = mesh == "shell" or step == 1
            x = [np.asfortranarray(x[..., c]) for c in range(x.shape[-1])] if apart else x
            session.share(f"{mesh}_u", u, lo)
            for name, along in zip(names, x if mesh == "shell" else [x], strict=True):
                session.share(name, along, lo)
            kept += [u, x]


if __name__ == "__main__":
    with pillion.open("run.yaml") as session:
        if session.serve():
            raise SystemExit
        for step in range(STEPS):
            kept = []
            share(session, "ring", RING, step, kept)
            share(session, "shell", SHELL, step, kept)
            session.step(step, 0.1 * step)
