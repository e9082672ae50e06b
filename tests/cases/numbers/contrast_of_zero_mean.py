# SPDX-License-Identifier: BSD-3-Clause
"""Nothing is relative to a mean that is a rounding error, and a cloud in an empty box has one."""

import json
from pathlib import Path

import numpy as np
from cases import session_of

RELATIVE = {
    "spectrum": "power_spectrum: {field: u}",
    "cross": "power_spectrum: {field: cloud, with: u}",
    "histogram": "histogram: {field: u, relative_to_mean: true, range: [-5, 5]}",
    "against": "histogram: {field: cloud, range: auto, "
    "against: {field: u, range: auto, relative_to_mean: true}}",
    "halos": "halos: {field: u, thresholds: [[1, 2]]}",
    "negative": "halos: {field: below, thresholds: [[1, 2]]}",
    "matter": "matter: {gas: u, dark_matter: cloud, baryon_fraction: 0.2, into: all}",
    "dark": "matter: {gas: cloud, dark_matter: u, baryon_fraction: 0.2, into: all}",
}
WITH_MEAN = {
    "spectrum": "power_spectrum: {field: cloud}",
    "histogram": "histogram: {field: cloud, relative_to_mean: true, range: [-5, 5]}",
    "halos": "halos: {field: cloud, thresholds: [[1, 2]]}",
    "matter": "matter: {gas: cloud, dark_matter: cloud, baryon_fraction: 0.2, into: all}",
    "plain": "power_spectrum: {field: u, contrast: false}",
    "absolute": "halos: {field: u, thresholds: [{boundary: 1, peak: 2, absolute: true}]}",
}


def analyses(names, stages):
    return "".join(f"  {n}_{names}: {{stages: [{{{s}}}]}}\n" for n, s in stages.items())


TEXT = f"""\
output: results
meshes: {{g: {{kind: uniform, cells: [16, 16, 16], length: [1, 1, 1], periodic: true}}}}
fields:
  u: {{mesh: g, type: float64}}
  cloud: {{mesh: g, type: float64}}
  below: {{mesh: g, type: float64}}
analyses:
{analyses("bad", RELATIVE)}{analyses("good", WITH_MEAN)}"""

u = np.random.default_rng(0).normal(size=(16, 16, 16))
u -= u.mean()
cloud = np.zeros((16, 16, 16))
cloud[3, 4, 5] = 1  # its rms is 64 times its mean
with session_of(TEXT) as session:
    for name, values in {"u": u, "cloud": cloud, "below": cloud - 2}.items():
        session.share(name, values)
    for step in range(3):
        session.step(step, float(step))
report = {a["name"]: a for a in json.loads(Path("results/report.json").read_text())["analyses"]}
for name in RELATIVE:
    why = report[f"{name}_bad"]["disabled"]
    assert why, f"{name} was computed relative to a mean of {u.mean()}"
    wanted = ["mean above 0", "absolute: true"] if name == "negative" else ["the mean", "rms"]
    assert all(word in why for word in wanted), why
    assert "contrast: false" in why or name not in ("spectrum", "cross"), why
for name in WITH_MEAN:
    assert report[f"{name}_good"]["disabled"] is None, report[f"{name}_good"]["disabled"]
