# SPDX-License-Identifier: BSD-3-Clause
"""Dump files of LAMMPS (`dump atom`, `dump custom`), as text or binary, with one frame or many:
where the frames are, which fields of Pillion their columns make, and reading these. LAMMPS's pages
on the commands `dump` and `read_dump` describe the format. A run that is killed leaves a part of a
frame, behind which a restarted one may append others.
"""

import mmap
import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from pillion.datasets.kept import Kept
from pillion.datasets.lammps_binary import BinaryHead, EndOfFileError, is_binary, read_binary
from pillion.errors import Error
from pillion.insitu.catalogue import Domain

# By field: alternatives for its columns, the first that a file has counts.
_NAMES: dict[str, tuple[tuple[str, ...], ...]] = {
    "position": (
        ("x", "y", "z"),
        ("xu", "yu", "zu"),
        ("xs", "ys", "zs"),
        ("xsu", "ysu", "zsu"),
    ),
    "velocity": (("vx", "vy", "vz"),),
    "force": (("fx", "fy", "fz"),),
    "image": (("ix", "iy", "iz"),),
    "molecule": (("mol",),),
    "charge": (("q",),),
}
_INTEGERS = {"id": "int64", "mol": "int64", "type": "int32", "ix": "int32", "iy": "int32"}
_INTEGERS |= {"iz": "int32"}
_EXACT = 1 << 53  # integers that a float64 holds


@dataclass(frozen=True)
class DumpField:
    """A field that columns of a frame make up."""

    name: str
    columns: tuple[str, ...]
    dtype: np.dtype

    @property
    def is_scaled(self) -> bool:
        """Whether it counts in lengths of the box."""
        return self.name == "position" and self.columns[0] in ("xs", "xsu")


@dataclass(frozen=True)
class DumpFrame:
    step: int
    time: float | None
    count: int  # atoms
    columns: tuple[str, ...]
    domain: Domain
    begin: int  # of the atoms in the file, and their end, in bytes
    end: int
    parts: int = 0  # of a binary file: one for each rank that wrote; 0 for text
    order: str = ""  # of its bytes, as NumPy calls it

    def fields(self) -> list[DumpField]:
        """Columns that LAMMPS has under several numbers, such as `c_stress[1]`, are one field."""
        left, out = dict.fromkeys(self.columns), []
        for name, choices in _NAMES.items():
            found = [columns for columns in choices if left.keys() >= set(columns)]
            if found:
                out.append(DumpField(name, found[0], _type_of(found[0])))
            for columns in choices:
                for column in columns:
                    left.pop(column, None)
        arrays: dict[str, list[str]] = {}
        for column in left:
            arrays.setdefault(re.sub(r"\[\d+\]$", "", column), []).append(column)
        for name, numbered in arrays.items():
            ordered = tuple(sorted(numbered, key=lambda column: (len(column), column)))
            out.append(DumpField(name, ordered, _type_of(ordered)))
        return out


@dataclass(frozen=True)
class DumpFile:
    """The whole frames of a file, and a sentence for each part of one."""

    frames: tuple[DumpFrame, ...]
    cut: tuple[str, ...] = ()


def _type_of(columns: tuple[str, ...]) -> np.dtype:
    standard = "int32" if columns[0].startswith(("i_", "i2_")) else "float64"
    return np.dtype(_INTEGERS.get(columns[0], standard))


def is_dump(name: str) -> bool:
    """Whether a file is called as dump files mostly are."""
    plain = name.removesuffix(".bin")
    return name.startswith("dump.") or plain.endswith((".dump", ".lammpstrj"))


def catalogue_of_dumps(paths: Iterable[str]) -> str:
    """YAML with the mesh and the fields of such files among others; "" if there are none.

    Names are those of `fix pillion`, so a configuration needs analyses alone. Raises Error.
    """
    fields: dict[str, DumpField] = {}
    for path in paths:
        if is_dump(Path(path).name):
            for frame in frames_of(Path(path))[:1]:
                fields = {field.name: field for field in frame.fields()} | fields
    lines = ["meshes:", "  atoms: {kind: particles}", "fields:"]
    lines += [
        f"  {name}: {{mesh: atoms, type: {field.dtype}, components: {len(field.columns)}}}"
        for name, field in fields.items()
    ]
    return "\n".join(lines) + "\n" if fields else ""


