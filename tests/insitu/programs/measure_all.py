# SPDX-License-Identifier: BSD-3-Clause
"""Runs a configuration with a uniform mesh, particles and spectral elements on one rank, and prints
how far its memory rises at each of some steps, and how far it is above what it was before at the
end of the step, one line each. The arguments are the configuration, the cells along an axis, the
particles, the elements along an axis, and the steps.
"""

import sys
from pathlib import Path

import numpy as np
import pillion
from measure_memory import status

ORDER = 5


def elements(count):
    """Coordinates of the points of elements that fill the unit cube, a little deformed so that each
    point has a share of its own."""
    points = np.polynomial.legendre.Legendre.basis(ORDER).deriv().roots()
    points = (np.concatenate([[-1], np.sort(points.real), [1]]) + 1) / 2
    line = (np.arange(count)[:, None] + points) / count
    z, y, x = np.meshgrid(line, line, line, indexing="ij")  # each [element, point] by axis
    out = np.empty((count, count, count, 3, ORDER + 1, ORDER + 1, ORDER + 1))
    shape = (count, ORDER + 1) * 3
    for axis, values in enumerate((x, y, z)):
        bent = values + 0.01 * np.sin(3 * x) * np.cos(2 * y + z)
        out[:, :, :, axis] = bent.reshape(shape).transpose(0, 2, 4, 1, 3, 5)
    return out.reshape(count**3, 3, ORDER + 1, ORDER + 1, ORDER + 1)


def main(configuration, cells, particles, side, steps):
    rng = np.random.default_rng(1)
    grid, many = (cells,) * 3, side**3
    arrays = {
        "noise": rng.lognormal(size=grid),
        "flow": rng.normal(size=(*grid, 3)),
        "position": rng.random((particles, 3)),
        "velocity": rng.normal(size=(particles, 3)),
        "mass": np.ones(particles),
        "id": rng.permutation(particles).astype("int64"),
        "type": np.ones(particles, "int32"),
        "xyz": elements(side),
        "heat": rng.normal(size=(many, *(ORDER + 1,) * 3)),
    }
    with pillion.open(configuration) as session:
        session.set_domain("atoms", (0, 0, 0), (1, 1, 1))
        for name, array in arrays.items():
            session.share(name, array)
        session.ready()
        for step in steps:
            Path("/proc/self/clear_refs").write_text("5")  # the peak so far is forgotten
            before = status("VmRSS")
            session.step(step, 0.5)
            print("rise", step, status("VmHWM") - before, status("VmRSS") - before)


if __name__ == "__main__":
    cells, particles, side, *steps = [int(word) for word in sys.argv[2:]]
    main(sys.argv[1], cells, particles, side, steps)
