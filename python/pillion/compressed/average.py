# SPDX-License-Identifier: BSD-3-Clause
"""The continuity average. A continuous field has one value at a point where elements meet; the
decoded field has one in each element. The average weighs each with the volume that its point stands
for. The result is the nearest continuous field in the mean square over the volume, so the error
over the whole volume cannot grow. The error at any point cannot exceed the largest error of the
averaged values.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from pillion.compressed.basis import Array, masses

TOLERANCE = 1e-6  # of the least distance of points of an element


def coincident(coordinates: Array, periods: Sequence[float] | None = None) -> NDArray[np.intp]:
    """A number for each point, (e, n, n, n) or (e, n, n); points at one place have the same number.
    `periods` are the lengths after which the mesh repeats, 0 along an axis that is not periodic.
    """
    near = TOLERANCE * _least_distance(coordinates)
    keys = []
    for axis in range(coordinates.shape[1]):
        x = coordinates[:, axis].ravel()
        period = 0.0 if periods is None or axis >= len(periods) else periods[axis]
        if period > 0:
            x = np.mod(x - x.min() + near, period)  # the far end comes to lie on the near one
        keys.append(_clusters(x, near))
    order = np.lexsort(keys)
    changes = np.zeros(len(order), bool)
    for key in keys:
        changes[1:] |= np.diff(key[order]) != 0
    out = np.empty(len(order), np.intp)
    out[order] = np.cumsum(changes)
    return out.reshape(coordinates[:, 0].shape)


def _least_distance(coordinates: Array) -> float:
    """Between neighbours along the axes of elements."""
    steps = [np.diff(coordinates, axis=axis) for axis in range(2, coordinates.ndim)]
    return float(np.sqrt(min((step**2).sum(axis=1).min() for step in steps)))


def _clusters(x: Array, near: float) -> NDArray[np.intp]:
    """Numbers of groups of numbers between which there are no gaps."""
    order = np.argsort(x, kind="stable")
    out = np.empty(len(x), np.intp)
    out[order] = np.cumsum(np.diff(x[order], prepend=x[order[0]]) > near)
    return out


class Average:
    """The average on one mesh, whose coordinates are (e, 3, n, n, n), or (e, c, n, n). Folded
    elements stay as they are, and so do values that meet one that is not finite.
    """

    def __init__(self, coordinates: Array, periods: Sequence[float] | None = None):
        volumes = masses(coordinates)
        inside = tuple(range(1, volumes.ndim))
        # Elements may be left-handed, all of them or some.
        good = (volumes > 0).all(axis=inside) | (volumes < 0).all(axis=inside)
        self.weights = np.abs(volumes)
        self.places = coincident(coordinates, periods)
        self._meets = np.zeros(self.places.shape, bool)
        places, count = self.places[good], int(self.places.max(initial=-1)) + 1
        self._total = np.bincount(places.ravel(), self.weights[good].ravel(), count)
        self._meets[good] = (np.bincount(places.ravel(), minlength=count) > 1)[places]

    def __call__(self, values: NDArray) -> NDArray:  # type: ignore[type-arg]
        """Averages a field (e, components, n, n, n) or (e, components, n, n). Values inside
        elements stay as they are.
        """
        out = values.copy()
        for c in range(values.shape[1]):
            shared = self._meets & self._all_finite(values[:, c])
            places, weights = self.places[shared], self.weights[shared]
            own = values[:, c][shared].astype(np.float64)
            # Differences, so that equal values stay equal to the bit.
            first = np.zeros(len(self._total))
            first[places] = own
            away = np.bincount(places, weights * (own - first[places]), len(self._total))
            out[:, c][shared] = first[places] + away[places] / self._total[places]
        return out

    def _all_finite(self, values: NDArray) -> NDArray[np.bool_]:  # type: ignore[type-arg]
        """Whether all values that meet at a point are."""
        is_bad = np.zeros(len(self._total), bool)
        is_bad[self.places[~np.isfinite(values)]] = True
        found: NDArray[np.bool_] = ~is_bad[self.places]
        return found
