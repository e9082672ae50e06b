# SPDX-License-Identifier: BSD-3-Clause
"""A simulation's connection to Pillion: share, step, close.

Arrays are shared where they are: nothing is copied until a step is published, and the session keeps
a reference, so that the memory stays. Index order is that of the mesh: `array[i, j, k]` is the cell
`lo + (i, j, k)`, whatever the order in memory.

Sessions that are open when the program ends are closed then; see open_sessions.py.
"""

import math
import os
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from dataclasses import field as dataclasses_field
from os import PathLike, fspath
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from pillion.errors import Error
from pillion.insitu.array_owners import Held, new_abandoned, numbers_of
from pillion.insitu.catalogue import BOXES, NUMBERS, Field, Progress, fields_of, number_of
from pillion.insitu.open_sessions import open_sessions
from pillion.insitu.shared_arrays import (
    address_of,
    box_of,
    expect_components,
    expect_items,
    items_of,
    strides_for,
    view_of,
    without_ghosts,
)
from pillion.insitu.shared_cells import cells_of, points_of

if TYPE_CHECKING:
    from mpi4py import MPI

    from pillion import _core


@dataclass
class _OpenBlocks:
    """Blocks of a field that were shared since its blocks were begun, and the next number."""

    numbers: set[int] = dataclasses_field(default_factory=set)
    next: int = 0
    has_failed: bool = False


def yaml_of(value: object) -> str:
    """The value of a parameter as the configuration has it."""
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value)


_Arrangement = tuple[list[int], list[int], int, Sequence[int] | None]


