# SPDX-License-Identifier: BSD-3-Clause
"""Heat that spreads over the sphere, on latitudes and longitudes, in Python. Rows of latitude are
closer to each other at the equator, and a row of cells shrinks towards the poles, so means weigh
cells by their area. The sea has no cells where there is land. Each rank has some rows. The lines
with Pillion are marked.

mpirun -n 3 python ocean.py 60     two ranks compute, one analyses what pillion.yaml says
"""

import sys

import numpy as np
import pillion  # 1
from mpi4py import MPI

LONGITUDES, LATITUDES, STEP = 72, 49, 5e-4  # cells; step in units of radius^2 / diffusivity
LAND = (12, 30), (20, 41)  # a continent: its longitudes and latitudes, in cells
MEAN, ZONAL, WAVE = 12.0, -9.0, 6.0  # of the temperature, and of two patterns that decay


def faces():
    """Degrees: longitudes evenly, latitudes twice as dense at the equator as at the poles."""
    even = np.linspace(-1, 1, LATITUDES + 1)
    return np.linspace(0, 360, LONGITUDES + 1), 90 * even * (2 + even**2) / 3


class Ocean:
    """This rank's rows: averages of temperature[longitude, latitude] over cells."""

    def __init__(self, comm):
        self.comm = comm
        self.first, self.end = (LATITUDES * r // comm.size for r in (comm.rank, comm.rank + 1))
        north = np.radians(faces()[1])
        self.face = north[self.first : self.end + 1]
        self.width = np.diff(np.sin(self.face))  # of a row's area
        self.temperature = self.pattern(0.0)
        self.across = self._conductances(north)
        wave = np.fft.rfftfreq(LONGITUDES, 1 / LONGITUDES)
        row = self.width / np.diff(self.face)  # the cosine of its latitude
        self.decay = np.exp(-STEP * (wave[:, None] / row[None, :]) ** 2)

    def pattern(self, time):
        """The exact solution: harmonics of degree 2 and 1, whose rates are 6 and 2."""
        sine = np.sin(self.face)
        square = np.diff(sine**3) / (3 * self.width)
        zonal = ZONAL * np.exp(-6 * time) * (3 * square - 1) / 2
        cosine = np.diff(self.face / 2 + np.sin(2 * self.face) / 4) / self.width
        angle = np.radians(faces()[0])
        along = np.diff(np.sin(angle)) / np.diff(angle)
        return MEAN + zonal + WAVE * np.exp(-2 * time) * np.outer(along, cosine)

    def _conductances(self, north):
        """Of the faces at the south and the north of each row: none at the poles."""
        centre = (north[1:] + north[:-1]) / 2
        inner = np.cos(north[1:-1]) / np.diff(centre)
        return np.concatenate([[0], inner, [0]])[self.first : self.end + 1]

    def sea(self):
        """Boxes of this rank's rows, without land: longitudes and latitudes, in cells."""
        (west, east), (south, north) = LAND
        lower = min(max(south, self.first), self.end)
        upper = max(min(north, self.end), lower)
        boxes = [((0, LONGITUDES), (self.first, lower)), ((0, LONGITUDES), (upper, self.end))]
        boxes += [((0, west), (lower, upper)), ((east, LONGITUDES), (lower, upper))]
        return [(along, rows) for along, rows in boxes if rows[0] < rows[1]]

    def advance(self):
        """One step: along rows exactly, by waves; across them by the flux through each face."""
        t = np.fft.irfft(np.fft.rfft(self.temperature, axis=0) * self.decay, LONGITUDES, axis=0)
        comm, south, north = self.comm, t[:, 0].copy(), t[:, -1].copy()
        lower = comm.rank - 1 if comm.rank > 0 else MPI.PROC_NULL
        upper = comm.rank + 1 if comm.rank + 1 < comm.size else MPI.PROC_NULL
        below, above = south.copy(), north.copy()
        comm.Sendrecv(north, upper, recvbuf=below, source=lower)
        comm.Sendrecv(south, lower, recvbuf=above, source=upper)
        wide = np.column_stack([below, t, above])
        flux = -self.across * np.diff(wide, axis=1)
        self.temperature[:] = t - STEP * np.diff(flux, axis=1) / self.width


def main(steps):
    with pillion.open("pillion.yaml", MPI.COMM_WORLD) as session:  # 2
        ocean = Ocean(session.communicator)  # 3
        for axis, along in enumerate(faces()):
            session.set_coordinates("globe", axis, along)  # 4
            session.set_coordinates("sea", axis, along)  # 5
        session.share("temperature", ocean.temperature, lo=(0, ocean.first))  # 6
        for block, ((west, east), (south, north)) in enumerate(ocean.sea()):
            part = ocean.temperature[west:east, south - ocean.first : north - ocean.first]
            session.share("surface", part, lo=(west, south), block=block)  # 7
        for step in range(steps + 1):
            if step > 0:
                ocean.advance()
            session.step(step, step * STEP)  # 8


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 60)
