# SPDX-License-Identifier: BSD-3-Clause
"""A mesh as it is in a publication: the place and size of its cells if these are in boxes."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

METRICS = {1: "cartesian", 2: "cylindrical", 3: "spherical"}


@dataclass(frozen=True)
class Mesh:
    """A mesh with cells in a publication; if that is coarse, the coarse one. Coordinates of
    curvilinear and unstructured meshes are with their blocks, and they have no faces here.

    Attributes:
        kind: "uniform", "rectilinear", "curvilinear" or "unstructured".
        faces: by axis, cells + 1 coordinates of the faces of cells, in ascending order. Angles
            are in degrees.
        metric: "cartesian"; "cylindrical": radius, azimuth, height, or radius and height;
            "spherical": longitude, latitude, and height or radius.
        radius: of a spherical mesh: that of the sphere, above which a third axis counts; 0 if
            that axis is the radius itself.
        dimensions: of the cells: 1 to 3.
        of: the mesh whose boundary an unstructured mesh is, or None.
        patches: names of the parts of such a boundary, to which `Connectivity.patches` points.
    """

    name: str
    kind: str
    units: str
    faces: tuple[np.ndarray[Any, Any], ...]
    periodic: tuple[bool, ...]
    metric: str
    radius: float
    coarsening: int
    dimensions: int = 0
    of: str | None = None
    patches: tuple[str, ...] = ()

    @property
    def cells(self) -> tuple[int, ...]:
        return tuple(len(faces) - 1 for faces in self.faces)

    @property
    def centres(self) -> tuple[np.ndarray[Any, Any], ...]:
        """Midway between the faces, by axis."""
        return tuple((faces[:-1] + faces[1:]) / 2 for faces in self.faces)

    @cached_property
    def factors(self) -> tuple[np.ndarray[Any, Any], ...]:
        """By axis, a factor of each cell's volume, or of its area if there are two axes.

        Cartesian dx dy dz; cylindrical (r2^2 - r1^2)/2 dphi dz; spherical
        dlambda (sin phi2 - sin phi1) (r2^3 - r1^3)/3, on a sphere's surface R^2 for the last.
        """
        out = [np.diff(faces) for faces in self.faces]
        if self.metric == "cylindrical":
            out[0] = np.diff(self.faces[0].clip(0) ** 2) / 2
            if len(out) == 3:
                out[1] = np.radians(out[1])
            else:
                out[0] = 2 * np.pi * out[0]
        if self.metric == "spherical":
            out[0] = np.radians(out[0])
            out[1] = np.diff(np.sin(np.radians(self.faces[1].clip(-90, 90))))
            if len(out) == 3:
                out[2] = np.diff((self.radius + self.faces[2]).clip(0) ** 3) / 3
            else:
                out[1] = self.radius**2 * out[1]
        return tuple(out)

    def volumes(self, lo: Sequence[int], hi: Sequence[int]) -> np.ndarray[Any, Any]:
        """Volumes of the cells of a box, or areas. Ghost cells may lie beyond a periodic axis."""
        volume = np.ones(())
        for factor, first, last in zip(self.factors, lo, hi, strict=True):
            along = factor.take(range(first, last), mode="wrap")
            volume = np.multiply.outer(volume, along)
        return volume
