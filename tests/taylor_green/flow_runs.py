# SPDX-License-Identifier: BSD-3-Clause
"""Runs miniapps/taylor_green, and reads what it prints and its checkpoints. Points, weights and
polynomials of elements are NumPy's."""

from dataclasses import dataclass

import numpy as np
import pytest
from conftest import mpirun
from numpy.polynomial import legendre


@dataclass(frozen=True)
class State:
    """A checkpoint: velocity[element, level, component, k, j, i], elements ordered by number."""

    order: int
    side: int
    step: int
    time: float
    velocity: np.ndarray

    def coordinates(self, deform=0.0):
        """x[element, axis, k, j, i]"""
        nodes = lobatto_nodes(self.order)
        number = np.arange(self.side**3)
        places = [number // self.side**axis % self.side for axis in range(3)]
        along = [(place[:, None] + (1 + nodes) / 2) * 2 * np.pi / self.side for place in places]
        shape = (len(number),) + (len(nodes),) * 3
        x = np.empty((3, *shape))
        x[0] = along[0][:, None, None, :]
        x[1] = along[1][:, None, :, None]
        x[2] = along[2][:, :, None, None]
        moved = x + deform * np.sin(x) * np.cos(np.roll(x, -1, axis=0))
        return moved.swapaxes(0, 1)

    def on_grid(self, points):
        """The newest velocity[component, z, y, x] at points^3 places, equally spaced."""
        n = self.order + 1
        where = 2 * np.pi * np.arange(points) / points / (2 * np.pi / self.side)
        element = np.minimum(where.astype(int), self.side - 1)
        basis = interpolation(self.order, 2 * (where - element) - 1)
        matrix = np.zeros((points, self.side, n))
        matrix[np.arange(points), element] = basis
        field = self.velocity[:, 0].reshape((self.side,) * 3 + (3, n, n, n))
        return np.einsum("zcC,ybB,xaA,cbamCBA->mzyx", matrix, matrix, matrix, field, optimize=True)


def lobatto_nodes(order):
    slope = legendre.legder([0] * order + [1])
    return np.concatenate([[-1], np.sort(legendre.legroots(slope).real), [1]])


def interpolation(order, x):
    """Values at x of the polynomials that are 1 at one node each."""
    nodes = lobatto_nodes(order)
    return legendre.legvander(x, order) @ np.linalg.inv(legendre.legvander(nodes, order))


def read_state(path):
    data = path.read_bytes()
    mark, order, side, levels, step = np.frombuffer(data, np.int64, 5)
    assert mark.tobytes() == b"taylgrn1"
    n = order + 1
    velocity = np.frombuffer(data, np.float64, offset=64).reshape(side**3, levels, 3, n, n, n)
    time = np.frombuffer(data, np.float64, 1, offset=40)[0]
    return State(int(order), int(side), int(step), float(time), velocity)


def write_state(path, state):
    """With one level."""
    numbers = np.array([state.order, state.side, 1, state.step], np.int64)
    times = np.array([state.time, 0, 0])
    velocity = np.ascontiguousarray(state.velocity[:, :1])
    path.write_bytes(b"taylgrn1" + numbers.tobytes() + times.tobytes() + velocity.tobytes())


@dataclass(frozen=True)
class Run:
    columns: dict[str, np.ndarray]
    state: State | None

    def __getitem__(self, name):
        return self.columns[name]


def program(build, name="taylor_green_noop"):
    executable = build / "miniapps/taylor_green" / name
    if not executable.exists():
        pytest.skip("miniapps/taylor_green was not built: no Fortran compiler was found")
    return executable


def simulate(build, folder, ranks=1, timeout=60, name="taylor_green_noop", **parameters):
    folder.mkdir(exist_ok=True)
    settings = [f"{name}={value}" for name, value in {"report_every": 1, **parameters}.items()]
    # Steps have many messages: ranks that wait give way, else a busy machine takes seconds for one.
    waiting = {"OMPI_MCA_mpi_yield_when_idle": 1}
    done = mpirun(ranks, program(build, name), *settings, cwd=folder, timeout=timeout, env=waiting)
    lines = [line for line in done.stdout.splitlines() if line.startswith("step=")]
    rows = [dict(i.split("=") for i in line.replace("= ", "=").split()) for line in lines]
    columns = {name: np.array([float(row[name]) for row in rows]) for name in rows[0]}
    checkpoint = parameters.get("checkpoint")
    return Run(columns, read_state(folder / checkpoint) if checkpoint else None)
