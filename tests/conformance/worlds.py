# SPDX-License-Identifier: BSD-3-Clause
"""Made-up trajectories of particles, with everything that can go wrong in them on purpose: tilted
and changing domains, open boundaries, molecules that straddle the boundary, ids in no order,
particles that vanish and appear. Deterministic for a seed."""

import numpy as np
from frames import Domain, Frame


def wrap(unwrapped: np.ndarray, domain: Domain) -> tuple[np.ndarray, np.ndarray]:
    """Positions inside the domain, and image flags: position + image · edges is as before."""
    fraction = (unwrapped - domain.lo) @ np.linalg.inv(domain.edges)
    image = np.floor(fraction).astype(np.int32)
    image[:, domain.images == 0] = 0
    return unwrapped - image @ domain.edges, image


def unwrap(frame: Frame) -> np.ndarray:
    """The definition that the image flags have."""
    return frame.domain.flattened(frame["position"] + frame["image"] @ frame.domain.edges)


def walk(
    rng,
    *,
    particles: int = 360,
    frames: int = 14,
    edges: float = 12.0,
    tilt=(0.0, 0.0, 0.0),
    periodic=(1, 1, 1),
    breathing: float = 0.0,
    dtype=np.float64,
    id_type=np.int64,
    vanish: bool = False,
    step: int = 50,
    uneven_time: bool = False,
    thickness: float | None = None,
) -> list[Frame]:
    """Particles in molecules of three (types 1, 2, 1), and single ions (types 3, 4; molecule 0),
    that walk at random. Velocities are smooth in time, so correlations do not vanish at once. With
    a `thickness` they live in two dimensions, and the third is that thin, and noise."""
    ions = particles // 6
    water = (particles - ions) // 3 * 3
    count = water + ions
    ids = rng.permutation(10 * count)[:count].astype(id_type) + 1
    types = np.concatenate([np.tile([1, 2, 1], water // 3), rng.choice([3, 4], ions)])
    molecule = np.concatenate([np.repeat(np.arange(1, water // 3 + 1), 3) * 7, np.zeros(ions)])
    mass = np.select([types == 1, types == 2, types == 3], [1.008, 15.9994, 22.9898], 35.453)
    anchors = rng.uniform(0, edges, (water // 3, 3))
    at = np.concatenate(
        [
            np.repeat(anchors, 3, axis=0) + rng.normal(0, 0.5, (water, 3)),
            rng.uniform(0, edges, (ions, 3)),
        ]
    )
    velocity = rng.normal(0.3, 1.0, (count, 3))
    out = []
    time = 0.0
    for number in range(frames):
        size = edges * (1 + breathing * np.sin(number))
        domain = Domain(np.array([-1.0, 0.5, 2.0]), np.array([-1.0, 0.5, 2.0]) + size)
        domain.tilt = np.array(tilt) * size
        domain.periodic = periodic
        if thickness:
            domain.dimensions = 2
            domain.hi[2] = domain.lo[2] + thickness
            at[:, 2] = domain.lo[2] + rng.uniform(0, thickness, count)
        position, image = wrap(at.astype(dtype).astype(np.float64), domain)
        here = rng.random(count) > 0.15 if vanish else np.ones(count, bool)
        order = rng.permutation(np.flatnonzero(here))
        values = {
            "id": ids,
            "type": types.astype(np.int32),
            "molecule": molecule.astype(np.int64),
            "mass": mass,
            "position": position.astype(dtype),
            "image": image,
            "velocity": velocity.astype(dtype),
        }
        out.append(Frame(number * step, time, {k: v[order] for k, v in values.items()}, domain))
        time += 0.5 * (1 + 0.3 * (number % 4) if uneven_time else 1)
        velocity = 0.8 * velocity + rng.normal(0.05, 0.6, (count, 3))
        at = at + 0.9 * velocity
    return out


CATALOGUE = """
units: {{time: fs}}
meshes:
  atoms: {{kind: particles, units: Å, dimensions: {dimensions}}}
fields:
  id: {{mesh: atoms, type: {id}}}
  type: {{mesh: atoms, type: int32}}
  molecule: {{mesh: atoms, type: int64}}
  mass: {{mesh: atoms, type: float64, units: g/mol}}
  position: {{mesh: atoms, type: {real}, components: 3, units: Å}}
  image: {{mesh: atoms, type: int32, components: 3}}
  velocity: {{mesh: atoms, type: {real}, components: 3, units: Å/fs}}
"""


def catalogue(frames: list[Frame]) -> str:
    """The YAML that describes the frames of `walk`."""
    return CATALOGUE.format(
        id=frames[0]["id"].dtype.name,
        real=frames[0]["position"].dtype.name,
        dimensions=frames[0].domain.dimensions,
    )
