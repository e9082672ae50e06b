# SPDX-License-Identifier: BSD-3-Clause
"""Two runs of the same analyses on the same ranks leave the same numbers, to the last bit."""

from functools import cache

import numpy as np
import pytest
import worlds
from conftest import read_table
from frames import Frame
from scenes import Placement, Scene

GRID = """
meshes: {grid: {kind: uniform, cells: [40, 48, 36], units: Mpc, periodic: true}}
fields: {density: {mesh: grid, type: float64}, speed: {mesh: grid, type: float64, components: 3}}
"""
ON_GRID = """
analyses:
  a:
    stages:
      - power_spectrum: {field: density, line_of_sight: [0, 1, 2]}
      - halos: {field: density, thresholds: [[1.5, 3]], averages: [speed]}
      - statistics: {fields: [density, speed]}
      - lyman_alpha: {neutral_hydrogen: density, temperature: density, velocity: speed,
                      omega_m: 0.3, h: 0.7, redshift: 3}
  pencils: {stages: [power_spectrum: {field: density, layout: pencils}]}
"""
PARTICLES = """
  grid: {kind: uniform, cells: [24, 24, 24], origin: [-1, 0.5, 2], length: [12, 12, 12],
         periodic: true}
"""
OF_PARTICLES = """
analyses:
  a:
    every: 50 steps
    stages:
      - deposit: {position: position, mesh: grid, into: density, cloud: tsc, mass: mass}
      - power_spectrum: {field: density}
      - rdf: {species: {O: [2]}, pairs: [[O, O]], cutoff: 3}
      - msd: {remove_drift: system}
      - vacf: {remove_drift: system}
      - statistics: {fields: velocity}
"""


@cache
def on_grid() -> Scene:
    rng = np.random.default_rng(8)
    count = 40 * 48 * 36
    values = {"density": np.exp(rng.normal(0, 0.8, count)), "speed": rng.normal(0, 50, (count, 3))}
    return Scene(
        "grid", [Frame(0, 0.0, values)], GRID, ON_GRID, "grid_driver", ("--cells", "40,48,36")
    )


@cache
def of_particles() -> Scene:
    frames = worlds.walk(np.random.default_rng(9), frames=3, particles=900)
    text = worlds.catalogue(frames).replace("meshes:\n", "meshes:" + PARTICLES)
    return Scene("particles", frames, text, OF_PARTICLES, "trajectory_driver")


@pytest.mark.parametrize(
    ("scene", "place"),
    [(on_grid, Placement(3, 2, "many")), (of_particles, Placement(3, 2, "pieces"))],
    ids=["grid", "particles"],
)
def test_identical_runs_leave_identical_tables(scene, place, build, tmp_path):
    def tables(number: int) -> dict:
        """By name: the rows as text, and the attributes. The rest of the head is about the run."""
        results, _ = scene().run(build, tmp_path / str(number), place)
        return {
            str(path.relative_to(results)): (
                [line for line in path.read_text().splitlines() if not line.startswith("#")],
                repr(read_table(path).attributes),
            )
            for path in results.rglob("*.csv")
        }

    first = tables(0)
    assert len(first) > 5
    for number in (1, 2):
        assert tables(number) == first
