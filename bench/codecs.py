#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""The stages `truncate` and `encode` beside zfp and SZ3: how many times smaller do they make a
turbulent velocity on spectral elements, at the same measured error?

    PILLION_BUILD=build/release python bench/codecs.py [CHECKPOINT] [--bound 1e-2] [--picture FILE]

The velocity is that of a checkpoint of miniapps/taylor_green, or one of random waves. The error is
the root mean square over the volume, and the bound is relative to the rms of the velocity. zfp and
SZ3 get the elements as one array of four axes per component, and, since they see only neighbours in
an array, also the points of the whole box in rows, each point once; the better counts. Their
tolerances are found by bisection. Prints a JSON line for each, and last `bench codecs: …`.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

ROOT = Path(__file__).resolve().parent.parent
BUILD = Path(os.environ.get("PILLION_BUILD", ROOT / "build/release")).resolve()
sys.path.append(str(BUILD / "python"))

from pillion import compressed  # noqa: E402
from pillion.compressed.basis import basis_of, masses  # noqa: E402

LENGTH = 2 * np.pi
SHARING = """
import sys
import numpy as np
import pillion

with pillion.open("pillion.yaml") as session:
    velocity, xyz = np.load("velocity.npy"), np.load("xyz.npy")
    session.share("velocity", velocity)
    session.share("xyz", xyz)
    session.share("number", np.arange(len(xyz)))
    session.step(0, 0.0)
"""
CONFIGURATION = """
output: results
meshes:
  box: {{kind: spectral, order: {order}, coordinates: xyz}}
fields:
  xyz: {{mesh: box, type: float64, components: 3}}
  velocity: {{mesh: box, type: float64, components: 3}}
  number: {{mesh: box, type: int64, centering: cell}}
analyses:
  small:
    stages:
      - truncate: {{fields: [velocity], error: {bound!r}}}
      - encode: {{fields: [velocity], numbers: number, codec: {codec}, name: {codec},
                 continuous: true,
                 periods: [{length}, {length}, {length}], durable: false}}
  fewest:
    stages:
      - truncate: {{fields: [velocity], error: {bound!r}, round: false}}
      - encode: {{fields: [velocity], numbers: number, codec: bzip2, coordinates: none,
                 durable: false}}
"""


def coordinates(side: int, n: int) -> np.ndarray:
    """(e, 3, n, n, n) of the periodic box, elements in rows."""
    at = (basis_of(n).points + 1) / 2
    z, y, x = np.meshgrid(*[np.arange(side)] * 3, indexing="ij")
    corners = np.stack([x, y, z], axis=-1).reshape(-1, 3)
    t, s, r = np.meshgrid(at, at, at, indexing="ij")
    local = np.stack([r, s, t])
    return (corners[:, :, None, None, None] + local) * (LENGTH / side)


def waves(side: int, n: int) -> np.ndarray:
    """A velocity without divergence whose spectrum falls as k^(-5/3), down to what elements of so
    many points resolve, where it has died away (Pope, Turbulent Flows, 6.5.3)."""
    rng = np.random.default_rng(1)
    most = side * (n - 1) * 5 // 14
    k1 = np.arange(-most, most + 1)
    k = np.stack(np.meshgrid(k1, k1, k1, indexing="ij")).astype(float)
    size = np.sqrt((k**2).sum(axis=0))
    size[most, most, most] = 1
    scale = 1.5 / most  # Kolmogorov's
    spectrum = size ** (-5 / 3) * np.exp(-5.2 * (((size * scale) ** 4 + 0.4**4) ** 0.25 - 0.4))
    amplitude = np.sqrt(spectrum) / size * (size <= most)
    u = rng.normal(size=k.shape) + 1j * rng.normal(size=k.shape)
    u = (u - k * (k * u).sum(axis=0) / size**2) * amplitude
    at = coordinates(side, n)[:side, 0, 0, 0].ravel()
    phases = np.exp(1j * np.outer(at, k1))
    for _ in range(3):
        u = np.einsum("cabd,xa->cbdx", u, phases, optimize=True)
    u = u.real.reshape(3, side, n, side, n, side, n)
    u = u.transpose(5, 3, 1, 0, 6, 4, 2).reshape(side**3, 3, n, n, n)
    return np.ascontiguousarray(u / np.sqrt((u**2).mean()))


