# SPDX-License-Identifier: BSD-3-Clause
"""A first step of zeros costs the spectrum of that step, and nothing else."""

import json
from pathlib import Path

import numpy as np
import pillion
from cases import session_of

TEXT = """\
output: results
meshes: {m: {kind: uniform, cells: [8, 8, 8], length: [1, 1, 1], periodic: true}}
fields: {dye: {mesh: m, type: float64}}
analyses: {a: {stages: [statistics: {fields: [dye]}, power_spectrum: {field: dye}]}}
"""
dye = np.zeros((8, 8, 8))
with session_of(TEXT) as session:
    session.share("dye", dye, lo=(0, 0, 0))
    for step in range(6):
        if step > 0:
            dye += np.random.default_rng(step).random(dye.shape)
        session.step(step, 0.1 * step)
results = pillion.results("results")
assert results["a/power_spectrum_dye"]["step"].values.tolist() == [1, 2, 3, 4, 5]
assert results["a/statistics_dye"]["step"].values.tolist() == [0, 1, 2, 3, 4, 5]
report = json.loads(Path("results/report.json").read_text())
(analysis,) = report["analyses"]
assert analysis["dropped"] == 1 and analysis["disabled"] is None, analysis
(warning,) = [w for w in report["warnings"] if "publication of step 0" in w]
assert "has the mean 0" in warning and "disabled after 3 failures" in warning, warning
head = (Path("results") / "a/power_spectrum_dye.000000005.csv").read_text()
assert "lost: 1" in head, head
