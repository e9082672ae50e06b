# SPDX-License-Identifier: BSD-3-Clause
"""The continuity average. A continuous field has one value at a point where elements meet; the
decoded field has one in each element. The average weighs each with the volume that its point stands
for. The result is the nearest continuous field in the mean square over the volume, so the error
over the whole volume cannot grow. The error at any point cannot exceed the largest error of the
averaged values. Neither holds for a field that jumps between elements; `contradiction` finds what a
continuous field cannot be.
"""

from collections.abc import Sequence
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from pillion.compressed.basis import Array, masses

TOLERANCE = 1e-6  # of the least distance of points of an element
ROUNDING = 1e-6  # of sums, and of quadratures by this module and by the stage that has truncated


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
            out[:, c][shared] = self._means(values[:, c].astype(np.float64), shared)
        return out

    def _means(self, values: Array, shared: NDArray[np.bool_]) -> Array:
        """The mean of the values at the place of each point in `shared`."""
        places, weights, own = self.places[shared], self.weights[shared], values[shared]
        # Differences, so that equal values stay equal to the bit.
        first = np.zeros(len(self._total))
        first[places] = own
        away = np.bincount(places, weights * (own - first[places]), len(self._total))
        return np.asarray(first[places] + away[places] / self._total[places])

    def _all_finite(self, values: NDArray) -> NDArray[np.bool_]:  # type: ignore[type-arg]
        """Whether all values that meet at a point are."""
        is_bad = np.zeros(len(self._total), bool)
        is_bad[self.places[~np.isfinite(values)]] = True
        found: NDArray[np.bool_] = ~is_bad[self.places]
        return found

    def contradiction(self, values: NDArray, norm: str, bound: float) -> str:  # type: ignore[type-arg]
        """Why decoded values cannot be those of a continuous field; "" if they can. `bound` is that
        on their error: of each point if the norm is "max", otherwise the root mean square of each
        element. If they can, the average is off by twice the bound at most, over the whole mesh or
        at any point, even of a field that jumps.
        """
        test = self._difference if norm == "max" else self._change
        for c in range(values.shape[1]):
            shared = self._meets & self._all_finite(values[:, c])
            if shared.any() and (
                reason := test(values[:, c].astype(np.float64), shared, bound * (1 + ROUNDING))
            ):
                return reason
        return ""

    def _difference(self, values: Array, shared: NDArray[np.bool_], bound: float) -> str:
        """Values at a point are within the bound of one number, so within two of each other."""
        places, own = self.places[shared], values[shared]
        order = np.argsort(places, kind="stable")
        first = np.flatnonzero(np.diff(places[order], prepend=-1))
        most = np.maximum.reduceat(own[order], first) - np.minimum.reduceat(own[order], first)
        if most.max() <= 2 * bound:
            return ""
        return f"values at one point differ by {most.max():.3g}"

    def _change(self, values: Array, shared: NDArray[np.bool_], bound: float) -> str:
        """The average is a projection. What it takes away from a continuous field is a part of the
        error: over the whole mesh, and in an element a part of the error of that element and its
        neighbours.
        """
        squares = np.zeros(values.shape)
        squares[shared] = self.weights[shared] * (values[shared] - self._means(values, shared)) ** 2
        whole = float(np.sqrt(squares.sum() / self.weights.sum()))
        if whole > bound:
            return f"an average would change the field by {whole:.3g} (rms)"
        inside = tuple(range(1, values.ndim))
        each = np.sqrt(squares.sum(axis=inside) / self._volume_around)
        if each.max() > bound:
            return (
                f"an average would change an element and its neighbours by {each.max():.3g} (rms)"
            )
        return ""

    @cached_property
    def _volume_around(self) -> Array:
        """Volumes of each element together with the elements that share a corner with it."""
        corners = self.places
        for axis in range(1, corners.ndim):
            corners = corners.take([0, -1], axis)
        corners = corners.reshape(len(corners), -1)
        place = corners.ravel()
        order = np.argsort(place, kind="stable")
        element = np.repeat(np.arange(len(corners)), corners.shape[1])[order]
        first = np.searchsorted(place[order], place[order], "left")
        size = np.searchsorted(place[order], place[order], "right") - first
        nth = np.arange(size.sum()) - np.repeat(np.cumsum(size) - size, size)
        other = element[np.repeat(first, size) + nth]
        pairs = np.unique(np.repeat(element, size) * len(corners) + other)
        volume = self.weights.reshape(len(corners), -1).sum(axis=1)
        around = np.bincount(pairs // len(corners), volume[pairs % len(corners)], len(corners))
        return around.astype(np.float64)
