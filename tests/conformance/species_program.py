# SPDX-License-Identifier: BSD-3-Clause
"""A simulation of a mesh with levels and two species of particles."""

from functools import partial

import hierarchy
import numpy as np
import pillion
import species

with pillion.open("run.yaml") as session:
    if session.serve():
        raise SystemExit
    ranks, rank = session.communicator.size, session.communicator.rank
    session.set_domain("electrons", [0, 0, 0], hierarchy.CELLS, periodic=hierarchy.PERIODIC)
    session.set_domain("ions", [0, 0, 0], [1, 1, 1], dimensions=2)
    for step in range(hierarchy.STEPS):
        for field in hierarchy.FIELDS:
            values = partial(hierarchy.values, field, step)
            hierarchy.share(session, field, hierarchy.boxes(step), step, values)
        hierarchy.share(
            session, "heat", hierarchy.ocean(step), step, lambda _, s=step: hierarchy.heat(s)
        )
        for name in species.SPECIES:
            for field, values in species.values(name, step).items():
                mine = values[species.rows(len(values), rank, ranks)]
                session.share(field, np.ascontiguousarray(mine))
        session.set_scalar("dt", 0.05)
        session.step(step, 0.1 * step)
