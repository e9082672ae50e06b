# SPDX-License-Identifier: BSD-3-Clause
"""A small mesh on two ranks with a cell of each kind, as all programs of this folder share it:
a hexahedron with a pyramid above it, a wedge beside it with a tetrahedron below, and a cube on the
other side that is given as a polyhedron. Rank 0 has a copy of the wedge. The boundary has three
faces in two patches, whose cells name points by their ids.
"""

import numpy as np

# By id.
POINTS = np.array(
    [
        *[(0, 0, 0), (1, 0, 0), (1, 1, 0), (0, 1, 0), (0, 0, 1), (1, 0, 1), (1, 1, 1), (0, 1, 1)],
        *[(0.5, 0.5, 2), (2, 0, 0), (2, 0, 1), (1.5, 0.5, -1)],
        *[(-1, 0, 0), (-1, 1, 0), (-1, 0, 1), (-1, 1, 1)],
    ]
)
IDS = ([0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10], [1, 2, 5, 6, 9, 10, 11, 0, 3, 4, 7, 12, 13, 14, 15])
HEXAHEDRON, WEDGE, PYRAMID, TETRAHEDRON, POLYHEDRON = 12, 13, 14, 10, 42
# Id, type, ids of points, flag.
CELLS = (
    [
        (0, HEXAHEDRON, [0, 1, 2, 3, 4, 5, 6, 7], 0),
        (2, WEDGE, [1, 2, 9, 5, 6, 10], 1),
        (1, PYRAMID, [4, 5, 6, 7, 8], 0),
    ],
    [
        (2, WEDGE, [1, 2, 9, 5, 6, 10], 0),
        (3, TETRAHEDRON, [1, 2, 9, 11], 0),
        (4, POLYHEDRON, [12, 0, 3, 13, 14, 4, 7, 15], 0),
    ],
)
FACES = [
    *[[12, 13, 3, 0], [14, 4, 7, 15], [12, 0, 4, 14]],
    *[[13, 15, 7, 3], [12, 14, 15, 13], [0, 3, 7, 4]],
]
SKIN_IDS = ([0, 1, 2, 3], [1, 9, 11, 12, 13, 15, 14])
# Type, ids of points, the cell that it bounds, patch.
SKIN = ([(9, [0, 3, 2, 1], 0, 0)], [(5, [1, 9, 11], 3, 1), (9, [12, 14, 15, 13], 4, 0)])

CONFIGURATION = """
output: results
sidecars: SIDECARS
meshes:
  fluid: {kind: unstructured, units: m}
  skin: {kind: unstructured, dimensions: 2, of: fluid, patches: [wall, inlet]}
fields:
  pressure: {mesh: fluid, type: float64, units: Pa}
  number: {mesh: fluid, type: int32, components: 2}
  velocity: {mesh: fluid, type: float32, components: 3, centering: point}
  stress: {mesh: skin, type: float64}
analyses:
  a: {stages: [python: {call: "STAGE:look"}]}
"""


def coordinates(ids, step):
    """Points move up with the steps."""
    return POINTS[ids] + [0, 0, 0.25 * step]
