# SPDX-License-Identifier: BSD-3-Clause
"""An array in a file, and the meaning of its dimensions for the field that it holds. Each is an
axis of the mesh, the particles or the components, from the slowest in the file to the fastest.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np

from pillion.datasets.nek_files import index_of_nek
from pillion.datasets.raw_blocks import RawField, RawIndex, index_of
from pillion.errors import Error
from pillion.insitu.catalogue import Field
from pillion.insitu.step import Domain
from pillion.replay.options import Order

Format = Literal["npy", "hdf5", "idx", "raw", "plotfile", "openpmd", "vtkhdf", "nek", "lammps"]
Span = tuple[int, int]
Part = tuple[Span, ...]  # half-open ranges, one for each dimension

COMPONENTS = 3  # in the place of an axis

# Bits that tell values apart: those of integers, or of the mantissa.
_DIGITS = {"int8": 7, "int16": 15, "int32": 31, "int64": 63}
_DIGITS |= {"bool": 1, "uint8": 8, "uint16": 16, "uint32": 32, "uint64": 64}
_DIGITS |= {"float32": 24, "float64": 53}


@dataclass(frozen=True)
class Stored:
    """An array as its file describes it. Nothing of it has been read."""

    path: str
    type: str  # as the file calls it, for messages
    dtype: np.dtype | None  # None if it is of a type that is not read
    shape: tuple[int, ...]  # an extent for each index
    format: Format = "npy"
    dataset: str = ""  # its name in the file; "" in a .npy file
    fortran: bool = False  # the first index varies fastest
    offset: int = 0  # of the first value, in a .npy file; of the atoms of a frame, in a dump
    step: int = 0  # in an IDX dataset
    parts: tuple[str, ...] = ()  # in IDX, plotfiles, openPMD and dumps, what makes up this one
    levels: int = 1  # of refinement; the shape is that of the coarsest
    raw: RawField | None = None  # if it is read by blocks as raw files are
    domain: Domain | None = None  # of particles, if the file says it
    faces: tuple[np.ndarray, ...] = ()  # of a rectilinear mesh, by axis, if the file says it
    kind: str = ""  # of the mesh, in files with blocks
    mesh: str = ""  # its name, in openPMD with blocks
    patches: tuple[str, ...] = ()  # of a mesh that is a boundary, in raw files
    is_coordinates: bool = False  # of the points of a curvilinear mesh
    whole: "Stored | None" = None  # the vector that this is a component of
    component: int = 0  # of the whole
    is_beside: bool = False  # several datasets may have it: coordinates that no stage was to write

    @property
    def has_known_order(self) -> bool:
        """Whether its indices are [z, y, x] by its format, whatever the user says."""
        return self.format in ("idx", "raw", "plotfile", "vtkhdf", "nek")

    @property
    def is_in_blocks(self) -> bool:
        """Whether it can be read block by block, as its mesh may require."""
        return self.format == "plotfile" or self.raw is not None

    @property
    def place(self) -> str:
        """The file, and where in it, for messages."""
        what = "field" if self.has_known_order else "dataset"
        return f"'{self.path}'" + (f", {what} '{self.dataset}'" if self.dataset else "")

    @property
    def file(self) -> Path:
        return Path(self.path)

    @property
    def index(self) -> RawIndex:
        """The blocks of a field that has `raw`. Raises Error if they cannot be read."""
        assert self.raw is not None
        if self.format == "nek":
            return index_of_nek(self.file)
        if self.format == "raw":
            return index_of(self.file)
        if self.format == "hdf5":
            from pillion.datasets.hdf5_blocks import slabs_of

            return slabs_of(self.file, self.shape[:1], is_box=False)
        if self.format == "openpmd":
            from pillion.datasets.openpmd_blocks import index_of_openpmd

            return index_of_openpmd(self.file, self.mesh)
        from pillion.datasets.vtkhdf_files import index_of_vtkhdf

        return index_of_vtkhdf(self.file, self.kind, len(self.shape) - len(self.raw.inner))


def number_type(kind: Any) -> np.dtype | None:
    """NumPy's type of booleans, of integers of 1 to 8 bytes and of reals of 4 or 8, in any byte
    order; None for anything else.
    """
    try:
        found = np.dtype(kind)
    except (TypeError, ValueError):
        return None
    return found if found.name in _DIGITS else None


def fits(dtype: np.dtype, field_type: str) -> bool:
    """Whether every such number is one of the field's type: an integer never becomes another one,
    a real is never rounded.
    """
    if dtype.kind == "f" and not field_type.startswith("float"):
        return False
    if dtype.kind == "i" and field_type.startswith("uint"):
        return False
    return _DIGITS[dtype.name] <= _DIGITS[field_type]


@dataclass(frozen=True)
class Dimension:
    axis: int  # 0 to 2 of a uniform mesh, 0 for particles, or COMPONENTS
    extent: int


Arrangement = list[Dimension]


def arrange(stored: Stored, field: Field, order: Order) -> Arrangement:
    """The dimensions of the array, the slowest in the file first. Raises Error with advice if the
    array cannot be that field: its shape differs, or its numbers would lose precision.
    """
    _expect_type(stored, field)
    if stored.has_known_order:
        order = "zyx"
    expected = _indexed(field, order)
    out = list(expected)
    # Scalars need no index for their one component.
    if field.components == 1 and len(stored.shape) + 1 == len(expected):
        out.pop()
    if not _has_shape(stored.shape, out, _is_counted(field)):
        raise Error(
            f"{stored.place} has shape {list(stored.shape)}, but field '{field.name}' on mesh "
            f"'{field.mesh}' needs {_words_for(field, expected)}{_advice(stored, field, order)}"
        )
    found = [Dimension(d.axis, n) for d, n in zip(out, stored.shape, strict=True)]
    return found[::-1] if stored.fortran else found


def expect_array(stored: Stored, field: Field, order: Order) -> None:
    """Raises Error with advice if the array cannot be that field."""
    if field.mesh_kind == "spectral":  # whose elements are read as they are
        return _expect_type(stored, field)
    arrange(stored, field, order)


def part_of(extents: list[int], rank: int, ranks: int) -> Part:
    """The part of an array that one of `ranks` ranks reads: planes along the slowest index or,
    where ranks outnumber these, a piece of a plane, cut in the same way. It may be empty. All parts
    together are the array.
    """
    part = [(0, extent) for extent in extents]
    for d, planes in enumerate(extents):
        if planes >= ranks or d + 1 == len(extents):
            part[d] = (planes * rank // ranks, planes * (rank + 1) // ranks)
            break
        if planes == 0:
            part[d] = (0, 0)
            break
        # Several ranks share the plane; those before them have the planes before it.
        plane = planes * rank // ranks
        part[d] = (plane, plane + 1)
        first = -(-plane * ranks // planes)
        rank, ranks = rank - first, -(-(plane + 1) * ranks // planes) - first
    return tuple(part)


def _indexed(field: Field, order: Order) -> Arrangement:
    """The dimensions of an array of that field, as they are indexed. The number of particles, or of
    cells and points of an unstructured mesh, is not known, and 0 here.
    """
    if _is_counted(field):
        out = [Dimension(0, 0)]
    else:
        out = [
            Dimension(axis, cells + (field.point_axes >> axis & 1))
            for axis, cells in enumerate(field.cells)
        ]
        if order == "zyx":
            out.reverse()
    return [*out, Dimension(COMPONENTS, field.components)]


def _is_counted(field: Field) -> bool:
    """Whether the number of its values is each step's own."""
    return field.is_particles or field.mesh_kind in ("unstructured", "spectral")


