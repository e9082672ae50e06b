# SPDX-License-Identifier: BSD-3-Clause
"""A simulation whose mesh has levels: shares boxes that come, go and change hands at every step, as
hierarchy.py has them."""

from functools import partial

import hierarchy
import pillion


def heat(step, _):
    return hierarchy.heat(step)


with pillion.open("run.yaml") as session:
    if session.serve():
        raise SystemExit
    for step in range(hierarchy.STEPS):
        boxes = hierarchy.boxes(step)
        for field in hierarchy.FIELDS:
            hierarchy.share(session, field, boxes, step, partial(hierarchy.values, field, step))
        hierarchy.share(session, "heat", hierarchy.ocean(step), step, partial(heat, step))
        session.step(step, 0.1 * step)
