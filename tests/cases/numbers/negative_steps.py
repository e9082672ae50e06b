# SPDX-License-Identifier: BSD-3-Clause
"""A spin-up that counts to 0: every product has all steps, in order.
needs: h5py
needs stage: write_hdf5
"""

from pathlib import Path

import numpy as np
import pillion
from cases import command, session_of

STEPS = [-30, -20, 0, 10]
WRITERS = ("hdf5", "raw", "idx", "openpmd", "plotfile")
TEXT = """\
output: results
meshes: {m: {kind: uniform, cells: [4, 4, 4], length: [1, 1, 1]}}
fields: {t: {mesh: m, type: float64}}
analyses:
  a:
    every: 10 steps
    stages: [slice: {field: t}, histogram: {field: t, range: [0, 9], bins: 3},
      statistics: {fields: [t]}, image: {draw: [slice: {field: t}], size: [32, 32]}]
""" + "".join(f"  {w}: {{every: 10, stages: [write_{w}: {{fields: [t]}}]}}\n" for w in WRITERS)
with session_of(TEXT) as session:
    t = np.zeros((4, 4, 4))
    session.share("t", t, lo=(0, 0, 0))
    for n, step in enumerate(STEPS):
        t[:] = n + 1
        session.step(step, 0.1 * n)
results = pillion.results("results")
keys = {key.partition("/")[0] for key in results}
assert keys == {"a", *WRITERS}, list(results)
for key in results:
    product = results[key]
    step = product["step"] if "step" in product else product.coords["step"]
    assert step.values.tolist() == STEPS, (key, step.values)
    assert key.split(".")[-1] not in ("-00000030", "-00000020"), key
command("report", "results")
page = Path("results/report.html").read_text(encoding="utf-8")
assert page.count("4 steps") >= 3, page.count("4 steps")
