# SPDX-License-Identifier: BSD-3-Clause
"""A mesh of one cell is written and read, in 1, 2 and 3 dimensions.

needs stage: write_idx
"""

import numpy as np
import pillion
from cases import session_of

for axes in (1, 2, 3):
    with session_of(
        f"output: r{axes}\nmeshes: {{m: {{kind: uniform, cells: {[1] * axes}, "
        f"length: {[1] * axes}}}}}\nfields: {{t: {{mesh: m, type: float64}}}}\n"
        "analyses: {a: {every: 1 steps, stages: [write_idx: {fields: [t]}]}}\n"
    ) as session:
        session.share("t", values := np.full([1] * axes, 3.0))
        session.step(0, 0.0)
    found = np.asarray(pillion.results(f"r{axes}")["a/m"]["t"])
    assert found.size == 1 and found.max() == values.max() == 3.0, (axes, found)
