# SPDX-License-Identifier: BSD-3-Clause
"""What pictures must show, by NumPy on the whole field: rays of a camera, values along them from
SciPy's interpolator, colours from Matplotlib's tables. For test_image.py."""

from dataclasses import dataclass
from pathlib import Path

import matplotlib
import numpy as np
from PIL import Image
from scipy.interpolate import RegularGridInterpolator


def pixels(path: Path) -> np.ndarray:
    with Image.open(path) as image:
        assert image.mode == "RGB"
        return np.asarray(image).astype(int)


def colours(values, lo: float, hi: float, name: str = "viridis") -> np.ndarray:
    table = matplotlib.colormaps[name](np.arange(256))[:, :3] * 255
    place = np.clip((np.asarray(values) - lo) / (hi - lo), 0, 1) * 255
    return np.stack([np.interp(place, np.arange(256), table[:, c]) for c in range(3)], axis=-1)


@dataclass
class Rays:
    """Of all pixels, [row, column, xyz]: places are origin + depth * direction."""

    origin: np.ndarray
    direction: np.ndarray

    def at(self, depth) -> np.ndarray:
        return self.origin + np.asarray(depth)[..., None] * self.direction


def unit(v) -> np.ndarray:
    return np.asarray(v, float) / np.linalg.norm(v)


def rays(size, position, focal_point, up, *, height=None, angle=None) -> Rays:
    """Of a parallel camera that sees so much, or one with perspective and an angle in degrees."""
    width, rows = size
    ahead = unit(np.subtract(focal_point, position))
    right = unit(np.cross(ahead, up))
    upwards = np.cross(right, ahead)
    half = height / 2 if height else np.tan(np.radians(angle) / 2)
    x = (np.arange(width) + 0.5 - width / 2) * (2 * half / rows)
    y = (rows / 2 - np.arange(rows) - 0.5) * (2 * half / rows)
    aside = x[None, :, None] * right + y[:, None, None] * upwards
    start = np.broadcast_to(np.asarray(position, float), aside.shape)
    if height:
        return Rays(start + aside, np.broadcast_to(ahead, aside.shape))
    return Rays(start, ahead + aside)


def interpolator(values: np.ndarray, origin, length, periodic: bool) -> RegularGridInterpolator:
    """Of a cell-centred field [x, y, z]: linear between centres, and on the mesh's faces the mean
    of the cells on both sides, or the nearest cell."""
    places, cells = [], values
    for axis, (o, side) in enumerate(zip(origin, length, strict=True)):
        n = values.shape[axis]
        centres = o + (np.arange(n) + 0.5) * (side / n)
        first, last = np.take(cells, [0], axis), np.take(cells, [-1], axis)
        if periodic:
            first = last = (first + last) / 2
        cells = np.concatenate([first, cells, last], axis)
        places.append(np.concatenate([[o], centres, [o + side]]))
    return RegularGridInterpolator(places, cells, bounds_error=False, fill_value=np.nan)


def light_along(rays_: Rays, field, lo, hi, ramp, thickness, spacing, map_name) -> np.ndarray:
    """Emission and absorption, sample by sample; [row, column, rgb] over white."""
    shape = rays_.origin.shape[:2]
    through, light = np.ones(shape), np.zeros((*shape, 3))
    stretch = np.linalg.norm(rays_.direction, axis=-1) * spacing / thickness
    corners = np.stack(np.meshgrid(*[(g[0], g[-1]) for g in field.grid], indexing="ij"), -1)
    farthest = np.linalg.norm(corners.reshape(-1, 3) - rays_.origin[0, 0], axis=1).max() * 1.5
    for k in range(int(farthest / spacing)):
        values = field(rays_.at(np.full(shape, (k + 0.5) * spacing)))
        fraction = np.clip((np.nan_to_num(values) - lo) / (hi - lo), 0, 1)
        opacity = np.interp(fraction * (len(ramp) - 1), np.arange(len(ramp)), ramp)
        opacity = np.where(np.isnan(values), 0, 1 - (1 - opacity) ** stretch)
        light += (through * opacity)[..., None] * colours(np.nan_to_num(values), lo, hi, map_name)
        through = through * (1 - opacity)
    return light + through[..., None] * 255


def check_cells(picture: np.ndarray, cells: np.ndarray, values: np.ndarray, limits) -> None:
    """Pixels whose cell, a number that is negative where none is, is that of the pixels around
    them have the colour of its value."""
    within = cells >= 0
    for shift in ((0, 1), (0, -1), (1, 0), (-1, 0)):
        within &= np.roll(cells, shift, (0, 1)) == cells
    assert within.mean() > 0.01
    expected = colours(values[cells], *limits)
    assert np.abs(picture - expected)[within].max() <= 1