def _has_shape(shape: tuple[int, ...], expected: Arrangement, is_counted: bool) -> bool:
    wanted = [d.extent for d in expected]
    if is_counted:
        shape, wanted = shape[1:], wanted[1:] if shape else [-1]
    return list(shape) == wanted


def _words_for(field: Field, expected: Arrangement) -> str:
    shape = [d.extent for d in expected]
    if field.components == 1:
        shape.pop()
    return "[" + ", ".join(map(str, ["n", *shape[1:]] if _is_counted(field) else shape)) + "]"


def _advice(stored: Stored, field: Field, order: Order) -> str:
    if _is_counted(field):
        return ""
    other: Order = "xyz" if order == "zyx" else "zyx"
    turned = _indexed(field, other)
    if len(stored.shape) + 1 == len(turned) and field.components == 1:
        turned.pop()
    if stored.has_known_order or not _has_shape(stored.shape, turned, False):
        return "; do the parameters say the right cells?"
    return f"; if it is indexed the other way, say --axes {other}"


def _expect_type(stored: Stored, field: Field) -> None:
    if stored.dtype is None:
        raise Error(
            f"{stored.place} holds values of type '{stored.type}', which are not read; store "
            "integers of 1 to 8 bytes or reals of 4 or 8"
        )
    if not fits(stored.dtype, field.type):
        raise Error(
            f"{stored.place} holds {stored.dtype.name}, but field '{field.name}' is declared "
            f"{field.type}, which would lose some of it; declare another type, or convert the file"
        )
