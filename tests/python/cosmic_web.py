# SPDX-License-Identifier: BSD-3-Clause
"""A universe for pictures: matter that has moved along straight lines since its beginning (Ya. B.
Zel'dovich, A&A 5, 84, 1970), at three times.
"""

import numpy as np
from scipy import fft, ndimage

MEAN = 4.1e10  # solar masses per cubic megaparsec
GROWTH = (1.5, 3.0, 5.0)  # displacements in cells, root mean square


def displacements(n, seed=7):
    """Along each axis, of root mean square 1: the gradient of a random potential."""
    rng = np.random.default_rng(seed)
    k = (fft.fftfreq(n) * n).astype("f4")
    last = (fft.rfftfreq(n) * n).astype("f4")
    axes = (k[:, None, None], k[None, :, None], last[None, None, :])
    squared = sum(a**2 for a in axes)
    squared[0, 0, 0] = 1
    power = np.sqrt(squared) / (1 + squared / 36) ** 2.2 * np.exp(-squared / 800)
    noise = fft.rfftn(rng.standard_normal((n, n, n), dtype="f4")) * np.sqrt(power) / squared
    noise[0, 0, 0] = 0
    found = [fft.irfftn(1j * a * noise, s=(n, n, n)).astype("f4") for a in axes]
    return [part / found[0].std() for part in found]


def density(parts, growth):
    """Each particle gives its mass to the eight cells around it, and a little smoothing to more."""
    n = len(parts[0])
    start = np.arange(n, dtype="f4")
    places = [np.moveaxis(start[:, None, None], 0, a) + growth * p for a, p in enumerate(parts)]
    cells = [np.floor(place).astype("i4") for place in places]
    shares = [place - cell for place, cell in zip(places, cells, strict=True)]
    out = np.zeros(n**3)
    for corner in np.ndindex(2, 2, 2):
        weight, index = 1, 0
        for side, cell, share in zip(corner, cells, shares, strict=True):
            weight = weight * (share if side else 1 - share)
            index = index * n + (cell + side) % n
        out += np.bincount(index.ravel(), weight.ravel(), n**3)
    return ndimage.gaussian_filter(out.reshape(n, n, n), 1.0, mode="wrap")


def densities(n):
    parts = displacements(n)
    return [(MEAN * np.maximum(density(parts, g), 0.01)).astype("f4") for g in GROWTH]
