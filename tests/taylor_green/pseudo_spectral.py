# SPDX-License-Identifier: BSD-3-Clause
"""The Taylor-Green vortex by another method: a Fourier pseudo-spectral solver, dealiased by the 2/3
rule, with the classical Runge-Kutta scheme and viscosity by its exact integrating factor. It shares
nothing with miniapps/taylor_green.

    python tests/taylor_green/pseudo_spectral.py 48 100 10 curve.csv    # points, Re, end time
"""

import sys
from dataclasses import dataclass

import numpy as np
from scipy import fft


@dataclass(frozen=True)
class Decay:
    """Means over the box of |u|^2/2 and nu |curl u|^2 at equally spaced times."""

    time: np.ndarray
    energy: np.ndarray
    dissipation: np.ndarray


class Box:
    def __init__(self, points: int, viscosity: float) -> None:
        self.points, self.viscosity = points, viscosity
        whole = fft.fftfreq(points, 1 / points)
        half = fft.rfftfreq(points, 1 / points)
        self.k = np.array(np.meshgrid(whole, whole, half, indexing="ij"))
        self.k2 = (self.k**2).sum(0)
        self.kept = np.all(np.abs(self.k) < points / 3, axis=0)
        # Every mode of the half space counts twice, but for those with k_z = 0.
        self.weight = np.where(self.k[2] == 0, 1, 2)

    def transform(self, u):
        return fft.rfftn(u, axes=(1, 2, 3), norm="forward")

    def values(self, modes):
        shape = (self.points,) * 3
        return fft.irfftn(modes, s=shape, axes=(1, 2, 3), norm="forward")

    def curl(self, modes):
        return 1j * np.cross(self.k, modes, axis=0)

    def advection(self, modes):
        """What u x curl u does, its gradient part removed."""
        product = np.cross(self.values(modes), self.values(self.curl(modes)), axis=0)
        change = self.transform(product) * self.kept
        along = (self.k * change).sum(0) / np.where(self.k2 == 0, 1, self.k2)
        return change - self.k * along

    def step(self, modes, dt):
        half = np.exp(-self.viscosity * self.k2 * dt / 2)
        a = self.advection(modes)
        b = self.advection(half * (modes + dt / 2 * a))
        c = self.advection(half * modes + dt / 2 * b)
        d = self.advection(half**2 * modes + dt * half * c)
        return half**2 * modes + dt / 6 * (half**2 * a + 2 * half * (b + c) + d)

    def mean_square(self, modes):
        return (self.weight * np.abs(modes) ** 2).sum()


def vortex(points: int, viscosity: float, end_time: float, steps: int) -> Decay:
    box = Box(points, viscosity)
    x, y, z = np.meshgrid(*[2 * np.pi * np.arange(points) / points] * 3, indexing="ij")
    velocity = [np.sin(x) * np.cos(y) * np.cos(z), -np.cos(x) * np.sin(y) * np.cos(z), 0 * x]
    modes = box.transform(np.array(velocity))
    energy, dissipation = [], []
    for step in range(steps + 1):
        if step > 0:
            modes = box.step(modes, end_time / steps)
        energy.append(box.mean_square(modes) / 2)
        dissipation.append(viscosity * box.mean_square(box.curl(modes)))
    times = np.linspace(0, end_time, steps + 1)
    return Decay(times, np.array(energy), np.array(dissipation))


if __name__ == "__main__":
    size, reynolds, end = int(sys.argv[1]), float(sys.argv[2]), float(sys.argv[3])
    decay = vortex(size, 1 / reynolds, end, round(20 * end))
    np.savetxt(
        sys.argv[4],
        np.column_stack([decay.time, decay.energy, decay.dissipation]),
        fmt="%.10g",
        delimiter=",",
        header=f"pseudo-spectral, {size}^3 points, Re = {reynolds:g}\ntime,energy,dissipation",
    )
