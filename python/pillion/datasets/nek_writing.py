# SPDX-License-Identifier: BSD-3-Clause
"""Writing field files of Nek5000. Places of fields, header and order of values are those of the
stage `write_nek`."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pillion.errors import Error

Array = NDArray[Any]
_LETTERS = {"velocity": "U", "pressure": "P", "temperature": "T"}


def write_file(
    path: Path, step: int, time: float, coordinates: Array | None, fields: Mapping[str, Array]
) -> None:
    """Writes arrays [element, component, (z,) y, x] of elements in the order of their numbers.

    Values are doubles if those of one field are. Raises Error if a field has no place.
    """
    first = next(iter(fields.values()))
    axes, n, count = first.ndim - 2, first.shape[-1], len(first)
    letters, parts = _placed(fields, axes)
    if coordinates is not None and coordinates.shape[1] == axes:
        letters, parts = "X" + letters, [coordinates, *parts]
    size = max(part.dtype.itemsize for part in fields.values())
    kind = f"<f{8 if size > 4 else 4}"
    head = f"#std {kind[-1]} {n:2} {n:2} {n if axes == 3 else 1:2} {count:10} {count:10} "
    head += f"{_fortran(time):>20} {step:9} {0:6} {1:6} {letters:10}  0.0000000E+00 F 0000"
    try:
        with path.open("wb") as file:
            file.write(head.ljust(132).encode("ascii"))
            np.array([6.54321], "<f4").tofile(file)
            np.arange(1, count + 1, dtype="<i4").tofile(file)
            for part in parts:
                part.astype(kind).tofile(file)
            for part in parts if axes == 3 else []:
                points = part.reshape(*part.shape[:2], -1)
                ends = np.stack([points.min(axis=-1), points.max(axis=-1)], axis=-1)
                ends.astype("<f4").tofile(file)
    except OSError as error:
        raise Error(f"cannot write {path}: {error.strerror}") from error


def _placed(fields: Mapping[str, Array], axes: int) -> tuple[str, list[Array]]:
    """Letters for the header, and what each stands for."""
    places: dict[str, Array] = {}
    others = {}
    for name, values in fields.items():
        wanted = axes if name == "velocity" else 1
        if name not in _LETTERS:
            others[name] = values
        elif values.shape[1] != wanted:
            raise Error(
                f"field '{name}' has {values.shape[1]} components, and field files of Nek5000 have "
                f"{wanted} in its place"
            )
        else:
            places[name] = values
    scalars = list(_scalars(others, places, axes))
    if len(scalars) > 99:
        raise Error(f"field files of Nek5000 have at most 99 scalars; these are {len(scalars)}")
    known = [name for name in _LETTERS if name in places]
    letters = "".join(_LETTERS[name] for name in known)
    letters += f"S{len(scalars):02}" if scalars else ""
    return letters, [*(places[name] for name in known), *scalars]


def _scalars(others: Mapping[str, Array], places: dict[str, Array], axes: int) -> Iterator[Array]:
    """Components of fields without a place; the first vector takes that of a velocity."""
    for values in others.values():
        if "velocity" not in places and values.shape[1] == axes:
            places["velocity"] = values
            continue
        yield from np.split(values, values.shape[1], axis=1)


def _fortran(time: float) -> str:
    """As Fortran's edit descriptor e20.13, with the letter E that readers in Python need."""
    mantissa, exponent = f"{abs(time):.12e}".split("e")
    power = int(exponent) + 1 if time != 0 else 0
    digits = mantissa.replace(".", "")
    return f"{'-' * (time < 0)}0.{digits}E{power:+03}"
