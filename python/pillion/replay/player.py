# SPDX-License-Identifier: BSD-3-Clause
"""Plays frames in a session: what simulations do by computing is done here by reading. A rank
shares one block of each field, and reads its own part of each alone.
"""

import math
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

import pillion.idx
from pillion.datasets.file_arrays import read_box
from pillion.datasets.lammps_dumps import frames_of, read_field
from pillion.datasets.plotfiles import Plotfile, open_plotfile
from pillion.errors import Error
from pillion.insitu.catalogue import Field
from pillion.insitu.session import Session
from pillion.insitu.step import Domain
from pillion.replay.agreement import together
from pillion.replay.arrays import (
    COMPONENTS,
    Arrangement,
    Dimension,
    Part,
    Stored,
    arrange,
    part_of,
)
from pillion.replay.blocks import (
    CellSharing,
    SharedBlock,
    blocks_of_plotfile,
    blocks_of_raw,
    meshes_by_block,
    own_raw_blocks,
)
from pillion.replay.frames import Frame
from pillion.replay.options import Order

if TYPE_CHECKING:
    from mpi4py import MPI


class FieldReader:
    """Reads parts of stored arrays, by this rank alone, and keeps what it has learned of files. As
    a context manager it lets go of them.
    """

    def __init__(self) -> None:
        self._datasets: dict[str, pillion.idx.Dataset] = {}
        self._hdf5: tuple[str, Any] = ("", None)
        self._plotfile: Plotfile | None = None  # that of the field before
        self._open = ExitStack()

    def __enter__(self) -> "FieldReader":
        return self

    def __exit__(self, *_: object) -> None:
        self._open.close()

    def read(self, stored: Stored, arrangement: Arrangement, part: Part, out: np.ndarray) -> int:
        """Reads a part, in the order of the file, into an array in one piece. Returns the bytes
        that it took from files. Raises Error.
        """
        if out.size == 0:
            return 0
        assert stored.dtype is not None
        if stored.whole is not None:
            return self._read_component(stored, stored.whole, arrangement, part, out)
        if stored.format == "idx":
            return self._read_idx(stored, part, out)
        if stored.format in ("hdf5", "openpmd"):
            self._read_hdf5(stored, part, out)
        elif stored.format == "plotfile":
            self._read_plotfile(stored, part, out)
        elif stored.format == "lammps":
            self._read_dump(stored, part, out)
        elif stored.raw is not None:
            items = len(part) - len(stored.raw.inner)
            stored.raw.read(stored.index, part[:items], out)
        else:
            extents = [dimension.extent for dimension in arrangement]
            read_box(stored.file, stored.offset, stored.dtype, extents, part, out)
        return out.size * stored.dtype.itemsize

    def _read_component(
        self,
        stored: Stored,
        whole: Stored,
        arrangement: Arrangement,
        part: Part,
        out: np.ndarray,
    ) -> int:
        """Reads all components, and keeps one."""
        count = whole.shape[-1]
        axis = 0 if stored.fortran else out.ndim
        values = np.empty((*out.shape[:axis], count, *out.shape[axis:]), out.dtype)
        extents = [*arrangement[:axis], Dimension(COMPONENTS, count), *arrangement[axis:]]
        bytes_read = self.read(whole, extents, (*part[:axis], (0, count), *part[axis:]), values)
        out[...] = values.take(stored.component, axis)
        return bytes_read

    def _read_idx(self, stored: Stored, part: Part, out: np.ndarray) -> int:
        dataset = self._datasets.get(stored.path)
        if dataset is None:
            dataset = self._datasets[stored.path] = pillion.idx.open(stored.path)
        along = zip(dataset.box, part[: dataset.axes][::-1], strict=True)
        box = [(first + lo, first + hi) for (first, _), (lo, hi) in along]
        if len(stored.parts) == 1:
            return dataset[stored.parts[0]].read(stored.step, box=box, out=out).bytes_read
        components = enumerate(stored.parts)
        return sum(
            dataset[name].read(stored.step, box=box, out=out[..., c]).bytes_read
            for c, name in components
        )

    def blocks(self, stored: Stored, rank: int, ranks: int) -> list[SharedBlock]:
        """A rank's blocks of a field that is stored in blocks, at all levels."""
        if stored.raw is not None:
            return blocks_of_raw(stored.index, stored.raw, rank, ranks)
        return blocks_of_plotfile(self._opened(stored), stored.parts, rank, ranks)

    def _opened(self, stored: Stored) -> Plotfile:
        if self._plotfile is None or self._plotfile.path != stored.file:
            self._plotfile = open_plotfile(stored.path)
        return self._plotfile

    def _read_plotfile(self, stored: Stored, part: Part, out: np.ndarray) -> None:
        plotfile = self._opened(stored)
        cells = part[: plotfile.axes]
        values = out if len(part) > plotfile.axes else out[..., None]
        found = plotfile.levels[0].read_part(stored.parts, cells, values)
        if found < math.prod(hi - lo for lo, hi in cells):
            raise Error(
                f"{stored.place} does not cover the mesh; declare the mesh with `covered: partial`"
            )

    def _read_dump(self, stored: Stored, part: Part, out: np.ndarray) -> None:
        frame = next(f for f in frames_of(stored.file) if f.begin == stored.offset)
        field = next(of for of in frame.fields() if of.columns == stored.parts)
        values = read_field(stored.file, frame, field)
        out[...] = values[tuple(slice(lo, hi) for lo, hi in part)]

    def _read_hdf5(self, stored: Stored, part: Part, out: np.ndarray) -> None:
        """The file of the field before is still open: mostly it has the next one, too."""
        from pillion.datasets import hdf5_arrays, openpmd_files

        if self._hdf5[0] != stored.path:
            self._hdf5 = "", None
            self._open.close()
            file = self._open.enter_context(hdf5_arrays.opened(stored.file))
            self._hdf5 = stored.path, file
        if stored.format == "openpmd":
            box = part[:-1] if len(stored.parts) > 1 else part
            out[...] = openpmd_files.read_record(self._hdf5[1], stored.parts, box)
        else:
            hdf5_arrays.read_box(self._hdf5[1], stored.dataset, part, out)


