# SPDX-License-Identifier: BSD-3-Clause
"""Numbers of the C interface: types of elements, kinds of mesh, centerings."""

from typing import Any

import numpy as np

from pillion.errors import Error

NUMBERS = {"int32": 1, "int64": 2, "float32": 3, "float64": 4}
NAMES = {number: name for name, number in NUMBERS.items()}
MESH_KINDS = {1: "uniform", 2: "particles", 3: "spectral"}
CENTERINGS = {"": 0, "points": 1, "elements": 2}


def number_of(array: np.ndarray[Any, Any], what: str) -> int:
    """The number of an array's type; raises Error if no field can have it."""
    if array.dtype.name not in NUMBERS or not array.dtype.isnative:
        raise Error(
            f"{what} has elements of type {array.dtype.str}; fields have {', '.join(NUMBERS)} "
            "in the machine's byte order: convert it, for example with array.astype('float64')"
        )
    return NUMBERS[array.dtype.name]
