# SPDX-License-Identifier: BSD-3-Clause
"""A simulation that shares the mesh of mixed_cells.py, and other blocks of it from step 2 on."""

import sys
from contextlib import ExitStack
from pathlib import Path

import mixed_cells as mixed
import numpy as np
import pillion

FAULT = sys.argv[1] if len(sys.argv) > 1 else ""
STEPS = mixed.STEPS
# "still:N": the mesh of step 0 for N steps, shared once; "again:N": shared anew at each of them.
# "until:N": N steps and a checkpoint; "from:N": from step N on, from the checkpoint.
# "nameless:N": N steps, and points without ids. "partly:N": nor have cells of the last rank any.
# "fixed:N": as again, with new values at each step.
HOW, _, COUNT = FAULT.partition(":")
HAS_KEYS = "  zone:" in Path("run.yaml").read_text()
FIRST, IS_STILL = (int(COUNT) if HOW == "from" else 0), HOW in ("still", "again", "fixed")
if COUNT:
    FAULT, STEPS = "", (STEPS if HOW == "from" else int(COUNT))


def cells_of(numbers, place):
    """Arguments of share_cells; points are named by their index in the block."""
    cells = [mixed.mesh()[1][n] for n in numbers]
    points = [[place[p] for p in cell.points] for cell in cells]
    faces = [[place[p] for p in face] for cell in cells for face in cell.faces]
    out = {
        "points": np.array([p for one in points for p in one], np.int32),
        "offsets": np.cumsum([0, *map(len, points)], dtype=np.int32),
        "types": np.array([cell.type for cell in cells], np.uint8),
        "ids": np.array(numbers, np.int64),
    }
    if faces:
        out |= {
            "face_offsets": np.cumsum([0, *map(len, faces)], dtype=np.int32),
            "face_points": np.array([p for face in faces for p in face], np.int32),
            "polyhedron_offsets": np.cumsum([0, *(len(c.faces) for c in cells)], dtype=np.int32),
            "polyhedron_faces": np.arange(len(faces), dtype=np.int32),
        }
    return out


def spoil(found, step):
    if step != int(FAULT[-1]):
        return
    if FAULT.startswith("dangling"):
        found["points"][5] = 1000
    if FAULT.startswith("type"):
        found["types"][1] = 99
    if FAULT.startswith("inverted"):
        types = found["types"].tolist()
        cell = types.index(12 if 12 in types else 10)
        one, other = (0, 4) if types[cell] == 12 else (0, 1)
        at = found["offsets"][cell] + np.arange(4 if types[cell] == 12 else 1)
        swapped = [*(at + one), *(at + other)], [*(at + other), *(at + one)]
        found["points"][swapped[0]] = found["points"][swapped[1]]


def share(session, step, of_values):
    comm = session.communicator
    kept = []
    keys = {"zone": mixed.zones, "region": mixed.regions} if HAS_KEYS else {}
    with ExitStack() as stack:
        for name in ("box", "u", "w", *keys):
            stack.enter_context(session.blocks(name))
        for block, (own, copies) in enumerate(mixed.blocks(step, comm.rank, comm.size)):
            numbers = own + copies
            used = sorted({p for n in numbers for p in mixed.mesh()[1][n].points})
            place = {p: i for i, p in enumerate(used)}
            found = cells_of(numbers, place)
            if FAULT and comm.rank == comm.size - 1 and block == 1:
                spoil(found, step)
            if HOW == "partly" and comm.rank == comm.size - 1:
                found.pop("ids")
            flags = np.array([0] * len(own) + [1] * len(copies), np.uint8)
            ids = None if HOW in ("nameless", "partly") else np.array(used, np.int64)
            at = mixed.positions(step)[used].reshape(-1, 3)
            session.share_points("box", at, block=block, ids=ids)
            session.share_cells("box", **found, block=block, flags=flags)
            u = mixed.at_cells(of_values)[numbers].copy() if numbers else np.zeros(0)
            u[len(own) :] = 1e30  # copies must not count
            w = mixed.at_points(of_values)[used].reshape(-1, 3).copy()
            session.share("u", u, block=block)
            session.share("w", w, block=block)
            kept.append((u, w))
            for name, of in keys.items():
                values = of(of_values)[numbers].copy() if numbers else of(0)[:0]
                values[len(own) :] += 1  # nor are they asked for their keys
                session.share(name, values, block=block)
                kept.append(values)
    return kept


with pillion.open("run.yaml", restart="state" if HOW == "from" else "") as session:
    if session.serve():
        raise SystemExit
    for step in range(FIRST, STEPS):
        if HOW != "still" or step == 0:
            mesh = 0 if IS_STILL else step
            kept = share(session, mesh, step if HOW == "fixed" else mesh)
        try:
            session.step(step, 0.1 * step)
        except pillion.Error as error:
            print(f"rank {session.communicator.rank}: {error}")
            raise SystemExit from None
    if HOW == "until":
        session.checkpoint("state")