def read_checkpoint(path: Path) -> tuple[np.ndarray, int]:
    """The present velocity, and how many elements a side has."""
    with path.open("rb") as file:
        _, order, side, levels, *_ = np.frombuffer(file.read(64), np.int64).tolist()
        n = order + 1
        values = np.fromfile(file, np.float64).reshape(-1, levels, 3, n, n, n)
    return np.ascontiguousarray(values[:, 0]), side


class Case:
    """A velocity, and how errors of it are measured."""

    def __init__(self, velocity: np.ndarray, side: int):
        self.velocity, self.side, self.n = velocity, side, velocity.shape[-1]
        self.xyz = coordinates(side, self.n)
        self.weights = masses(self.xyz)[:, None]
        self.raw = velocity.nbytes

    def error(self, found: np.ndarray) -> float:
        """Of the component that is worst."""
        square = (self.weights * (found - self.velocity) ** 2).sum(axis=(0, 2, 3, 4))
        return float(np.sqrt(square.max() / self.weights.sum()))

    def rows(self) -> list[np.ndarray]:
        """By component: points of the whole box in rows, each once."""
        m = self.n - 1
        u = self.velocity[..., :m, :m, :m].reshape(*[self.side] * 3, 3, m, m, m)
        u = u.transpose(3, 0, 4, 1, 5, 2, 6).reshape(3, *[self.side * m] * 3)
        return [np.ascontiguousarray(c) for c in u]

    def from_rows(self, rows: list[np.ndarray]) -> np.ndarray:
        m, width = self.n - 1, self.side * (self.n - 1)
        at = (np.arange(self.side)[:, None] * m + np.arange(self.n)) % width
        grid = np.stack(rows)[:, at[:, :, None, None, None, None], at[:, :, None, None], at]
        return grid.transpose(1, 3, 5, 0, 2, 4, 6).reshape(self.velocity.shape)

    def elements(self) -> list[np.ndarray]:
        return [np.ascontiguousarray(self.velocity[:, c]) for c in range(3)]

    def from_elements(self, parts: list[np.ndarray]) -> np.ndarray:
        return np.stack(parts, axis=1)


def zfp(array: np.ndarray, tolerance: float) -> tuple[int, np.ndarray]:
    import zfpy

    stream = zfpy.compress_numpy(array, tolerance=tolerance)
    return len(stream), zfpy.decompress_numpy(stream)


def sz3(array: np.ndarray, tolerance: float) -> tuple[int, np.ndarray]:
    from pysz import sz, szConfig, szErrorBoundMode

    config = szConfig()
    config.errorBoundMode = szErrorBoundMode.ABS
    config.absErrorBound = tolerance
    stream, _ = sz.compress(array, config)
    found, _ = sz.decompress(stream, array.dtype, array.shape)
    return stream.nbytes, found


def ratio_at(case: Case, error: float, codec, arrays, back) -> float:  # type: ignore[no-untyped-def]
    """With the largest tolerance whose measured error is no greater."""
    low, high, best = error / 4, error * 64, 0.0
    for _ in range(16):
        tolerance = np.sqrt(low * high)
        done = [codec(array, tolerance) for array in arrays]
        if case.error(back([found for _, found in done])) <= error:
            low, best = tolerance, max(best, case.raw / sum(size for size, _ in done))
        else:
            high = tolerance
    return best


def run_stages(case: Case, bound: float, codec: str, folder: Path) -> None:
    np.save(folder / "velocity.npy", case.velocity)
    np.save(folder / "xyz.npy", case.xyz)
    text = CONFIGURATION.format(order=case.n - 1, bound=bound, codec=codec, length=LENGTH)
    (folder / "pillion.yaml").write_text(text)
    environment = {**os.environ, "PYTHONPATH": str(BUILD / "python")}
    subprocess.run(
        [sys.executable, "-c", SHARING], cwd=folder, env=environment, check=True, timeout=300
    )


