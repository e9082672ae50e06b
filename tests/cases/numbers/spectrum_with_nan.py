# SPDX-License-Identifier: BSD-3-Clause
"""A value that is not a number is counted and reported once, whatever a stage can make of it."""

import json
from pathlib import Path

import numpy as np
import pillion
from cases import session_of

STAGES = {
    "spectrum": "power_spectrum: {field: f}",
    "histogram": "histogram: {field: f, range: auto}",
    "statistics": "statistics: {fields: [f]}",
    "halos": "halos: {field: f, thresholds: [[1, 2]]}",
    "average": "time_average: {fields: [f], output_every: 2, weights: equal}",
}
TEXT = """\
output: results
meshes: {g: {kind: uniform, cells: [8, 8, 8], length: [1, 1, 1], periodic: true}}
fields: {f: {mesh: g, type: float64}}
analyses:
""" + "".join(f"  {name}: {{stages: [{{{stage}}}]}}\n" for name, stage in STAGES.items())

f = np.random.default_rng(0).lognormal(size=(8, 8, 8))
with session_of(TEXT) as session:
    session.share("f", f)
    for step in range(4):
        f[1, 1, 1] = (1.0, np.nan, np.inf, 2.0)[step]
        session.step(step, float(step))
results = Path("results")
report = json.loads((results / "report.json").read_text())
for analysis in report["analyses"]:
    assert analysis["publications"] == 4 and analysis["disabled"] is None, analysis
for name in STAGES:
    found = [w for w in report["warnings"] if f"'{name}'" in w and "not finite" in w]
    found = [w for w in report["warnings"] if w.startswith(f"analysis '{name}'")]
    assert len(found) >= 1 and "were not finite numbers" in found[0], (name, report["warnings"])
for step in range(4):
    table = pillion.read_table(results / f"spectrum/power_spectrum_f.{step:09}.csv")
    if step in (1, 2):
        assert table.attributes["not_finite"].value == 1
        assert np.isnan(table["power"]).all() and np.isnan(table["error"]).all(), table["power"]
    else:
        assert "not_finite" not in table.attributes and np.isfinite(table["power"]).all()
table = pillion.read_table(results / "average/time_average_f.csv")
assert table["not_finite"].tolist() == [1, 1], table["not_finite"]
