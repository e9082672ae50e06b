# SPDX-License-Identifier: BSD-3-Clause
"""`pillion decode`: the fields of a compressed file, as what other programs read."""

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from pillion.errors import Error

if TYPE_CHECKING:
    from pillion.compressed import CompressedFile


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("file", type=Path, help="NAME_compressed/NAME.STEP.h5")
    parser.add_argument("--field", help="which one; not needed if there is but one")
    parser.add_argument(
        "--to",
        type=Path,
        help="where its values go: *.npy for NumPy; any other name: the bare values, element "
        "after element, in the order of Fortran's u(n, n, n, components, elements); without it, "
        "what the file has is told",
    )
    parser.add_argument(
        "--no-average",
        action="store_true",
        help="points where elements meet keep the value of each element",
    )


def run(arguments: argparse.Namespace) -> int:
    import pillion.compressed

    with pillion.compressed.open(arguments.file) as file:
        if arguments.to is None:
            _tell(file)
        else:
            _write(file, arguments)
    return 0


def _tell(file: "CompressedFile") -> None:
    from pillion.command import paint

    what = f"elements of order {file.order}" if file.order > 0 else "cells"
    print(paint.strong(f"{file.mesh}: {what}, step {file.step}, time {file.time:g}"), end=" ")
    print(file.time_units)
    for field in file.fields.values():
        shape = f"{field.dtype} x {field.components}"
        bound = f"{field.norm} error {field.error:.3g} of {field.bound:.3g} {field.units}".rstrip()
        print(f"  {field.name}: {shape}, {field.ratio:.1f} times smaller ({field.codec}), {bound}")


def _write(file: "CompressedFile", arguments: argparse.Namespace) -> None:
    import numpy as np

    name = arguments.field
    if name is None:
        if len(file.fields) != 1:
            raise Error(f"which field? {file.path} has {', '.join(file.fields)}: --field NAME")
        name = next(iter(file.fields))
    values = file.read(name, average=False if arguments.no_average else None)
    try:
        if arguments.to.suffix == ".npy":
            np.save(arguments.to, values)
        else:
            values.tofile(arguments.to)
    except OSError as reason:
        raise Error(f"cannot write {arguments.to}: {reason}") from None
