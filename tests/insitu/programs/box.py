# SPDX-License-Identifier: BSD-3-Clause
"""A simulation in Python whose field is known everywhere: whole numbers of eighths, so that sums
are exact in any order. Divided and laid out in memory as the JSON text on the command line says.
"""

import json
import sys
import time
from pathlib import Path

import numpy as np
import pillion
from mpi4py import MPI


def values(lo, hi, step):
    """Of the cells lo to hi, indexed [i, j, k]."""
    i, j, k = np.meshgrid(*[np.arange(a, b) for a, b in zip(lo, hi)], indexing="ij")
    return ((7 * i + 13 * j + 29 * k + 5 * step) % 101) / 8.0


def boxes(cells, division, rank, ranks):
    """This rank's boxes: slabs of the first axis, uneven or small ones, or all at one rank."""
    if division == "one":
        return [((0, 0, 0), tuple(cells))] if rank == ranks - 1 else []
    cuts = [cells[0] * r // ranks for r in range(ranks + 1)]
    if division == "uneven":
        cuts = [0, *[1 + r for r in range(ranks - 1)], cells[0]]
    lo, hi = cuts[rank], cuts[rank + 1]
    if division != "many":
        return [((lo, 0, 0), (hi, *cells[1:]))]
    middle = cells[1] // 3
    return [
        ((i, a, 0), (i + 1, b, cells[2]))
        for i in range(lo, hi)
        for a, b in ((0, middle), (middle, cells[1]))
    ]


def array_of(box, order, dtype):
    """Memory for a box, and the view of it that is shared."""
    shape = tuple(b - a for a, b in zip(*box))
    if order == "gaps":  # the inside of an array with ghost cells
        return np.full([n + 2 for n in shape], -1, dtype)[1:-1, 1:-1, 1:-1]
    if order == "backwards":
        return np.zeros(shape, dtype)[::-1, :, ::-1]
    return np.zeros(shape, dtype, order=order)


def main(wanted):
    with pillion.open(wanted["config"], parameters=wanted.get("parameters")) as session:
        comm = session.communicator
        assert comm.Get_size() == MPI.COMM_WORLD.Get_size() - wanted.get("sidecars", 0)
        cells = session.fields["density"].cells
        mine = boxes(cells, wanted["division"], comm.rank, comm.size)
        dtype = session.fields["density"].type
        arrays = [array_of(box, wanted["order"], dtype) for box in mine]
        for number, (box, array) in enumerate(zip(mine, arrays)):
            session.share("density", array, lo=box[0], block=number)
        while wanted.get("awaits") and not Path(wanted["awaits"]).exists():
            time.sleep(0.01)
        for step in range(wanted["steps"]):
            for box, array in zip(mine, arrays):
                array[...] = values(*box, step)
            session.step(step, step / 4)
            time.sleep(wanted.get("pause", 0))
        progress = session.progress
        assert progress.step == wanted["steps"] - 1
    print(f"done {comm.rank if comm != MPI.COMM_NULL else 0}")


if __name__ == "__main__":
    main(json.loads(sys.argv[1]))
