# SPDX-License-Identifier: BSD-3-Clause
"""A mesh with levels of refinement that is another at every step: its boxes, its values, and what
numpy and scipy make of them. The simulation and the test know it by the same seed."""

from dataclasses import dataclass

import numpy as np
from scipy.ndimage import map_coordinates

CELLS = (6, 4, 4)
RATIOS = ((2, 2, 2), (3, 2, 1))
LEVELS = len(RATIOS) + 1
PERIODIC = (True, False, True)
OCEAN = (12, 10)
STEPS = 5
FIELDS = {"density": ("float64", 1), "velocity": ("float32", 2)}


@dataclass(frozen=True)
class Box:
    level: int
    lo: tuple[int, ...]
    hi: tuple[int, ...]

    @property
    def cells(self) -> tuple[slice, ...]:
        return tuple(slice(a, b) for a, b in zip(self.lo, self.hi, strict=True))


def shape_of(level: int) -> tuple[int, ...]:
    return tuple(int(n) for n in np.prod([CELLS, *RATIOS[:level]], axis=0))


def cut(box: Box, rng: np.random.Generator, chance: float) -> list[Box]:
    """Into parts, at random places."""
    axis = int(rng.integers(len(box.lo)))
    if box.hi[axis] - box.lo[axis] < 2 or rng.random() > chance:
        return [box]
    at = int(rng.integers(box.lo[axis] + 1, box.hi[axis]))
    low, high = list(box.hi), list(box.lo)
    low[axis] = high[axis] = at
    return [
        part
        for half in (Box(box.level, box.lo, tuple(low)), Box(box.level, tuple(high), box.hi))
        for part in cut(half, rng, chance)
    ]


def boxes(step: int) -> list[Box]:
    """At some steps there is no finer level."""
    rng = np.random.default_rng(100 + step)
    of_level = cut(Box(0, (0,) * len(CELLS), CELLS), rng, 0.9)
    out = list(of_level)
    for level, ratio in enumerate(RATIOS, 1):
        parts = [part for box in of_level for part in cut(box, rng, 0.7)]
        of_level = [
            Box(
                level,
                tuple(int(x) for x in np.multiply(p.lo, ratio)),
                tuple(int(x) for x in np.multiply(p.hi, ratio)),
            )
            for p in parts
            if step != 2 and rng.random() < 0.5
        ]
        out += of_level
    return out


def ocean(step: int) -> list[Box]:
    """Of a mesh of one level, about a third of it land."""
    rng = np.random.default_rng(200 + step)
    parts = cut(Box(0, (0, 0), OCEAN), rng, 0.95)
    return [part for part in parts if rng.random() < 0.65]


def owner(step: int, number: int, ranks: int) -> int:
    """Boxes change hands at every step, and some ranks have none."""
    busy = max(1, ranks - step % 2)
    return int(np.random.default_rng([300, step, number]).integers(busy))


def share(session, field, boxes, step, values) -> None:
    """Shares the boxes that this rank owns."""
    ranks, rank = session.communicator.size, session.communicator.rank
    with session.blocks(field):
        for number, box in enumerate(boxes):
            if owner(step, number, ranks) == rank:
                array = np.ascontiguousarray(values(box.level)[box.cells])
                session.share(field, array, box.lo, level=box.level)


def values(field: str, step: int, level: int) -> np.ndarray:
    """Of all cells of a level, whether there are boxes or not."""
    kind, components = FIELDS[field]
    rng = np.random.default_rng([400, len(field), step, level])
    shape = shape_of(level) + ((components,) if components > 1 else ())
    return rng.normal(level, 1, shape).astype(kind)


def heat(step: int) -> np.ndarray:
    return np.random.default_rng([500, step]).normal(0, 1, OCEAN)


def level_of_leaves(step: int) -> np.ndarray:
    """Of each cell of the finest level: the finest level that has a box there."""
    out = np.full(shape_of(LEVELS - 1), -1)
    for box in boxes(step):
        out[_in_finest(box).cells] = np.maximum(out[_in_finest(box).cells], box.level)
    assert (out >= 0).all()
    return out


def _in_finest(box: Box) -> Box:
    ratio = np.prod([(1, 1, 1), *RATIOS[box.level :]], axis=0)
    lo, hi = (tuple(int(x) for x in np.multiply(at, ratio)) for at in (box.lo, box.hi))
    return Box(LEVELS - 1, lo, hi)


def spread(array: np.ndarray, ratio: tuple[int, ...]) -> np.ndarray:
    for axis, n in enumerate(ratio):
        array = np.repeat(array, n, axis)
    return array


def finest(field: str, step: int) -> np.ndarray:
    """The leaves' values on all cells of the finest level."""
    leaves = level_of_leaves(step)
    out = np.zeros(values(field, step, LEVELS - 1).shape)
    for level in range(LEVELS):
        ratio = tuple(np.prod([(1, 1, 1), *RATIOS[level:]], axis=0))
        here = leaves == level
        out[here] = spread(values(field, step, level).astype(float), ratio)[here]
    return out


def averaged(field: str, step: int, level: int) -> np.ndarray:
    array = finest(field, step)
    ratio = np.prod([(1, 1, 1), *RATIOS[level:]], axis=0)
    for axis, n in enumerate(ratio):
        shape = array.shape
        array = array.reshape(*shape[:axis], shape[axis] // n, n, *shape[axis + 1 :]).mean(axis + 1)
    return array


def injected(field: str, step: int, level: int) -> np.ndarray:
    ratio = np.prod([(1, 1, 1), *RATIOS[level:]], axis=0)
    return finest(field, step)[tuple(slice(n // 2, None, n) for n in ratio)]


def interpolated(field: str, step: int, level: int) -> np.ndarray:
    out = averaged(field, step, 0)
    leaves = level_of_leaves(step)
    for fine, ratio in enumerate(RATIOS[:level], 1):
        own = averaged(field, step, fine)
        to_finest = np.prod([(1, 1, 1), *RATIOS[fine:]], axis=0)
        is_own = leaves[tuple(slice(None, None, n) for n in to_finest)] >= fine
        if own.ndim == 3:
            between = _linear(out, ratio)
        else:
            parts = [_linear(out[..., c], ratio) for c in range(own.shape[-1])]
            between = np.stack(parts, -1)
        out = np.where(is_own if own.ndim == 3 else is_own[..., None], own, between)
    return out


def _linear(array: np.ndarray, ratio: tuple[int, ...]) -> np.ndarray:
    """Between centres of cells, as scipy does it in an array that is one cell wider."""
    for axis, periodic in enumerate(PERIODIC):
        width = [(0, 0)] * 3
        width[axis] = (1, 1)
        array = np.pad(array, width, mode="wrap" if periodic else "edge")
    at = [(np.arange((n - 2) * r) + 0.5) / r + 0.5 for n, r in zip(array.shape, ratio, strict=True)]
    return map_coordinates(array, np.meshgrid(*at, indexing="ij"), order=1)
