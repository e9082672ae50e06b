# SPDX-License-Identifier: BSD-3-Clause
"""Meshes with levels of refinement and with missing cells, at every placement, against numpy and
scipy, which look at all cells of all levels."""

import json
import os
from pathlib import Path

import h5py
import hierarchy
import numpy as np
import pytest
from conftest import mpirun

HERE = Path(__file__).parent
CATALOGUE = f"""
meshes:
  grid:
    kind: uniform
    cells: {list(hierarchy.CELLS)}
    periodic: {json.dumps(hierarchy.PERIODIC)}
    levels: {{count: {hierarchy.LEVELS}, ratio: {json.dumps(hierarchy.RATIOS)}}}
  ocean: {{kind: uniform, cells: {list(hierarchy.OCEAN)}, covered: partial}}
fields:
  density: {{mesh: grid, type: float64}}
  velocity: {{mesh: grid, type: float32, components: 2}}
  heat: {{mesh: ocean, type: float64}}
"""
WAYS = {
    "average": hierarchy.averaged,
    "inject": hierarchy.injected,
    "interpolate": hierarchy.interpolated,
}
PLACES = {
    "inside": (3, 0, ""),
    "network": (3, 2, "{ranks: 2, when_full: wait}"),
    "node": (2, 1, "{per_node: 1, when_full: wait, memory: 1 MiB}"),
    "one": (1, 0, ""),
}


def analyses() -> str:
    text = "analyses:\n"
    for way in WAYS:
        text += f"  {way}:\n    every: 1 steps\n    stages:\n"
        for level in range(hierarchy.LEVELS):
            text += (
                f"      - flatten: {{fields: [density, velocity], level: {level}, by: {way}}}\n"
                f"      - write_hdf5: {{fields: [density_level_{level}, velocity_level_{level}]}}\n"
            )
    text += (
        "  land:\n    every: 1 steps\n    stages:\n"
        "      - flatten: {fields: [heat], level: 0, into: [flat], missing: -1}\n"
        "      - write_hdf5: {fields: [flat]}\n"
    )
    return text


def run(folder: Path, build: Path, place: str) -> Path:
    ranks, more, sidecars = PLACES[place]
    head = f"output: results\nsidecars: {sidecars}\n" if sidecars else "output: results\n"
    (folder / "run.yaml").write_text(head + CATALOGUE + analyses())
    env = os.environ | {"PYTHONPATH": f"{build / 'python'}:{HERE}"}
    mpirun(ranks + more, "python3", HERE / "hierarchy_program.py", env=env, cwd=folder)
    report = json.loads((folder / "results" / "report.json").read_text())
    for analysis in report["analyses"]:
        assert analysis["publications"] == hierarchy.STEPS, analysis
        assert analysis["dropped"] == 0 and analysis["disabled"] is None, analysis
    return folder / "results"


def read(path: Path, name: str) -> np.ndarray:
    with h5py.File(path) as file:
        array = file[name][()]
    return (
        array.transpose(*reversed(range(array.ndim)))
        if array.ndim < 4
        else array.transpose(2, 1, 0, 3)
    )


@pytest.mark.parametrize("place", PLACES)
def test_levels_are_flattened(place, build, tmp_path):
    results = run(tmp_path, build, place)
    for step in range(hierarchy.STEPS):
        for way, oracle in WAYS.items():
            for level in range(hierarchy.LEVELS):
                name = f"grid_level_{level}"
                path = results / way / f"{name}_hdf5" / f"{name}.{step:09d}.h5"
                for field in hierarchy.FIELDS:
                    found = read(path, f"{field}_level_{level}")
                    wanted = oracle(field, step, level)
                    tolerance = 1e-13 if field == "density" else 2e-6
                    np.testing.assert_allclose(found, wanted, rtol=0, atol=tolerance)
        found = read(
            results / "land" / "ocean_level_0_hdf5" / f"ocean_level_0.{step:09d}.h5", "flat"
        )
        wanted = np.full(hierarchy.OCEAN, -1.0)
        for box in hierarchy.ocean(step):
            wanted[box.cells] = hierarchy.heat(step)[box.cells]
        np.testing.assert_array_equal(found, wanted)
