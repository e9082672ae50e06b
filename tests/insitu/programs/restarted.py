# SPDX-License-Identifier: BSD-3-Clause
"""Steps FIRST to LAST of a run, from a checkpoint unless FIRST is 0, and one at the end."""

import sys

import pillion
from box import values

first, last = map(int, sys.argv[1:])
restart = f"checkpoint.{first}" if first else ""
with pillion.open("run.yaml", restart=restart) as session:
    comm = session.communicator
    cells = session.fields["density"].cells
    lo, hi = (cells[0] * r // comm.size for r in (comm.rank, comm.rank + 1))
    density = values((lo, 0, 0), (hi, *cells[1:]), first)
    session.share("density", density, lo=(lo, 0, 0))
    for step in range(first, last):
        density[...] = values((lo, 0, 0), (hi, *cells[1:]), step)
        session.step(step, step / 4)
    session.checkpoint(f"checkpoint.{last}")
