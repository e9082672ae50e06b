# SPDX-License-Identifier: BSD-3-Clause
"""The file of frames that a test makes for a driver.

Frames are plain numpy arrays, so that oracles work on the very values that the simulation shares.
The layout of the file is that of frames.hpp.
"""

from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

TYPES = {"int32": 1, "int64": 2, "float32": 3, "float64": 4}


@dataclass
class Domain:
    """As pillion_domain: two corners, tilts (xy, xz, yz), and which edges are periodic. Files of
    frames do not say the dimensions; in two, nothing along the third axis counts."""

    lo: np.ndarray
    hi: np.ndarray
    tilt: np.ndarray = field(default_factory=lambda: np.zeros(3))
    periodic: tuple = (1, 1, 1)
    dimensions: int = 3

    @property
    def images(self) -> np.ndarray:
        """Which edges lead to images: 1 or 0."""
        return np.array(self.periodic) * (np.arange(3) < self.dimensions)

    @property
    def edges(self) -> np.ndarray:
        """Rows are the three edge vectors."""
        x, y, z = np.asarray(self.hi) - np.asarray(self.lo)
        xy, xz, yz = self.tilt if self.dimensions == 3 else (self.tilt[0], 0, 0)
        return np.array([[x, 0, 0], [xy, y, 0], [xz, yz, z]])

    @property
    def volume(self) -> float:
        """In two dimensions the area."""
        return float(np.prod((np.asarray(self.hi) - np.asarray(self.lo))[: self.dimensions]))

    def flattened(self, vectors: np.ndarray) -> np.ndarray:
        """In double precision, with what does not count set to 0."""
        return vectors.astype(np.float64) * (np.arange(3) < self.dimensions)


@dataclass
class Frame:
    """One step: values by field, one row per particle or cell (first axis fastest)."""

    step: int
    time: float
    values: dict[str, np.ndarray]
    domain: Domain = field(default_factory=lambda: Domain(np.zeros(3), np.ones(3)))

    def __getitem__(self, name: str) -> np.ndarray:
        return self.values[name]

    @property
    def count(self) -> int:
        return len(next(iter(self.values.values())))


def components(array: np.ndarray) -> int:
    return 1 if array.ndim == 1 else array.shape[1]


def write_frames(path: Path, frames: list[Frame]) -> None:
    names = list(frames[0].values)
    with open(path, "wb") as out:

        def integers(*values):
            out.write(np.array(values, dtype=np.int64).tobytes())

        integers(len(names), len(frames))
        for name in names:
            first = frames[0][name]
            integers(len(name.encode()))
            out.write(name.encode())
            integers(TYPES[first.dtype.name], components(first))
        for frame in frames:
            integers(frame.step)
            out.write(np.float64(frame.time).tobytes())
            d = frame.domain
            out.write(np.concatenate([d.lo, d.hi, d.tilt]).astype(np.float64).tobytes())
            integers(*d.periodic, frame.count)
            for name in names:
                array = frame[name]
                assert array.dtype == frames[0][name].dtype and len(array) == frame.count
                out.write(np.ascontiguousarray(array).tobytes())
