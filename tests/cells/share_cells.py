# SPDX-License-Identifier: BSD-3-Clause
"""The mesh of cell_sample.py, shared by a simulation in Python."""

import numpy as np
import pillion
from cell_sample import CELLS, FACES, IDS, SKIN, SKIN_IDS, coordinates

with pillion.open("run.yaml") as session:
    if not session.serve():
        rank = session.communicator.rank
        ids, cells = np.array(IDS[rank]), CELLS[rank]
        place = {int(point): i for i, point in enumerate(ids)}
        polyhedra = {}
        if rank == 1:
            polyhedra = {
                "face_offsets": np.arange(7, dtype=np.int32) * 4,
                "face_points": np.array([place[p] for face in FACES for p in face], np.int32),
                "polyhedron_offsets": np.array([0, 0, 0, 6], np.int32),
                "polyhedron_faces": np.arange(6, dtype=np.int32),
            }
        session.share_cells(
            "fluid",
            np.array([place[p] for cell in cells for p in cell[2]], np.int32),
            np.cumsum([0, *(len(cell[2]) for cell in cells)], dtype=np.int32),
            types=np.array([cell[1] for cell in cells], np.uint8),
            ids=[cell[0] for cell in cells],
            flags=[cell[3] for cell in cells] if rank == 0 else None,
            **polyhedra,
        )
        skin = SKIN[rank]
        session.share_points("skin", coordinates(SKIN_IDS[rank], 0), ids=SKIN_IDS[rank])
        session.share_cells(
            "skin",
            np.concatenate([cell[1] for cell in skin]),
            types=[cell[0] for cell in skin],
            points_are_ids=True,
            parents=[cell[2] for cell in skin],
            patches=[cell[3] for cell in skin],
        )
        cell_ids = np.array([cell[0] for cell in cells])
        pressure = np.empty(len(cells))
        number = np.stack([cell_ids, -cell_ids], axis=1).astype("int32")
        velocity = np.empty((len(ids), 3), np.float32)
        stress = np.array([100.0 * cell[2] + cell[3] for cell in skin])
        session.share("pressure", pressure)
        session.share("number", number)
        session.share("velocity", velocity)
        session.share("stress", stress)
        for step in range(3):
            pressure[:] = 10 * cell_ids + step
            velocity[:] = 2 * coordinates(ids, step)
            session.share_points(
                "fluid", coordinates(ids, step).astype(np.float32).T.copy().T, ids=ids
            )
            session.step(step, 0.5 * step)
