# SPDX-License-Identifier: BSD-3-Clause
"""A publication as a stage in Python sees it: step, blocks, peers, and the sink for products."""

import weakref
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from pillion.errors import Error
from pillion.insitu.blocks import Block, Lease, expect_known
from pillion.insitu.element_types import NUMBERS

if TYPE_CHECKING:
    from mpi4py import MPI

    from pillion import _stage
    from pillion.insitu.plan import Plan, Shape

Number = TypeVar("Number", int, float, np.ndarray)
SUM, MIN, MAX = 1, 2, 3


@dataclass(frozen=True)
class FieldDescription:
    """A field and the mesh that it lives on. Only uniform meshes have axes and cells.

    Attributes:
        mesh_kind: "uniform", "particles" or "spectral".
        order: of a spectral mesh: its elements have order + 1 points along each axis; else 0.
        centering: of a field on such a mesh: "points" or "elements"; else "".
        coordinates: of such a mesh: the field that holds them, or "".
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

    @property
    def is_particles(self) -> bool:
        return self.mesh_kind == "particles"

    @property
    def points(self) -> int:
        """Of an element along an axis, at each of which the field has values; 0 of others."""
        return self.order + 1 if self.centering == "points" else 0


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


class Step:
    """A publication being worked on; good until the stage returns.

    Calls marked [peers] must be made by every peer, alike. A peer that fails before them makes them
    fail on the others, so that nobody hangs.
    """

    def __init__(self, work: "_stage.Work", plan: "Plan") -> None:
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
        """What this rank holds of the first input: any number of blocks, none included."""
        return self.blocks_of(0)

    def blocks_of(self, number: int) -> list[Block]:
        """The same of another input, counted from 0."""
        if not 0 <= number < len(self._plan.shapes):
            raise Error(f"this stage has {len(self._plan.shapes)} inputs, and none number {number}")
        shape = self._plan.shapes[number]
        return [Block(self, shape, i) for i in range(self._work.block_count(shape.number))]

    def field(self, name: str) -> FieldDescription:
        """What the catalogue says of a field that this stage reads."""
        try:
            return self._plan.fields[name]
        except KeyError:
            known = ", ".join(self._plan.fields)
            raise Error(f"this stage reads no field '{name}'; it reads {known}") from None

    def units(self, name: str) -> str:
        """Of a field, of a mesh's lengths, or of "time"."""
        return self._work.units(self._plan.names.get(name, name))

    def domain(self, mesh: str) -> Domain:
        """Of particles, as of this step."""
        return Domain(**self._work.domain(mesh))

    def coarsening(self, mesh: str) -> int:
        """The factor by which the publication is coarser than the mesh says; 1 if it is whole."""
        return self._work.coarsening(mesh)

    @property
    def peer(self) -> int:
        """This rank among those that run the stage."""
        return self._work.peer()

    @property
    def peers(self) -> int:
        return self._work.peers()

    @cached_property
    def communicator(self) -> "MPI.Comm":
        """Of the peers, for libraries that want one. A peer that fails while others are in a call
        on it hangs them: prefer sum, min and max.
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
        attributes: Mapping[str, Any] | None = None,
        title: str = "",
        per_step: bool = False,
    ) -> None:
        """Writes a table product; the first peer's is the one that is written. [peers]

        Args:
            name: of the file, OUTPUT/ANALYSIS/NAME.csv.
            columns: by name, 1-D and of one length; integers, or what becomes float64.
            units: of columns and attributes, by their names.
            attributes: numbers and texts that belong to the whole table.
            title: for people.
            per_step: a file for every step, NAME.STEP.csv, rather than one that is replaced.
        """
        units = dict(units or {})
        arrays = {name: _column(name, values) for name, values in columns.items()}
        lengths = {len(array) for array in arrays.values()}
        if len(lengths) != 1:
            raise Error(f"the columns of table '{name}' have lengths {sorted(lengths)}, not one")
        given = dict(attributes or {})
        unknown = sorted(set(units) - set(arrays) - set(given))
        if unknown:
            raise Error(f"table '{name}' has units for '{unknown[0]}', which is no column of it")
        texts = {n: isinstance(v, str) for n, v in given.items()}
        self._work.write_table(
            name,
            title or name.replace("_", " "),
            per_step,
            lengths.pop(),
            list(arrays),
            [units.get(n, "") for n in arrays],
            [int(a.__array_interface__["data"][0]) for a in arrays.values()],
            [a.dtype == np.int64 for a in arrays.values()],
            list(given),
            [units.get(n, "") for n in given],
            [v if texts[n] else "" for n, v in given.items()],
            [0.0 if texts[n] else float(v) for n, v in given.items()],
            list(texts.values()),
        )

    def text(self, name: str, text: str, *, title: str = "", comment: str | None = "# ") -> None:
        """Writes a product that is a text, whole or not at all, with its origin in front in lines
        that begin with `comment`; without it if that is None. The first peer's is written. [peers]
        """
        self._work.write_text(name, title or name, comment, text)

    @cached_property
    def folder(self) -> Path:
        """Of the analysis's products, for files of the stage's own; it is there."""
        return Path(self._work.product_folder())

    def file(self, name: str, content: bytes, *, title: str = "", per_step: bool = False) -> None:
        """Writes a product that is bytes as they are, a picture for example, whole or not at all.
        The first peer's is written; on others nothing happens. With `per_step` there is one for
        each step, whose number stands before the ending: NAME.STEP.png.
        """
        self._work.write_file(name, title or name, content, per_step)

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
        """For arrays in one piece that are known to be alike on every peer. [peers]"""
        address = int(array.__array_interface__["data"][0])
        self._work.reduce(address, array.size, NUMBERS[array.dtype.name], operation)

    def _produce(self, name: str, shape: "Shape", index: int) -> np.ndarray[Any, Any]:
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
            self._lease,
        )

    def _let_go(self) -> "weakref.ref[Lease]":
        """Drops what the step holds; the lease lives on if somebody else holds an array."""
        watch = weakref.ref(self._lease)
        self.__dict__.pop("blocks", None)
        del self._lease
        return watch


def _reducible(value: Any) -> np.ndarray[Any, Any]:
    """A copy, in one piece, of a type that can be reduced; single numbers as the largest type."""
    array = np.array(value, order="C")
    if array.dtype.kind not in "iufb":
        raise Error(f"{value!r} cannot be reduced; give a number or an array of numbers")
    if isinstance(value, np.ndarray) and array.dtype.name in NUMBERS and array.dtype.isnative:
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
