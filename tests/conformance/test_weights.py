# SPDX-License-Identifier: BSD-3-Clause
"""The table of weights: a mean in every stage that has one, and in conditions, on a mesh of every
kind, against plain sums. Whatever averages weighs alike."""

import os
import sys
from pathlib import Path

import pytest
import weighed_meshes as meshes
from conftest import mpirun, read_table

BUILD = Path(os.environ.get("PILLION_BUILD", "build")).resolve()
pytestmark = pytest.mark.skipif(
    not any((BUILD / "python/pillion").glob("_core*.so")), reason="no modules for Python"
)

HERE = Path(__file__).parent
KINDS = meshes.kinds()
NEAR = 1e-9  # what a condition may be off

ANALYSES = """
analyses:
  statistics: {{stages: [statistics: {{fields: [f]}}]}}
  histogram: {{stages: [histogram: {{field: f, relative_to_mean: true, range: auto, bins: 5}}]}}
  mean: {{when: mean(f) > {m0!r} and mean(f) < {m1!r}, stages: [statistics: {{fields: [f]}}]}}
  rms: {{when: rms(f) > {r0!r} and rms(f) < {r1!r}, stages: [statistics: {{fields: [f]}}]}}
  not_mean: {{when: mean(f) <= {m0!r} or mean(f) >= {m1!r}, stages: [statistics: {{fields: [f]}}]}}
"""
AVERAGE = "  average: {stages: [average: {field: f, into: g}, statistics: {fields: [g]}]}\n"


def configuration(name: str, kind: meshes.Kind) -> str:
    mean, rms = kind.exact()
    limits = {"m0": mean * (1 - NEAR), "m1": mean * (1 + NEAR)}
    limits |= {"r0": rms * (1 - NEAR), "r1": rms * (1 + NEAR)}
    head = f"output: results\nmeshes: {{m: {{{kind.mesh}}}}}\n"
    text = f"{head}fields:\n  f: {{mesh: m, {kind.field}}}\n{kind.more}"
    return text + ANALYSES.format(**limits) + (AVERAGE if name in AVERAGED else "")


AVERAGED = ("points of cells", "spectral")


@pytest.fixture(scope="module")
def folder(build, tmp_path_factory):
    """One launch for all kinds."""
    folder = tmp_path_factory.mktemp("weights")
    for name, kind in KINDS.items():
        (folder / name.replace(" ", "_")).mkdir()
        text = configuration(name, kind)
        (folder / name.replace(" ", "_") / "run.yaml").write_text(text)
    program = [sys.executable, HERE / "weighed_program.py"]
    env = {"PYTHONPATH": build / "python", "OMP_NUM_THREADS": "1"}
    mpirun(2, *program, timeout=120, env=env, cwd=folder)
    return folder


def results(folder: Path, name: str) -> Path:
    return folder / name.replace(" ", "_") / "results"


def rows(folder: Path, name: str, analysis: str) -> int:
    """How often an analysis ran. A condition is known one step late, so 3 of 4 times at most."""
    path = results(folder, name) / analysis / "statistics_f.csv"
    return len(read_table(path)) if path.exists() else 0


def found(folder: Path, name: str, what: str) -> float:
    of = results(folder, name)
    if what == "histogram":
        return read_table(of / "histogram/histogram_f.000000003.csv").attributes["mean_of_field"]
    field = "g" if what == "average" else "f"
    return read_table(of / what / f"statistics_{field}.csv")["mean"][-1]


@pytest.mark.parametrize("what", ["statistics", "histogram"])
@pytest.mark.parametrize("name", KINDS)
def test_mean_of_a_stage(folder, name, what):
    assert found(folder, name, what) == pytest.approx(KINDS[name].exact()[0], rel=1e-12)


@pytest.mark.parametrize("name", AVERAGED)
def test_mean_of_averages(folder, name):
    """Averages over cells or elements, weighed, have the mean of what they are averages of."""
    assert found(folder, name, "average") == pytest.approx(KINDS[name].exact()[0], rel=1e-12)


@pytest.mark.parametrize("name", KINDS)
def test_rms_of_a_stage(folder, name):
    table = read_table(results(folder, name) / "statistics/statistics_f.csv")
    assert table["rms"][-1] == pytest.approx(KINDS[name].exact()[1], rel=1e-12)


@pytest.mark.parametrize("name", KINDS)
def test_conditions_compare_that_mean(folder, name):
    assert [rows(folder, name, a) for a in ("mean", "rms", "not_mean")] == [3, 3, 0]


def test_the_table(folder):
    """Weights matter on these meshes: by count, most means would be others by more than 1 %."""
    lines = [f"{'mesh':30} {'plain sums':>14} {'by count':>10}  statistics  histogram  condition"]
    differ = 0
    for name, kind in KINDS.items():
        exact, plain = kind.exact()[0], float(kind.values.mean())
        differ += abs(plain / exact - 1) > 0.01
        errors = [found(folder, name, what) / exact - 1 for what in ("statistics", "histogram")]
        holds = "holds" if rows(folder, name, "mean") == 3 else "FAILS"
        lines.append(
            f"{name:30} {exact:14.9f} {plain:10.4f}  {errors[0]:10.1e} {errors[1]:10.1e}  {holds}"
        )
    print("\n".join(lines))
    assert differ >= 9
