# SPDX-License-Identifier: BSD-3-Clause
"""An index of a point that is out of range is named, with the number of points if it is known."""

import numpy as np
import pillion
from cases import session_of

POINTS = np.array(np.meshgrid([0, 1], [0, 1], [0, 1], indexing="ij"), float).reshape(3, 8).T
TEXT = """\
output: {path: results, if_exists: overwrite}
meshes: {b: {kind: unstructured}}
fields: {h: {mesh: b, type: float64}}
analyses: {a: {every: 1 steps, stages: [statistics: {fields: [h]}]}}
"""


def refusal(first: int) -> str:
    session = session_of(TEXT)
    try:
        session.share_points("b", POINTS)
        session.share_cells("b", np.array([[first, 1, 3, 2, 4, 5, 7, 6]]), types="hexahedron")
        session.share("h", np.ones(1))
        session.step(0, 0.0)
    except pillion.Error as error:
        return str(error)
    finally:
        session.close_or_warn()
    return "no error"


below, beyond = refusal(-1), refusal(8)
assert "cell 0 has point -1; points are counted from 0" in below, below
assert "cell 0 has point 8, but the block has 8 points" in beyond, beyond