@dataclass
class Tally:
    """The work of this rank so far."""

    steps: int = 0
    due: int = 0  # of these, those with something to do
    bytes: int = 0  # read


class Player:
    """Offers frames to a session. `fields` are the fields that analyses use; `comm` is the
    communicator of the simulation ranks.
    """

    def __init__(
        self, session: Session, fields: Sequence[Field], order: Order, comm: "MPI.Comm"
    ) -> None:
        self._session = session
        self._fields = fields
        self._order = order
        self._comm = comm
        self._files = FieldReader()
        self._in_blocks = meshes_by_block(fields)
        self._cells = CellSharing(session)
        self._boxes: dict[str, dict[int, tuple[int, int]]] = {}  # by mesh, and its axes
        self._memory: dict[str, np.ndarray] = {}  # by field
        self._domains: dict[str, Domain] = {}  # as they were set last
        self._faces: dict[str, tuple[np.ndarray, ...]] = {}  # likewise
        self._tally = Tally()

    def play(self, frames: Sequence[Frame]) -> Tally:
        """Plays the frames; reads only what is due. If it fails, raises Error on every rank.
        [collective]
        """
        tally = self._tally
        with self._files:
            for frame in frames:
                for name, value in frame.scalars.items():
                    self._session.set_scalar(name, value)
                due = self._session.is_due(frame.step, frame.time)
                # Before the first step everything must be shared, whether it is looked at or not.
                if due or tally.steps == 0:
                    together(self._comm, lambda: self._share(frame, due))  # noqa: B023
                self._session.step(frame.step, frame.time)
                tally.steps += 1
                tally.due += due
        return tally

    def _share(self, frame: Frame, with_values: bool) -> None:
        """Shares what this rank has of a frame; without reading it, if nothing is due."""
        self._set_domains(frame.domains)
        self._set_faces(frame.faces)
        self._share_cells(frame)
        for field in self._fields:
            stored = frame.fields[field.name]
            if stored.is_in_blocks and field.mesh in self._in_blocks:
                # A session looks at coordinates before anything is due.
                self._share_blocks(field, stored, with_values or stored.is_coordinates)
                continue
            arrangement = arrange(stored, field, self._order)
            box = self._box(field, arrangement)
            part = tuple(
                (0, d.extent) if d.axis == COMPONENTS else box[d.axis] for d in arrangement
            )
            values = self._room(field, tuple(hi - lo for lo, hi in part))
            if with_values:
                self._tally.bytes += self._files.read(stored, arrangement, part, values)
            self._share_values(field, arrangement, box, values)

    def _share_values(
        self,
        field: Field,
        arrangement: Arrangement,
        box: Mapping[int, tuple[int, int]],
        values: np.ndarray,
    ) -> None:
        """Dimensions in the order of the mesh's axes, components last; strides say the rest."""
        turned = values.transpose(np.argsort([d.axis for d in arrangement]))
        if not field.is_particles:
            if values.size > 0:
                self._session.share(field.name, turned, [box[a][0] for a in range(len(box))])
            return
        if not turned.flags.c_contiguous:  # components one after the other, which are put together
            turned = np.ascontiguousarray(turned)
        self._session.share(field.name, turned)

    def _share_cells(self, frame: Frame) -> None:
        """Shares this rank's points and cells of unstructured meshes, if they have changed."""
        of = {field.mesh: field.name for field in self._fields if field.is_unstructured}
        for mesh, name in of.items():
            index = frame.fields[name].index
            blocks = own_raw_blocks(index, self._comm.rank, self._comm.size)
            self._tally.bytes += self._cells.share(mesh, blocks)

    def _share_blocks(self, field: Field, stored: Stored, with_values: bool) -> None:
        """Shares this rank's blocks, at all levels, and takes back those of the step before."""
        blocks = self._files.blocks(stored, self._comm.rank, self._comm.size)
        inner = field.of_item or (1,)
        sizes = [math.prod(block.extent + inner) for block in blocks]
        values = self._room(field, (sum(sizes),))
        begin = 0
        with self._session.blocks(field.name):
            for block, size in zip(blocks, sizes, strict=True):
                own = values[begin : begin + size]
                own = own.reshape(*block.extent[::-1], *inner)
                begin += size
                if with_values:
                    block.read(own)
                    self._tally.bytes += own.nbytes
                axes = len(block.extent)
                turned = own.transpose(*range(axes)[::-1], *range(axes, own.ndim))
                turned = turned if field.of_item else turned[..., 0]
                self._session.share(field.name, turned, block.lo, level=block.level)

    def _box(self, field: Field, arrangement: Arrangement) -> Mapping[int, tuple[int, int]]:
        """This rank's part of a mesh, by axis: the same for all its fields. The number of particles
        may change from step to step.
        """
        if field.mesh in self._boxes and not field.is_particles:
            return self._boxes[field.mesh]
        dimensions = [d for d in arrangement if d.axis != COMPONENTS]
        part = part_of([d.extent for d in dimensions], self._comm.rank, self._comm.size)
        box = {d.axis: span for d, span in zip(dimensions, part, strict=True)}
        return self._boxes.setdefault(field.mesh, box) if not field.is_particles else box

    def _room(self, field: Field, shape: tuple[int, ...]) -> np.ndarray:
        """The memory of the step before, if it is enough."""
        size = int(np.prod(shape))
        memory = self._memory.get(field.name)
        if memory is None or memory.size < size:
            memory = self._memory[field.name] = np.empty(size, field.type)
        return memory[:size].reshape(shape)

    def _set_faces(self, faces: Mapping[str, tuple[np.ndarray, ...]]) -> None:
        for mesh, axes in faces.items():
            before = self._faces.get(mesh, ())
            if len(before) == len(axes) and all(map(np.array_equal, before, axes)):
                continue
            self._faces[mesh] = axes
            for axis, along in enumerate(axes):
                self._session.set_coordinates(mesh, axis, along)

    def _set_domains(self, domains: Mapping[str, Domain]) -> None:
        used = {field.mesh for field in self._fields}
        for mesh, domain in domains.items():
            if mesh not in used or self._domains.get(mesh) == domain:
                continue
            self._domains[mesh] = domain
            self._session.set_domain(
                mesh,
                domain.lo,
                domain.hi,
                domain.tilt,
                domain.periodic,
                dimensions=domain.dimensions,
            )