def draw(case: Case, found: np.ndarray, title: str, path: Path) -> None:
    """A plane of elements, original and decoded, and their difference."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    plane = slice(case.side**2 * (case.side // 2), case.side**2 * (case.side // 2 + 1))
    x, y = case.xyz[plane, 0, 0], case.xyz[plane, 1, 0]
    own, other = case.velocity[plane, 0, 0], found[plane, 0, 0]
    most = np.abs(own).max()
    off = np.abs(other - own).max()
    figure, axes = plt.subplots(1, 3, figsize=(13, 4.3), layout="constrained")
    for ax, values, limit, name, colours in (
        (axes[0], own, most, "original", "RdBu_r"),
        (axes[1], other, most, "decoded", "RdBu_r"),
        (axes[2], other - own, off, "difference", "PuOr"),
    ):
        for e in range(len(x)):
            shown = ax.pcolormesh(
                x[e], y[e], values[e], vmin=-limit, vmax=limit, cmap=colours, shading="gouraud"
            )
        ax.set(title=name, aspect="equal", xlabel="x")
        figure.colorbar(shown, ax=ax, shrink=0.85)
    axes[0].set_ylabel("y")
    figure.suptitle(title)
    figure.savefig(path, dpi=110)


def main() -> None:
    options = argparse.ArgumentParser()
    options.add_argument("checkpoint", nargs="?", type=Path)
    options.add_argument("--bound", type=float, default=1e-2)
    options.add_argument("--codec", default="xz")
    options.add_argument("--side", type=int, default=8, help="elements, without a checkpoint")
    options.add_argument("--picture", type=Path)
    arguments = options.parse_args()
    if arguments.checkpoint is None:
        case = Case(waves(arguments.side, 8), arguments.side)
    else:
        case = Case(*read_checkpoint(arguments.checkpoint))
    rms = float(np.sqrt((case.weights * case.velocity**2).sum() / case.weights.sum() / 3))
    bound = arguments.bound * rms
    found = {}

    def say(name: str, ratio: float, error: float) -> None:
        found[name] = ratio
        line = {"bench": "codecs", "name": name, "ratio": round(ratio, 2), "error": error / rms}
        print(json.dumps(line), flush=True)

    with tempfile.TemporaryDirectory() as name:
        run_stages(case, bound, arguments.codec, Path(name))
        results = Path(name) / "results"
        file = compressed.open(
            results / f"small/{arguments.codec}_compressed/{arguments.codec}.000000000.h5"
        )
        field = file.field("velocity")
        before = case.error(file.read("velocity", average=False))
        decoded = file.read("velocity")
        error = case.error(decoded)
        assert error <= before <= bound, (error, before, bound)
        say(f"pillion {arguments.codec}", field.ratio, error)
        fewest = compressed.open(results / "fewest/box_compressed/box.000000000.h5")
        say("fewest coefficients, bzip2", fewest.field("velocity").ratio, bound)
    for label, codec in (("zfp", zfp), ("SZ3", sz3)):
        for arrays, back, how in (
            (case.elements(), case.from_elements, "elements"),
            (case.rows(), case.from_rows, "rows"),
        ):
            say(f"{label} {how}", ratio_at(case, error, codec, arrays, back), error)
    if arguments.picture:
        draw(
            case,
            decoded,
            f"{field.ratio:.1f} times smaller, rms error {error / rms:.2%} of the rms",
            arguments.picture,
        )
    zfp_best, sz_best = (max(found[f"{c} elements"], found[f"{c} rows"]) for c in ("zfp", "SZ3"))
    print(
        f"bench codecs: bound={arguments.bound:g} ratio={field.ratio:.1f} zfp={zfp_best:.1f} "
        f"sz3={sz_best:.1f} fewest={found['fewest coefficients, bzip2']:.1f}"
    )


if __name__ == "__main__":
    main()
