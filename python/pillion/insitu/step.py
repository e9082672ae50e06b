# SPDX-License-Identifier: BSD-3-Clause
"""A publication as a stage in Python sees it: step, peers, the sink for products, and blocks, which
are NumPy arrays over memory that is lent for the step.
"""

import weakref
import zlib
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

import numpy as np

from pillion.column_roles import Role, role_of
from pillion.errors import Error
from pillion.insitu.catalogue import CENTERINGS, MESH_KINDS, NUMBERS, Domain, FieldDescription
from pillion.insitu.meshes import METRICS, Mesh
from pillion.insitu.plan import Plan, Shape

if TYPE_CHECKING:
    from mpi4py import MPI

    from pillion import _stage

Number = TypeVar("Number", int, float, np.ndarray)
Array = np.ndarray[Any, Any]
SUM, MIN, MAX = 1, 2, 3


class Lease:
    """Owns every array of a step. If it lives on after the step, a stage has kept an array."""

    __slots__ = ("__weakref__",)


class Count(NamedTuple):
    """Numbers of cells or points of a block: owned by it, and in all."""

    owned: int
    total: int


@dataclass(frozen=True)
class Connectivity:
    """The cells of a block of an unstructured mesh, in VTK's model, as read-only arrays over the
    host's memory. Like arrays of fields, they are valid for this step only.

    Attributes:
        types: VTK's type of each cell.
        offsets: one more than cells: cell c has the points `points[offsets[c]:offsets[c + 1]]`.
        points: indices of points of the block.
        face_offsets: of polyhedra: face f has the points
            `face_points[face_offsets[f]:face_offsets[f + 1]]`, in order around it. This and the
            next three are None if no cell is a polyhedron.
        face_points: indices of points of the block.
        polyhedron_offsets: one more than cells: cell c has the faces
            `polyhedron_faces[polyhedron_offsets[c]:polyhedron_offsets[c + 1]]`; none if it is not a
            polyhedron.
        polyhedron_faces: indices of faces.
        point_ids, cell_ids: numbers in the whole mesh; None if the simulation gave none.
        parents: of a boundary: the id of the cell that each cell bounds; or None.
        patches: of each cell, an index into `Mesh.patches`; or None.
    """

    types: Array
    offsets: Array
    points: Array
    face_offsets: Array | None
    face_points: Array | None
    polyhedron_offsets: Array | None
    polyhedron_faces: Array | None
    point_ids: Array | None
    cell_ids: Array | None
    parents: Array | None
    patches: Array | None


