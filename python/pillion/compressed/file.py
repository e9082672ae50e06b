# SPDX-License-Identifier: BSD-3-Clause
"""The file of one step: which fields it has, and their values."""

import warnings
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from pillion.compressed.average import Average
from pillion.compressed.basis import along_axes, basis_of
from pillion.compressed.codecs import decoded
from pillion.compressed.packets import VALUES, Packet, PacketShape, unpacked
from pillion.compressed.pieces import pieces, read_uniform, told_of_damage
from pillion.errors import Error

if TYPE_CHECKING:
    import h5py


@dataclass(frozen=True)
class CompressedField:
    """A field's description, which is read without decoding the field."""

    name: str
    units: str
    components: int
    dtype: np.dtype[Any]
    codec: str
    norm: str  # which error is bounded: "rms" over the volume, or "max" of any point
    bound: float  # on the error of each component, in the field's units
    error: float  # at most, in that norm
    raw_bytes: int
    stored_bytes: int
    is_continuous: bool

    @property
    def ratio(self) -> float:
        return self.raw_bytes / max(self.stored_bytes, 1)


class CompressedFile:
    """Fields of one step, on spectral elements or on a uniform mesh."""

    def __init__(self, path: str | Path):
        self.path = Path(path)
        self._file = _opened(self.path)
        with told_of_damage(self.path):
            self._read_head()

    def _read_head(self) -> None:
        attributes = self._file.attrs
        if "pillion_compressed" not in attributes:
            raise Error(f"{self.path} was not written by the stage encode")
        if int(attributes["pillion_compressed"]) != 1:
            raise Error(f"{self.path} was written by a newer version of Pillion")
        self.step = int(attributes["step"])
        self.time = float(attributes["time"])
        self.time_units = str(attributes["time_units"])
        self.mesh = str(attributes["mesh"])
        self.order = int(attributes.get("order", 0))  # of elements; 0: a uniform mesh
        self.dimensions = int(attributes.get("dimensions", 3))  # of elements
        self.periods: list[float] | None = None
        if "periods" in attributes:
            self.periods = [float(p) for p in attributes["periods"]]

    @cached_property
    def fields(self) -> dict[str, CompressedField]:
        with told_of_damage(self.path):
            tables = [name for name in self._file if f"{name}_pieces" in self._file]
            found = [name for name in tables if "bound" in self._file[name].attrs]
            return {name: self._described(name) for name in found}

    @cached_property
    def numbers(self) -> NDArray[np.int64] | None:
        """The numbers of the elements, ascending, which is the order of all arrays; None if they
        have none.
        """
        own = self._numbers(self._file)
        return None if own is None else np.sort(own)

    @cached_property
    def coordinates(self) -> NDArray[np.float64] | None:
        """(elements, 3, n, n, n), or (elements, 2 or 3, n, n) in two dimensions; None if those of
        these elements were not stored.
        """
        name = str(self._file.attrs.get("coordinates", ""))
        if f"{name}_pieces" in self._file:
            return self._sorted(self._file, self._values(self._file, name)).astype(np.float64)
        if "mesh_file" not in self._file.attrs:
            return None
        path = self.path.with_name(str(self._file.attrs["mesh_file"]))
        with _opened(path) as mesh:
            found = self._sorted(mesh, self._values(mesh, name)).astype(np.float64)
            return self._of_these_elements(found, self._numbers(mesh))

    def _of_these_elements(
        self, coordinates: NDArray[np.float64], theirs: NDArray[np.int64] | None
    ) -> NDArray[np.float64] | None:
        """The rows of a mesh's coordinates for the elements of this file; None if the mesh lacks
        some, or if the elements cannot be identified.
        """
        if self.numbers is None or theirs is None:
            name = next(iter(self.fields), None)
            same = name is None or len(coordinates) == self._elements_of(name)
            return coordinates if same else None
        theirs = np.sort(theirs)
        at = np.searchsorted(theirs, self.numbers)
        if (at == len(theirs)).any() or (theirs[at] != self.numbers).any():
            return None
        return coordinates[at]

    def _elements_of(self, name: str) -> int:
        return int(self._file[f"{name}_pieces"][...][:, 3].sum())

    @cached_property
    def average(self) -> Average | None:
        """The continuity average for decoded fields; None without coordinates."""
        return None if self.coordinates is None else Average(self.coordinates, self.periods)

    def read(self, name: str, average: bool | None = None) -> NDArray[Any]:
        """The values of a field. For spectral elements they are (elements, components, n, n, n), or
        (elements, components, n, n) in two dimensions, ordered by number if the elements have
        numbers. For a uniform mesh they are (z, y, x, components), without the axes that the mesh
        lacks.

        `average` selects whether points where elements meet get one common value. By default they
        do if the field was declared continuous and the file has coordinates, unless the values
        contradict the declaration. The average of a field that jumps is not within the bound.
        """
        field = self.field(name)
        with told_of_damage(self.path):
            return self._read(field, average)

    def _read(self, field: CompressedField, average: bool | None) -> NDArray[Any]:
        name = field.name
        if self.order == 0:
            return read_uniform(self._file, name, field.components, field.dtype)
        out = self._sorted(self._file, self._values(self._file, name))
        if average is None:
            average = self._may_average(field, out)
        if not average:
            return out
        if self.average is None:
            raise Error(
                f"{self.path} has no coordinates of these elements, so that nothing can be averaged"
            )
        return self.average(out).astype(field.dtype)

    def _may_average(self, field: CompressedField, values: NDArray[Any]) -> bool:
        if not field.is_continuous or field.bound == 0 or self.average is None:
            return False
        reason = self.average.contradiction(values, field.norm, field.bound)
        if reason:
            warnings.warn(
                f"{self.path}: field '{field.name}' was declared continuous, but {reason}, more "
                f"than the bound of {field.bound:.3g} allows. It jumps between elements, so it is "
                "not averaged. Remove it from `continuous` of the stage encode",
                stacklevel=4,
            )
        return not reason

    def coefficients(self, name: str) -> NDArray[np.float64]:
        """Coefficients of Legendre polynomials, shaped as the values are."""
        field = self.field(name)
        with told_of_damage(self.path):
            packet = self._packet(self._file, field.name)
            basis = basis_of(self.order + 1)
            untouched = packet.kinds == VALUES
            packet.numbers[untouched] = along_axes(
                basis.to_legendre, packet.values[untouched].astype(np.float64), self.dimensions
            )
            return self._sorted(self._file, packet.numbers)

    def field(self, name: str) -> CompressedField:
        if name not in self.fields:
            raise Error(f"{self.path} has no field '{name}'; it has {', '.join(self.fields)}")
        return self.fields[name]

    def close(self) -> None:
        self._file.close()

    def __enter__(self) -> "CompressedFile":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _described(self, name: str) -> CompressedField:
        dataset = self._file[name]
        a = dataset.attrs
        return CompressedField(
            name,
            str(a["units"]),
            int(a["components"]),
            np.dtype(str(a["type"])),
            str(a["codec"]),
            str(a["norm"]),
            float(a["bound"]),
            float(a["error"]),
            int(a["raw_bytes"]),
            dataset.size,
            bool(a.get("continuous", 0)),
        )

    def _packet(self, file: "h5py.File", name: str) -> Packet:
        """All of a field's packets as one."""
        a = file[name].attrs
        shape = PacketShape(int(a["components"]), self.order + 1, self.dimensions)
        dtype = np.dtype(str(a["type"]))
        parts = []
        for piece, (coded, raw, elements) in pieces(file, name):
            plain = decoded(str(a["codec"]), piece.tobytes(), raw) if coded else piece.tobytes()
            parts.append(unpacked(plain, elements, shape, dtype))
        if not parts:
            parts = [unpacked(b"\0" * shape.size, 0, shape, dtype)]
        return Packet(*(np.concatenate(p) for p in zip(*(vars(p).values() for p in parts))))

    def _values(self, file: "h5py.File", name: str) -> NDArray[Any]:
        packet = self._packet(file, name)
        out = packet.values
        made = packet.kinds != VALUES
        to_values = basis_of(self.order + 1).to_values
        out[made] = along_axes(to_values, packet.numbers[made], self.dimensions)
        return out

    @staticmethod
    def _numbers(file: "h5py.File") -> NDArray[np.int64] | None:
        return file["numbers"][...] if "numbers" in file else None

    def _sorted(self, file: "h5py.File", values: NDArray[Any]) -> NDArray[Any]:
        numbers = self._numbers(file)
        return values if numbers is None else values[np.argsort(numbers, kind="stable")]


def _opened(path: Path) -> "h5py.File":
    try:
        import h5py
    except ImportError:
        raise Error("compressed files need the Python package 'h5py': pip install h5py") from None
    try:
        return h5py.File(path)
    except OSError as reason:
        raise Error(f"cannot read {path}: {reason}") from None
