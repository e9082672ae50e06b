# SPDX-License-Identifier: BSD-3-Clause
"""A stage that remembers, and fails where and when it is told to."""

import numpy as np
import pillion
from mpi4py import MPI


def in_sidecar():
    """The last rank is one."""
    return MPI.COMM_WORLD.rank == MPI.COMM_WORLD.size - 1


@pillion.stage("density")
class Moved:
    def __init__(self, fails="", there=False):
        self.fails = fails if there == in_sidecar() else ""
        self.total = 0.0

    def __call__(self, step):
        if self.fails == "run" and step.index > 0:
            raise RuntimeError("I will not run here")
        self.total += step.sum(float(sum(b["density"].sum() for b in step.blocks)))
        return {"total": self.total, "beside": step.peers == 1}

    def save(self):
        if self.fails == "save":
            raise RuntimeError("I will not leave")
        return {"total": np.array(self.total)}

    def restore(self, kept):
        if self.fails == "restore":
            raise RuntimeError("I will not stay here")
        self.total = float(kept["total"])
