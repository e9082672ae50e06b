# SPDX-License-Identifier: BSD-3-Clause
"""Every step of a code in single precision is a multiple of 0.1 within that precision."""

import numpy as np
import pillion
from cases import session_of

TEXT = """\
output: results_NAME
meshes: {m: {kind: uniform, cells: [4], length: [1]}}
fields: {t: {mesh: m, type: float64}}
analyses: {a: {every: 0.1 time, products_every: 0, stages: [statistics: {fields: [t]}]}}
"""
TIMES = {
    "product": [float(np.float32(k) * np.float32(0.1)) for k in range(2001)],
    "double": [0.1 * k for k in range(2001)],
    # Not on multiples: passed at the next step, and no multiple is met before its time.
    "between": [k * 0.07 for k in range(101)],
}
for name, times in TIMES.items():
    with session_of(TEXT.replace("NAME", name)) as session:
        t = np.zeros(4)
        session.share("t", t, lo=(0,))
        for step, time in enumerate(times):
            session.step(step, time)
    found = pillion.read_table(f"results_{name}/a/statistics_t.csv")["step"]
    right = len(times) if name != "between" else len({int(x / 0.1 + 1e-6) for x in times})
    assert len(found) == right, (name, len(found), right)
