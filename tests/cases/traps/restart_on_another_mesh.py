# SPDX-License-Identifier: BSD-3-Clause
"""A checkpoint of another mesh is refused when the session opens, in words about the mesh."""

import numpy as np
import pillion
from cases import session_of

TEXT = """\
output: results
parameters: {n: 8}
meshes: {m: {kind: uniform, cells: [$n], length: [1]}}
fields: {t: {mesh: m, type: float64}}
analyses: {a: {every: 1 steps, stages: [time_average: {fields: [t], output_every: 1}]}}
"""
with session_of(TEXT, parameters={"n": 8}) as session:
    session.share("t", values := np.ones(8))
    for k in range(2):
        session.step(k, 0.1 * k)
    session.checkpoint("saved")
try:
    session_of(TEXT, parameters={"n": 16}, restart="saved")
except pillion.Error as error:
    why = str(error)
else:
    why = "no error"
assert "of a uniform mesh of 8 cells" in why and "a uniform mesh of 16 cells" in why, why
assert values.sum() == 8
