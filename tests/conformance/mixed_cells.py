# SPDX-License-Identifier: BSD-3-Clause
"""A box filled with cells of every shape, with plane faces, so that volumes are known: a grid of
uneven steps, sheared, whose cells are hexahedra, or cut into wedges, pyramids or tetrahedra, or are
given as polyhedra. It grows with the steps. Ranks have several blocks, some without cells, which
change at step 2, and blocks have copies of cells of the next one."""

from dataclasses import dataclass, field
from functools import cache

import numpy as np

GRID = (5, 4, 3)
STEPS = 4
SHEAR = np.array([[1, 0.3, 0.1], [0, 1, -0.2], [0, 0, 1]])
HEXAHEDRON, WEDGE, PYRAMID, TETRAHEDRON, POLYHEDRON = 12, 13, 14, 10, 42
# Corners of a cube as VTK counts them, and its faces seen from outside.
CORNERS = [(0, 0, 0), (1, 0, 0), (1, 1, 0), (0, 1, 0), (0, 0, 1), (1, 0, 1), (1, 1, 1), (0, 1, 1)]
SIDES = [
    *[(0, 3, 2, 1), (4, 5, 6, 7), (0, 1, 5, 4)],
    *[(2, 3, 7, 6), (0, 4, 7, 3), (1, 2, 6, 5)],
]
TETRAHEDRA = [(0, 1, 2, 6), (0, 2, 3, 6), (0, 3, 7, 6), (0, 7, 4, 6), (0, 4, 5, 6), (0, 5, 1, 6)]


@dataclass
class Cell:
    type: int
    points: list[int]
    part: float  # of the volume of the grid's cell
    place: tuple[int, int, int]
    faces: list[list[int]] = field(default_factory=list)


@cache
def axes() -> list[np.ndarray]:
    return [np.cumsum([0, *np.linspace(1, 2, n)]) for n in GRID]


@cache
def mesh() -> tuple[np.ndarray, list[Cell]]:
    """Positions of points before they are sheared, and all cells."""
    shape = [n + 1 for n in GRID]
    points = [
        tuple(axes()[d][at[d]] for d in range(3)) for at in np.ndindex(*shape)
    ]  # the last axis is fastest
    cells = []
    for n, place in enumerate(np.ndindex(*GRID)):
        at = [
            int(np.ravel_multi_index([p + c for p, c in zip(place, corner, strict=True)], shape))
            for corner in CORNERS
        ]
        kind = n % 5
        if kind == 0:
            cells.append(Cell(HEXAHEDRON, at, 1, place))
        elif kind == 1:
            for a, b, c, d, e, f in [(0, 1, 2, 4, 5, 6), (0, 2, 3, 4, 6, 7)]:
                # The first triangle of a wedge faces outwards in VTK.
                cells.append(Cell(WEDGE, [at[i] for i in (a, c, b, d, f, e)], 1 / 2, place))
        elif kind == 2:
            points.append(tuple(np.mean([points[i] for i in at], axis=0)))
            for side in SIDES:
                base = [at[i] for i in reversed(side)]
                cells.append(Cell(PYRAMID, [*base, len(points) - 1], 1 / 6, place))
        elif kind == 3:
            cells += [Cell(TETRAHEDRON, [at[i] for i in t], 1 / 6, place) for t in TETRAHEDRA]
        else:
            faces = [[at[i] for i in side] for side in SIDES]
            cells.append(Cell(POLYHEDRON, at, 1, place, faces))
    return np.array(points), cells


def positions(step: int) -> np.ndarray:
    return (1 + 0.1 * step) * mesh()[0] @ SHEAR.T


def volumes(step: int) -> np.ndarray:
    """The shear keeps volumes."""
    steps = [np.diff(along) for along in axes()]
    return (
        np.array(
            [
                c.part * np.prod([s[i] for s, i in zip(steps, c.place, strict=True)])
                for c in mesh()[1]
            ]
        )
        * (1 + 0.1 * step) ** 3
    )


def at_cells(step: int) -> np.ndarray:
    return np.sin(0.7 * np.arange(len(mesh()[1])) + step)


def zones(step: int) -> np.ndarray:
    """A key of each cell, which changes at every other step."""
    return ((np.arange(len(mesh()[1])) * 7 + step // 2) % 9 - 4).astype(np.int32)


def regions(step: int) -> np.ndarray:
    """The same cells have the same key, which has more than 32 bits."""
    return zones(step) * np.int64(10_000_000_019)


def at_points(step: int) -> np.ndarray:
    return (positions(step) + np.array([0, step, 0])).astype(np.float32)


def blocks(step: int, rank: int, ranks: int) -> list[tuple[list[int], list[int]]]:
    """By block of a rank: its cells, and copies of the next block's. Ranks take cells in turn."""
    mine = np.arange(len(mesh()[1]))[(rank + (step >= 2)) % ranks :: ranks]
    parts = np.array_split(mine, 3 if step < 2 else 2)
    own = [list(map(int, part)) for part in parts]
    copies = [list(map(int, parts[(b + 1) % len(parts)][:2])) for b in range(len(parts))]
    if rank == 0:
        own.append([])
        copies.append([])
    return list(zip(own, copies, strict=True))
