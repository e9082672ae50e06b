# SPDX-License-Identifier: BSD-3-Clause
"""Meshes of quadratic cells with values at their nodes, and the integrals of these by scikit-fem, a
library of finite elements; their nodes in VTK's order by the classes of VTK."""

from dataclasses import dataclass, replace
from functools import cache

import numpy as np
import skfem
from skfem import Basis, Functional
from vtkmodules import vtkCommonDataModel


@dataclass(frozen=True)
class Kind:
    mesh: type
    element: type
    cell: str  # VTK's class
    type: int
    dimensions: int
    is_curved: bool

    @property
    def has_exact_squares(self) -> bool:
        """Whether squares are integrated exactly: of hexahedra with plane faces alone."""
        return not (self.is_curved and self.cell.endswith("Hexahedron"))


KINDS = {
    "tri": Kind(skfem.MeshTri2, skfem.ElementTriP2, "vtkQuadraticTriangle", 22, 2, True),
    "quad": Kind(skfem.MeshQuad2, skfem.ElementQuad2, "vtkBiQuadraticQuad", 28, 2, True),
    "quad8": Kind(skfem.MeshQuad1, skfem.ElementQuadS2, "vtkQuadraticQuad", 23, 2, False),
    "tet": Kind(skfem.MeshTet2, skfem.ElementTetP2, "vtkQuadraticTetra", 24, 3, True),
    "tet10": Kind(skfem.MeshTet1, skfem.ElementTetP2, "vtkQuadraticTetra", 24, 3, False),
    "hex": Kind(skfem.MeshHex2, skfem.ElementHex2, "vtkTriQuadraticHexahedron", 29, 3, True),
    "hex27": Kind(skfem.MeshHex1, skfem.ElementHex2, "vtkTriQuadraticHexahedron", 29, 3, False),
    "hex20": Kind(skfem.MeshHex1, skfem.ElementHexS2, "vtkQuadraticHexahedron", 25, 3, False),
}


def bent(x: np.ndarray, by: float) -> np.ndarray:
    """Of places [axis, point] in the unit box."""
    s = np.sin(np.pi * x)
    if len(x) == 2:
        return x + by * np.stack([s[1] * x[0], 0.7 * s[0] * x[1]])
    return x + by * np.stack([s[1] * s[2] * x[0], 0.7 * s[0] * x[1] * x[2], -s[0] * x[1] ** 2])


@cache
def basis(name: str) -> Basis:
    kind = KINDS[name]
    straight = getattr(skfem, kind.mesh.__name__[:-1] + "1")
    ends = [np.linspace(0, 1, 4), np.linspace(0, 1, 3)] if kind.dimensions == 2 else None
    mesh = straight.init_tensor(*(ends or [np.linspace(0, 1, 3)] * 3))
    if kind.is_curved:
        mesh = kind.mesh.from_mesh(mesh)
        mesh = replace(mesh, doflocs=bent(mesh.doflocs, 0.07))
    else:  # no longer boxes, with straight edges
        shear = np.eye(kind.dimensions) + 0.2 * np.eye(kind.dimensions, k=1)
        mesh = replace(mesh, doflocs=shear @ mesh.doflocs)
    return Basis(mesh, kind.element(), intorder=8 if name.startswith("tet") else 12)


@cache
def nodes(name: str) -> tuple[np.ndarray, np.ndarray]:
    """Places of all nodes, [node, 3], and the nodes of each cell in VTK's order."""
    kind, of = KINDS[name], basis(name)
    places = np.zeros((of.N, 3))
    places[:, : kind.dimensions] = of.doflocs.T
    cell = getattr(vtkCommonDataModel, kind.cell)()
    wanted = np.array(cell.GetParametricCoords())[: 3 * cell.GetNumberOfPoints()].reshape(-1, 3)
    have = np.zeros((len(of.elem.doflocs), 3))
    have[:, : kind.dimensions] = of.elem.doflocs
    cells = of.element_dofs.T
    jacobians = np.moveaxis(of.mapping.DF(of.X)[:, :, :, 0], -1, 0)
    out = np.empty_like(cells)
    for is_left in (False, True):  # some elements of scikit-fem are left-handed
        axes = [1, 0, 2] if is_left else [0, 1, 2]
        order = [
            int(np.flatnonzero(np.abs(have[:, axes] - one).max(axis=1) < 1e-9)[0]) for one in wanted
        ]
        those = (np.linalg.det(jacobians) < 0) == is_left
        out[those] = cells[those][:, order]
    return places, out


@cache
def values(name: str) -> np.ndarray:
    """At the nodes: waves, and noise that no polynomial is."""
    places, _ = nodes(name)
    rng = np.random.default_rng(len(places))
    return np.sin(5 * places @ [1.0, 0.7, -0.4]) + 0.5 * rng.normal(size=len(places)) + 1.5


@dataclass(frozen=True)
class Integrals:
    volume: float
    mean: float
    deviation: float
    cell_means: np.ndarray


@cache
def integrals(name: str) -> Integrals:
    of = basis(name)
    u = of.interpolate(values(name))
    one = Functional(lambda w: 1.0 + 0 * w.x[0])
    first = Functional(lambda w: w.u)
    volume = one.assemble(of)
    mean = first.assemble(of, u=u) / volume
    square = Functional(lambda w: (w.u - mean) ** 2).assemble(of, u=u) / volume
    means = first.elemental(of, u=u) / one.elemental(of)
    return Integrals(abs(volume), mean, np.sqrt(square), means)


def part(name: str, rank: int, ranks: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """A rank's cells, by number, the nodes that they have, and the cells by the latter's place."""
    _, cells = nodes(name)
    own = np.arange(len(cells))[rank::ranks]
    used, local = np.unique(cells[own], return_inverse=True)
    return own, used, local.reshape(len(own), -1)
