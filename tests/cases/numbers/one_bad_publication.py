# SPDX-License-Identifier: BSD-3-Clause
"""A position that is not a number, or a step without particles, costs one publication of each
analysis that cannot do without; three in a row switch it off.
ranks: 2
"""

import json
from pathlib import Path

import numpy as np
from cases import session_of

TEXT = """\
output: results_{name}
meshes:
  g: {{kind: uniform, cells: [8, 8, 8], length: [1, 1, 1], periodic: true}}
  p: {{kind: particles}}
fields:
  position: {{mesh: p, type: float64, components: 3}}
  id: {{mesh: p, type: int64}}
  type: {{mesh: p, type: int32}}
  mass: {{mesh: p, type: float64}}
analyses:
  spectrum:
    stages: [deposit: {{position: position, mesh: g, into: dm}}, power_spectrum: {{field: dm}}]
  rdf: {{stages: [rdf: {{species: {{A: [1]}}, pairs: [[A, A]], cutoff: 0.2}}]}}
  msd: {{stages: [msd: {{image: null, origins: first, remove_drift: system}}]}}
  count: {{stages: [statistics: {{fields: [mass]}}]}}
"""
BAD = {"nan": [1], "empty": [1], "nan_thrice": [1, 2, 3]}
STEPS = 6


def run(name):
    with session_of(TEXT.format(name=name)) as session:
        comm = session.communicator
        session.set_domain("p", [0, 0, 0], [1, 1, 1], periodic=[True] * 3)
        rng = np.random.default_rng(comm.rank)
        start = rng.uniform(size=(100, 3))
        for step in range(STEPS):
            x = start + 0.001 * step
            if step in BAD[name]:
                if name == "empty":
                    x = x[:0]
                elif comm.rank == 1:  # the other rank learns of it
                    x[3] = np.nan
            n = len(x)
            session.share("position", np.ascontiguousarray(x))
            session.share("id", np.arange(n, dtype=np.int64) + 100 * comm.rank + 1)
            session.share("type", np.ones(n, np.int32))
            session.share("mass", np.ones(n))
            session.step(step, float(step))
        is_first = comm.rank == 0
    return is_first


def analyses(name):
    report = json.loads(Path(f"results_{name}/report.json").read_text())
    return {a["name"]: a for a in report["analyses"]}, report["warnings"]


def lines(path):
    return [line for line in Path(path).read_text().splitlines() if not line.startswith("#")]


def steps_of(name):
    found = sorted(Path(f"results_{name}/spectrum").glob("power_spectrum_dm.*.csv"))
    return [int(path.name.split(".")[1]) for path in found]


if all([run(name) for name in BAD]):
    found, warnings = analyses("nan")
    for name in ("spectrum", "rdf", "msd"):
        assert found[name]["disabled"] is None and found[name]["dropped"] == 1, found[name]
        assert len([w for w in warnings if f"'{name}'" in w]) == 1, warnings
    assert steps_of("nan") == [0, 2, 3, 4, 5]
    assert len(lines("results_nan/count/statistics_mass.csv")) == 1 + STEPS
    # All particles move alike, and the drift is taken off: nothing of the bad step is kept.
    rows = [line.split(",") for line in lines("results_nan/msd/msd.csv")]
    at = {name: i for i, name in enumerate(rows[0])}
    assert [int(row[at["lag_steps"]]) for row in rows[1:]] == [0, 2, 3, 4, 5]
    assert all(abs(float(row[at["msd_all"]])) < 1e-28 for row in rows[1:]), rows
    found, warnings = analyses("empty")
    assert found["spectrum"]["dropped"] == 1 and steps_of("empty") == [0, 2, 3, 4, 5]
    assert found["rdf"]["dropped"] == 0 and found["msd"]["dropped"] == 0
    found, warnings = analyses("nan_thrice")
    for name in ("spectrum", "rdf", "msd"):
        assert "not finite" in found[name]["disabled"], found[name]
        assert found[name]["dropped"] == 2, found[name]
    assert found["count"]["disabled"] is None
