# SPDX-License-Identifier: BSD-3-Clause
"""The session of a simulation in Python: what may be shared, what is refused, its ends."""

import json
import sys
from importlib.util import find_spec

import limits
import numpy as np
import pytest
from conftest import mpirun, read_table
from insitu import PROGRAMS, environment, needs_modules, report_of

pytestmark = needs_modules

CONFIGURATION = """
output: results
units: {time: s}
meshes:
  grid: {kind: uniform, cells: [6, 5, 4]}
  atoms: {kind: particles, units: Å}
fields:
  density: {mesh: grid, type: float64, units: g}
  flow: {mesh: grid, type: float32, components: 3}
  position: {mesh: atoms, type: float64, components: 3}
  id: {mesh: atoms, type: int64}
analyses:
  one: {stages: [{statistics: {fields: [density]}}]}
"""


@pytest.fixture
def run(build, tmp_path):
    (tmp_path / "run.yaml").write_text(CONFIGURATION)

    def run(code, check=True, ranks=1):
        done = mpirun(
            ranks,
            sys.executable,
            PROGRAMS / "shares.py",
            json.dumps([code]),
            env=environment(build),
            cwd=tmp_path,
            check=check,
        )
        return done.stdout

    return run


@pytest.fixture(scope="module")
def pieces(build, tmp_path_factory):
    """What REFUSED and ACCEPTED say, run in one process; alone what a process that ended left."""
    folder = tmp_path_factory.mktemp("pieces")
    (folder / "run.yaml").write_text(CONFIGURATION)

    def shares(codes, check):
        words = [sys.executable, PROGRAMS / "shares.py", json.dumps(codes)]
        return mpirun(1, *words, env=environment(build), cwd=folder, check=check).stdout

    codes = [*REFUSED, *(code + KEEPS for code in ACCEPTED)]
    *found, _ = shares(codes, False).split("--- end of piece ---\n")
    found = dict(zip(codes, found, strict=False))
    return lambda code: found[code] if code in found else shares([code], True)


REFUSED = {
    "s.share('densty', density)": "unknown field 'densty'; did you mean 'density'? (the catalogue",
    "s.share('density', density[0])": "of shape (5, 4); give one extent for each of the 3 axes",
    "s.share('density', density, lo=(0, 0))": "shared with lo=(0, 0); mesh 'grid' has 3 axes",
    "s.share('density', density, ghosts=-1)": "with ghosts=-1; give a number, or one for each",
    "s.share('density', density, ghosts=(1, 1))": "one for each of the 3 axes of mesh 'grid'",
    "s.share('density', density, ghosts=2)": (
        "with ghosts=2 as an array of shape (6, 5, 4), which along axis 2 has no cells between"
    ),
    "s.share('position', position, ghosts=1)": "only boxes of cells have ghost cells",
    "s.share('density', [[1.0]])": "shared as a list; share an array",
    "s.share('density', 3.0)": "shared as a float; share an array",
    "s.share('density', density.astype('complex128'))": "elements of type <c16; fields have int32",
    "s.share('density', density.astype('>f8'))": "elements of type >f8",
    "s.share('density', density.astype('float16'))": "elements of type <f2",
    "s.share('density', density.astype('float32')); s.ready()": "density",
    "s.share('density', density, lo=(1, 0, 0)); s.ready()": "density",
    "s.share('density', density, lo=(-1, 0, 0)); s.ready()": "density",
    "s.ready()": "density",
    "s.share('flow', np.zeros((6, 5, 4, 2), 'f'))": "and 3 components last",
    "s.share('flow', np.zeros((6, 5, 4), 'f'))": "and 3 components last",
    "s.share('position', position, lo=(0,))": "of particles, which have no lo",
    "s.share('position', position[:, :2])": "give (count, 3)",
    "s.share('position', position[::2])": "with gaps (strides (48, 8))",
    "s.share('id', position)": "give (count,)",
    "s.set_units('denisty', 'g')": "'denisty' is not a field",
    "s.set_domain('atoms', (0, 0), (1, 1, 1))": "set_domain",
    "s.allocate('density', (6, 5, -4))": "was asked for in the shape (6, 5, -4)",
    "s.share('density', type('A', (), {'__array__': lambda *a, **k: np.ones((6, 5, 4))})())": (
        "shared as a A; share an array"
    ),
    "s.close(); s.step(0, 0.0)": "the session is closed",
    "s.checkpoint('run.yaml/folder')": "run.yaml/.folder",
}


