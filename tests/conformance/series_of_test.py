# SPDX-License-Identifier: BSD-3-Clause
"""Series whose statistics are known, as frames of a driver, and the chain of stages that estimates
how well their means are known."""

import subprocess

import limits
import numpy as np
from frames import Frame

# What `autocorrelation` tells `uncertainty` of each series before its autocovariances.
NUMBERS = [
    *("samples", "missing", "spacing_steps", "spacing_time", "batches"),
    *("mean", "batch_variance"),
]
MADE = [
    f"u_{what}"
    for what in ("autocovariance", "mean", "sigma", "interval", "integral_steps", "verdict")
]
FITTED, UNRESOLVED, MISFIT, CONSTANT, UNKNOWN = range(5)


def ar1(rng, count: int, shape: tuple, phi: float) -> np.ndarray:
    """x_j = phi x_(j-1) + noise, of variance 1 from the start."""
    noise = rng.normal(size=(count, *shape)) * np.sqrt(1 - phi**2)
    x = np.empty_like(noise)
    x[0] = rng.normal(size=shape)
    for j in range(1, count):
        x[j] = phi * x[j - 1] + noise[j]
    return x


def variance_of_mean(phi: float, count: int) -> float:
    """Of such a series, by the sum over all lags."""
    k = np.arange(1, count)
    return (1 + 2 * np.sum((1 - k / count) * phi**k)) / count


def frames_of(values: np.ndarray, steps=None) -> list[Frame]:
    """[step, cell, component], at every second step, a quarter of a second apart each."""
    steps = range(0, 2 * len(values), 2) if steps is None else steps
    return [Frame(s, 0.25 * s, {"u": v}) for s, v in zip(steps, values, strict=True)]


def catalogue(cells: tuple, components: int = 2) -> str:
    return f"""
units: {{time: s}}
meshes: {{grid: {{kind: uniform, cells: [{", ".join(map(str, cells))}], units: m}}}}
fields: {{u: {{mesh: grid, type: float64, components: {components}, units: m/s}}}}
"""


def stages(lags: int, fit_every: int, first: str, second: str, from_step: int = 0) -> str:
    return f"""
analyses:
  averages:
    every: 1 steps
    stages:
      - autocorrelation: {{field: u, lags: {lags}, fit_every: {fit_every}, from_step: {from_step},
                           at: {first}}}
      - uncertainty: {{field: u, at: {second}}}
      - write_raw: {{fields: [{", ".join(MADE)}], durable: false, at: {second}}}
"""


def check_command(build, path) -> subprocess.CompletedProcess:
    """What `pillion check` says of a configuration."""
    return limits.run(
        [build / "bin" / "pillion-check", path], capture_output=True, text=True, timeout=30
    )
