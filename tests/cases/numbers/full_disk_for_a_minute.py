# SPDX-License-Identifier: BSD-3-Clause
"""While a file may not be as long as it must be, steps are lost; then every writer goes on.
needs: h5py
needs stage: write_hdf5
"""

import json
import resource
from pathlib import Path

import numpy as np
import pillion
from cases import session_of

WRITERS = ("hdf5", "raw", "idx", "openpmd", "plotfile", "vtkhdf")
TEXT = """\
output: results
meshes: {m: {kind: uniform, cells: [16, 16, 16], length: [1, 1, 1]}}
fields: {t: {mesh: m, type: float64}}
analyses:
  sums: {products_every: 1, stages: [statistics: {fields: [t]}]}
  encode: {stages: [encode: {fields: [t], error: 0, durable: false}]}
  cinema: {stages: [image: {draw: [slice: {field: t}], size: [512, 512], cinema: {phi: 2}}]}
""" + "".join(f"  {w}: {{stages: [write_{w}: {{fields: [t], durable: false}}]}}\n" for w in WRITERS)
FULL, STEPS = (2, 3), 7
with session_of(TEXT) as session:
    t = np.random.default_rng(0).random((16, 16, 16))
    session.share("t", t, lo=(0, 0, 0))
    most = resource.getrlimit(resource.RLIMIT_FSIZE)
    for step in range(STEPS):
        t[:] = np.random.default_rng(step).random(t.shape)
        size = 6000 if step in FULL else most[0]
        resource.setrlimit(resource.RLIMIT_FSIZE, (size, most[1]))
        session.step(step, 0.1 * step)
    resource.setrlimit(resource.RLIMIT_FSIZE, most)
report = json.loads(Path("results/report.json").read_text())
lost = {a["name"]: a["dropped"] for a in report["analyses"]}
assert not [a for a in report["analyses"] if a["disabled"]], report["analyses"]
assert lost == {"sums": 0, "encode": 2, "cinema": 2} | dict.fromkeys(WRITERS, 2), lost
assert sum("File too large" in w for w in report["warnings"]) == 8, report["warnings"]
left = [step for step in range(STEPS) if step not in FULL]
results = pillion.results("results")
for writer in ("hdf5", "raw", "idx", "openpmd", "plotfile"):
    (product,) = [results[key] for key in results if key.startswith(f"{writer}/m")]
    assert product["step"].values.tolist() == left, (writer, product["step"].values)
    for n, step in enumerate(left):
        values = np.asarray(product["t"][n]).T
        assert np.array_equal(values, np.random.default_rng(step).random(t.shape)), (writer, step)
assert results["sums/statistics_t"]["step"].values.tolist() == list(range(STEPS))
series = json.loads(Path("results/vtkhdf/m.vtkhdf.series").read_text())["files"]
assert len(series) == len(left), series
rows = Path("results/cinema/image.cdb/data.csv").read_text().splitlines()[1:]
assert [int(row.split(",")[0]) for row in rows] == [s for s in left for _ in range(2)], rows
