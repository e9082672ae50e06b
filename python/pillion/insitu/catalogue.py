# SPDX-License-Identifier: BSD-3-Clause
"""What a session says of its fields, and of how the run is doing."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from pillion.insitu.element_types import MESH_KINDS, NAMES


@dataclass(frozen=True)
class Field:
    """A field of the catalogue, and the mesh that it lives on."""

    name: str
    mesh: str
    mesh_kind: str  #: "uniform", "particles" or "spectral"
    type: str  #: "int32", "int64", "float32" or "float64"
    components: int
    cells: tuple[int, ...]  #: of a uniform mesh, along each axis; empty for others
    used: bool  #: an analysis or a condition uses it, so that it must be shared
    order: int = 0  #: at the points of a spectral mesh: of its elements

    @property
    def is_particles(self) -> bool:
        return self.mesh_kind == "particles"

    @property
    def of_item(self) -> tuple[int, ...]:
        """The shape of a particle's or element's values: its components, then its points."""
        components = (self.components,) if self.components > 1 else ()
        return components + ((self.order + 1,) * 3 if self.order > 0 else ())


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
            tuple(f.cells[: f.axes]),
            f.used,
            f.order,
        )
        for f in descriptions
    }