def frames_of(path: Path) -> tuple[DumpFrame, ...]:
    """The whole frames. Raises Error if the file cannot be read, or has none."""
    return _files(path).frames


def cut_frames_of(path: Path) -> tuple[str, ...]:
    """A sentence about each frame that is not whole. Raises Error."""
    return _files(path).cut


def is_same(one: tuple[Path, DumpFrame], other: tuple[Path, DumpFrame]) -> bool:
    """Whether two frames have the same atoms, in any order: a restarted run may write the frame of
    its first step again.
    """
    (path, frame), (path2, frame2) = one, other
    heads = [(f.step, f.count, f.columns, f.domain) for f in (frame, frame2)]
    times = {f.time for f in (frame, frame2)} - {None}
    if heads[0] != heads[1] or len(times) > 1:
        return False
    tables = [_read_table(path, frame), _read_table(path2, frame2)]
    if "id" in frame.columns:
        by = frame.columns.index("id")
        tables = [table[:, np.argsort(table[by], kind="stable")] for table in tables]
    return np.array_equal(tables[0], tables[1], equal_nan=True)


def read_field(path: Path, frame: DumpFrame, field: DumpField) -> np.ndarray:
    """Values of all atoms, in the order of the file; [n] or, with several columns, [n, columns].
    Raises Error.
    """
    table = _tables(path, frame)
    values = np.stack([table[frame.columns.index(column)] for column in field.columns], -1)
    if field.is_scaled:
        values = _unscaled(values, frame.domain)
    if field.dtype.kind == "i":
        if values.size > 0 and np.abs(values).max() >= _EXACT:
            raise Error(f"'{path}', column '{field.columns[0]}' has integers of over 53 bits")
        values = values.astype(field.dtype)
    return values if len(field.columns) > 1 else values[:, 0]


def _unscaled(scaled: np.ndarray, domain: Domain) -> np.ndarray:
    (xy, xz, yz), lo = domain.tilt, np.array(domain.lo)
    x, y, z = np.subtract(domain.hi, domain.lo)
    return lo + scaled @ np.array([[x, 0, 0], [xy, y, 0], [xz, yz, z]])


class _Tables:
    """The numbers of the frame that was asked for last: its fields are read one after another."""

    def __init__(self) -> None:
        self._key: tuple[Path, DumpFrame] | None = None
        self._table = np.empty((0, 0))

    def __call__(self, path: Path, frame: DumpFrame) -> np.ndarray:
        """[column, atom]; columns with words are NaN."""
        if self._key != (path, frame):
            self._key = None
            self._table = _read_table(path, frame)
            self._key = path, frame
        return self._table


_tables = _Tables()


def _read_table(path: Path, frame: DumpFrame) -> np.ndarray:
    with open(path, "rb") as file:
        file.seek(frame.begin)
        data = file.read(frame.end - frame.begin)
    if frame.parts > 0:
        return read_binary(data, frame.parts, frame.order, len(frame.columns))
    words = data.split()
    shape = frame.count, len(frame.columns)
    if len(words) != shape[0] * shape[1]:
        raise Error(
            f"'{path}' cannot be read: step {frame.step} has {len(words)} values, and its "
            f"{shape[0]} atoms with {shape[1]} columns need {shape[0] * shape[1]}"
        )
    out = np.full(shape[::-1], np.nan)
    for number in range(shape[1]):
        try:
            out[number] = np.array(words[number :: shape[1]]).astype(float)
        except ValueError:  # names of elements
            continue
    return out


