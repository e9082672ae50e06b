# SPDX-License-Identifier: BSD-3-Clause
"""Dollar signs and underscores in names are letters on a page, and not formulas."""

import numpy as np
import pillion
from cases import GRID, session_of

with session_of(
    f"output: results\n{GRID}fields: {{'_t$$x$$': {{mesh: m, type: float64, units: $$}}}}\n"
    "analyses: {'x$$y': {every: 1 steps, stages: [statistics: {fields: ['_t$$$$x$$$$']}, "
    "slice: {field: '_t$$$$x$$$$'}, histogram: {field: '_t$$$$x$$$$', range: [0, 1], bins: 4}]}}\n"
) as session:
    values = np.random.default_rng(0).random((4, 4, 4))
    session.share("_t$$x$$", values)
    for k in range(3):
        session.step(k, 0.1 * k)
made = pillion.make_report("results")
assert made.problems == [], made.problems
page = made.path.read_text()
assert "x$$y" in page and page.count("<svg") >= 4, page.count("<svg")
