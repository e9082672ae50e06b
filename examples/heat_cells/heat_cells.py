# SPDX-License-Identifier: BSD-3-Clause
"""Heat in a plate of mixed cells, by finite volumes in Python: hexahedra on the left, and rows of
finer wedges on the right, so means weigh cells by their volume. The plate is kept cold at its lower
and upper side. Each rank has some rows. The lines with Pillion are marked.

mpirun -n 3 python heat_cells.py 60     two ranks compute, one analyses what pillion.yaml says
"""

import sys

import numpy as np
import pillion  # 1
from mpi4py import MPI

ROWS, COLUMNS, TRIANGLES = 16, 6, 10  # of cells; in each row hexahedra, and wedges by their base
THICKNESS, STEP, PARTS = 0.1, 1e-3, 16  # of the plate; of time, and parts of a step
HEXAHEDRON, WEDGE = 12, 13  # types of VTK


def row_of_points(level):
    """Along the line between two rows: triangles of every other row point up."""
    fine = (np.arange(TRIANGLES) + 0.5 * (level % 2)) / TRIANGLES
    right = np.unique(np.concatenate([[0], fine, [1]]))
    return np.concatenate([np.arange(COLUMNS) / (2 * COLUMNS), 0.5 + right / 2])


def row_of_cells(lower, upper, level):
    """Polygons between two lines of points, by the numbers of these, in order around them."""
    below, above = (list(range(COLUMNS, len(side))) for side in (lower, upper))
    at = len(lower)
    cells = [(i, i + 1, at + i + 1, at + i) for i in range(COLUMNS)]
    while len(below) > 1 or len(above) > 1:  # the longer side goes on, from left to right
        step_up = len(below) == 1 or (len(above) > 1 and upper[above[1]] < lower[below[1]])
        if step_up:
            cells.append((below[0], at + above[1], at + above[0]))
            above.pop(0)
        else:
            cells.append((below[0], below[1], at + above[0]))
            below.pop(0)
    start = sum(len(row_of_points(j)) for j in range(level))
    return [tuple(start + p for p in cell) for cell in cells]


def centre_of(corners):
    """Of the circle around a polygon: lines between two such centres are normal to the edge."""
    a, b, c = corners[:3]
    matrix = 2 * np.array([b - a, c - a])
    return np.linalg.solve(matrix, [b @ b - a @ a, c @ c - a @ a])


class Plate:
    """The whole mesh, and this rank's rows of it with the next ones on both sides."""

    def __init__(self, comm):
        self.comm = comm
        lines = [row_of_points(level) for level in range(ROWS + 1)]
        self.flat = np.array([(x, j / ROWS) for j, line in enumerate(lines) for x in line])
        rows = [row_of_cells(lines[j], lines[j + 1], j) for j in range(ROWS)]
        self.cells = [cell for row in rows for cell in row]
        ends = np.cumsum([0, *map(len, rows)])
        first, end = (ROWS * r // comm.size for r in (comm.rank, comm.rank + 1))
        self.own = slice(ends[first], ends[end])
        self.below = slice(ends[max(first - 1, 0)], ends[first])  # what neighbours have
        self.above = slice(ends[end], ends[min(end + 1, ROWS)])
        self.lowest, self.highest = (
            slice(ends[first], ends[first + 1]),
            slice(ends[end - 1], ends[end]),
        )
        self.area = np.array([self._area(cell) for cell in self.cells])
        self._conductances()
        self.temperature = self.pattern(0.0)

    def _area(self, cell):
        x, y = self.flat[list(cell)].T
        return (x @ np.roll(y, -1) - y @ np.roll(x, -1)) / 2

    def _conductances(self):
        """Of the edges between cells, and of those at the cold sides."""
        sides, self.cold = {}, np.zeros(len(self.cells))
        centres = np.array([centre_of(self.flat[list(cell)]) for cell in self.cells])
        for number, cell in enumerate(self.cells):
            for a, b in zip(cell, cell[1:] + cell[:1], strict=True):
                sides.setdefault((min(a, b), max(a, b)), []).append(number)
        between = []
        for (a, b), cells in sides.items():
            length = np.linalg.norm(self.flat[a] - self.flat[b])
            if len(cells) == 2:
                apart = np.linalg.norm(centres[cells[0]] - centres[cells[1]])
                between.append((*cells, length / apart))
            elif self.flat[a][1] == self.flat[b][1]:
                apart = abs(centres[cells[0]][1] - self.flat[a][1])
                self.cold[cells[0]] += length / apart
        left, right, self.conductance = map(np.array, zip(*between, strict=True))
        self.left, self.right = left, right

    def pattern(self, time):
        """The exact solution at the cells' centroids: two patterns that decay."""
        x, y = np.array([self.flat[list(cell)].mean(axis=0) for cell in self.cells]).T
        wave = 1 + 0.8 * np.cos(np.pi * x) * np.exp(-(np.pi**2) * time)
        return np.sin(np.pi * y) * np.exp(-(np.pi**2) * time) * wave

    def exchange(self):
        """Gets the rows of cells next to this rank's."""
        comm, t = self.comm, self.temperature
        lower = comm.rank - 1 if comm.rank > 0 else MPI.PROC_NULL
        upper = comm.rank + 1 if comm.rank + 1 < comm.size else MPI.PROC_NULL
        comm.Sendrecv(t[self.highest].copy(), upper, recvbuf=t[self.below], source=lower)
        comm.Sendrecv(t[self.lowest].copy(), lower, recvbuf=t[self.above], source=upper)

    def advance(self):
        for _ in range(PARTS):
            self.exchange()
            t = self.temperature
            flux = self.conductance * (t[self.right] - t[self.left])
            gain = np.bincount(self.left, flux, len(t)) - np.bincount(self.right, flux, len(t))
            change = (gain - self.cold * t) / self.area
            t[self.own] += STEP / PARTS * change[self.own]

    def points(self):
        """Of this rank: the plate's corners at the bottom, and then at the top."""
        used = np.unique(np.concatenate([c for c in self.cells[self.own]]))
        bottom, top = (
            np.column_stack([self.flat[used], np.full(len(used), z)]) for z in (0, THICKNESS)
        )
        return used, np.concatenate([bottom, top])

    def prisms(self, used):
        """The arguments of share_cells: the polygon below, and the one above it."""
        place = {point: n for n, point in enumerate(used)}
        below = [[place[p] for p in cell] for cell in self.cells[self.own]]
        prisms = [cell + [p + len(used) for p in cell] for cell in below]
        sizes = np.array([len(prism) for prism in prisms])
        return {
            "points": np.concatenate(prisms),
            "offsets": np.concatenate([[0], np.cumsum(sizes)]),
            "types": np.where(sizes == 8, HEXAHEDRON, WEDGE).astype(np.uint8),
        }


def main(steps):
    with pillion.open("pillion.yaml", MPI.COMM_WORLD) as session:  # 2
        plate = Plate(session.communicator)  # 3
        used, places = plate.points()
        session.share_points("plate", places)  # 4
        session.share_cells("plate", **plate.prisms(used))  # 5
        session.share("temperature", plate.temperature[plate.own])  # 6
        for step in range(steps + 1):
            if step > 0:
                plate.advance()
            session.step(step, step * STEP)  # 7


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 60)
