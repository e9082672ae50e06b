# SPDX-License-Identifier: BSD-3-Clause
"""A simulation that shares the meshes of finite_elements.py, dealt out among the ranks."""

import finite_elements as fem
import numpy as np
import pillion

with pillion.open("run.yaml") as session:
    rank, ranks = session.communicator.rank, session.communicator.size
    kept = []
    for name, kind in fem.KINDS.items():
        own, used, local = fem.part(name, rank, ranks)
        places, _ = fem.nodes(name)
        session.share_points(name, places[used], ids=used.astype(np.int64))
        session.share_cells(
            name,
            points=local.ravel().astype(np.int64),
            offsets=np.arange(len(own) + 1) * local.shape[1],
            types=np.full(len(own), kind.type, np.uint8),
            ids=own.astype(np.int64),
        )
        u = fem.values(name)[used].copy()
        kept.append(u)
        session.share(f"{name}_u", u)
    session.step(0, 0.0)
    session.step(1, 1.0)  # conditions compare what was summed at the step before
