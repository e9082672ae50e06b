# SPDX-License-Identifier: BSD-3-Clause
"""A simulation whose mesh has levels: shares boxes that come, go and change hands at every step."""

from functools import partial

import hierarchy
import numpy as np
import pillion


def heat(step, _):
    return hierarchy.heat(step)


def share(session, field, boxes, step, values):
    ranks, rank = session.communicator.size, session.communicator.rank
    with session.blocks(field):
        for number, box in enumerate(boxes):
            if hierarchy.owner(step, number, ranks) == rank:
                array = np.ascontiguousarray(values(box.level)[box.cells])
                session.share(field, array, box.lo, level=box.level)


with pillion.open("run.yaml") as session:
    if session.serve():
        raise SystemExit
    for step in range(hierarchy.STEPS):
        boxes = hierarchy.boxes(step)
        for field in hierarchy.FIELDS:
            share(session, field, boxes, step, partial(hierarchy.values, field, step))
        share(session, "heat", hierarchy.ocean(step), step, partial(heat, step))
        session.step(step, 0.1 * step)
