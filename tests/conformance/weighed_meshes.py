# SPDX-License-Identifier: BSD-3-Clause
"""A field on a mesh of every kind, whose cells differ in size, and its mean and rms by plain sums.
Programs share the meshes from here; the sums know nothing of Pillion."""

from dataclasses import dataclass

import numpy as np

CELLS = (6, 4, 3)
FACES = [np.cumsum([0, *np.geomspace(1, 40, n)]) for n in CELLS]
LATITUDES = np.linspace(-80, 70, CELLS[1] + 1)


@dataclass
class Kind:
    """`mesh` and `more` are entries of the configuration; `weights` are of all values of `f`."""

    mesh: str
    values: np.ndarray
    weights: np.ndarray
    more: str = ""
    field: str = "type: float64"

    def exact(self) -> tuple[float, float]:
        """Mean and rms."""
        w = self.weights.astype(np.longdouble).ravel()
        f = self.values.astype(np.longdouble).ravel()
        f = np.where(w > 0, f, 0)
        return float((w * f).sum() / w.sum()), float(np.sqrt((w * f * f).sum() / w.sum()))


def field(shape: tuple[int, ...]) -> np.ndarray:
    """Large where cells are large, so that a mean by count is another number."""
    steps = np.indices(shape).sum(0) if shape else 0
    return 3 + np.sin(1.0 * steps) + 2.0 * steps


def _outer(*factors: np.ndarray) -> np.ndarray:
    out = factors[0]
    for factor in factors[1:]:
        out = np.multiply.outer(out, factor)
    return out


def _listed(values: np.ndarray) -> str:
    return "[" + ", ".join(repr(float(v)) for v in values) + "]"


def corners() -> np.ndarray:
    """Of a sheared and stretched box of hexahedra, whose volumes are known."""
    x, y, z = np.meshgrid(*FACES, indexing="ij")
    return np.stack([x + 0.3 * y, y + 0.2 * z, z], axis=-1)


def tetrahedra() -> tuple[np.ndarray, np.ndarray]:
    """Points, and the four of each tetrahedron: five for each box of a stretched grid."""
    points = np.stack(np.meshgrid(*FACES, indexing="ij"), axis=-1).reshape(-1, 3)
    number = np.arange(len(points)).reshape([n + 1 for n in CELLS])
    cells = []
    for i, j, k in np.ndindex(*CELLS):
        c = number[i : i + 2, j : j + 2, k : k + 2]
        if (i + j + k) % 2:
            c = c[::-1]  # mirrored, so that faces of neighbours fit
        five = [(0, 1, 2, 4), (3, 2, 1, 7), (5, 4, 7, 1), (6, 7, 4, 2), (1, 2, 4, 7)]
        cells += [[c.reshape(-1)[n] for n in one] for one in five]
    tets = np.array(cells)
    bad = volumes_of(points, tets) < 0
    tets[bad] = tets[bad][:, [1, 0, 2, 3]]
    return points, tets


def volumes_of(points: np.ndarray, tets: np.ndarray) -> np.ndarray:
    a, b, c, d = (points[tets[:, n]] for n in range(4))
    return np.einsum("ij,ij->i", b - a, np.cross(c - a, d - a)) / 6


LOBATTO = (np.array([-1.0, 0.0, 1.0]), np.array([1.0, 4.0, 1.0]) / 3)  # order 2: Simpson's rule


def elements() -> np.ndarray:
    """Points of elements of order 2, straight but of different sizes: element, then the 27 points
    with the first axis fastest, then x, y, z."""
    out = []
    for k, j, i in np.ndindex(*CELLS[::-1]):
        x, y, z = (
            faces[n] + (LOBATTO[0] + 1) / 2 * (faces[n + 1] - faces[n])
            for faces, n in zip(FACES, (i, j, k), strict=True)
        )
        zz, yy, xx = np.meshgrid(z, y, x, indexing="ij")
        out.append(np.stack([xx, yy, zz], axis=-1).reshape(-1, 3))
    return np.array(out)


def kinds() -> dict[str, Kind]:
    widths = [np.diff(f) for f in FACES]
    cube = f"cells: {list(CELLS)}"
    f = field(CELLS)
    r = np.linspace(1, 7, CELLS[0] + 1)
    rings = np.diff(r**2) / 2
    belts = np.diff(np.sin(np.radians(LATITUDES)))
    shells = np.diff((5 + FACES[2]) ** 3) / 3
    box = _outer(*widths)
    wet = (np.indices(CELLS).sum(0) % 3 != 0).astype(np.int32)
    part = (np.indices(CELLS).sum(0) % 4) / 3.0
    points, tets = tetrahedra()
    volumes = volumes_of(points, tets)
    at_points = np.zeros(len(points))
    np.add.at(at_points, tets, (volumes / 4)[:, None].repeat(4, 1))
    around = field((len(tets),)) % 11
    quadrature = _outer(*[LOBATTO[1]] * 3).reshape(-1) / 8
    of_elements = np.array([_outer(*w)[()] for w in [widths]])[0].transpose(2, 1, 0).reshape(-1)
    gll = of_elements[:, None] * quadrature
    in_elements = np.cos(0.1 * elements().sum(-1)) + 0.05 * elements()[..., 0]
    rectilinear = f"kind: rectilinear, coordinates: [{', '.join(map(_listed, FACES))}]"
    return {
        "uniform": Kind(f"kind: uniform, {cube}, length: [2, 3, 4]", f, np.ones(CELLS)),
        "rectilinear": Kind(rectilinear, f, box),
        "cylindrical": Kind(
            f"kind: uniform, {cube}, metric: cylindrical, origin: [1, 0, 0], length: [6, 90, 1]",
            f,
            _outer(rings, np.ones(CELLS[1]), np.ones(CELLS[2])),
        ),
        "spherical": Kind(
            f"kind: rectilinear, metric: spherical, radius: 5, coordinates: "
            f"[{_listed(np.linspace(0, 60, 7))}, {_listed(LATITUDES)}, {_listed(FACES[2])}]",
            f,
            _outer(np.ones(CELLS[0]), belts, shells),
        ),
        "curvilinear": Kind(
            f"kind: curvilinear, {cube}, coordinates: x",
            f,
            box,
            "  x: {mesh: m, type: float64, components: 3, centering: point}\n",
        ),
        "mask": Kind(f"{rectilinear}, mask: wet", f, box * wet, "  wet: {mesh: m, type: int32}\n"),
        "weight": Kind(
            f"{rectilinear}, weight: part", f, box * part, "  part: {mesh: m, type: float64}\n"
        ),
        "unstructured": Kind("kind: unstructured", around, volumes),
        "points of cells": Kind(
            "kind: unstructured",
            field((len(points),)) % 7,
            at_points,
            field="type: float64, centering: point",
        ),
        "spectral": Kind(
            "kind: spectral, order: 2, coordinates: x",
            in_elements,
            gll,
            "  x: {mesh: m, type: float64, components: 3}\n",
        ),
        "spectral without coordinates": Kind(
            "kind: spectral, order: 2", in_elements, np.ones_like(gll)
        ),
        "particles": Kind("kind: particles", field((200,)) % 13, np.ones(200)),
    }