class Block:
    """The part of an input that this rank holds in one piece.

    `block["density"]` is a read-only array over the memory of the values; nothing is
    copied. Its index order is that of the mesh: `array[i, j, k]` is the cell lo + (i, j, k),
    components last. It is valid for this step only: keep copies (`array.copy()`).

    On a spectral mesh `array[e, k, j, i]` is the value at a point of element e, i along the first
    axis of the reference element. A field with several components is indexed `[e, c, k, j, i]`. A
    field with one value for each element is indexed `[e]` or `[e, c]`.

    On a mesh of boxes a field at points has one value more along each axis than cells:
    `array[i, j, k]` is at the lower corner of cell lo + (i, j, k). Points that blocks share are in
    each of these.

    On an unstructured mesh `array[i]` or `array[i, c]` is the value at cell or point i of the
    block, as the field's centering says. `coordinates` and `connectivity` define its points and
    cells.

    `block.cells` and `block.points` are how many it has, as pairs `owned`, `total`. A cell of an
    unstructured mesh is owned if it has no flags. All its points are owned, so that a point which
    blocks share is in each. Other meshes have no points.

    Attributes:
        lo, hi: half-open index range of all cells, ghosts included, which may lie outside of
            the mesh if it is periodic; empty tuples for particles and elements.
        inner_lo, inner_hi: the same without ghost cells: the cells that this rank analyses.
        id: no other block of the mesh has it in this layout.
        number: of the block, as shared, or among the blocks of this rank.
        level: refinement level; 0 is the coarsest.
        flags: a bit set of each cell, as VTK has them; None if no cell has any. Bit 1: another
            block owns the cell. Bit 8: a finer block covers it. Bit 32: it is hidden. Leave out
            cells whose flags are not 0.
        weight: the part of its volume that each cell has, as the field `weight` of the mesh says;
            None if the mesh names none.
        topology_version, geometry_version: they grow when the cells, or the points, of this block
            of an unstructured mesh have changed. If not 0 and as before, results that follow
            from these alone can be kept. 0 if this is not known.
        count: cells, particles or elements.
        owned: the number of items that this rank owns: cells without ghosts; particles up to this
            index.
    """

    __slots__ = (
        "_arrays",
        "_connectivity",
        "_coordinates",
        "_index",
        "_shape",
        "_step",
        "cells",
        "count",
        "flags",
        "geometry_version",
        "hi",
        "id",
        "inner_hi",
        "inner_lo",
        "level",
        "lo",
        "number",
        "owned",
        "points",
        "topology_version",
        "weight",
    )

    def __init__(self, step: "Step", shape: Shape, index: int) -> None:
        found = step._work.block(
            shape.number, index, shape.axes, shape.has_inner, shape.points, step._lease
        )
        self.lo, self.hi, self.inner_lo, self.inner_hi = found[:4]
        self.id, self.number, self.level = found[4:7]
        self.count, self.owned, self._arrays, self.flags = found[7:11]
        self.cells, self.points = Count(*found[11]), Count(*found[12])
        self.weight = found[13]
        self.topology_version, self.geometry_version = found[14:16]
        self._connectivity: Connectivity | None = None
        self._coordinates: Array | None = None
        self._step, self._shape, self._index = step, shape, index

    def __getitem__(self, field: str) -> np.ndarray[Any, Any]:
        """Values of a field; raises KeyError if the input has no such field."""
        try:
            return self._arrays[self._shape.places[field]]  # type: ignore[no-any-return]
        except KeyError:
            known = ", ".join(self._shape.places)
            raise KeyError(f"this input has no field '{field}'; it has {known}") from None

    @property
    def coordinates(self) -> Array | None:
        """Places of the points of an unstructured mesh, (points, 3), where axes that the mesh lacks
        are 0. On a curvilinear mesh this is the field that holds them, [i, j, k, component],
        with one point more along each axis than cells. None for other meshes.
        """
        if self._coordinates is None:
            shape = self._shape
            self._coordinates = self._step._work.coordinates(
                shape.number, self._index, shape.axes, self._step._lease
            )
        return self._coordinates

    @property
    def connectivity(self) -> Connectivity | None:
        """The cells of an unstructured mesh; None of others."""
        if self._connectivity is None:
            shape = self._shape
            found = self._step._work.connectivity(shape.number, self._index, self._step._lease)
            self._connectivity = None if found is None else Connectivity(**found)
        return self._connectivity

    def inner(self, field: str) -> np.ndarray[Any, Any]:
        """The values without ghost cells; of particles and elements those owned. On an unstructured
        mesh, a copy of those of cells that have no flags; or those of all points.
        """
        array = self[field]
        if field in self._shape.at_points:
            return array
        if self.flags is not None and self._shape.axes == 0:
            return array[self.flags == 0]
        if self._shape.axes == 0:
            return array[: self.owned]
        pairs = zip(self.lo, self.inner_lo, self.inner_hi, strict=True)
        return array[tuple(slice(i - a, j - a) for a, i, j in pairs)]

    def produce(self, name: str) -> np.ndarray[Any, Any]:
        """An uninitialised array to write an output's values of this block to, without ghosts."""
        return self._step._produce(name, self._shape, self._index)


def expect_known(name: str, known: Collection[str]) -> None:
    if name not in known:
        names = ", ".join(known) or "none"
        raise Error(f"this stage declares no output '{name}'; it declares {names}")