def _read_file(path: Path) -> DumpFile:
    try:
        with open(path, "rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as text:
            found = _scan_binary(text) if is_binary(text) else _scan(text)
    except (OSError, ValueError, IndexError, KeyError, UnicodeDecodeError) as error:
        raise Error(f"'{path}' cannot be read: it is not a dump file of LAMMPS: {error}") from error
    if not found.frames:
        why = found.cut[0] if found.cut else "it is not a dump file of LAMMPS"
        raise Error(f"'{path}' cannot be read: it has no whole frame: {why}")
    return found


def _scan_binary(data: mmap.mmap) -> DumpFile:
    out: list[DumpFrame] = []
    at = 0
    while at < len(data):
        try:
            head = BinaryHead(data, at)
        except EndOfFileError as error:
            return DumpFile(tuple(out), (f"the frame that begins at byte {at} is cut: {error}",))
        flags = ["pp" if flag else "ff" for flag in head.flags]
        domain = _domain(flags, head.bounds)
        columns, place = head.columns, (head.at, head.end, head.ranks, head.order)
        out.append(DumpFrame(head.step, head.time, head.count, columns, domain, *place))
        at = head.end
    return DumpFile(tuple(out))


_FIRST = ("UNITS", "TIME", "TIMESTEP")  # items that a frame may begin with


def _scan(text: mmap.mmap) -> DumpFile:
    """The parts of a frame are called `ITEM: NAME …`; atoms come last. A frame that is cut ends
    anywhere, and the next one follows on the same line.
    """
    if text[:6] != b"ITEM: ":
        raise ValueError("it does not begin with 'ITEM: '")
    whole: list[DumpFrame] = []
    cut: list[str] = []
    at, items = 0, dict[str, list[str]]()
    while at < len(text):
        end = text.find(b"ITEM: ", at + 6)
        end = len(text) if end < 0 else end
        line_end = text.find(b"\n", at, end)
        head = text[at + 6 : line_end if line_end >= 0 else end].decode("ascii")
        if "TIMESTEP" in items and head.startswith(_FIRST):
            cut.append(_cut(items, "has no atoms"))
            items = {}
        if line_end < 0:
            cut.append(_cut(items, "has no atoms"))
            items = {}
        elif head.startswith("ATOMS"):
            last = text.rfind(b"\n", line_end, end) + 1
            frame = _frame(items, tuple(head.split()[1:]), line_end + 1, last)
            there = text[line_end + 1 : last].count(b"\n")
            if there < frame.count:
                cut.append(_cut(items, f"has {there} of its {frame.count} atoms"))
            else:
                whole.append(frame)
                cut += [] if last == end else [_cut({}, "has no atoms")]
            items = {}
        else:
            words = text[line_end + 1 : end].decode("ascii").split("\n")[:-1]
            name = next(n for n in ("BOX BOUNDS", "NUMBER OF ATOMS", head) if head.startswith(n))
            items[name] = [head.removeprefix(name), *words]
        at = end
    if items:
        cut.append(_cut(items, "has no atoms"))
    return DumpFile(tuple(whole), tuple(cut))


def _cut(items: dict[str, list[str]], why: str) -> str:
    step = items.get("TIMESTEP", [])
    return f"step {step[1]} {why}" if len(step) > 1 else f"the frame at its end {why}"


def _frame(
    items: dict[str, list[str]], columns: tuple[str, ...], begin: int, end: int
) -> DumpFrame:
    flags, *bounds = items["BOX BOUNDS"]
    time = items.get("TIME")
    return DumpFrame(
        int(items["TIMESTEP"][1]),
        None if time is None else float(time[1]),
        int(items["NUMBER OF ATOMS"][1]),
        columns,
        _domain(flags.split(), [[float(word) for word in line.split()] for line in bounds]),
        begin,
        end,
    )


def _domain(flags: list[str], bounds: list[list[float]]) -> Domain:
    """LAMMPS writes the bounds of the box around a tilted one, and the tilt behind them."""
    lo, hi = [row[0] for row in bounds], [row[1] for row in bounds]
    xy, xz, yz = (row[2] if len(row) > 2 else 0.0 for row in bounds)
    lo[0] -= min(0.0, xy, xz, xy + xz)
    hi[0] -= max(0.0, xy, xz, xy + xz)
    lo[1] -= min(0.0, yz)
    hi[1] -= max(0.0, yz)
    periodic = [flag == "pp" for flag in flags[-3:]] if len(flags) >= 3 else [True] * 3
    return Domain(
        (lo[0], lo[1], lo[2]),
        (hi[0], hi[1], hi[2]),
        (xy, xz, yz),
        (periodic[0], periodic[1], periodic[2]),
    )


_files: Kept[DumpFile] = Kept(_read_file, 1 << 40)