@pytest.mark.parametrize("code", REFUSED)
def test_refused(pieces, code):
    said = pieces(code).splitlines()[0]
    assert REFUSED[code] in said, said
    assert said.startswith("pillion.errors.Error: ") or "TypeError" in said


ACCEPTED = {
    "s.share('density', density)": None,
    "s.share('density', density.tolist and memoryview(density))": None,
    "s.share('density', np.asfortranarray(density))": None,
    "s.share('density', density[..., None])": None,
    "s.share('density', np.broadcast_to(np.float64(1), (6, 5, 4)))": None,
    "s.share('density', density[:3]); s.share('density', density[3:], lo=(3, 0, 0), block=1)": None,
    "s.share('density', density[::-1, :, ::-1])": None,
    "s.share('density', np.ones((8, 9, 4)), ghosts=(1, 2, 0))": None,
    "s.share('density', np.ones((8, 7, 6)), lo=(0, 0, 0), ghosts=1)": None,
}


KEEPS = "\ndensity[...] = 1\nimport gc; gc.collect()\nfor i in range(3): s.step(i, 0.5 * i)"


@pytest.mark.parametrize("code", ACCEPTED)
def test_accepted(pieces, code):
    """And the memory stays although nobody else keeps the array."""
    assert pieces(code + KEEPS) == "closed\n"


def test_rank_without_blocks(run):
    """Some ranks may have nothing."""
    code = "if s.communicator.rank == 0: s.share('density', density)\ns.step(0, 0.0)"
    assert run(code, ranks=3) == "closed\n" * 3


def test_what_the_session_says(run, tmp_path):
    said = run(
        "s.share('density', density + 2)\n"
        "for i in range(4): s.step(i, 0.5 * i)\n"
        "print(s.fields['flow'])\nprint(s.progress)\nprint(s.is_due(5, 2.5), s.report_path)\n"
        "s.close(); s.close()\n"
    ).splitlines()
    assert said[0] == (
        "Field(name='flow', mesh='grid', mesh_kind='uniform', type='float32', components=3, "
        "cells=(6, 5, 4), used=False, order=0, levels=1, is_partial=False, dimensions=3, "
        "is_at_points=False, point_axes=0, is_constant=False, units='')"
    )
    assert said[1].startswith("Progress(step=3, time=1.5,")
    assert said[2] == f"True {tmp_path}/results/report.json"
    table = read_table(tmp_path / "results/one/statistics_density.csv")
    assert table["mean"].tolist() == [2.0] * 4
    assert table.head["time_units"] == "s"
    assert report_of(tmp_path)["run"]["steps"] == 4


def python(build, folder, code, ranks=1, check=True):
    return mpirun(
        ranks, sys.executable, "-c", code, env=environment(build), cwd=folder, check=check
    )


