# SPDX-License-Identifier: BSD-3-Clause
"""Runs the Python code on the command line with a session of one rank, and says what it raised."""

import sys

import numpy as np
import pillion

names = {"np": np, "pillion": pillion}
with pillion.open("run.yaml", log=None) as session:
    density, position, id_ = np.zeros((6, 5, 4)), np.zeros((7, 3)), np.arange(7)
    names |= {"s": session, "density": density, "position": position, "id_": id_}
    try:
        exec(sys.argv[1], names)
    except Exception as error:
        print(f"{type(error).__module__}.{type(error).__name__}: {error}")
        sys.stdout.flush()
print("open" if session.is_open else "closed")
