# SPDX-License-Identifier: BSD-3-Clause
"""The basis of spectral elements: Gauss-Lobatto-Legendre points and weights, and the matrices that
take Legendre coefficients to values at the points and back, as stages/common/legendre.hpp has them.
"""

from dataclasses import dataclass
from functools import cache

import numpy as np
from numpy.polynomial import legendre
from numpy.typing import NDArray

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Basis:
    """The Legendre basis on `n` points along an axis."""

    points: Array
    weights: Array
    to_values: Array
    to_legendre: Array
    derivative: Array


@cache
def basis_of(n: int) -> Basis:
    order = n - 1
    last = legendre.Legendre.basis(order)
    inner = np.sort(last.deriv().roots().real)
    inner = 0.5 * (inner - inner[::-1])
    for _ in range(3):  # roots are eigenvalues, and not as exact as can be
        inner -= last.deriv()(inner) / last.deriv(2)(inner)
    points = np.concatenate([[-1.0], inner, [1.0]])
    weights = 2 / (order * n * last(points) ** 2)
    scale = np.sqrt((2 * np.arange(n) + 1) / 2)
    scale[-1] = np.sqrt(order / 2)  # the quadrature takes the last square for 2/N
    to_values = legendre.legvander(points, order) * scale
    return Basis(points, weights, to_values, to_values.T * weights, _derivative(points, last))


def _derivative(points: Array, last: legendre.Legendre) -> Array:
    away = points[:, None] - points[None, :]
    np.fill_diagonal(away, 1)
    out = last(points)[:, None] / (last(points)[None, :] * away)
    np.fill_diagonal(out, 0)
    np.fill_diagonal(out, -out.sum(axis=1))
    return out


def along_axes(matrix: Array, values: Array, dimensions: int = 3) -> Array:
    """A matrix along each of the last two or three axes."""
    out = values @ matrix.T
    out = np.matmul(matrix, out)
    return out if dimensions == 2 else np.einsum("ck,...kji->...cji", matrix, out, optimize=True)


def masses(coordinates: Array) -> Array:
    """The volume that each point stands for, of elements whose coordinates are (e, 3, n, n, n). In
    two dimensions coordinates are (e, 2 or 3, n, n), and points stand for areas.
    """
    basis = basis_of(coordinates.shape[-1])
    d, w = basis.derivative, basis.weights
    if coordinates.ndim == 4:
        flat = [(0, 0), (0, 3 - coordinates.shape[1]), (0, 0), (0, 0)]
        r, s = (np.pad(along, flat) for along in (coordinates @ d.T, np.matmul(d, coordinates)))
        area = np.linalg.norm(np.cross(r, s, axis=1), axis=1)
        return np.asarray(area * w[:, None] * w)
    gradient = np.stack(
        [
            coordinates @ d.T,
            np.matmul(d, coordinates),
            np.einsum("ck,...kji->...cji", d, coordinates, optimize=True),
        ],
        axis=-1,
    )
    jacobian = np.linalg.det(np.moveaxis(gradient, 1, -2))
    return jacobian * w[:, None, None] * w[:, None] * w