def test_particles(build, tmp_path):
    """Radial distances of a known lattice, shared by two ranks of different counts."""
    (tmp_path / "run.yaml").write_text(
        "output: results\nmeshes: {atoms: {kind: particles, units: Å}}\n"
        "fields:\n  position: {mesh: atoms, type: float64, components: 3}\n"
        "  species: {mesh: atoms, type: int32}\n"
        "analyses:\n  g: {stages: [{rdf: {type: species, species: {A: [1]}, pairs: [[A, A]],"
        " cutoff: 1.2, bins: 12}}]}\n"
    )
    done = python(
        build,
        tmp_path,
        "import numpy as np, pillion\n"
        "with pillion.open('run.yaml') as s:\n"
        "    r = s.communicator.rank\n"
        "    g = np.stack(np.meshgrid(*[np.arange(4.0)] * 3, indexing='ij'), -1).reshape(-1, 3)\n"
        "    mine = np.ascontiguousarray(g[:10] if r == 0 else g[10:])\n"
        "    kinds = np.ones(len(mine), 'int32')\n"
        "    s.set_domain('atoms', (0, 0, 0), (4, 4, 4))\n"
        "    s.share('position', mine)\n"
        "    s.share('species', kinds)\n"
        "    s.step(0, 0.0)\n",
        ranks=2,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    (path,) = (tmp_path / "results/g").glob("*.csv")
    table = read_table(path)
    (name,) = [n for n in table.columns if n.startswith("n_")]
    assert table[name][-1] == pytest.approx(6), "each atom of the lattice has six neighbours"


def test_configuration_and_parameters(build, tmp_path):
    (tmp_path / "run.yaml").write_text(CONFIGURATION.replace("[6, 5, 4]", "[$n, 5, 4]"))
    code = (
        "import numpy as np, pillion\n"
        "said = []\n"
        "with pillion.open('run.yaml', parameters={'n': 3}, overrides={'output': 'other'},\n"
        "                  log=lambda level, text: said.append((level, text))) as s:\n"
        "    s.share('density', np.ones((3, 5, 4)))\n"
        "    s.step(0, 0.0)\n"
        "    print(s.fields['density'].cells, s.report_path)\n"
    )
    assert python(build, tmp_path, code).stdout == f"(3, 5, 4) {tmp_path}/other/report.json\n"
    assert (tmp_path / "other/report.json").exists()
    assert not (tmp_path / "results").exists()


@pytest.mark.parametrize("change", [("analyses", "analises"), ("density]", "densty]")])
def test_wrong_configuration(build, tmp_path, change):
    """Every rank raises, or is ended by the launcher; none hangs."""
    (tmp_path / "run.yaml").write_text(CONFIGURATION.replace(*change))
    code = "import pillion\npillion.open('run.yaml')"
    done = python(build, tmp_path, code, ranks=3, check=False)
    assert done.returncode != 0
    assert "pillion.errors.Error: run.yaml:" in done.stderr and "mean" in done.stderr


def test_forgotten_session(build, tmp_path):
    """It closes itself while stages in Python can still work."""
    (tmp_path / "run.yaml").write_text(CONFIGURATION)
    code = (
        "import numpy as np, pillion\n"
        "s = pillion.open('run.yaml')\n"
        "s.share('density', np.ones((6, 5, 4)))\n"
        "s.step(0, 0.0)\n"
    )
    python(build, tmp_path, code)
    assert report_of(tmp_path)["run"]["steps"] == 1


def test_exception_in_the_block(build, tmp_path):
    """Its traceback is seen at once; what was published is finished."""
    (tmp_path / "run.yaml").write_text(CONFIGURATION)
    code = (
        "import numpy as np, pillion\n"
        "with pillion.open('run.yaml') as s:\n"
        "    s.share('density', np.ones((6, 5, 4)))\n"
        "    s.step(0, 0.0)\n"
        "    raise ValueError('the solver diverged')\n"
    )
    done = python(build, tmp_path, code, check=False)
    assert done.returncode == 1 and "ValueError: the solver diverged" in done.stderr
    assert read_table(tmp_path / "results/one/statistics_density.csv")["step"].tolist() == [0]


def test_sidecars_leave_by_themselves_or_return(build, tmp_path):
    """With serve=False the rank decides what it does afterwards."""
    (tmp_path / "run.yaml").write_text("sidecars: {ranks: 1}\n" + CONFIGURATION)
    code = (
        "import numpy as np, pillion, sys\n"
        "s = pillion.open('run.yaml', serve={serve})\n"
        "if s.serve():\n    print(f'served {{s.is_open}}\\n', end='', flush=True); sys.exit()\n"
        "s.share('density', np.ones((6, 5, 4)))\n"
        "s.step(0, 0.0)\ns.close()\nprint('simulated\\n', end='')\n"
    )
    for serve, expected in ((True, ["simulated"]), (False, ["served False", "simulated"])):
        said = python(build, tmp_path, code.format(serve=serve), ranks=2).stdout
        assert sorted(said.splitlines()) == expected


def test_two_sessions_in_one_process(build, tmp_path):
    (tmp_path / "a.yaml").write_text(CONFIGURATION.replace("results", "a"))
    (tmp_path / "b.yaml").write_text(CONFIGURATION.replace("results", "b"))
    code = (
        "import numpy as np, pillion\n"
        "with pillion.open('a.yaml') as a, pillion.open('b.yaml') as b:\n"
        "    for s, v in ((a, 1), (b, 2)):\n"
        "        s.share('density', np.full((6, 5, 4), float(v)))\n"
        "    for i in range(2): a.step(i, i); b.step(i, i)\n"
    )
    python(build, tmp_path, code)
    for name, value in (("a", 1.0), ("b", 2.0)):
        table = read_table(tmp_path / name / "one/statistics_density.csv")
        assert np.all(table["mean"] == value)


@pytest.mark.skipif(find_spec("ruff") is None, reason="there is no ruff")
def test_stubs_are_those_of_the_modules(build):
    tool = PROGRAMS.parents[2] / "tools/make_stubs.py"
    done = limits.run([sys.executable, tool, build, "--check"], timeout=120)
    assert done.returncode == 0


def test_exception_that_is_handled(build, tmp_path):
    """A session that ended with an exception does not close itself when it is forgotten."""
    (tmp_path / "run.yaml").write_text(CONFIGURATION)
    code = (
        "import gc, numpy as np, pillion\n"
        "from mpi4py import MPI\n"
        "def work():\n"
        "    with pillion.open('run.yaml') as s:\n"
        "        s.share('density', np.ones((6, 5, 4))[:3], (3 * s.communicator.rank, 0, 0))\n"
        "        s.step(0, 0.0)\n"
        "        if s.communicator.rank == 1: raise ValueError('only here')\n"
        "        MPI.COMM_WORLD.barrier()\n"
        "try:\n    work()\n"
        "except ValueError:\n"
        "    gc.collect(); print('caught', flush=True); MPI.COMM_WORLD.Abort(3)\n"
    )
    done = python(build, tmp_path, code, ranks=2, check=False)
    assert done.returncode == 3 and done.stdout == "caught\n"


@pytest.mark.drawn
@pytest.mark.parametrize("sidecars", [0, 1])
@pytest.mark.parametrize("leaves", ["raise ValueError('only here')", "sys.exit(3)"])
@pytest.mark.parametrize("block", ["with pillion.open('run.yaml') as s:", "if True:"])
def test_the_job_ends_if_one_rank_leaves(build, tmp_path, block, leaves, sidecars):
    """Soon, and with the place where it left."""
    head = f"sidecars: {{ranks: {sidecars}}}\n" if sidecars else ""
    (tmp_path / "run.yaml").write_text(head + CONFIGURATION)
    (tmp_path / "sim.py").write_text(
        "import sys, numpy as np, pillion\n"
        + ("" if "with" in block else "s = pillion.open('run.yaml')\n")
        + f"{block}\n"
        "    if s.communicator.rank == 0: s.share('density', np.ones((6, 5, 4)))\n"
        "    s.step(0, 0.0)\n"
        f"    if s.communicator.rank == 1: {leaves}\n"
        "    s.communicator.barrier()\n"
    )
    words = [sys.executable, "sim.py"]
    done = mpirun(
        2 + sidecars, *words, env=environment(build), cwd=tmp_path, check=False, timeout=30
    )
    assert done.returncode != 0
    assert leaves in done.stderr and 'sim.py", line' in done.stderr
    assert "pillion: rank 1 has ended with" in done.stderr


@pytest.mark.parametrize("sidecars", [0, 1])
def test_all_ranks_that_fail_lose_nothing(build, tmp_path, sidecars):
    head = f"sidecars: {{ranks: {sidecars}}}\n" if sidecars else ""
    (tmp_path / "run.yaml").write_text(head + CONFIGURATION)
    code = (
        "import numpy as np, pillion\n"
        "s = pillion.open('run.yaml')\n"
        "if s.communicator.rank == 0: s.share('density', np.ones((6, 5, 4)))\n"
        "s.step(0, 0.0)\n"
        "raise ValueError('all diverged')\n"
    )
    done = python(build, tmp_path, code, ranks=2 + sidecars, check=False)
    assert done.returncode == 1 and "the job is ended" not in done.stderr
    assert read_table(tmp_path / "results/one/statistics_density.csv")["step"].tolist() == [0]


@pytest.mark.parametrize("end", ["del s", "s.close()", "s.close(); s.close()", "pass"])
def test_session_after_the_end_of_mpi(build, tmp_path, end):
    """MPI has closed it."""
    (tmp_path / "run.yaml").write_text(CONFIGURATION)
    code = (
        "import numpy as np, pillion\n"
        "from mpi4py import MPI\n"
        "s = pillion.open('run.yaml')\n"
        "if s.communicator.rank == 0: s.share('density', np.ones((6, 5, 4)))\n"
        "s.step(0, 0.0)\n"
        f"MPI.Finalize()\n{end}\n"
        "print('well')"
    )
    assert python(build, tmp_path, code, ranks=2).stdout.count("well") == 2
    assert report_of(tmp_path)["run"]["steps"] == 1


def test_mpi_is_not_begun_without_a_session(build, tmp_path):
    code = (
        "import atexit, sys\n"
        "atexit.register(lambda: print('mpi4py.MPI' in sys.modules))\n"
        "import pillion\npillion.open, pillion.Session\n"
    )
    assert python(build, tmp_path, code).stdout == "False\n"


def test_names_of_the_program_are_left_alone(build, tmp_path):
    """A stage in Python is loaded into a program that has a name `sys` of its own."""
    stage = "import pillion\n@pillion.stage('density')\ndef f(step): pass\n"
    (tmp_path / "st.py").write_text(stage)
    text = CONFIGURATION.replace("{statistics: {fields: [density]}}", "{python: {call: 'st.py:f'}}")
    (tmp_path / "run.yaml").write_text(text)
    code = (
        "import sys, numpy as np, pillion\n"
        "folder = 'mine'\n"
        "with pillion.open('run.yaml') as s:\n"
        "    s.share('density', np.ones((6, 5, 4)))\n"
        "    s.step(0, 0.0)\n"
        "print(sys.argv, folder)"
    )
    assert python(build, tmp_path, code).stdout == "['-c'] mine\n"


def test_interrupt_during_a_stage(build, tmp_path):
    """Ctrl-C ends the program and not the analysis alone."""
    (tmp_path / "st.py").write_text(
        "import pillion, os, signal, time\n@pillion.stage('density')\n"
        "def f(step):\n    os.kill(os.getpid(), signal.SIGINT); time.sleep(5)\n"
    )
    text = CONFIGURATION.replace("{statistics: {fields: [density]}}", "{python: {call: 'st.py:f'}}")
    (tmp_path / "run.yaml").write_text(text)
    code = (
        "import numpy as np, pillion\n"
        "try:\n"
        "    with pillion.open('run.yaml') as s:\n"
        "        s.share('density', np.ones((6, 5, 4)))\n"
        "        s.step(0, 0.0)\n"
        "except KeyboardInterrupt: print('interrupted')\n"
    )
    assert python(build, tmp_path, code).stdout == "interrupted\n"


def test_a_stage_warns_once_of_each_topic(build, tmp_path):
    (tmp_path / "st.py").write_text(
        "import pillion\n@pillion.stage('density')\n"
        "def f(step):\n"
        "    step.warn('range', f'the density left its range at step {step.index}')\n"
        "    if step.index == 2: step.warn('other', 'there is something else')\n"
    )
    text = CONFIGURATION.replace("{statistics: {fields: [density]}}", "{python: {call: 'st.py:f'}}")
    (tmp_path / "run.yaml").write_text(text)
    code = (
        "import numpy as np, pillion\n"
        "with pillion.open('run.yaml') as s:\n"
        "    s.share('density', np.ones((6, 5, 4)))\n"
        "    for i in range(4): s.step(i, 0.0)\n"
    )
    done = python(build, tmp_path, code)
    first = "analysis 'one', stage 'python': the density left its range at step 0"
    assert report_of(tmp_path)["warnings"] == [
        first,
        "analysis 'one', stage 'python': there is something else",
    ]
    assert done.stderr.count("left its range") == 1 and first in done.stderr


def test_products_with_names_that_begin_alike(build, tmp_path):
    (tmp_path / "st.py").write_text(
        "import pillion\n@pillion.stage('density')\n"
        "def f(step):\n"
        "    step.table('map', {'a': [1]}, per_step=True)\n"
        "    step.text('map.txt', 'x')\n"
        "    step.table('map_b', {'a': [1]})\n"
    )
    text = CONFIGURATION.replace("{statistics: {fields: [density]}}", "{python: {call: 'st.py:f'}}")
    (tmp_path / "run.yaml").write_text(text)
    code = (
        "import numpy as np, pillion\n"
        "with pillion.open('run.yaml') as s:\n"
        "    s.share('density', np.ones((6, 5, 4)))\n"
        "    for i in range(3): s.step(i, 0.0)\n"
    )
    python(build, tmp_path, code)
    paths = {p["path"] for p in report_of(tmp_path)["products"]}
    assert paths == {"one/map.000000002.csv", "one/map.txt", "one/map_b.csv"}


MISUSED = """
import mpi4py
mpi4py.rc.initialize = False
from mpi4py import MPI
import pillion

def refused(text, *comm):
    try:
        pillion.open("run.yaml", *comm)
    except pillion.Error as error:
        assert text in str(error), error
        return
    raise AssertionError(text)

refused("MPI.Init")
MPI.Init()
refused("MPI_COMM_NULL", MPI.COMM_NULL)
half = MPI.COMM_WORLD.Split(MPI.COMM_WORLD.rank)
both = half.Create_intercomm(0, MPI.COMM_WORLD, 1 - MPI.COMM_WORLD.rank)
refused("intercommunicator", both)
both.Free()
half.Free()
MPI.Finalize()
refused("MPI.Finalize")
print("done")
"""


def test_misuse_of_mpi(build, tmp_path):
    assert python(build, tmp_path, MISUSED, ranks=2).stdout == "done\n" * 2


def test_a_with_block_that_cannot_close_warns(run):
    """The program continues: it may have results of its own to write."""
    said = run(
        "s.share('density', density)\ns.step(0, 0.0)\n"
        "import shutil; shutil.rmtree('results'); open('results', 'w').close()"
    )
    assert said == "closed\n"


LEVELS = """
output: results
meshes: {grid: {kind: uniform, cells: [4, 4], levels: {count: 2}}}
fields:
  density: {mesh: grid, type: float64}
analyses:
  one: {stages: [{statistics: {fields: [density]}}]}
"""


def test_an_exception_among_blocks_is_not_published(build, tmp_path):
    """Nor does a wrong name later keep analyses from what they need."""
    (tmp_path / "run.yaml").write_text(LEVELS)
    code = (
        "import numpy as np, pillion\n"
        "def share(s, fails):\n"
        "    try:\n"
        "        with s.blocks('density'):\n"
        "            s.share('density', np.ones((4, 4)))\n"
        "            if fails: raise RuntimeError\n"
        "            s.share('density', np.ones((2, 2)), (2, 2), level=1)\n"
        "    except RuntimeError: pass\n"
        "with pillion.open('run.yaml') as s:\n"
        "    for i in range(4):\n"
        "        share(s, i == 1)\n"
        "        if i == 3:\n"
        "            with s.blocks('densty'): pass\n"
        "        s.step(i, i)\n"
        "    try:\n"
        "        with s.blocks('density'), s.blocks('density'): pass\n"
        "    except pillion.Error as e: print(e)\n"
    )
    done = python(build, tmp_path, code)
    assert "are being shared already" in done.stdout
    assert "begun and not ended" in done.stderr and "did you mean 'density'" in done.stderr
    table = read_table(tmp_path / "results/one/statistics_density.csv")
    assert table["step"].tolist() == [0, 2, 3]
    assert table["count"].tolist() == [15 + 4] * 3
