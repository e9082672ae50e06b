# SPDX-License-Identifier: BSD-3-Clause
"""The number of particles, and what unequal masses make of it, is that of each step."""

import numpy as np
import pillion
from cases import refusal_of, session_of

TEXT = """\
output: results
meshes:
  g: {kind: uniform, cells: [8, 8, 8], length: [1, 1, 1], periodic: true}
  p: {kind: particles}
fields:
  position: {mesh: p, type: float64, components: 3}
  mass: {mesh: p, type: float32}
  id: {mesh: p, type: int64}
analyses:
  masses:
    stages:
      - deposit: {position: position, mass: mass, mesh: g, into: dm}
      - power_spectrum: {field: dm, window: cic, shot_noise: mass}
  raw:
    stages:
      - deposit: {position: position, mass: mass, mesh: g, into: dm}
      - power_spectrum: {field: dm, window: cic}
  count:
    stages:
      - deposit: {position: position, mesh: g, into: dm}
      - power_spectrum: {field: dm, window: cic, shot_noise: position}
"""
rng = np.random.default_rng(4)
counts = [500, 800, 300]
masses = [rng.lognormal(size=n).astype(np.float32) for n in counts]
with session_of(TEXT) as session:
    session.set_domain("p", [0, 0, 0], [1, 1, 1], periodic=[True] * 3)
    for step, (n, mass) in enumerate(zip(counts, masses, strict=True)):
        session.share("position", rng.random((n, 3)))
        session.share("mass", mass)
        session.share("id", np.arange(n, dtype=np.int64))
        session.step(step, float(step))
for step, (n, mass) in enumerate(zip(counts, masses, strict=True)):
    found = {
        name: pillion.read_table(f"results/{name}/power_spectrum_dm.{step:09}.csv")
        for name in ("masses", "raw", "count")
    }
    weights = mass.astype(float)
    right = weights.sum() ** 2 / (weights**2).sum()
    number = found["masses"].attributes["particles"].value
    assert abs(number / right - 1) < 1e-12, (number, right)
    assert found["count"].attributes["particles"].value == n
    # Jing's correction for CIC, by each mode: what is subtracted is near to V / N at low k.
    taken = found["raw"]["power"] - found["masses"]["power"]
    assert abs(taken[0] * right - 1) < 0.15, taken * right
    assert found["count"].attributes["shot_noise"].value == 1 / n
why = refusal_of(TEXT.replace("shot_noise: position", "shot_noise: id"))
assert "integers; reals are needed" in why, why
why = refusal_of(TEXT.replace("shot_noise: position", "shot_noise: dm"))
assert "not on a mesh of particles" in why, why
