# SPDX-License-Identifier: BSD-3-Clause
"""A simulation of which each rank writes where it runs and whether it simulates: FOLDER/RANK, with
the CPUs that it may run on and the sum that its sidecars were handed.
"""

import json
import os
import sys
from pathlib import Path

import numpy as np
import pillion
from mpi4py import MPI

world = MPI.COMM_WORLD
here = Path(sys.argv[1]) / str(world.rank)
told = {"cpus": sorted(os.sched_getaffinity(0)), "simulates": False}
here.write_text(json.dumps(told))
with pillion.open("pillion.yaml", world) as session:
    here.write_text(json.dumps(told | {"simulates": True}))
    rank = session.communicator.rank
    session.share("f", np.full((4, 4, 4), float(world.rank)), lo=(4 * rank, 0, 0))
    for step in range(3):
        session.step(step, float(step))
