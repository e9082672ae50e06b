# SPDX-License-Identifier: BSD-3-Clause
"""Shares a block of 64 MiB and says where it is."""

import numpy as np
import pillion

with pillion.open("run.yaml") as session:
    comm = session.communicator
    cells = session.fields["density"].cells
    lo, hi = (cells[0] * r // comm.size for r in (comm.rank, comm.rank + 1))
    density = np.ones((hi - lo, *cells[1:]))
    session.share("density", density, lo=(lo, 0, 0))
    print("at", comm.rank, density.ctypes.data, flush=True)
    session.step(0, 0.0)
