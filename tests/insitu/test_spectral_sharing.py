# SPDX-License-Identifier: BSD-3-Clause
"""Elements of a spectral mesh shared by simulations in Python: arrays as they are, arrays that came
from Fortran, memory of the session; and what cannot be one."""

import sys

import numpy as np
import pytest
from conftest import mpirun, read_table
from insitu import environment, needs_modules, report_of

pytestmark = needs_modules

CONFIGURATION = """
output: results
sidecars: SIDECARS
meshes:
  box: {kind: spectral, order: 2}
fields:
  xyz: {mesh: box, type: float32, components: 3}
  heat: {mesh: box, type: float64}
  rate: {mesh: box, type: float64, components: 2, centering: cell}
  number: {mesh: box, type: int32, centering: cell}
analyses:
  a: {stages: [statistics: {fields: [xyz, heat, rate, number]}]}
"""

PROGRAM = """
import numpy as np, pillion
with pillion.open("run.yaml") as s:
    rank = s.communicator.rank
    count = 3 if rank == 0 else 5
    rng = np.random.default_rng(rank)
    fortran = np.empty((3, 3, 3, 3, count), "float32", order="F")  # i, j, k, component, element
    fortran[...] = rng.random(fortran.shape, "float32")
    s.share("xyz", fortran.T)
    heat = s.allocate("heat", (count, 3, 3, 3))
    rate, number = np.empty((count, 2)), np.arange(count, dtype="int32") + 10 * rank
    s.share("rate", rate)
    s.share("number", number)
    assert s.fields["heat"].order == 2 and s.fields["rate"].order == 0
    assert s.fields["heat"].mesh_kind == "spectral" and s.fields["heat"].cells == ()
    for step in range(4):
        heat[...] = np.arange(heat.size).reshape(heat.shape) + 1000 * rank + step
        rate[...] = rank + step
        s.step(step, 0.5 * step)
        heat = s.swap("heat")
"""


def run(build, folder, code, ranks, sidecars="{ranks: 0}", check=True):
    (folder / "run.yaml").write_text(CONFIGURATION.replace("SIDECARS", sidecars))
    return mpirun(
        ranks, sys.executable, "-c", code, env=environment(build), cwd=folder, check=check
    )


@pytest.mark.parametrize(
    ("ranks", "sidecars"),
    [(2, "{ranks: 0}"), (3, "{ranks: 1, when_full: wait}"), (3, "{per_node: 1, when_full: wait}")],
)
def test_values_arrive(build, tmp_path, ranks, sidecars):
    run(build, tmp_path, PROGRAM, ranks, sidecars)
    xyz, heat, rate, number = (
        read_table(tmp_path / f"results/a/statistics_{name}.csv")
        for name in ("xyz", "heat", "rate", "number")
    )
    parts = [
        np.random.default_rng(r).random((3, 3, 3, 3, n), "float32") for r, n in [(0, 3), (1, 5)]
    ]
    for c, axis in enumerate("xyz"):
        values = np.concatenate([part[:, :, :, c].ravel() for part in parts]).astype(float)
        assert xyz[f"count_{axis}"].tolist() == [8 * 27] * 4
        assert xyz[f"mean_{axis}"][0] == pytest.approx(values.mean(), rel=1e-12)
        assert xyz[f"max_{axis}"][3] == values.max()
    for step in range(4):
        values = np.concatenate([np.arange(81.0), np.arange(135.0) + 1000]) + step
        assert heat["mean"][step] == pytest.approx(values.mean(), rel=1e-14)
        assert heat["max"][step] == 1134 + step
        assert rate["count_x"][step] == 8 and rate["max_y"][step] == 1 + step
    in_place = report_of(tmp_path)["sidecars"]["in_place_bytes"]
    assert in_place >= (8 * 27 * 8 if "per_node" in sidecars else 0)
    assert number["min"][0] == 0 and number["max"][0] == 14


WRONG = {
    "s.share('heat', np.zeros((4, 27)))": "shape (4, 27); give (count, 3, 3, 3)",
    "s.share('xyz', np.zeros((4, 3, 3, 3), 'float32'))": "give (count, 3, 3, 3, 3)",
    "s.share('xyz', np.zeros((3, 3, 3, 3, 4), 'float32'))": "give (count, 3, 3, 3, 3)",
    "s.share('rate', np.zeros((4, 2, 3, 3, 3)))": "give (count, 2)",
    "s.share('number', np.zeros((), 'int32'))": "give (count,)",
    "s.share('heat', np.zeros((3, 3, 3, 4)).T)": "of elements was shared with gaps",
    "s.share('heat', np.zeros((4, 3, 3, 3)), lo=(0,))": "of elements, which have no lo",
    "s.allocate('heat', (4, 3, 3))": "give (count, 3, 3, 3)",
}


def test_what_is_no_array_of_elements_is_refused(build, tmp_path):
    code = "import numpy as np, pillion\ns = pillion.open('run.yaml', log=None)\n"
    for line in WRONG:
        code += f"try:\n    {line}\nexcept pillion.Error as e:\n    print(e)\n"
    code += "s.share('heat', np.zeros((4, 1, 3, 3, 3)))\nprint('end', flush=True)\n"
    done = run(build, tmp_path, code + "import os\nos._exit(0)\n", 1, check=False)
    lines = done.stdout.splitlines()
    assert len(lines) == len(WRONG) + 1, done.stdout + done.stderr
    for line, (code_line, words) in zip(lines, WRONG.items(), strict=False):
        assert words in line, code_line
