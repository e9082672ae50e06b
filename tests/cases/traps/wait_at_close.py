# SPDX-License-Identifier: BSD-3-Clause
"""The cost of an analysis has the time that the simulation waits for sidecars at its end.

ranks: 3
seconds: 60
needs stage: python
"""

import json
import re
import time
from html import unescape
from pathlib import Path

import numpy as np
import pillion
from mpi4py import MPI

if MPI.COMM_WORLD.rank == 0:
    Path("slow.py").write_text(
        "import time\nimport pillion\n@pillion.stage('u')\ndef slow(step):\n"
        "    time.sleep(0.15)\n    return {'n': step.sum(len(step.blocks))}\n"
    )
    Path("pillion.yaml").write_text(
        "output: results\nsidecars: {per_node: 1, memory: 64 MiB, when_full: skip}\n"
        "meshes: {box: {kind: uniform, cells: [16, 8], length: [2, 1]}}\n"
        "fields: {u: {mesh: box, type: float64}}\n"
        "analyses: {a: {every: 2 steps, stages: [python: {call: 'slow.py:slow'}]}}\n"
    )
MPI.COMM_WORLD.Barrier()
with pillion.open("pillion.yaml", MPI.COMM_WORLD) as session:  # ranks of sidecars end here
    comm = session.communicator
    session.share(
        "u", values := np.zeros((16 // comm.size, 8)), lo=(16 // comm.size * comm.rank, 0)
    )
    for step in range(20):
        values[...] = step
        session.step(step, 0.1 * step)
    begun = time.monotonic()
    session.close()
    closing = time.monotonic() - begun
if comm.rank == 0:
    report = json.loads(Path("results/report.json").read_text())
    (cost,) = (analysis["seconds"] for analysis in report["analyses"])
    assert closing > 1.0, closing  # ten publications of 0.15 s
    assert 0.8 * closing < cost["closing"]["mean"] <= 1.05 * closing, (cost, closing)
    assert cost["stall"]["mean"] < 0.1, cost
    page = unescape(re.sub(r"<[^>]*>", "", pillion.make_report("results").path.read_text()))
    share = float(re.search(r"All analyses together took ([\d.]+) %", page)[1])
    expected = 100 * cost["closing"]["mean"] / report["run"]["seconds"]
    assert abs(share - expected) < 3, (share, expected)
    drawn = [float(text) for text in re.findall(r"simulation \d: ([\d.]+) %", page)]
    assert all(abs(one - share) < 3 for one in drawn), (drawn, share)
    assert "One of its 3 ranks was set aside" in page
