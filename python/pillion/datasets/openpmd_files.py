# SPDX-License-Identifier: BSD-3-Clause
"""Files of openPMD 1.x in HDF5, of the stage `write_openpmd` or of any program: which iterations a
file holds, what their records are, and reading a part of a record. Nothing is scaled to SI.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from pillion.datasets.hdf5_arrays import h5py, opened, read_box, scalars_in
from pillion.errors import Error

Span = tuple[int, int]
NOTHING = ""  # in the place of a component that is not there, and 0


@dataclass(frozen=True)
class Record:
    """A record of a mesh, or of a species; nothing of its values has been read."""

    name: str  # "density", or "SPECIES/charge"
    field: str  # what Pillion calls it; "" in files of other programs
    mesh: str  # the same of the mesh; of other programs' particles the species
    parts: tuple[str, ...]  # paths of the components in the file
    type: str  # with int64 for ids that are uint64, see read_record
    shape: tuple[int, ...]  # without components
    is_particles: bool
    units: str = ""
    coarsening: int = 1
    level: int = 0
    length_units: str = ""
    labels: tuple[str, ...] = ()  # of the axes of a mesh, as they are indexed
    spacing: tuple[float, ...] = ()
    offset: tuple[float, ...] = ()
    position: tuple[float, ...] = ()  # of values in their cells
    domain: dict[str, Any] | None = None  # of a species: lo, hi, tilt, periodic, dimensions
    boxes: str = ""  # the dataset with the boxes of this level of the mesh, if there is one


@dataclass(frozen=True)
class Iteration:
    step: int
    time: float
    time_units: str = ""
    records: tuple[Record, ...] = ()
    scalars: dict[str, float] = field(default_factory=dict)
    origin: str = ""


def iterations(path: Path) -> list[Iteration] | None:
    """The contents of a file; None if it is not openPMD. Raises Error if it cannot be read."""
    with opened(path) as file:
        if "openPMD" not in file.attrs:
            return None
        try:
            return [
                Iteration(
                    int(number),
                    float(file["data"][number].attrs["time"]),
                    _text(file["data"][number], "time_units"),
                    tuple(_records(file, f"data/{number}")),
                    scalars_in(file),
                    _text(file, "origin"),
                )
                for number in sorted(file.get("data", {}), key=int)
            ]
        except (AttributeError, IndexError, KeyError, TypeError, ValueError) as error:
            raise Error(f"'{path}' cannot be read as openPMD: {error}") from error


def read_record(file: h5py.File, record: Sequence[str], box: Sequence[Span]) -> np.ndarray:
    """A box of a record, given the paths of its components, which come last if there are several.
    Raises Error if the library cannot, and for ids beyond the integers with a sign.
    """
    parts = [_read_part(file, path, box) for path in record]
    return parts[0] if len(parts) == 1 else np.stack(parts, -1)


def _read_part(file: h5py.File, path: str, box: Sequence[Span]) -> np.ndarray:
    extent = [hi - lo for lo, hi in box]
    if path == NOTHING:
        return np.zeros(extent)
    found = file[path]
    if isinstance(found, h5py.Group):  # the same everywhere
        return np.full(extent, found.attrs["value"])
    out = np.empty(extent, found.dtype)
    read_box(file, path, box, out)
    if out.dtype != np.uint64 or not path.endswith("/id"):
        return out
    if out.size > 0 and out.max() > np.iinfo(np.int64).max:
        raise Error(f"'{file.filename}', dataset '{path}' has integers that no int64 holds")
    return out.astype(np.int64)


def _records(file: h5py.File, base: str) -> Iterator[Record]:
    meshes = f"{base}/{_text(file, 'meshesPath').strip('/')}"
    if "meshesPath" in file.attrs and meshes in file:
        for name in file[meshes]:
            if (found := _mesh_record(file, base, f"{meshes}/{name}")) is not None:
                yield found
    species = f"{base}/{_text(file, 'particlesPath').strip('/')}"
    if "particlesPath" in file.attrs and species in file:
        for name in file[species]:
            yield from _species(file, f"{species}/{name}", name)


def _mesh_record(file: h5py.File, base: str, path: str) -> Record | None:
    """None if its geometry is one that Pillion's meshes do not have."""
    group = file[path]
    attrs, level = group.attrs, int(group.attrs.get("level", 0))
    mesh = _text(group, "mesh")
    if _text(group, "geometry") != "cartesian":
        return None
    parts = _parts(file, path)
    labels = tuple(_decoded(label) for label in np.atleast_1d(attrs["axisLabels"]))
    spacing, offset = _numbers(group, "gridSpacing"), _numbers(group, "gridGlobalOffset")
    position = tuple(float(x) for x in np.atleast_1d(file[parts[0]].attrs["position"]))
    if _text(group, "dataOrder") == "F":  # of which files have the last axis first
        labels, spacing, offset = labels[::-1], spacing[::-1], offset[::-1]
        position = position[::-1]
    return Record(
        path.rpartition("/")[2],
        _text(group, "field"),
        mesh,
        parts,
        _type(file[parts[0]]),
        _shape(file[parts[0]]),
        False,
        _text(group, "units"),
        int(attrs.get("coarsening", 1)),
        level,
        _text(group, "length_units"),
        labels,
        spacing,
        offset,
        position,
        boxes=boxes if (boxes := f"{base}/boxes/{mesh}_lvl{level}") in file else "",
    )


