# SPDX-License-Identifier: BSD-3-Clause
"""A simulation whose fields have every element type, over their whole range."""

import numpy as np
import pillion
from points_program import boxes

CELLS, COUNT, STEPS = (7, 6, 5), 40, 2
TYPES = ("int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64")


def values(name, step):
    """Of all cells or particles, the same on every rank."""
    if name == "id":
        return np.arange(COUNT)
    if name == "position":
        return np.random.default_rng(step).random((COUNT, 3))
    random = np.random.default_rng([step, *name.encode()])
    if name == "wet":  # a mask as NumPy makes it
        return random.random(CELLS) < 0.6
    shape = {"pair": (*CELLS, 2), "charge": (COUNT,)}.get(name, CELLS)
    dtype = {"pair": np.uint8, "charge": np.int8}.get(name, name)
    ends = np.iinfo(dtype)
    out = random.integers(ends.min, ends.max, shape, dtype, endpoint=True)
    out.flat[:2] = ends.min, ends.max
    return out


if __name__ == "__main__":
    with pillion.open("run.yaml") as session:
        if session.serve():
            raise SystemExit
        session.set_domain("atoms", (0, 0, 0), (1, 1, 1))
        comm = session.communicator
        mine = np.array_split(np.arange(COUNT), comm.size)[comm.rank]
        for step in range(STEPS):
            kept = []
            for name in (*TYPES, "wet", "pair"):
                with session.blocks(name):
                    for lo, hi in boxes(CELLS, step, comm.rank, comm.size):
                        place = tuple(slice(a, b) for a, b in zip(lo, hi, strict=True))
                        kept.append(values(name, step)[place].copy())
                        session.share(name, kept[-1], lo)
            for name in ("position", "id", "charge"):
                kept.append(values(name, step)[mine])
                session.share(name, kept[-1])
            session.step(step, 0.1 * step)
