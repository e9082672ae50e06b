# SPDX-License-Identifier: BSD-3-Clause
"""A program that writes with ADIOS2, and knows nothing of Pillion: adios2.xml names its engine.
Usage: adios2_writer.py STEPS [MANNER]. With the manner `fortran`, the first axis is the fastest.
With `fault N`, rank 1 puts its slabs one plane too high at step N. With `lone`, rank 0 alone
puts single values. With `grown`, an array has one plane more at step 1.
"""

import itertools
import sys

import adios2.bindings as adios2
import numpy as np
from mpi4py import MPI

NZ, NY, NX = 12, 5, 4
comm = MPI.COMM_WORLD
adios = adios2.ADIOS("adios2.xml")
io = adios.DeclareIO("output")


manner = sys.argv[2:]
order = -1 if manner == ["fortran"] else 1
fault = int(manner[1]) if manner[:1] == ["fault"] else None


def define(name, like, shape=(), start=(), count=()):
    return io.DefineVariable(name, like, *(list(axes)[::order] for axes in (shape, start, count)))


# Two slabs of planes on each rank.
edges = [NZ * n // (2 * comm.size) for n in range(2 * comm.size + 1)]
slabs = list(itertools.pairwise(edges))[2 * comm.rank : 2 * comm.rank + 2]
density = [np.empty((hi - lo, NY, NX)) for lo, hi in slabs]
of_density = define("density", density[0], (NZ, NY, NX), (0, 0, 0), density[0].shape)
column = np.empty((NY, NX), np.float32)
of_column = define("column", column, (NY, NX), (0, 0), column.shape)
time = define("time", np.zeros(1))
dt = define("dt", np.zeros(1))
counter = define("step", np.zeros(1, np.int64))
charge = define("charge", np.zeros(1), (1,), (0,), (1,))

engine = io.Open("output.bp", adios2.Mode.Write)
for n in range(int(sys.argv[1])):
    engine.BeginStep()
    if manner == ["grown"]:
        of_density.SetShape([NZ + (n == 1), NY, NX])
    for (lo, hi), values in zip(slabs, density):
        k, j, i = np.meshgrid(np.arange(lo, hi), np.arange(NY), np.arange(NX), indexing="ij")
        values[...] = n + i + 10 * j + 100 * k
        at = lo + 1 if n == fault and comm.rank == 1 else lo
        of_density.SetSelection([[at, 0, 0][::order], list(values.shape)[::order]])
        engine.Put(of_density, values)
    if comm.rank == 0:  # the others put nothing
        column[...] = n + np.arange(NY * NX).reshape(NY, NX)
        engine.Put(of_column, column, adios2.Mode.Sync)
        column[...] = -1  # which the engine must not see
    # Particles: their number changes, and the last rank has none.
    total = (n + 2) * (comm.size - 1)
    count = n + 2 if comm.rank + 1 < comm.size else 0
    first = (n + 2) * comm.rank
    charge.SetShape([total])
    charge.SetSelection([[first], [count]])
    charges = np.arange(first, first + count, dtype=float)
    engine.Put(charge, charges)
    if comm.rank == 0 or manner != ["lone"]:
        engine.Put(time, np.array([0.5 * n]))
        engine.Put(dt, np.array([0.25 * n]))
        engine.Put(counter, np.array([10 * n]))
    engine.EndStep()
engine.Close()
