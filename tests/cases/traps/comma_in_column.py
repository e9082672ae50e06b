# SPDX-License-Identifier: BSD-3-Clause
"""A stage may give its columns any names: readers find these and the values in a table."""

import csv
from pathlib import Path

import numpy as np
import pillion
from cases import session_of

NAMES = ["T(0,0)", 'say "x"', "#a", " lead", "a b", "x$y$", "ρ", "-", "1e5", "null", "_x"]

Path("sample.py").write_text(
    f"import pillion\n@pillion.stage('t')\ndef probes(step):\n"
    f"    return {{name: float(n) for n, name in enumerate({NAMES!r})}}\n"
)
with session_of(
    "output: results\nmeshes: {m: {kind: uniform, cells: [4], length: [1]}}\n"
    "fields: {t: {mesh: m, type: float64}}\n"
    "analyses: {a: {every: 1 steps, stages: [python: {call: 'sample.py:probes'}]}}\n"
) as session:
    session.share("t", values := np.zeros(4))
    for k in range(3):
        session.step(k, 0.1 * k)
table = pillion.read_table("results/a/probes.csv")
assert list(table.columns) == ["step", "time", *NAMES], list(table.columns)
assert [table[name].tolist() for name in NAMES] == [[float(n)] * 3 for n in range(len(NAMES))]
lines = Path("results/a/probes.csv").read_text().splitlines()
rows = [line for line in lines if not line.startswith("#")]
assert next(csv.reader(rows)) == ["step", "time", *NAMES]
made = pillion.make_report("results")
assert made.problems == [], made.problems
assert values.sum() == 0
