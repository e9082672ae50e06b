# SPDX-License-Identifier: BSD-3-Clause
"""Particles on a lattice have no shot noise, and what is subtracted has the error of the noise."""

import numpy as np
import pillion
from cases import session_of

TEXT = """\
output: results
meshes:
  g: {kind: uniform, cells: [16, 16, 16], length: [1, 1, 1], periodic: true}
  p: {kind: particles}
fields: {position: {mesh: p, type: float64, components: 3}}
analyses:
  a:
    stages:
      - deposit: {position: position, mesh: g, into: dm}
      - power_spectrum: {field: dm, window: cic, shot_noise: 32768}
"""
axis = (np.arange(32) + 0.5) / 32
lattice = np.stack(np.meshgrid(axis, axis, axis, indexing="ij"), -1).reshape(-1, 3).copy()
with session_of(TEXT) as session:
    session.set_domain("p", [0, 0, 0], [1, 1, 1], periodic=[True] * 3)
    session.share("position", lattice)
    session.step(0, 0.0)
table = pillion.read_table("results/a/power_spectrum_dm.000000000.csv")
noise = 1 / 32768
assert abs(table["power"][0] / noise + 1) < 0.1, table["power"]
least = 0.9 * noise * np.sqrt(2 / table["modes"])
assert (table["error"] > least).all(), table["error"] / noise
