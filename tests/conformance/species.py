# SPDX-License-Identifier: BSD-3-Clause
"""Two species of particles, one of them in a plane and the other in the box of a mesh with levels:
the simulation and the test know them by the same seed."""

import hierarchy
import numpy as np

SPECIES = ("electrons", "ions")
CATALOGUE = """
  electrons: {kind: particles, units: µm}
  ions: {kind: particles, units: µm, dimensions: 2}
"""
FIELDS = """
  electron_position: {mesh: electrons, type: float32, components: 3, units: µm}
  electron_momentum: {mesh: electrons, type: float64, components: 3, units: kg*m/s}
  electron_weight: {mesh: electrons, type: float64}
  electron_id: {mesh: electrons, type: int64}
  ion_position: {mesh: ions, type: float64, components: 3, units: µm}
  ion_charge: {mesh: ions, type: int32, units: e}
"""
RECORDS = {
    "electron_position": "position",
    "electron_momentum": "momentum",
    "electron_weight": "weighting",
    "electron_id": "id",
    "ion_position": "position",
    "ion_charge": "charge",
}


def values(species: str, step: int) -> dict[str, np.ndarray]:
    """By field; at one step there are no ions."""
    rng = np.random.default_rng([600, SPECIES.index(species), step])
    if species == "electrons":
        count = 300 + 7 * step
        return {
            "electron_position": rng.random((count, 3), np.float32)
            * np.array(hierarchy.CELLS, np.float32),
            "electron_weight": rng.random(count),
            "electron_momentum": rng.normal(size=(count, 3)),
            "electron_id": rng.permutation(count) + 1,
        }
    count = 0 if step == 1 else 50 + step
    return {
        "ion_position": rng.random((count, 3)),
        "ion_charge": np.arange(count, dtype=np.int32),
    }


def rows(count: int, rank: int, ranks: int) -> slice:
    """What a rank has."""
    return slice(count * rank // ranks, count * (rank + 1) // ranks)
