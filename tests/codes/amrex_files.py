# SPDX-License-Identifier: BSD-3-Clause
"""What tests of AMReX codes compare: plotfiles that AMReX wrote, their particles included, and raw
files of Pillion, both as whole arrays.
"""

from pathlib import Path

import numpy as np
import yaml
from pillion.datasets import open_plotfile


def plotfile_levels(path: Path, fields: list[str]) -> list[dict[str, np.ndarray]]:
    """Of each level, each field on the whole domain, [z, y, x]; NaN where the level has no cell."""
    found = open_plotfile(path)
    out = []
    for level in found.levels:
        arrays = {name: np.full(level.cells[::-1], np.nan) for name in fields}
        for number, (lo, hi) in enumerate(level.boxes):
            for name in fields:
                arrays[name][box(lo, hi)] = level.read(number, name)
        out.append(arrays)
    return out


def box(lo, hi) -> tuple[slice, ...]:
    return tuple(slice(a, b) for a, b in zip(reversed(lo), reversed(hi), strict=True))


def raw_blocks(results: Path, mesh: str, step: int):
    """The fields of a raw dataset, and its blocks at a step: (head, {field: values})."""
    head = yaml.safe_load((results / f"{mesh}.raw.yaml").read_text())
    entry = next(s for s in head["steps"] if s["step"] == step)
    index = yaml.safe_load((results / entry["index"]).read_text())
    for block in index["blocks"]:
        values = {}
        for field, offset in zip(head["fields"], block["offsets"], strict=True):
            components = field.get("components", 1)
            flat = np.fromfile(
                results / block["file"],
                field["type"],
                block["count"] * components,
                offset=offset,
            )
            values[field["name"]] = flat.reshape(block["count"], components)
        yield block, values


def raw_levels(results: Path, mesh: str, step: int, cells: list[tuple[int, ...]]):
    """As plotfile_levels, of a raw dataset; `cells` are those of each level, x first. A field with
    components is [z, y, x, component].
    """
    out: list[dict[str, np.ndarray]] = [{} for _ in cells]
    for block, values in raw_blocks(results, mesh, step):
        level = block.get("level", 0)
        for name, flat in values.items():
            width = flat.shape[1:] if flat.shape[1] > 1 else ()
            whole = out[level].setdefault(name, np.full(cells[level][::-1] + width, np.nan))
            extents = [b - a for a, b in zip(block["lo"], block["hi"], strict=True)]
            whole[box(block["lo"], block["hi"])] = flat.reshape(*extents[::-1], *width)
    return [level for level in out if level]


def raw_particles(results: Path, mesh: str, step: int) -> dict[str, np.ndarray]:
    """The values of all blocks, one after another: [particle, component]."""
    parts: dict[str, list[np.ndarray]] = {}
    for _, values in raw_blocks(results, mesh, step):
        for name, array in values.items():
            parts.setdefault(name, []).append(array)
    return {name: np.concatenate(arrays) for name, arrays in parts.items()}


def plotfile_particles(folder: Path) -> dict[str, np.ndarray]:
    """Particles as AMReX wrote them beside a plotfile: `position`, `id`, and components by name."""
    words = (folder / "Header").read_text().split()
    kind = np.dtype("f4" if words[0].endswith("single") else "f8")
    at = 1
    axes, at = int(words[at]), at + 1
    reals, at = int(words[at]), at + 1
    real_names, at = words[at : at + reals], at + reals
    integers, at = int(words[at]), at + 1
    integer_names, at = words[at : at + integers], at + integers
    levels = int(words[at + 3]) + 1
    at += 4
    grids = [int(words[at + level]) for level in range(levels)]
    at += levels
    rows: list[tuple[np.ndarray, np.ndarray]] = []
    for level in range(levels):
        for _ in range(grids[level]):
            number, count, offset = map(int, words[at : at + 3])
            at += 3
            if count == 0:
                continue
            with open(folder / f"Level_{level}/DATA_{number:05d}", "rb") as file:
                file.seek(offset)
                whole = np.fromfile(file, "i4", count * (2 + integers)).reshape(count, -1)
                real = np.fromfile(file, kind, count * (axes + reals)).reshape(count, -1)
            rows.append((whole, real))
    whole = np.concatenate([r[0] for r in rows]).astype(np.int64)
    real = np.concatenate([r[1] for r in rows])
    out = {"position": real[:, :axes], "id": (whole[:, 0] << 24) | whole[:, 1]}
    out |= {name: real[:, axes + n] for n, name in enumerate(real_names)}
    out |= {name: whole[:, 2 + n] for n, name in enumerate(integer_names)}
    return out


def is_covered(levels: list[dict[str, np.ndarray]], field: str, ratio: int = 2) -> list[np.ndarray]:
    """Of each level, where cells of the next one are."""
    out = []
    for number, level in enumerate(levels):
        covered = np.zeros(level[field].shape, bool)
        if number + 1 < len(levels):
            finer = ~np.isnan(levels[number + 1][field][::ratio, ::ratio, ::ratio])
            covered |= finer
        out.append(covered)
    return out
