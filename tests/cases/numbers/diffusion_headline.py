# SPDX-License-Identifier: BSD-3-Clause
"""A diffusion coefficient where particles diffuse: not of free flight, a crystal or a drift."""

import numpy as np
import pillion
from cases import session_of

TEXT = """\
output: results_NAME
meshes: {p: {kind: particles, units: nm}}
fields:
  id: {mesh: p, type: int64}
  position: {mesh: p, type: float64, components: 3}
  velocity: {mesh: p, type: float64, components: 3}
analyses:
  a: {stages: [msd: {image: null, origins: {every: 1, keep: 64}}]}
  b: {stages: [vacf: {origins: {every: 1, keep: 64}}]}
"""
STEPS, COUNT = 64, 200
rng = np.random.default_rng(2)
noise = rng.normal(size=(STEPS, COUNT, 3))
steady = np.broadcast_to(rng.normal(size=(COUNT, 3)), noise.shape)
wave = np.cos(0.4 * np.arange(STEPS))[:, None, None] * steady
forgets = np.array([noise[0]] * STEPS)
for n in range(1, STEPS):
    forgets[n] = 0.7 * forgets[n - 1] + np.sqrt(1 - 0.7**2) * noise[n]
brown = np.cumsum(noise * np.sqrt(2 * 0.05), 0)
time = np.arange(STEPS)[:, None, None]
MOTIONS = {
    "free": (time * steady, steady, None, None),
    "crystal": (0.1 * noise, wave, None, None),
    "drift": (brown + time * np.array([0.3, 0, 0]), forgets + 3.0, None, None),
    "liquid": (brown, forgets, 0.05, 1 / (1 - 0.7) - 0.5),
}
for name, (position, velocity, of_msd, of_vacf) in MOTIONS.items():
    with session_of(TEXT.replace("NAME", name)) as session:
        session.set_domain("p", [0, 0, 0], [10, 10, 10])
        x, v, ids = position[0].copy(), velocity[0].copy(), np.arange(COUNT, dtype=np.int64)
        for field, array in {"position": x, "velocity": v, "id": ids}.items():
            session.share(field, array)
        for step in range(STEPS):
            x[:], v[:] = position[step], velocity[step]
            session.step(step, float(step))
    for path, right in (("a/msd.csv", of_msd), ("b/vacf.csv", of_vacf)):
        attributes = pillion.read_table(f"results_{name}/{path}").attributes
        if right is None:
            assert "diffusion_all" not in attributes, (name, path, attributes["diffusion_all"])
            assert "no_diffusion_coefficient" in attributes, (name, path)
        else:
            assert abs(attributes["diffusion_all"].value / right - 1) < 0.25, (path, attributes)
exponents = {
    name: pillion.read_table(f"results_{name}/a/msd.csv").attributes["exponent_all"].value
    for name in MOTIONS
}
assert abs(exponents["free"] - 2) < 1e-9 and abs(exponents["crystal"]) < 0.05, exponents
assert abs(exponents["liquid"] - 1) < 0.2 and exponents["drift"] > 1.5, exponents
