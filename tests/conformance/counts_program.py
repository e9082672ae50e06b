# SPDX-License-Identifier: BSD-3-Clause
"""A simulation that waits at some steps until a file is there, and leaves a checkpoint.

counts_program.py FIRST LAST CHECKPOINT RESTART [STEP ...]: at each STEP it waits for the file
meet-STEP, when sidecars have finished everything that was published. "" is no checkpoint.
"""

import sys
import time
from pathlib import Path

import numpy as np
import pillion


def meet(session, step):
    while session.progress.behind > 0 and not Path(f"lost-{step}").exists():
        time.sleep(0.01)
    Path(f"here-{step}").touch()
    while not Path(f"meet-{step}").exists():
        time.sleep(0.01)


first, last, checkpoint, restart, *meetings = sys.argv[1:]
with pillion.open("run.yaml", restart=restart) as session:
    if session.serve():
        raise SystemExit
    comm = session.communicator
    mine = np.array_split(np.arange(12.0), comm.size)[comm.rank]
    session.share("density", mine, lo=(int(mine[0]),))
    for step in range(int(first), int(last)):
        if str(step) in meetings:
            meet(session, step)
        session.step(step, 0.5 * step)
    if checkpoint:
        session.checkpoint(checkpoint)