class Step:
    """A publication during its analysis; valid until the stage returns.

    Calls marked [peers] must be made by every peer, in the same order. If a peer fails before such
    a call, the call fails on the others, so that no peer hangs.
    """

    def __init__(self, work: "_stage.Work", plan: Plan) -> None:
        self._work = work
        self._plan = plan
        self._lease = Lease()

    @property
    def index(self) -> int:
        """The simulation's number of the step."""
        return self._work.step()

    @property
    def time(self) -> float:
        """In the simulation's units, which are `units("time")`."""
        return self._work.time()

    @cached_property
    def scalars(self) -> Mapping[str, float]:
        """The numbers that the simulation sets for each step, by name, as of this publication; not
        a number where it has never set one.
        """
        return self._work.scalars()

    @property
    def publication(self) -> int:
        """How many publications this analysis has worked on before, restarts included."""
        return self._work.publication()

    @property
    def products_due(self) -> bool:
        """Whether a product that each writing replaces is worth writing now."""
        return self._work.products_due()

    @cached_property
    def blocks(self) -> list[Block]:
        """The blocks of the first input on this rank: any number of blocks, possibly none."""
        return self.blocks_of(0)

    def blocks_of(self, number: int) -> list[Block]:
        """The same of another input, counted from 0."""
        if not 0 <= number < len(self._plan.shapes):
            raise Error(f"this stage has {len(self._plan.shapes)} inputs, and none number {number}")
        shape = self._plan.shapes[number]
        return [Block(self, shape, i) for i in range(self._work.block_count(shape.number))]

    def field(self, name: str) -> FieldDescription:
        """The catalogue's description of a field that this stage reads."""
        try:
            return self._plan.fields[name]
        except KeyError:
            known = ", ".join(self._plan.fields)
            raise Error(f"this stage reads no field '{name}'; it reads {known}") from None

    def units(self, name: str) -> str:
        """The units of a field, of a mesh's lengths, or of "time"."""
        return self._work.units(self._plan.names.get(name, name))

    def domain(self, mesh: str) -> Domain:
        """The domain of particles at this step."""
        return Domain(**self._work.domain(mesh))

    def mesh(self, name: str) -> Mesh:
        """A mesh with cells as it is at this step: coordinates, metric, volumes; patches of a
        boundary.
        """
        found = self._work.mesh(name)
        if not found:
            raise Error(f"mesh '{name}' has no cells; it is one of particles or elements")
        kind = MESH_KINDS[found.pop("kind")]
        metric = METRICS[found.pop("metric", 1)]
        faces = tuple(np.array(faces) for faces in found.pop("faces", ()))
        return Mesh(kind=kind, metric=metric, faces=faces, **{"dimensions": len(faces), **found})

    def coarsening(self, mesh: str) -> int:
        """The factor by which the publication is coarser than the mesh says; 1 if it is whole."""
        return self._work.coarsening(mesh)

    @property
    def peer(self) -> int:
        """This rank among the ranks that run the stage."""
        return self._work.peer()

    @property
    def peers(self) -> int:
        return self._work.peers()

    @cached_property
    def communicator(self) -> "MPI.Comm":
        """The communicator of the peers, for libraries that need one. If a peer fails while others
        are in a call on it, they hang: prefer sum, min and max.
        """
        from mpi4py import MPI

        return MPI.Comm.f2py(self._work.communicator())

    def sum(self, value: Number) -> Number:
        """Over all peers; of arrays elementwise. [peers]"""
        return self._reduced(value, SUM)

    def min(self, value: Number) -> Number:
        """Over all peers; of arrays elementwise. [peers]"""
        return self._reduced(value, MIN)

    def max(self, value: Number) -> Number:
        """Over all peers; of arrays elementwise. [peers]"""
        return self._reduced(value, MAX)

    def table(
        self,
        name: str,
        columns: Mapping[str, Any],
        *,
        units: Mapping[str, str] | None = None,
        roles: Mapping[str, str] | None = None,
        attributes: Mapping[str, Any] | None = None,
        title: str = "",
        per_step: bool = False,
        growing: bool = False,
    ) -> None:
        """Writes a table product; the first peer's is the one that is written. [peers]

        Args:
            name: of the file, OUTPUT/ANALYSIS/NAME.csv.
            columns: by name, 1-D and of one length; integers, or what becomes float64.
            units: of columns and attributes, by their names. Errors and bounds have those of the
                columns that they are about.
            roles: of columns that are about others, by their names: "error of NAME" (the standard
                error), "lower of NAME" and "upper of NAME" (an interval), "count of NAME" and
                "weight of NAME". A "count" or "weight" alone is that of the whole row. Reports draw
                errors as bars.
            attributes: numbers and texts that belong to the whole table.
            title: for people.
            per_step: a file for every step, NAME.STEP.csv, rather than one that is replaced.
            growing: the rows that an earlier writing had are as they were, so that only those
                behind them are added to the file.
        """
        units = dict(units or {})
        arrays = {name: _column(name, values) for name, values in columns.items()}
        lengths = {len(array) for array in arrays.values()}
        if len(lengths) != 1:
            raise Error(f"the columns of table '{name}' have lengths {sorted(lengths)}, not one")
        given = dict(attributes or {})
        unknown = sorted(set(units) - set(arrays) - set(given))
        if unknown:
            raise Error(f"table '{name}' has units for '{unknown[0]}', which is not a column of it")
        about = {n: role_of(n, text, arrays) for n, text in (roles or {}).items()}
        for column, (role, of) in about.items():
            if role.needs_column:
                units.setdefault(column, units.get(of, ""))
        self._work.write_table(
            name,
            title or name.replace("_", " "),
            (per_step, growing),
            lengths.pop(),
            [
                (
                    n,
                    units.get(n, ""),
                    int(a.__array_interface__["data"][0]),
                    a.dtype == np.int64,
                    about[n][0].value if n in about else Role.VALUE.value,
                    about[n][1] if n in about else "",
                )
                for n, a in arrays.items()
            ],
            [
                (n, units.get(n, ""), *((v, 0.0) if isinstance(v, str) else (None, float(v))))
                for n, v in given.items()
            ],
        )

    def text(self, name: str, text: str, *, title: str = "", comment: str | None = "# ") -> None:
        """Writes a product that is a text, whole or not at all, with its origin in front in lines
        that begin with `comment`; without it if that is None. The first peer's is written. [peers]
        """
        self._work.write_text(name, title or name, comment, text)

    @cached_property
    def folder(self) -> Path:
        """The folder of the analysis's products, for the stage's own files; it exists."""
        return Path(self._work.product_folder())

    def file(self, name: str, content: bytes, *, title: str = "", per_step: bool = False) -> None:
        """Writes a product that is bytes as they are, a picture for example, whole or not at all.
        The first peer's is written; on others nothing happens. With `per_step` there is one for
        each step, whose number stands before the ending: NAME.STEP.png.
        """
        self._work.write_file(name, title or name, content, per_step)

    def warn(self, topic: str, message: str) -> None:
        """Warns of something about this publication that users must know, in the log and the
        report: once for each `topic` of this stage. The first peer's call counts.
        """
        self._work.warn(topic, message)

    def _reduced(self, value: Number, operation: int) -> Number:
        whole = _reducible(value)
        whole = whole.astype(self._agreed_type(whole), order="C")
        self.reduce_in_place(whole, operation)
        if isinstance(value, np.ndarray):
            return whole
        return whole.item()  # type: ignore[return-value]

    def _agreed_type(self, array: np.ndarray[Any, Any]) -> str:
        """The type in which all peers reduce. [peers] Raises Error on each of them if their arrays
        have different shapes: MPI would mix up what is in them, or wait for ever.
        """
        number, shape = NUMBERS[array.dtype.name], zlib.crc32(repr(array.shape).encode())
        ends = np.array([number, -number, shape, -shape], np.int64)
        self.reduce_in_place(ends, MAX)
        if ends[2] != -ends[3]:
            raise Error(
                f"peers reduced arrays of different shapes, {array.shape} on this one: a peer "
                "without blocks must give zeros of the shape that the others have"
            )
        if ends[0] == -ends[1]:
            return array.dtype.name
        return "float64" if ends[0] > NUMBERS["int64"] else "int64"

    def reduce_in_place(self, array: np.ndarray[Any, Any], operation: int) -> None:
        """Reduces an array in one piece, of the same size and type on every peer. [peers]"""
        address = int(array.__array_interface__["data"][0])
        self._work.reduce(address, array.size, NUMBERS[array.dtype.name], operation)

    def _produce(self, name: str, shape: Shape, index: int) -> np.ndarray[Any, Any]:
        expect_known(name, self._plan.outputs)
        output = self._plan.outputs[name]
        if shape.number != self._plan.shapes[0].number:
            raise Error(f"output '{name}' lives on the blocks of the first input")
        return self._work.produce(  # type: ignore[no-any-return]
            output.number,
            shape.number,
            index,
            shape.axes,
            shape.has_inner,
            NUMBERS[output.type],
            output.components,
            output.points,
            CENTERINGS[output.centering],
            output.point_axes,
            self._lease,
        )

    def _let_go(self) -> "weakref.ref[Lease]":
        """Drops what the step holds; the lease stays alive if another object holds an array."""
        watch = weakref.ref(self._lease)
        self.__dict__.pop("blocks", None)
        del self._lease
        return watch


_REDUCED = ("int32", "int64", "float32", "float64")  # types that peers reduce in


def _reducible(value: Any) -> np.ndarray[Any, Any]:
    """A copy, in one piece, of a type that can be reduced; single numbers as the largest type."""
    array = np.array(value, order="C")
    if array.dtype.kind not in "iufb":
        raise Error(f"{value!r} cannot be reduced; give a number or an array of numbers")
    if isinstance(value, np.ndarray) and array.dtype.name in _REDUCED and array.dtype.isnative:
        return array
    return array.astype(np.float64 if array.dtype.kind == "f" else np.int64)


def _column(name: str, values: Sequence[Any] | np.ndarray) -> np.ndarray[Any, Any]:
    array = np.asarray(values)
    if array.ndim != 1 or array.dtype.kind not in "iufb":
        raise Error(
            f"column '{name}' has shape {array.shape} and type {array.dtype}; a column is a list "
            "of numbers"
        )
    return np.ascontiguousarray(array, np.int64 if array.dtype.kind in "iub" else np.float64)
