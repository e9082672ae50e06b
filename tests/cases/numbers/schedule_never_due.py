# SPDX-License-Identifier: BSD-3-Clause
"""An analysis whose schedule meets no step is named at the end, with what was offered; so is time
that stands still."""

import json
from pathlib import Path

import numpy as np
from cases import session_of

TEXT = """\
output: results_NAME
meshes: {m: {kind: uniform, cells: [4], length: [1]}}
fields: {t: {mesh: m, type: float64}}
analyses:
  never: {every: 10 steps, stages: [statistics: {fields: [t]}]}
  late: {every: 500 time, stages: [statistics: {fields: [t]}]}
  often: {every: 3 steps, stages: [statistics: {fields: [t]}]}
  unmet: {every: 3 steps, when: max(t) > 5, stages: [statistics: {fields: [t]}]}
"""


def warnings_of(name, steps, time):
    with session_of(TEXT.replace("NAME", name)) as session:
        t = np.zeros(4)
        session.share("t", t, lo=(0,))
        for step in steps:
            session.step(step, time(step))
    return json.loads(Path(f"results_{name}/report.json").read_text())["warnings"]


found = warnings_of("late", range(1, 102, 10), lambda step: 0.1 * step)
assert len(found) == 2, found
assert "'never' was never due" in found[0] and "11 steps" in found[0], found
assert "from 1 to 101" in found[0], found
assert "'late' was never due" in found[1] and "11 times" in found[1], found
assert warnings_of("good", range(0, 101, 10), lambda step: 50.0 * step) == []
(found,) = warnings_of("still", range(0, 101, 10), lambda step: 0.0)
assert "the program's time was 0 at all of its 11 steps" in found, found
