# SPDX-License-Identifier: BSD-3-Clause
"""A simulation whose blocks change at every step: it takes memory of the session and gives it back,
and so it does with its own. The argument is how many steps it makes.
"""

import sys

import numpy as np
import pillion

rng = np.random.default_rng(7)  # draws alike on all ranks
with pillion.open("run.yaml") as session:
    comm = session.communicator
    cells = session.fields["density"].cells
    for step in range(int(sys.argv[1])):
        cuts = [0, *sorted(rng.choice(range(1, cells[0]), comm.size - 1, replace=False)), cells[0]]
        lo, hi = int(cuts[comm.rank]), int(cuts[comm.rank + 1])
        heat = np.full((hi - lo, *cells[1:]), step, float)
        session.share("heat", heat, (lo, 0, 0))
        density = session.allocate("density", heat.shape, (lo, 0, 0))
        density[...] = step
        session.step(step, float(step))
        session.unshare("density")
        session.unshare("heat")
