#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Makes of a compressed velocity, as the stage `encode` has written it, a file from which
taylor_green begins: restart=FILE.

    checkpoint_of.py COMPRESSED.h5 FILE [FIELD]

checkpoints.f90 says what is in the file. A decoded field has one value where elements meet, but its
divergence is that of its error, which the first steps take out.
"""

import sys
from pathlib import Path

import numpy as np
import pillion.compressed


def write_checkpoint(compressed: Path, to: Path, field: str = "velocity") -> None:
    with pillion.compressed.open(compressed) as file:
        velocity = file.read(field).astype(np.float64)
        side = round(len(velocity) ** (1 / 3))
        if side**3 != len(velocity) or velocity.shape[1] != 3:
            raise SystemExit(f"{compressed}: {field} is not a velocity in a box of elements")
        mark = np.frombuffer(b"taylgrn1", np.int64)
        levels = 1
        numbers = np.array([file.order, side, levels, file.step], np.int64)
        times = np.array([file.time, 0.0, 0.0])
    with to.open("wb") as out:
        for part in (mark, numbers, times, velocity):
            part.tofile(out)


if __name__ == "__main__":
    if not 3 <= len(sys.argv) <= 4:
        raise SystemExit(__doc__)
    write_checkpoint(Path(sys.argv[1]), Path(sys.argv[2]), *sys.argv[3:])
