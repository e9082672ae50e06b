# SPDX-License-Identifier: BSD-3-Clause
"""Arrays in HDF5 files of any program: what there is, and reading a box of one into memory.

The library converts numbers and unpacks what is compressed. It reads parts of virtual datasets that
it does not find as zeros without a word, so these are looked for before.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import yaml

from pillion.errors import Error
from pillion.idx.origin import scalars_of
from pillion.yaml_text import Loader

try:
    import h5py
except ImportError:
    raise Error("files of HDF5 need the Python package h5py: pip install h5py") from None


@dataclass(frozen=True)
class Hdf5Array:
    """A dataset of a file. Nothing of it has been read."""

    name: str  # its path in the file, "group/name"
    type: str  # "int16" and the like, or a description of what is neither integer nor real
    shape: tuple[int, ...]


@dataclass(frozen=True)
class Hdf5Content:
    arrays: tuple[Hdf5Array, ...]
    step: int | None  # the file's attribute `step`
    time: float | None
    coarsening: int  # more than 1 if it has not all that there was
    domain: dict[str, Any] | None  # of particles: lo, hi, tilt, periodic, dimensions
    scalars: dict[str, float]  # of the simulation at that step
    faces: tuple[np.ndarray, ...] = ()  # of a rectilinear mesh, by axis


def look_into(path: Path, is_wanted: Callable[[str], bool]) -> Hdf5Content:
    """The datasets that are wanted by their path. Raises Error if the file cannot be read or if a
    part of such a dataset is missing.
    """
    with opened(path) as file:
        arrays = []
        for name in _names(file):
            if is_wanted(name):
                arrays.append(_describe(file, name))
                _expect_parts(path, file[name])
        step, time = _attribute(file, "step", 1), _attribute(file, "time", 1)
        coarsening = _attribute(file, "coarsening", 1)
        return Hdf5Content(
            tuple(arrays),
            None if step is None else int(step[0]),
            None if time is None else float(time[0]),
            1 if coarsening is None else int(coarsening[0]),
            _domain(file),
            scalars_in(file),
            _faces(file),
        )


@contextmanager
def opened(path: Path) -> Iterator[h5py.File]:
    """Raises Error if it is no such file."""
    try:
        file = h5py.File(path, "r")
    except OSError as error:
        raise Error(
            f"'{path}' cannot be read: it is not an HDF5 file, or broken, or being written"
        ) from error
    with file:
        yield file


def read_box(file: h5py.File, name: str, box: Sequence[tuple[int, int]], out: np.ndarray) -> None:
    """Reads a box of a dataset into an array in one piece of the shape of the box. Raises Error if
    the library cannot.
    """
    if out.size == 0:
        return
    place = f"'{file.filename}', dataset '{name}' cannot be read"
    try:
        array = file[name]
    except KeyError as error:
        raise Error(f"{place}: it has changed since it was looked at") from error
    if any(hi > extent for (_, hi), extent in zip(box, array.shape, strict=True)):
        raise Error(f"{place}: it has changed since it was looked at")
    try:
        _read(array, tuple(slice(lo, hi) for lo, hi in box), out)
    except (OSError, RuntimeError) as error:
        raise Error(
            f"{place}: the library cannot read these values; is it compressed with a filter that "
            "is not there? The Python package hdf5plugin has filters"
        ) from error


def _read(array: h5py.Dataset, part: tuple[slice, ...], out: np.ndarray) -> None:
    """Filters that the library lacks are those of hdf5plugin, where that is installed."""
    try:
        array.read_direct(out, part)
    except (OSError, RuntimeError):
        how = array.id.get_create_plist()
        filters = [how.get_filter(n)[0] for n in range(how.get_nfilters())]
        if all(map(h5py.h5z.filter_avail, filters)) or find_spec("hdf5plugin") is None:
            raise
        import hdf5plugin  # noqa: F401  # registers its filters

        array.read_direct(out, part)


def _names(file: h5py.File) -> list[str]:
    """Paths of all datasets, in the order of their names."""
    found: list[str] = []

    def note(name: bytes, about: h5py.h5o.ObjInfo) -> None:
        if about.type == h5py.h5o.TYPE_DATASET:
            found.append(name.decode("utf-8", "surrogateescape"))

    try:
        h5py.h5o.visit(file.id, note, info=True)
    except (OSError, RuntimeError) as error:
        raise Error(f"'{file.filename}' cannot be read: its groups cannot be walked") from error
    return found


def _describe(file: h5py.File, name: str) -> Hdf5Array:
    array = file[name]
    if array.shape is None:
        raise Error(f"'{file.filename}', dataset '/{name}' cannot be read: it has no extents")
    return Hdf5Array(name, _type_of(array.id.get_type()), tuple(array.shape))


def _type_of(kind: h5py.h5t.TypeID) -> str:
    size = kind.get_size()
    if kind.get_class() == h5py.h5t.INTEGER:
        sign = "u" if kind.get_sign() == h5py.h5t.SGN_NONE else ""
        return f"{sign}int{8 * size}"
    if kind.get_class() == h5py.h5t.FLOAT:
        return f"float{8 * size}"
    words = {h5py.h5t.STRING: "text", h5py.h5t.COMPOUND: "records"}
    return words.get(kind.get_class(), "another class of HDF5")


def _expect_parts(path: Path, array: h5py.Dataset) -> None:
    if not array.is_virtual:
        return
    for source in {(part.file_name, part.dset_name) for part in array.virtual_sources()}:
        if source[0] == ".":
            continue
        part = path.parent / source[0]
        try:
            with h5py.File(part, "r") as file:
                is_there = source[1] in file
        except OSError:
            is_there = False
        if not is_there:
            raise Error(
                f"'{path}', dataset '{array.name}' cannot be read: its part '{part}' is missing or "
                "broken"
            )


def _attribute(file: h5py.File, name: str, count: int) -> np.ndarray | None:
    """The numbers of an attribute; None if it does not have `count` of them."""
    if name not in file.attrs:
        return None
    try:
        found = np.atleast_1d(np.asarray(file.attrs[name])).reshape(-1)
    except (OSError, TypeError):  # of a type that NumPy has not
        return None
    return found if found.size == count and found.dtype.kind in "iuf" else None


def _faces(file: h5py.File) -> tuple[np.ndarray, ...]:
    """Coordinates as the stage `write_hdf5` stores them, or as VTK does."""
    names = [f"{axis}_faces" for axis in "xyz" if f"{axis}_faces" in file]
    vtk = [f"VTKHDF/{axis}Coordinates" for axis in "XYZ"]
    names = names or [name for name in vtk if name in file and len(file[name]) > 1]
    return tuple(np.asarray(file[name][...], np.float64) for name in names)


def scalars_in(file: h5py.File) -> dict[str, float]:
    """As the origin has them that the stages that write put into a file."""
    try:
        text = file.attrs.get("origin")
    except (OSError, TypeError):
        return {}
    if not isinstance(text, str) or "\nscalars:\n" not in text:
        return {}
    try:
        return scalars_of(yaml.load(text, Loader=Loader))
    except yaml.YAMLError:
        return {}


def _domain(file: h5py.File) -> dict[str, Any] | None:
    """As the stage `write_hdf5` notes it."""
    found = {
        name: _attribute(file, f"domain_{name}", 3) for name in ("lo", "hi", "tilt", "periodic")
    }
    dimensions = _attribute(file, "domain_dimensions", 1)
    if any(values is None for values in found.values()):
        return None
    return {**found, "dimensions": 0 if dimensions is None else int(dimensions[0])}
