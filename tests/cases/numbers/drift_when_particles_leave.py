# SPDX-License-Identifier: BSD-3-Clause
"""No particle moves, half of them leave, others come: the drift that is taken off is 0."""

import numpy as np
import pillion
from cases import session_of

DRIFTS = ("species", "system")
TEXT = """\
output: results
meshes: {p: {kind: particles}}
fields:
  position: {mesh: p, type: float64, components: 3}
  velocity: {mesh: p, type: float64, components: 3}
  id: {mesh: p, type: int64}
  mass: {mesh: p, type: float64}
analyses:
""" + "".join(
    f"  {stage}_{drift}: {{stages: [{stage}: {{{more}origins: {{every: 1, keep: 9}}, "
    f"remove_drift: {drift}}}]}}\n"
    for drift in DRIFTS
    for stage, more in (("msd", "image: null, "), ("vacf", ""))
)
rng = np.random.default_rng(3)
x, v = rng.random((100, 3)) * 10, rng.normal(size=(100, 3))
with session_of(TEXT) as session:
    session.set_domain("p", (0, 0, 0), (10, 10, 10))
    kept = []
    for step in range(6):
        there = np.ones(100, bool) if step < 2 else (x[:, 0] < 5 if step < 4 else x[:, 1] < 5)
        arrays = {"position": x, "velocity": v, "id": np.arange(1, 101), "mass": np.ones(100)}
        for name, array in arrays.items():
            kept.append(np.ascontiguousarray(array[there]))
            session.share(name, kept[-1])
        session.step(step, 0.1 * step)
for drift in DRIFTS:
    moved = pillion.read_table(f"results/msd_{drift}/msd.csv")["msd_all"]
    assert np.abs(moved).max() < 1e-24, moved
    # Each pair of steps by itself, with the mean velocity of the particles that are at both.
    table = pillion.read_table(f"results/vacf_{drift}/vacf.csv")
    sums, counts = np.zeros(6), np.zeros(6)
    sets = [np.ones(100, bool)] * 2 + [x[:, 0] < 5] * 2 + [x[:, 1] < 5] * 2
    for a in range(6):
        for b in range(a, 6):
            both = v[sets[a] & sets[b]]
            sums[b - a] += ((both - both.mean(0)) ** 2).sum()
            counts[b - a] += len(both)
    assert np.allclose(table["vacf_all"], sums / counts, rtol=1e-12), table["vacf_all"]
