# SPDX-License-Identifier: BSD-3-Clause
"""Shares a field on a mesh of every kind, one session after the other, each in its folder."""

import os

import numpy as np
import pillion
import weighed_meshes as meshes
from mpi4py import MPI

COMM = MPI.COMM_WORLD
STEPS = 4


def slab(count: int) -> slice:
    return slice(count * COMM.rank // COMM.size, count * (COMM.rank + 1) // COMM.size)


def share_box(session, name: str, whole: np.ndarray, more: int = 0) -> list:
    mine = slab(meshes.CELLS[0])
    part = np.ascontiguousarray(whole[mine.start : mine.stop + more])
    session.share(name, part, (mine.start, 0, 0))
    return [part]


def share_cells(session, values: np.ndarray, at_points: bool) -> list:
    """Ranks share tetrahedra, and have those next to theirs as copies, which do not count."""
    points, tets = meshes.tetrahedra()
    mine = slab(len(tets))
    numbers = np.arange(max(0, mine.start - 7), min(len(tets), mine.stop + 7))
    flags = np.array([0 if mine.start <= n < mine.stop else 1 for n in numbers], np.uint8)
    used, place = np.unique(tets[numbers], return_inverse=True)
    session.share_points("m", np.ascontiguousarray(points[used]), ids=used.astype(np.int64))
    session.share_cells(
        "m",
        points=place.reshape(-1).astype(np.int32),
        offsets=np.arange(0, 4 * len(numbers) + 1, 4, dtype=np.int32),
        types=np.full(len(numbers), 10, np.uint8),
        ids=numbers.astype(np.int64),
        flags=flags,
    )
    part = np.ascontiguousarray(values[used if at_points else numbers])
    session.share("f", part)
    return [part]


def share(session, name: str, kind: meshes.Kind) -> list:
    if name in ("unstructured", "points of cells"):
        return share_cells(session, kind.values, name != "unstructured")
    if name.startswith("spectral"):
        mine = slab(len(kind.values))
        points = (3, 3, 3)  # the first reference axis last
        kept = [np.ascontiguousarray(kind.values[mine]).reshape(-1, *points)]
        session.share("f", kept[0])
        if "coordinates: x" in kind.mesh:
            x = np.ascontiguousarray(meshes.elements()[mine].transpose(0, 2, 1))
            kept.append(x.reshape(-1, 3, *points))
            session.share("x", kept[1])
        return kept
    if name == "particles":
        kept = [np.ascontiguousarray(kind.values[slab(len(kind.values))])]
        session.set_domain("m", (0, 0, 0), (1, 1, 1))
        session.share("f", kept[0])
        return kept
    kept = share_box(session, "f", kind.values)
    if name == "curvilinear":
        kept += share_box(session, "x", meshes.corners(), 1)
    if name == "mask":
        kept += share_box(session, "wet", (kind.weights > 0).astype(np.int32))
    if name == "weight":
        kept += share_box(session, "part", (np.indices(meshes.CELLS).sum(0) % 4) / 3.0)
    return kept


for name, kind in meshes.kinds().items():
    os.chdir(name.replace(" ", "_"))
    with pillion.open("run.yaml", COMM) as session:
        kept = share(session, name, kind)
        for step in range(STEPS):
            session.step(step, float(step))
    os.chdir("..")
