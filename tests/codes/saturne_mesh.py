# SPDX-License-Identifier: BSD-3-Clause
"""Meshes as text files of Gmsh 2.2, with interfaces that code_saturne joins, which makes polyhedra
of the cells there. A bar of four cubes along x: hexahedra, wedges, pyramids and tetrahedra.
Wedges and pyramids share faces. And two rings.
"""

import itertools
from pathlib import Path

import numpy as np

# Gmsh's types of cells: tetrahedron, hexahedron, wedge, pyramid.
TETRAHEDRON, HEXAHEDRON, WEDGE, PYRAMID = 4, 5, 6, 7
CORNERS = np.array(
    [(0, 0, 0), (1, 0, 0), (1, 1, 0), (0, 1, 0), (0, 0, 1), (1, 0, 1), (1, 1, 1), (0, 1, 1)]
)
SIDES = [(0, 4, 7, 3), (1, 2, 6, 5), (0, 1, 5, 4), (3, 7, 6, 2), (0, 3, 2, 1), (4, 5, 6, 7)]


class Bar:
    """Points that are added once, and cells as lists of points."""

    def __init__(self) -> None:
        self.points, self.places, self.cells = [], {}, []

    def point(self, cube, where) -> int:
        """Its number, from 1. Cubes that share points have the same number."""
        key = (cube, *np.round(where, 9))
        if key not in self.places:
            self.points.append(where)
            self.places[key] = len(self.points)
        return self.places[key]

    def add(self, kind, cube, where) -> None:
        self.cells.append((kind, [self.point(cube, place) for place in where]))


def boxes(first: float, count: int):
    """The corners of the small cubes of one that begins at x = first."""
    for place in itertools.product(range(count), repeat=3):
        yield (CORNERS + place) / count + (first, 0, 0)


def bar() -> Bar:
    out = Bar()
    for corners in boxes(0, 4):
        out.add(HEXAHEDRON, "hexahedra", corners)
    for corners in boxes(1, 3):
        for half in ((0, 1, 2), (0, 2, 3)):
            out.add(WEDGE, "conforming", corners[[*half, *(4 + np.array(half))]])
    for corners in boxes(2, 3):
        for side in SIDES:
            # The base is seen from inside the pyramid's cube.
            out.add(PYRAMID, "conforming", [*corners[list(side)[::-1]], corners.mean(axis=0)])
    for corners in boxes(3, 2):
        for order in itertools.permutations(range(3)):
            steps = np.eye(3, dtype=int)[list(order)]
            path = [np.zeros(3, dtype=int), *np.cumsum(steps, axis=0)]
            if np.linalg.det(steps) < 0:
                path[1], path[2] = path[2], path[1]
            places = corners[0] + np.array(path) / 2
            out.add(TETRAHEDRON, "tetrahedra", places)
    return out


def sectors(inner: float, outer: float, around: int):
    """The corners of a ring's cells, in two layers."""
    for i, layer in itertools.product(range(around), range(2)):
        angles = 2 * np.pi * (i + CORNERS[:, 1]) / around
        radius = inner + (outer - inner) * (layer + CORNERS[:, 0]) / 2
        yield np.stack([radius * np.cos(angles), radius * np.sin(angles), 0.2 * CORNERS[:, 2]], 1)


def rings() -> Bar:
    """A ring that turns in another one, with other divisions."""
    out = Bar()
    for name, ring in (("rotor", (0.5, 1, 24)), ("stator", (1, 1.5, 30))):
        for corners in sectors(*ring):
            out.add(HEXAHEDRON, name, corners)
    return out


def write_bar(path: Path) -> None:
    mesh = bar()
    # Bent, so that nothing is a multiple of anything; planes of constant x stay planes.
    places = np.array(mesh.points)
    places[:, 1] += 0.1 * np.sin(0.25 * np.pi * places[:, 0])
    write_gmsh(path, mesh, places)


def write_rings(path: Path) -> None:
    mesh = rings()
    write_gmsh(path, mesh, np.array(mesh.points))


def write_gmsh(path: Path, mesh: Bar, places: np.ndarray) -> None:
    lines = ["$MeshFormat", "2.2 0 8", "$EndMeshFormat", "$Nodes", str(len(places))]
    lines += [f"{n} {x!r} {y!r} {z!r}" for n, (x, y, z) in enumerate(places.tolist(), 1)]
    lines += ["$EndNodes", "$Elements", str(len(mesh.cells))]
    lines += [
        f"{n} {kind} 2 100 100 {' '.join(map(str, points))}"
        for n, (kind, points) in enumerate(mesh.cells, 1)
    ]
    path.write_text("\n".join([*lines, "$EndElements"]) + "\n")


MESHES = {"joined.msh": write_bar, "rotor.msh": write_rings}
