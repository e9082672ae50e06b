# SPDX-License-Identifier: BSD-3-Clause
"""Finds files, and fields in them. A file's extension selects its format. Only heads are read, and
only of files and arrays that may hold one of the fields that are used.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

import pillion.idx
from pillion.datasets.lammps_dumps import cut_frames_of, frames_of, is_dump
from pillion.datasets.nek_files import (
    COORDINATES,
    NekPart,
    case_of,
    index_of_nek,
    is_nek,
    nek_fields,
    parts_of,
)
from pillion.datasets.npy_files import expect_whole, read_head
from pillion.datasets.plotfiles import FOLDER, is_plotfile, open_plotfile
from pillion.datasets.raw_blocks import (
    coordinates_in,
    fields_in,
    garbled,
    index_of,
    read_map,
)
from pillion.errors import Error
from pillion.idx.origin import times_of
from pillion.insitu.catalogue import Field
from pillion.replay.arrays import Stored, number_type
from pillion.replay.frames import Found, Names, field_at_step, last_number
from pillion.replay.options import Range
from pillion.replay.stored_blocks import (
    GARBLED,
    domain_of,
    stored_nek,
    stored_raw,
    stored_vtkhdf,
)

if TYPE_CHECKING:
    from pillion.datasets.openpmd_files import Iteration
    from pillion.datasets.vtkhdf_files import VtkFile

_RAW = ".raw.yaml"
# Kinds of mesh that VTK has as unstructured grids.
_IN_GRIDS = ("rectilinear", "curvilinear", "unstructured", "spectral")
_HDF5 = (".h5", ".hdf5", ".vtkhdf", ".hdf")


def find_files(words: Iterable[str]) -> list[str]:
    """The files that words of the command line mean; of folders, all that can be read, also what
    stages that write leave in folders of their own. Raises Error if one is not there, or is of
    another kind.
    """
    out: list[str] = []
    for word in words:
        path = Path(word)
        if not path.exists():
            raise Error(f"'{word}' is not there")
        steps = _steps_of(path)
        if steps.is_dir():
            out += [word] if is_plotfile(steps) else _files_in(steps)
        elif _is_known(word):
            out.append(word)
        else:
            raise Error(
                f"'{word}' is neither .npy nor .h5, .hdf5, .vtkhdf, .idx, {_RAW}, .f00001, .dump, "
                ".lammpstrj (these two also with .bin) or a plotfile; convert it"
            )
    return sorted(out)


def _steps_of(path: Path) -> Path:
    """The folder with files of single steps, of a VTKHDF file that refers to them; or `path`."""
    folder = path.parent / f"{path.stem}_vtkhdf"
    return folder if path.suffix == ".vtkhdf" and folder.is_dir() else path


def _is_known(path: str) -> bool:
    name = Path(path).name
    return path.endswith((".npy", ".idx", _RAW, *_HDF5)) or is_nek(name) or is_dump(name)


def _files_in(folder: Path) -> list[str]:
    """Some stages put what makes up a dataset in a folder of its own."""
    out: list[str] = []
    try:
        for path in folder.iterdir():
            if path.name.endswith(("_hdf5", "_openpmd", "_vtkhdf", FOLDER)) and path.is_dir():
                out += _files_in(path)
            elif is_plotfile(path) or (_is_known(path.name) and _steps_of(path) == path):
                out.append(str(path))
    except OSError as error:
        raise Error(f"the folder '{folder}' cannot be read: {error.strerror}") from error
    return out


class Search:
    """Collects what is `found`. `coarse` are the steps that were passed over, since they have not
    all that there was. `cut` are sentences about parts of frames that were passed over.
    """

    def __init__(
        self,
        names: Names,
        used: Mapping[str, Field],
        steps: Sequence[Range],
        coordinates: Collection[str],
    ) -> None:
        """`steps` are the ranges of steps to find; all steps if it is empty. `coordinates` are the
        fields that meshes name as theirs.
        """
        self._coordinates = coordinates
        self._nek_coordinates: dict[str, NekPart] = {}  # the last ones, by case
        self._names = names
        self._used = used
        self._steps = steps
        self.found: list[Found] = []
        self.coarse: set[int] = set()
        self.cut: list[str] = []

    def look_into(self, path: str) -> None:
        """Raises Error if a file cannot be read, or has not all that it should have."""
        if path.endswith(".idx"):
            self._idx(path)
        elif path.endswith(_RAW):
            self._raw(path)
        elif Path(path).is_dir():
            self._plotfile(path)
        elif path.endswith(_HDF5):
            self._hdf5(path)
        elif is_nek(Path(path).name):
            self._nek(path)
        elif is_dump(Path(path).name):
            self._dump(path)
        else:
            self._npy(path)

    def _is_used(self, name: str) -> bool:
        return self._names.field(name) in self._used

    def _is_wanted(self, step: int) -> bool:
        return not self._steps or any(first <= step <= last for first, last in self._steps)

    def _npy(self, path: str) -> None:
        what = field_at_step(Path(path).stem, self._names)
        if what is None or what[0] not in self._used or not self._is_wanted(what[1]):
            return
        head = read_head(Path(path))
        dtype = number_type(head.type)
        if dtype is not None:
            expect_whole(Path(path), head, dtype.itemsize)
        stored = Stored(
            path, head.type, dtype, head.shape, fortran=head.fortran, offset=head.offset
        )
        self.found.append(Found(*what, None, stored))

    def _hdf5(self, path: str) -> None:
        from pillion.datasets.hdf5_arrays import look_into
        from pillion.datasets.hdf5_blocks import Hdf5Elements
        from pillion.datasets.openpmd_files import iterations
        from pillion.datasets.vtkhdf_files import look_into_vtkhdf

        if (series := iterations(Path(path))) is not None:
            for iteration in series:
                self._openpmd(path, iteration)
            return
        vtk = look_into_vtkhdf(Path(path))
        in_blocks = {} if vtk is None else self._fields_in_blocks(vtk)
        content = look_into(
            Path(path),
            lambda name: not in_blocks and self._names.field_of_dataset(name) in self._used,
        )
        step = content.step
        if step is None:
            step = last_number(Path(path).stem) or 0
        if not self._is_wanted(step):
            return
        if content.coarsening > 1:
            self.coarse.update([step] if content.arrays or in_blocks else [])
            return
        for field, name in in_blocks.items():
            assert vtk is not None
            stored = stored_vtkhdf(path, name, vtk, self._used[field])
            stored = replace(stored, is_coordinates=field in self._coordinates, faces=content.faces)
            self.found.append(Found(field, step, content.time, stored, content.scalars))
        domain = None if content.domain is None else domain_of(content.domain)
        for array in content.arrays:
            dtype, dataset = number_type(array.type), f"/{array.name}"
            stored = Stored(
                path,
                array.type,
                dtype,
                array.shape,
                "hdf5",
                dataset,
                domain=domain,
                faces=content.faces,
            )
            field = self._names.field_of_dataset(dataset)
            if self._used[field].mesh_kind == "spectral" and dtype is not None:
                raw = Hdf5Elements(dataset, 0, dtype, array.shape[1:])
                of_coordinates = field in self._coordinates
                stored = replace(stored, raw=raw, kind="spectral", is_coordinates=of_coordinates)
            self.found.append(Found(field, step, content.time, stored, content.scalars))

    def _fields_in_blocks(self, vtk: "VtkFile") -> dict[str, str]:
        """The used fields of a file that is read by blocks, and their names in it. Particles have
        no blocks, and images need none unless values are at points. Coordinates are the points of
        the file, unless they are there as a field, too.
        """
        from pillion.datasets.vtkhdf_files import GRID, IMAGES, POINTS

        out = {}
        for name, group in vtk.arrays.items():
            field = self._names.field_of_dataset(f"/VTKHDF/{group}{name}")
            if field in self._used and (
                vtk.type != GRID or self._used[field].mesh_kind in _IN_GRIDS
            ):
                out[field] = name
        meshes = {self._used[field].mesh for field in out}
        if vtk.type in IMAGES:
            at_points = {of.mesh for of in self._used.values() if of.is_at_points}
            return out if meshes & at_points else {}
        for field in self._coordinates:
            if field in self._used and self._used[field].mesh in meshes:
                out.setdefault(field, POINTS)
        return out

    def _openpmd(self, path: str, iteration: "Iteration") -> None:
        from pillion.datasets.openpmd_blocks import field_of_record

        step = iteration.step
        if not self._is_wanted(step):
            return
        for record in iteration.records:
            field = self._names.field(record.field) or self._names.field_of_dataset(record.name)
            if field not in self._used or record.level > 0:
                continue
            if record.coarsening > 1:
                self.coarse.add(step)
                continue
            inner = (len(record.parts),) if len(record.parts) > 1 else ()
            stored = Stored(
                path,
                record.type,
                number_type(record.type),
                record.shape + inner,
                "openpmd",
                record.name,
                parts=record.parts,
                levels=1 + max(r.level for r in iteration.records if r.mesh == record.mesh),
                domain=None if record.domain is None else domain_of(record.domain),
            )
            if record.boxes:
                raw = field_of_record(Path(path), iteration, record)
                stored = replace(stored, raw=raw, kind="uniform", mesh=record.mesh)
            self.found.append(Found(field, step, iteration.time, stored, iteration.scalars))

    def _idx(self, path: str) -> None:
        dataset = pillion.idx.open(path)
        if dataset.left_out > 0:
            raise Error(
                f"'{path}' cannot be replayed: it was written without its "
                f"{dataset.left_out} finest levels (leave_out)"
            )
        times = times_of(dataset.origin or {}, len(dataset.steps))
        for number, step in enumerate(dataset.steps):
            if not self._is_wanted(step):
                continue
            time = None if times is None else float(times[number])
            for name, parts in _fields_in(dataset).items():
                if not self._is_used(name):
                    continue
                for part in parts:
                    dataset[part].expect_whole(step)
                stored = _stored_idx(dataset, path, name, parts, step)
                self.found.append(Found(self._names.field(name), step, time, stored))

    def _plotfile(self, path: str) -> None:
        plotfile = open_plotfile(path)
        step = plotfile.step
        used = {name: parts for name, parts in plotfile.fields.items() if self._is_used(name)}
        if not used or not self._is_wanted(step):
            return
        if plotfile.coarsening > 1:
            self.coarse.add(step)
            return
        plotfile.expect_whole()
        for name, parts in used.items():
            dtype, inner = plotfile.type_of(name), (len(parts),) if len(parts) > 1 else ()
            shape = plotfile.levels[0].cells[::-1] + inner
            stored = Stored(path, dtype.name, dtype, shape, "plotfile", name, parts=parts)
            stored = replace(stored, levels=len(plotfile.levels))
            self.found.append(Found(self._names.field(name), step, plotfile.time, stored))

    def _nek(self, path: str) -> None:
        """Files mostly have coordinates at the first step alone, and these stay."""
        part = parts_of(Path(path))[0]
        if part.path != Path(path):
            return  # The first file stands for all.
        case = case_of(part.path)
        if COORDINATES in part.fields:
            self._nek_coordinates[case] = part
        if not self._is_wanted(part.step):
            return
        index, meshes = index_of_nek(part.path), set()
        for raw in nek_fields(part):
            field = self._names.field(raw.name)
            if field not in self._used or field in self._coordinates:
                continue
            meshes.add(self._used[field].mesh)
            stored = stored_nek(part, raw, index)
            self.found.append(Found(field, part.step, part.time, stored))
        for field in self._coordinates:
            of = self._nek_coordinates.get(case)
            if of is None or field not in self._used or self._used[field].mesh not in meshes:
                continue
            _expect_same_elements(of, part)
            raw = nek_fields(of)[0]
            stored = stored_nek(of, raw, index_of_nek(of.path))
            stored = replace(stored, is_coordinates=True)
            self.found.append(Found(field, part.step, part.time, stored))

    def _dump(self, path: str) -> None:
        self.cut += [f"'{path}': {sentence}" for sentence in cut_frames_of(Path(path))]
        for frame in filter(lambda frame: self._is_wanted(frame.step), frames_of(Path(path))):
            for of in frame.fields():
                field = self._names.field(of.name)
                if field not in self._used:
                    continue
                inner = (len(of.columns),) if len(of.columns) > 1 else ()
                stored = Stored(
                    path,
                    of.dtype.name,
                    of.dtype,
                    (frame.count, *inner),
                    "lammps",
                    of.name,
                    offset=frame.begin,
                    parts=of.columns,
                    domain=frame.domain,
                )
                self.found.append(Found(field, frame.step, frame.time, stored))

    def _raw(self, path: str) -> None:
        head = read_map(Path(path))
        try:
            fields = fields_in(head)
            is_used = any(self._is_used(field.name) for field in fields)
            for entry in head["steps"] or []:
                step, time = int(entry["step"]), float(entry["time"])
                if not self._is_wanted(step) or not is_used:
                    continue
                if int(entry["coarsening"]) > 1:
                    self.coarse.add(step)
                    continue
                index = Path(path).parent / str(entry["index"])
                blocks = index_of(index)
                beside = coordinates_in(head, blocks)
                found = fields if beside is None else [*fields, beside]
                for field in filter(lambda field: self._is_used(field.name), found):
                    stored = stored_raw(head, field, index)
                    name = self._names.field(field.name)
                    self.found.append(Found(name, step, time, stored, blocks.scalars))
        except GARBLED as error:
            raise garbled(Path(path), error) from error


def _fields_in(dataset: pillion.idx.Dataset) -> dict[str, tuple[str, ...]]:
    """Fields, each with the dataset's fields that make it up. A field that the format's usual
    reader could not take is there as a field for each component, NAME_0, NAME_1 and so on; these
    are one again.
    """
    out: dict[str, tuple[str, ...]] = {name: (name,) for name in dataset.fields}
    for name in dataset.fields:
        whole = name.removesuffix("_0")
        if whole == name or whole in out:
            continue
        parts: list[str] = []
        while (part := f"{whole}_{len(parts)}") in dataset:
            parts.append(part)
        like = {(dataset[part].components, dataset[part].dtype) for part in parts}
        if len(parts) > 1 and len(like) == 1 and dataset[name].components == 1:
            out[whole] = tuple(parts)
    return out


def _stored_idx(
    dataset: pillion.idx.Dataset, path: str, name: str, parts: tuple[str, ...], step: int
) -> Stored:
    field = dataset[parts[0]]
    components = len(parts) * field.components
    shape = dataset.shape + ((components,) if components > 1 else ())
    dtype = number_type(field.dtype)
    return Stored(path, field.dtype.name, dtype, shape, "idx", name, step=step, parts=parts)


def _expect_same_elements(one: NekPart, other: NekPart) -> None:
    """Coordinates are in the order of the file that has them."""
    for a, b in zip(parts_of(one.path), parts_of(other.path), strict=False):
        if not np.array_equal(a.ids, b.ids):
            raise Error(
                f"'{b.path}' has other elements than '{a.path}', which has the coordinates; write "
                "coordinates at every step"
            )
