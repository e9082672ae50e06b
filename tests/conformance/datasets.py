# SPDX-License-Identifier: BSD-3-Clause
"""What tests of the formats of the stages that write share: frames of a mesh and of particles, and
readers of what is written, none of them Pillion's own."""

from dataclasses import replace
from functools import cache
from pathlib import Path

import numpy as np
import yaml
from frames import Domain, Frame
from scenes import Placement, Scene

SHAPES = {
    "brick": (22, 36, 22),
    "cube": (32, 32, 32),
    "thin": (48, 5, 3),
    "sheet": (45, 70),
    "line": (301,),
}
MESH = """
meshes:
  grid: {{kind: uniform, cells: [{cells}], origin: [{origin}], length: [{length}], units: m}}
fields:
  density: {{mesh: grid, type: float64, units: kg/m^3}}
  velocity: {{mesh: grid, type: float32, components: 3, units: m/s}}
  level: {{mesh: grid, type: int32}}
  ids: {{mesh: grid, type: int64}}
"""
PARTICLES = """
meshes: {atoms: {kind: particles, units: nm}}
fields:
  id: {mesh: atoms, type: int64}
  position: {mesh: atoms, type: float64, components: 3, units: nm}
  charge: {mesh: atoms, type: float32, units: e}
  kind: {mesh: atoms, type: int32}
"""
COUNTS = [500, 70, 0, 333]  # of particles, by frame


def listed(numbers) -> str:
    return ", ".join(str(n) for n in numbers)


def analyses(stages: dict[str, str]) -> str:
    return "\nanalyses:\n" + "".join(
        f"  {key}:\n    every: 1 steps\n    stages:\n      - {stage}\n"
        for key, stage in stages.items()
    )


def mesh_frame(cells, step: int) -> Frame:
    rng = np.random.default_rng(step + 1)
    count = int(np.prod(cells))
    values = {
        "density": rng.lognormal(size=count),
        "velocity": rng.normal(size=(count, 3)).astype(np.float32),
        "level": rng.integers(-9, 9, count).astype(np.int32),
        "ids": rng.integers(-(2**60), 2**60, count),
    }
    return Frame(step, 0.5 * step, values)


def mesh_scene(name: str, stages: dict[str, str], frames: int = 2) -> Scene:
    cells = SHAPES[name]
    text = MESH.format(
        cells=listed(cells),
        origin=listed(-1.0 - d for d in range(len(cells))),
        length=listed(n / 4 for n in cells),
    )
    played = [mesh_frame(cells, step) for step in range(frames)]
    arguments = ("--cells", ",".join(map(str, cells)))
    return Scene(name, played, text, analyses(stages), "grid_driver", arguments)


@cache
def particle_frames() -> list[Frame]:
    rng = np.random.default_rng(7)
    frames = []
    for step, count in enumerate(COUNTS):
        values = {
            "id": rng.permutation(count) + 3,
            "position": rng.random((count, 3)),
            "charge": rng.normal(size=count).astype(np.float32),
            "kind": rng.integers(0, 5, count).astype(np.int32),
        }
        frames.append(Frame(step, 0.25 * step, values, Domain(np.zeros(3), np.full(3, 2.0))))
    return frames


def particle_scene(stages: dict[str, str]) -> Scene:
    return Scene("atoms", particle_frames(), PARTICLES, analyses(stages), "trajectory_driver")


def roomy(places: list[Placement]) -> list[Placement]:
    """With memory for frames as large as these, so that nothing spills."""
    return [replace(p, memory="8 MiB") for p in places if p.when_full == "wait"]


def in_file_order(name: str, values: np.ndarray) -> np.ndarray:
    """Values of a frame, indexed as files are: the first axis last, then components."""
    return values.reshape(*SHAPES[name][::-1], *values.shape[1:])


def read_raw(results: Path, index: str) -> dict[int, tuple[int, list[dict]]]:
    """By step: how coarse it is, and its blocks with arrays of all fields, read by NumPy. Values of
    a particle, a cell, a point or an element are a row. Points and cells of blocks are arrays in
    `points` and `cells`, by their names."""
    head = yaml.safe_load((results / index).read_text())
    steps = {}
    for step in head["steps"]:
        blocks = yaml.safe_load((results / step["index"]).read_text())
        assert blocks["step"] == step["step"] and blocks["coarsening"] == step["coarsening"]
        mesh = blocks.get("mesh")
        of_mesh = yaml.safe_load((results / mesh).read_text())["blocks"] if mesh else []
        for block in blocks["blocks"]:
            block |= of_mesh.pop(0) if mesh else {}
            for field, offset in zip(head["fields"], block["offsets"], strict=True):
                rows, components = _rows_of(head["mesh"], block, field)
                values = np.fromfile(
                    results / block["file"],
                    dtype=field["type"],
                    count=rows * components,
                    offset=offset,
                )
                assert len(values) == rows * components
                shape = (-1, components) if components > 1 else (-1,)
                block[field["name"]] = values.reshape(shape)
            for what in ("points", "cells") if mesh else ():  # a field may be called so, too
                for name, of in block.get(what, {}).items():
                    if name == "file":
                        continue
                    path, count = results / block[what]["file"], int(np.prod(of["shape"]))
                    values = np.fromfile(path, of["type"], count, offset=of["offset"])
                    block[what][name] = values.reshape(of["shape"])
        steps[step["step"]] = (step["coarsening"], blocks["blocks"])
    return steps


def _rows_of(mesh: dict, block: dict, field: dict) -> tuple[int, int]:
    """How many rows a field has in a block, and values in a row."""
    is_at_points = field.get("centering") == "point"
    if "order" in mesh:
        points = (mesh["order"] + 1) ** mesh.get("dimensions", 3)
        return block["count"], field["components"] * (points if is_at_points else 1)
    if not is_at_points:
        return block["count"], field["components"]
    if "lo" in block:
        extent = np.subtract(block["hi"], block["lo"]) + 1
        return int(np.prod(extent)), field["components"]
    return block["point_count"], field["components"]
