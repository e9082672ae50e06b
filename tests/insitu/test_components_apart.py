# SPDX-License-Identifier: BSD-3-Clause
"""Fields whose components lie in arrays of their own, shared by simulations in Python."""

import sys

import pytest
from conftest import mpirun, read_table
from insitu import PLACES, environment, needs_modules

pytestmark = needs_modules

CONFIGURATION = """
output: results
meshes:
  grid: {kind: uniform, cells: [8, 6]}
  atoms: {kind: particles}
  box: {kind: spectral, order: 2}
fields:
  u: {mesh: grid, type: float64, components: 2}
  x: {mesh: atoms, type: float32, components: 3}
  v: {mesh: box, type: float64, components: 3}
  rate: {mesh: box, type: float64, components: 2, centering: cell}
analyses:
  a: {stages: [statistics: {fields: [u, x, v, rate]}]}
"""

PROGRAM = """
import numpy as np, pillion
with pillion.open("run.yaml") as s:
    rank, size = s.communicator.rank, s.communicator.size
    first, last = 8 * rank // size, 8 * (rank + 1) // size
    ghosts = [np.full((last - first + 2, 8), -1e9) for _ in range(2)]
    atoms = np.zeros(4 + rank, dtype=[("id", "i4"), ("x", "f4"), ("y", "f4"), ("z", "f4")])
    between = [np.empty((4 + rank, 3, 3, 3)) for _ in range(5)]
    velocity = [between[0], between[3], between[1]]
    rates = np.empty((2, 4 + rank))
    s.share("u", ghosts, lo=(first, 0), ghosts=1)
    s.share("x", [atoms[name] for name in "xyz"])
    s.share("v", tuple(velocity))
    s.share("rate", list(rates))
    s.set_domain("atoms", (0, 0, 0), (100, 100, 100))
    for step in range(3):
        for c, one in enumerate(ghosts):
            one[1:-1, 1:-1] = np.arange(first, last)[:, None] + 100 * c + step
        for c, name in enumerate("xyz"):
            atoms[name] = 10 * c + rank + step
        for c, one in enumerate(velocity):
            one[...] = np.arange(one.size).reshape(one.shape) % 27 + 1000 * c + step
        rates[...] = [[1 + step], [2 + step]]
        s.step(step, 0.5 * step)
"""


@pytest.mark.parametrize("place", [p for p in PLACES if not p.is_separate], ids=str)
def test_values_arrive(build, tmp_path, place):
    (tmp_path / "run.yaml").write_text(place.head + CONFIGURATION)
    env = environment(build)
    mpirun(place.ranks + place.more, sys.executable, "-c", PROGRAM, env=env, cwd=tmp_path)
    tables = {
        name: read_table(tmp_path / f"results/a/statistics_{name}.csv")
        for name in ("u", "x", "v", "rate")
    }
    count = sum(4 + r for r in range(place.ranks))
    for step in range(3):
        for c, axis in enumerate("xy"):
            assert tables["u"][f"min_{axis}"][step] == 100 * c + step
            assert tables["u"][f"max_{axis}"][step] == 100 * c + step + 7
            assert tables["u"][f"mean_{axis}"][step] == pytest.approx(100 * c + step + 3.5)
            assert tables["rate"][f"max_{axis}"][step] == tables["rate"][f"min_{axis}"][step]
            assert tables["rate"][f"min_{axis}"][step] == 1 + c + step
        for c, axis in enumerate("xyz"):
            assert tables["x"][f"min_{axis}"][step] == 10 * c + step
            assert tables["x"][f"max_{axis}"][step] == 10 * c + step + place.ranks - 1
            assert tables["v"][f"count_{axis}"][step] == 27 * count
            assert tables["v"][f"mean_{axis}"][step] == pytest.approx(13 + 1000 * c + step)
            assert tables["v"][f"max_{axis}"][step] == 26 + 1000 * c + step


WRONG = {
    "s.share('u', [np.zeros((8, 6))])": "as 1 arrays; give one for each of its 2 components",
    "s.share('u', [np.zeros((8, 6)), np.zeros((8, 5))])": "different shape: component 1 has (8, 5)",
    "s.share('u', [np.zeros((8, 6)), np.zeros((6, 8)).T])": "different strides: component 1",
    "s.share('u', [np.zeros((8, 6)), np.zeros((8, 6), 'f4')])": "different dtype: component 1",
    "s.share('u', [np.zeros((8, 6, 2))] * 2)": "give one extent for each of the 2 axes",
    "s.share('u', [[1.0], [2.0]])": "was shared as a list; share an array",
    "s.share('x', [])": "as 0 arrays",
    "s.share('x', [np.zeros(4, 'f4')] * 3, lo=(0,))": "of particles, which have no lo",
    "s.share('v', [np.zeros((4, 27))] * 3)": "give (count, 3, 3, 3)",
    "s.share('v', [np.zeros((3, 3, 3, 4)).T] * 3)": "of elements was shared with gaps",
}


def test_what_are_no_components_is_refused(build, tmp_path):
    (tmp_path / "run.yaml").write_text(CONFIGURATION)
    code = "import numpy as np, pillion, os\ns = pillion.open('run.yaml', log=None)\n"
    for line in WRONG:
        code += f"try:\n    {line}\nexcept pillion.Error as e:\n    print(e)\n"
    code += "print('end', flush=True)\nos._exit(0)\n"
    env = environment(build)
    done = mpirun(1, sys.executable, "-c", code, env=env, cwd=tmp_path, check=False)
    lines = done.stdout.splitlines()
    assert len(lines) == len(WRONG) + 1, done.stdout + done.stderr
    for line, (code_line, words) in zip(lines, WRONG.items(), strict=False):
        assert words in line, code_line
