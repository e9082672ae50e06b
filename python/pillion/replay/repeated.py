# SPDX-License-Identifier: BSD-3-Clause
"""Steps that are stored twice, because a restarted run has written them again. If their values are
the same, they count once.
"""

import filecmp
from collections.abc import Iterable

from pillion.datasets.lammps_dumps import DumpFrame, frames_of, is_same
from pillion.errors import Error
from pillion.replay.arrays import Stored
from pillion.replay.frames import Found


def without_repeated(found: Iterable[Found]) -> tuple[list[Found], set[int]]:
    """The first array of each field and step, and the steps that have others with the same values.
    Raises Error if the values of others differ.
    """
    first: dict[tuple[str, int], Stored] = {}
    out: list[Found] = []
    repeated: set[int] = set()
    same: dict[tuple[str, int, str, int], bool] = {}  # fields of a frame are compared once
    for one in found:
        known = first.setdefault((one.field, one.step), one.stored)
        if known is one.stored or known.is_beside or one.stored.is_beside:
            out.append(one)
            continue
        pair = (known.path, known.offset, one.stored.path, one.stored.offset)
        if pair not in same:
            same[pair] = _is_same(known, one.stored)
        if not same[pair]:
            raise Error(
                f"field '{one.field}' is there twice at step {one.step}: in {_place(known)} and in "
                f"{_place(one.stored)}; they are not the same. Leave one of the two out, or name "
                "other steps with --steps"
            )
        repeated.add(one.step)
    return out, repeated


def _is_same(one: Stored, other: Stored) -> bool:
    if one.format != other.format or one.dataset != other.dataset or one.shape != other.shape:
        return False
    if one.format == "lammps":
        return is_same((one.file, _frame(one)), (other.file, _frame(other)))
    is_one_file = one.file.is_file() and other.file.is_file() and one.path != other.path
    return is_one_file and filecmp.cmp(one.path, other.path, shallow=False)


def _frame(stored: Stored) -> DumpFrame:
    return next(frame for frame in frames_of(stored.file) if frame.begin == stored.offset)


def _place(stored: Stored) -> str:
    return stored.place + (f", byte {stored.offset}" if stored.format == "lammps" else "")
