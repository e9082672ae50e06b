# SPDX-License-Identifier: BSD-3-Clause
"""Fields and meshes as sessions and stages see them, and the numbers that the C interface has for
their types, kinds and centerings.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from pillion.errors import Error

NUMBERS = {
    "int32": 1,
    "int64": 2,
    "float32": 3,
    "float64": 4,
    "int8": 5,
    "uint8": 6,
    "int16": 7,
    "uint16": 8,
    "uint32": 9,
    "uint64": 10,
}
NAMES = {number: name for name, number in NUMBERS.items()}
MESH_KINDS = {
    1: "uniform",
    2: "particles",
    3: "spectral",
    4: "rectilinear",
    5: "curvilinear",
    6: "unstructured",
}
BOXES = ("uniform", "rectilinear", "curvilinear")  # kinds of mesh whose blocks are boxes of cells
CENTERINGS = {"": 0, "cell": 1, "point": 2, "face": 3, "edge": 4}


def number_of(array: np.ndarray[Any, Any], what: str) -> int:
    """The number of an array's type; raises Error if no field can have it."""
    if array.dtype.name not in NUMBERS or not array.dtype.isnative:
        raise Error(
            f"{what} has elements of type {array.dtype.str}; fields have {', '.join(NUMBERS)} "
            "in the machine's byte order: convert it, for example with array.astype('float64')"
        )
    return NUMBERS[array.dtype.name]


@dataclass(frozen=True)
class Field:
    """A field of the catalogue, and the mesh that it lives on."""

    name: str
    mesh: str
    mesh_kind: str  #: one of MESH_KINDS, such as "uniform"
    type: str  #: one of NUMBERS, such as "float64" or "uint8"
    components: int
    cells: tuple[int, ...]  #: along each axis of a mesh of boxes; empty for others
    used: bool  #: an analysis or a condition uses it, so that it must be shared
    order: int = 0  #: at the points of a spectral mesh: of its elements
    levels: int = 1  #: of refinement of a uniform mesh, whose cells are those of the coarsest
    is_partial: bool = False  #: cells of a uniform mesh may be missing
    dimensions: int = 3  #: of the elements of a spectral mesh
    is_at_points: bool = False  #: values are at points of the mesh, not at cells
    point_axes: int = 0  #: bit d: on a mesh of boxes, one value more than cells along axis d
    is_constant: bool = False  #: values never change
    units: str = ""

    @property
    def is_particles(self) -> bool:
        return self.mesh_kind == "particles"

    @property
    def is_unstructured(self) -> bool:
        return self.mesh_kind == "unstructured"

    @property
    def is_in_blocks(self) -> bool:
        """Whether blocks have a level, or need not cover the mesh."""
        return self.levels > 1 or self.is_partial

    @property
    def of_item(self) -> tuple[int, ...]:
        """The shape of a particle's or element's values: its components, then its points."""
        components = (self.components,) if self.components > 1 else ()
        return components + ((self.order + 1,) * self.dimensions if self.order > 0 else ())


@dataclass(frozen=True)
class FieldDescription:
    """A field and the mesh that it lives on. Only uniform and rectilinear ones have axes and cells.

    Attributes:
        mesh_kind: "uniform", "rectilinear", "particles", "spectral" or "unstructured".
        order: of a spectral mesh: its elements have order + 1 points along each axis; else 0.
        dimensions: of a spectral mesh: those of its elements, 2 or 3; else 0.
        centering: "cell", "point", "face" or "edge"; "" for particles.
        coordinates: the field that holds the coordinates of a spectral mesh, or "".
        point_axes: of a mesh of boxes: bit d is set if there is one value more than cells along
            axis d. All bits for points, one for faces, all but one for edges.
    """

    name: str
    mesh: str
    units: str
    type: str
    components: int
    mesh_kind: str
    axes: int
    cells: tuple[int, ...]
    origin: tuple[float, ...]
    length: tuple[float, ...]
    periodic: tuple[bool, ...]
    order: int = 0
    centering: str = ""
    coordinates: str = ""
    dimensions: int = 0
    point_axes: int = 0

    @property
    def is_particles(self) -> bool:
        return self.mesh_kind == "particles"

    @property
    def is_at_points(self) -> bool:
        """Whether it has a value at each point of a mesh of cells."""
        return self.mesh_kind not in ("particles", "spectral") and self.centering == "point"

    @property
    def points(self) -> int:
        """Points along an axis of an element, each with a value of the field; 0 if it has none."""
        return self.order + 1 if self.mesh_kind == "spectral" and self.centering == "point" else 0


@dataclass(frozen=True)
class Domain:
    """What particles live in: edges (hi[0]-lo[0], 0, 0), (tilt[0], hi[1]-lo[1], 0), …

    With two dimensions, what lies along the third edge does not count.
    """

    lo: tuple[float, float, float]
    hi: tuple[float, float, float]
    tilt: tuple[float, float, float]
    periodic: tuple[bool, bool, bool]
    dimensions: int = 3


@dataclass(frozen=True)
class Progress:
    """How the run is doing, as this rank knows it without asking anyone."""

    step: int
    time: float
    steps_per_second: float
    publications: int
    skipped: int
    behind: int
    stall_seconds: float
    disabled: int


def fields_of(descriptions: Iterable[Any]) -> dict[str, Field]:
    """By name, from what the library tells."""
    return {
        f.name: Field(
            f.name,
            f.mesh,
            MESH_KINDS[f.mesh_kind],
            NAMES[f.type],
            f.components,
            tuple(f.cells[: f.axes]) if MESH_KINDS[f.mesh_kind] in BOXES else (),
            f.used,
            f.order,
            f.levels,
            f.is_partial,
            2 if MESH_KINDS[f.mesh_kind] == "spectral" and f.axes == 2 else 3,
            f.centering == CENTERINGS["point"],
            f.point_axes,
            f.is_constant,
            f.units,
        )
        for f in descriptions
    }