def _species(file: h5py.File, path: str, name: str) -> Iterator[Record]:
    species = file[path]
    names = ("lo", "hi", "tilt", "periodic")
    domain: dict[str, Any] | None = None
    if all(f"domain_{n}" in species.attrs for n in names):
        domain = {n: species.attrs[f"domain_{n}"] for n in names}
        domain["dimensions"] = int(species.attrs.get("domain_dimensions", 0))
    for record in species:
        if record in ("positionOffset", "particlePatches"):
            continue
        parts = _parts(file, f"{path}/{record}")
        group, first = file[f"{path}/{record}"], file[parts[0]]
        if record == "position":
            _expect_no_offset(file, path)
            # Pillion's positions have three components, of which the third counts for nothing.
            parts += (NOTHING,) * (3 - len(parts))
        yield Record(
            f"{name}/{record}",
            _text(group, "field"),
            _text(group, "mesh") or name,
            parts,
            _type(first),
            _shape(first),
            True,
            _text(group, "units"),
            int(species.attrs.get("coarsening", 1)),
            length_units=_text(species, "length_units"),
            domain=domain,
        )


def _expect_no_offset(file: h5py.File, species: str) -> None:
    for path in _parts(file, f"{species}/positionOffset"):
        offset = file[path]
        if not isinstance(offset, h5py.Group) or offset.attrs["value"] != 0:
            raise Error(
                f"'{file.filename}' cannot be read: positions in '/{species}' count from offsets "
                "that are not 0"
            )


def _parts(file: h5py.File, path: str) -> tuple[str, ...]:
    """The components, x first; or the record itself, if it is a scalar."""
    found = file[path]
    if isinstance(found, h5py.Dataset) or "value" in found.attrs:
        return (path,)
    return tuple(f"{path}/{name}" for name in sorted(found, key=lambda name: (len(name), name)))


def _shape(component: h5py.Dataset | h5py.Group) -> tuple[int, ...]:
    if isinstance(component, h5py.Dataset):
        return tuple(component.shape)
    return tuple(int(n) for n in np.atleast_1d(component.attrs["shape"]))


def _type(component: h5py.Dataset | h5py.Group) -> str:
    is_dataset = isinstance(component, h5py.Dataset)
    dtype = component.dtype if is_dataset else np.asarray(component.attrs["value"]).dtype
    is_id = str(component.name).endswith("/id")  # which the standard wants unsigned
    return "int64" if dtype == np.uint64 and is_id else str(dtype.name)


def _numbers(group: h5py.Group, name: str) -> tuple[float, ...]:
    return tuple(float(x) for x in np.atleast_1d(group.attrs[name]))


def _text(group: h5py.Group, name: str) -> str:
    return _decoded(group.attrs.get(name, ""))


def _decoded(value: Any) -> str:
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else str(value)