class Session:
    """One rank's connection, from `pillion.open` to `close`. It belongs to one thread.

    As a context manager it closes itself at the end. If the block ends with an exception it does
    not, since closing waits for the other ranks; what was published is finished when MPI ends.
    A session that is still open is closed when the program ends normally. In both cases a
    failure to close is a RuntimeWarning, so that the program continues; `close` raises it.
    """

    def __init__(self, handle: "_core.Session") -> None:
        self._handle: _core.Session | None = handle
        self._process = os.getpid()  # children of it have copies, and do nothing with them
        simulation = self.communicator
        # For failures: the simulation ranks, in a communicator of its own. None on a sidecar.
        self.simulation: MPI.Comm | None = simulation.Dup() if simulation else None
        self._shared: dict[tuple[str, int], Held] = {}
        self._abandoned: set[str] = set()  # fields whose arrays the program uses no more
        self._due, self._next_look = 0, 2  # due steps; when to look for such arrays
        self._allocated: dict[tuple[str, int], _Arrangement] = {}
        self._open_blocks: dict[str, _OpenBlocks] = {}
        self._fields: dict[str, Field] | None = None
        open_sessions.add(self)

    def serve(self) -> bool:
        """On a sidecar rank: works until the simulation closes its session, and returns True; this
        session is closed then. On a simulation rank: returns False at once.
        """
        if not self._open.serve():
            return False
        self._forget()
        return True

    def set_parameter(self, name: str, value: object) -> None:
        """Sets the value of `$name` in the file, in a session that was opened with `deferred`,
        before `configure`; the same on every rank. `sidecars:` of the file cannot depend on it.
        """
        self._open.set_parameter(name, yaml_of(value))

    def offer_catalogue(self, yaml: str) -> None:
        """Offers YAML text with `meshes`, `fields` and `scalars`, in the place of `catalogue=`, in
        a session that was opened with `deferred`, before `configure`; the same on every rank.
        """
        self._open.offer_catalogue(yaml)

    def configure(self) -> None:
        """Completes an opening with `deferred`; else `ready` or the first step does. [collective]

        Raises:
            Error: the same on every rank. The session can only be closed then.
        """
        self._open.configure()

    @property
    def communicator(self) -> "MPI.Comm":
        """The communicator of the simulation ranks. It may be used until MPI ends, also after the
        session has closed; do not free it.
        """
        from mpi4py import MPI

        handle = self._open.communicator()
        if MPI.Is_finalized():
            raise Error("MPI has ended, and the session's communicator with it")
        return MPI.Comm.f2py(handle)

    @property
    def fields(self) -> Mapping[str, Field]:
        """The catalogue, by name."""
        if self._fields is None:
            self._fields = fields_of(self._open.fields())
        return self._fields

    def share(
        self,
        field: str,
        array: Any,
        lo: Sequence[int] | None = None,
        *,
        block: int | None = None,
        level: int = 0,
        ghosts: int | Sequence[int] = 0,
    ) -> None:
        """Shares a block of a field: passes its address; nothing is copied.

        Between steps the array may be written to, but must not be resized or replaced. If it has
        moved, share it again. A rank may share any number of blocks, each with a number.

        Args:
            field: its name in the catalogue.
            array: anything that NumPy sees as an array without copying it (NumPy, PyTorch on the
                CPU, …), of the field's type. Axes called x, y and z, as xarray has them, are put
                into the order of the mesh; masked values and other units are refused.
                Uniform or rectilinear mesh: the box's shape, one extent per axis of the mesh, and
                the components last if the field has several; any strides. Along each axis, a
                field at points has one value more than the box has cells.
                Particles: (count,) or (count, components), in one piece.
                Spectral mesh: (count, n, n, n) or (count, components, n, n, n), in one piece. Here
                n is order + 1, and the last index is along the first axis of the reference element.
                If the field is centred on elements: (count,) or (count, components). The transpose
                of a Fortran array (n, n, n, components, count) fits.
                Unstructured mesh: (count,) or (count, components), in one piece; a value for each
                cell or point of the block, as the field's centering says.
                A list or tuple of arrays, one for each component, shares components that lie apart:
                each is like the array of a field of one component, and all have the same strides.
            lo: index of the array's first cell in the mesh, on its level; by default 0 along every
                axis. For uniform meshes only.
            block: number of the block; by default 0, or the next one within `blocks`.
            level: level of refinement that the array is of; 0 is the coarsest.
            ghosts: number of ghost cells that the array has at both ends of every axis, or a number
                for each axis. They are not published; `lo` is the first cell behind them.

        Raises:
            Error: if the array does not suit the field.
        """
        wanted = self._field(field)
        is_apart = isinstance(array, (list, tuple))
        parts = array if is_apart else [array]
        views = [view_of(numbers_of(wanted, one), field) for one in parts]
        del parts  # see array_owners
        if ghosts != 0:
            each = replace(wanted, components=1) if is_apart else wanted
            views = [without_ghosts(each, view, ghosts) for view in views]
        number = number_of(views[0], field) if views else 0
        opened = self._open_blocks.get(field)
        if block is None:
            block = 0 if opened is None else opened.next
        if level != 0 and wanted.mesh_kind not in BOXES:
            raise Error(f"field '{field}' was shared on level {level}; only boxes have levels")
        if is_apart:
            self._share_components(wanted, views, number, lo, level, block)
        else:
            self._share_array(wanted, views[0], number, lo, level, block)
        self._shared[field, block] = Held(array, views, self._due)
        if opened is not None:
            opened.numbers.add(block)
            opened.next = max(opened.next, block + 1)

    def _share_array(
        self,
        wanted: Field,
        view: np.ndarray[Any, Any],
        number: int,
        lo: Sequence[int] | None,
        level: int,
        block: int,
    ) -> None:
        field, address = wanted.name, address_of(view)
        if wanted.mesh_kind in BOXES:
            first, last, strides = box_of(wanted, view, lo)
            self._open.share_box(field, level, block, first, last, address, number, strides)
        else:
            expect_items(wanted, view, lo)
            share = {
                "particles": self._open.share_particles,
                "spectral": self._open.share_elements,
                "unstructured": self._open.share_values,
            }[wanted.mesh_kind]
            share(field, block, view.shape[0], address, number)

    def _share_components(
        self,
        wanted: Field,
        views: list[np.ndarray[Any, Any]],
        number: int,
        lo: Sequence[int] | None,
        level: int,
        block: int,
    ) -> None:
        expect_components(wanted, views)
        one = replace(wanted, components=1)
        addresses = [address_of(view) for view in views]
        if wanted.mesh_kind in BOXES:
            first, last, strides = box_of(one, views[0], lo)
            self._open.share_box_components(
                wanted.name, level, block, first, last, addresses, number, strides
            )
        else:
            strides = items_of(one, views[0], lo)
            count = views[0].shape[0]
            self._open.share_components(wanted.name, block, count, addresses, number, strides)

    def share_points(self, mesh: str, points: Any, *, block: int = 0, ids: Any = None) -> None:
        """Shares the points of a block of an unstructured mesh. They are copied; share them again
        when they have moved.

        Args:
            mesh: its name in the catalogue.
            points: (count, 3), or (count, 2) in a plane; float32 or float64, with any strides.
            block: number of the block.
            ids: the number of each point in the whole mesh.

        Raises:
            Error: if these are not coordinates of points.
        """
        found = points_of(mesh, points, ids)
        self._open.share_points(
            mesh, block, found.count, found.data, found.stride, found.type, found.ids
        )

    def share_cells(
        self,
        mesh: str,
        points: Any = None,
        offsets: Any = None,
        *,
        types: Any,
        block: int = 0,
        points_are_ids: bool = False,
        ids: Any = None,
        flags: Any = None,
        parents: Any = None,
        patches: Any = None,
        face_offsets: Any = None,
        face_points: Any = None,
        polyhedron_offsets: Any = None,
        polyhedron_faces: Any = None,
        base: int = 0,
    ) -> None:
        """Shares the cells of a block of an unstructured mesh. They are copied; share them again
        when they have changed. Cell c has the points `points[offsets[c]:offsets[c + 1]]`, in VTK's
        order.

        Indices are of type int32 or int64; if all have the same, they are not converted.

        Args:
            mesh: its name in the catalogue.
            points: indices of the points of cells, one cell after the other; or (cells, corners).
                None if the block has no cells.
            offsets: one more than cells. Not needed if types have a fixed number of points.
            types: VTK's type of each cell, or of all; or the name of the type of all, such as
                "tetra", "hexahedron", "wedge", "pyramid", "triangle", "quad" or "polyhedron".
            block: number of the block.
            points_are_ids: whether `points` are the numbers in the whole mesh that `share_points`
                was given as `ids`.
            ids: the number of each cell in the whole mesh.
            flags: bits of each cell, as VTK has them: 1 where another block owns the cell, 32 where
                it is hidden.
            parents: of a boundary: the id of the cell that each cell bounds.
            patches: the patch of each cell, by its place in the configuration's list, from 0.
            face_offsets: of polyhedra: face f has the points
                `face_points[face_offsets[f]:face_offsets[f + 1]]`.
            face_points: indices of points.
            polyhedron_offsets: one more than cells: cell c has the faces
                `polyhedron_faces[polyhedron_offsets[c]:polyhedron_offsets[c + 1]]`.
            polyhedron_faces: indices of faces.
            base: what indices and offsets are counted from, 0 or 1.

        Raises:
            Error: if the arrays do not suit each other.
        """
        polyhedra = {
            "face_offsets": face_offsets,
            "face_points": face_points,
            "polyhedron_offsets": polyhedron_offsets,
            "polyhedron_faces": polyhedron_faces,
        }
        each = {"ids": ids, "flags": flags, "parents": parents, "patches": patches}
        found = cells_of(mesh, points, offsets, types, base, polyhedra, **each)
        self._open.share_cells(
            mesh,
            block,
            found.count,
            found.type,
            found.index_type,
            base,
            points_are_ids,
            found.face_count,
            found.addresses,
        )

    @contextmanager
    def blocks(self, field: str) -> Iterator[None]:
        """Within `with session.blocks(field):` the program shares all blocks of a field again, as
        after a regridding; or, with the name of an unstructured mesh, all its points and cells.
        At the end every block that was not shared within is taken back. Blocks of fields need no
        numbers there. After an exception within, the field cannot be published until its blocks
        are shared again like this.
        """
        opened = self._open_blocks.get(field)
        if opened is not None and not opened.has_failed:
            raise Error(f"blocks of field '{field}' are being shared already")
        if opened is not None:
            self._open.end_blocks(field)
        self._open.begin_blocks(field)
        opened = self._open_blocks[field] = _OpenBlocks()
        try:
            yield
        except BaseException:
            opened.has_failed = True  # steps are faulty until all blocks are shared again
            raise
        del self._open_blocks[field]
        self._open.end_blocks(field)
        for kept in (self._shared, self._allocated):
            for key in [k for k in kept if k[0] == field and k[1] not in opened.numbers]:
                del kept[key]

    def allocate(
        self,
        field: str,
        shape: Sequence[int],
        lo: Sequence[int] | None = None,
        *,
        block: int = 0,
        buffers: int = 2,
    ) -> np.ndarray[Any, Any]:
        """An array that sidecars on this node read in place, so that publishing copies nothing.

        It is shared at once. There are `buffers` of them that take turns: after a step that
        publishes it, write the next values to the array that `swap` gives. Its values at first
        are undefined. It stays valid as long as it is referenced, even after the session is closed.

        Args:
            field: its name in the catalogue.
            shape: as for an array to be shared; see `share`.
            lo: index of the first cell, as for `share`.
            block: number of the block.
            buffers: 2 or more.

        Returns:
            An array of the field's type, in the library's order in memory. On a uniform mesh the
            first axis is fastest and components are together; else it is in one piece as NumPy has
            it.
        """
        wanted = self._field(field)
        extents = [int(n) for n in shape]
        if any(n < 0 for n in extents):
            raise Error(f"memory for field '{field}' was asked for in the shape {tuple(shape)}")
        strides = strides_for(wanted, extents)
        number = NUMBERS[wanted.type]
        size = max(1, math.prod(extents)) * np.dtype(wanted.type).itemsize
        address = self._open.allocate(field, block, size, buffers)
        self._allocated[field, block] = (extents, strides, number, lo)
        try:
            return self._shared_buffer(field, block, address)
        except BaseException:
            self.unshare(field, block=block)
            raise

    def swap(self, field: str, *, block: int = 0) -> np.ndarray[Any, Any]:
        """The next buffer of an allocated block, which has no reader now; it is shared instead of
        the one before. Its values are those of some earlier step. Never waits.
        """
        address = self._open.swap(field, block)
        return self._shared_buffer(field, block, address)

    def _shared_buffer(self, field: str, block: int, address: int) -> np.ndarray[Any, Any]:
        extents, strides, number, lo = self._allocated[field, block]
        array: np.ndarray[Any, Any] = self._open.array(address, extents, strides, number)
        self.share(field, array, lo, block=block)
        return array

    def unshare(self, field: str, *, block: int = 0) -> None:
        """Takes a block of a field back, or the points and cells of a block of a mesh."""
        self._shared.pop((field, block), None)
        self._open.unshare(field, block)
        self._allocated.pop((field, block), None)

    def set_domain(
        self,
        mesh: str,
        lo: Sequence[float],
        hi: Sequence[float],
        tilt: Sequence[float] = (0, 0, 0),
        periodic: Sequence[bool] = (True, True, True),
        *,
        dimensions: int = 0,
    ) -> None:
        """Sets the domain of a particle mesh from now on; the same on every rank.

        The edges are (hi[0]-lo[0], 0, 0), (tilt[0], hi[1]-lo[1], 0) and
        (tilt[1], tilt[2], hi[2]-lo[2]). With 2 `dimensions`, particles live in the plane of the
        first two edges, and coordinates along the third do not count. With 0, the configuration
        sets the dimensions.
        """
        self._open.set_domain(mesh, list(lo), list(hi), list(tilt), list(periodic), dimensions)

    def set_coordinates(
        self, mesh: str, axis: int, values: Sequence[float] | np.ndarray[Any, Any]
    ) -> None:
        """Sets the coordinates of the faces of a rectilinear mesh along one axis, counted from 0:
        one more than cells, in ascending order. From now on; the same on every rank.
        """
        self._open.set_coordinates(mesh, axis, [float(value) for value in values])

    def set_scalar(self, name: str, value: float) -> None:
        """Sets a scalar of the catalogue as of now; the same on every rank. It keeps its value
        until it is set again, and goes with every publication.
        """
        self._open.set_scalar(name, float(value))

    def set_units(self, name: str, units: str) -> None:
        """Sets the units of a field, of a mesh's lengths, of a scalar, or of "time"; the same on
        every rank.
        """
        self._open.set_units(name, units)

    def ready(self) -> None:
        """Checks that all that analyses need is shared; else the first step does. [collective]"""
        self._open.ready()

    def is_due(self, step: int, time: float) -> bool:
        """Whether the step would do anything, for what need only be prepared then."""
        return self._open.is_due(step, time)

    def step(self, step: int, time: float) -> None:
        """Offers a step: runs or publishes what is due, returns at once if nothing is. [collective]

        The first step raises what `ready` would. After that no failure inside Pillion is raised: it
        is logged and reported, and the analyses that it affects are disabled. Every rank raises if
        ranks do not make the same calls, or offer different steps or times.

        A step that was offered last, or earlier in the run that this one resumes, is ignored. If
        the program's counter goes back, products number its later steps after the earlier ones, and
        the report gives the number that was added.
        """
        open_sessions.failure = ""  # a SystemExit that was caught
        if self._shared and self._open.is_due(step, time):
            self._due += 1
            if self._due == self._next_look:
                self._next_look *= 2  # so that all looks together cost next to nothing
                for text in new_abandoned(
                    self._shared, self._allocated, self.fields, self._abandoned, self._due
                ):
                    warnings.warn(text, RuntimeWarning, stacklevel=2)
        self._open.step(step, time)

    def checkpoint(self, path: str | PathLike[str]) -> None:
        """Saves the state of stages in a directory, whole or not at all. [collective]

        Raises:
            Error: on every rank, if it could not be saved. The session can still be used.
        """
        self._open.checkpoint(fspath(path))

    @property
    def progress(self) -> Progress:
        return Progress(**self._open.progress())

    @property
    def report_path(self) -> Path | None:
        """The path of the run report, which is written on closing; None if there will be none."""
        path = self._open.report_path()
        return Path(path) if path else None

    def close(self) -> None:
        """Waits until sidecars have finished, writes the last products and the report. [collective]

        Closing twice is allowed.

        Raises:
            Error: if the report or a last product could not be written. The session is closed then.
        """
        if self._handle is None:
            return
        handle = self._handle
        try:
            handle.close()
        finally:
            self._forget()

    def close_or_warn(self) -> None:
        """As `close`, but a failure is a RuntimeWarning."""
        try:
            self.close()
        except Error as error:
            warnings.warn(f"the session did not close well: {error}", RuntimeWarning, stacklevel=3)

    @property
    def is_open(self) -> bool:
        return self._handle is not None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if kind is None:
            self.close_or_warn()
        elif not (isinstance(error, SystemExit) and error.code in (None, 0)):
            open_sessions.abandon(self)

    @property
    def _open(self) -> "_core.Session":
        if self._handle is None:
            raise Error("the session is closed")
        return self._handle

    def _forget(self) -> None:
        self._handle = None
        self._shared.clear()
        self._allocated.clear()
        open_sessions.forget(self)
        from mpi4py import MPI

        is_own = os.getpid() == self._process
        if self.simulation is not None and is_own and not MPI.Is_finalized():
            self.simulation.Free()

    def _field(self, name: str) -> Field:
        found = self.fields.get(name)
        if found is not None:
            return found
        from difflib import get_close_matches

        near = get_close_matches(name, self.fields, 1)
        hint = f"; did you mean '{near[0]}'?" if near else ""
        known = ", ".join(self.fields) or "no fields"
        raise Error(f"unknown field '{name}'{hint} (the catalogue has {known})")
