# SPDX-License-Identifier: BSD-3-Clause
"""The file of frames that a test makes for a driver, and runs of the drivers.

Frames are plain numpy arrays, so that oracles work on the very values that the simulation shares.
The layout of the file is that of frames.hpp.
"""

from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from conftest import mpirun

TYPES = {"int32": 1, "int64": 2, "float32": 3, "float64": 4}


@dataclass
class Domain:
    """As pillion_domain: two corners, tilts (xy, xz, yz), and which edges are periodic."""

    lo: np.ndarray
    hi: np.ndarray
    tilt: np.ndarray = field(default_factory=lambda: np.zeros(3))
    periodic: tuple = (1, 1, 1)

    @property
    def edges(self) -> np.ndarray:
        """Rows are the three edge vectors."""
        x, y, z = np.asarray(self.hi) - np.asarray(self.lo)
        xy, xz, yz = self.tilt
        return np.array([[x, 0, 0], [xy, y, 0], [xz, yz, z]])

    @property
    def volume(self) -> float:
        return float(np.prod(np.asarray(self.hi) - np.asarray(self.lo)))


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


@dataclass(frozen=True)
class Placement:
    """Where the stages run and how the simulation's data are divided. No sidecars: in it."""

    simulation: int
    sidecars: int
    decomposition: str

    def __str__(self) -> str:
        return f"{self.simulation}+{self.sidecars}-{self.decomposition}"


@dataclass
class Scene:
    """Frames, the catalogue that describes them, and analyses: everything but the placement."""

    name: str
    frames: list[Frame]
    catalogue: str
    analyses: str
    driver: str
    arguments: tuple = ()

    def run(
        self,
        build: Path,
        folder: Path,
        placement: Placement,
        *,
        restart: Path | None = None,
        checkpoint: Path | None = None,
        first: int = 0,
        last: int | None = None,
        fails: bool = False,
    ):
        """Plays frames [first, last); returns (output folder, CompletedProcess).

        If the run is one that `fails`, what it says on standard error is for the caller to check.
        """
        folder.mkdir(parents=True, exist_ok=True)
        frames = folder / "frames"
        write_frames(frames, self.frames)
        config = folder / "pillion.yaml"
        head = f"output: {folder / 'results'}\n"
        if placement.sidecars:
            head += f"sidecars: {{ranks: {placement.sidecars}, when_full: wait}}\n"
        if restart:
            head += f"restart: {restart}\n"
        config.write_text(head + self.catalogue + self.analyses, encoding="utf-8")
        arguments = [
            *("--config", config, "--frames", frames, "--decomposition", placement.decomposition),
            *("--from", first, "--to", len(self.frames) if last is None else last),
            *self.arguments,
        ]
        if checkpoint:
            arguments += ["--checkpoint", checkpoint]
        if fails:
            arguments += ["--failure-status", 0]
        done = mpirun(
            placement.simulation + placement.sidecars,
            build / "tests" / "conformance" / self.driver,
            *arguments,
            timeout=180,
        )
        frames.unlink()
        return folder / "results", done
