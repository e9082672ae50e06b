# SPDX-License-Identifier: BSD-3-Clause
"""Values at faces and edges of staggered grids at every placement, against NumPy on the whole mesh:
each cell gives its volume in equal parts to its faces across an axis, or its edges along one."""

import itertools
from pathlib import Path

import faces_program as program
import numpy as np
import pillion
import pytest
from conftest import read_table
from programs import PLACES, results_of, runner

HERE = Path(__file__).parent
AT = {
    (1, 0, 0): ", centering: face, axis: x",
    (0, 1, 0): ", centering: face, axis: y",
    (0, 0, 1): ", centering: face, axis: z",
    (0, 1, 1): ", centering: edge, axis: x",
    (1, 1, 0): ", centering: edge, axis: z",
    (0, 0, 0): "",
    (1, 0): ", centering: face, axis: x",
    (0, 1): ", centering: edge, axis: x",  # of two axes
}
MESH_OF = {program.GRID: "grid", program.PLANE: "plane"}
CATALOGUE = f"""
meshes:
  grid: {{kind: uniform, cells: {list(program.GRID)}, length: [3.5, 6, 1], periodic: true}}
  plane: {{kind: rectilinear, coordinates: {[faces.tolist() for faces in program.FACES]}}}
fields:
""" + "".join(
    f"  {name}: {{mesh: {MESH_OF[cells]}, type: float64{AT[more]}}}\n"
    for name, (cells, more) in program.FIELDS.items()
)
TEXT = f"""
output: results
SIDECARS
{CATALOGUE}
analyses:
  means:
    every: 1 steps
    stages:
      - magnitude: {{field: u, into: size, at: simulation}}
      - statistics: {{fields: {[*program.FIELDS, "size"]}}}
      - histogram: {{field: ex, bins: 4, range: [-1, 2]}}
      - average: {{field: u, into: u_c}}
      - average: {{field: ez, into: ez_c}}
      - statistics: {{fields: [u_c, ez_c]}}
  spectrum:
    every: 1 steps
    stages: [power_spectrum: {{field: c}}]
"""
MORE = """
  python:
    every: 1 steps
    stages:
      - magnitude: {field: u, into: size_of_u, at: simulation}
      - python: {call: "STAGES/faces.py:look"}
      - statistics: {fields: [half]}
  files:
    every: 1 steps
    stages:
      - write_raw: {fields: [u, v, ex, c], durable: false}
      - write_raw: {fields: [pv], durable: false}
"""
run = runner("faces_program.py")


@pytest.fixture(scope="module", params=PLACES)
def results(request, build, tmp_path_factory):
    folder = tmp_path_factory.mktemp("faces")
    run(folder, build, request.param, TEXT + MORE)
    return results_of(folder, program.STEPS)


def whole(name, step):
    cells = program.FIELDS[name][0]
    return program.values(name, [0] * len(cells), list(cells), step)


def weights(name):
    """Each cell gives its volume in equal parts to the values around it."""
    cells, more = program.FIELDS[name]
    if cells == program.GRID:
        volumes = np.full(cells, 3.5 * 6 / np.prod(cells))
    else:
        volumes = np.multiply.outer(*[np.diff(faces) for faces in program.FACES])
    out = np.zeros([n + m for n, m in zip(cells, more, strict=True)])
    for corner in itertools.product(*[range(m + 1) for m in more]):
        at = tuple(slice(c, c + n) for c, n in zip(corner, cells, strict=True))
        out[at] += volumes / 2 ** sum(more)
    return out


def check(table, step, values, weights):
    mean = (values * weights).sum() / weights.sum()
    if "volume" in table.columns:
        assert table["volume"][step] == pytest.approx(weights.sum(), rel=1e-12)
    assert table["mean"][step] == pytest.approx(mean, rel=1e-11, abs=1e-13)
    spread = np.sqrt((weights * (values - mean) ** 2).sum() / weights.sum())
    assert table["standard_deviation"][step] == pytest.approx(spread, rel=1e-11)
    assert (table["min"][step], table["max"][step]) == (values.min(), values.max())


def test_faces_and_edges_weigh_what_cells_give_them(results):
    tables = {
        name: read_table(results / f"means/statistics_{name}.csv")
        for name in (*program.FIELDS, "size", "u_c", "ez_c")
    }
    half = read_table(results / "python/statistics_half.csv")
    look = read_table(results / "python/look.csv")
    for step in range(program.STEPS):
        for name in program.FIELDS:
            check(tables[name], step, whole(name, step), weights(name))
        u, ez = whole("u", step), whole("ez", step)
        check(tables["size"], step, abs(u), weights("u"))
        check(half, step, u / 2, weights("u"))
        check(tables["u_c"], step, (u[1:] + u[:-1]) / 2, weights("c"))
        middle = (ez[1:, 1:] + ez[1:, :-1] + ez[:-1, 1:] + ez[:-1, :-1]) / 4
        assert tables["ez_c"]["mean"][step] == pytest.approx(middle.mean(), rel=1e-12)
        bins = read_table(results / f"means/histogram_ex.{step:09}.csv")
        found, _ = np.histogram(whole("ex", step), 4, (-1, 2), weights=weights("ex"))
        np.testing.assert_allclose(bins["volume"], found, rtol=1e-12)
        divergence = sum(np.diff(whole(n, step), axis=a) for a, n in enumerate("uvw"))
        assert look["divergence"][step] == pytest.approx(abs(divergence).max(), rel=1e-12)


def test_raw_files_are_read(results):
    opened = pillion.results(results)
    for dataset, name in [
        ("grid", "u"),
        ("grid", "v"),
        ("grid", "ex"),
        ("grid", "c"),
        ("plane", "pv"),
    ]:
        found = opened[f"files/{dataset}"][name]
        more = program.FIELDS[name][1]
        axes = [("point_" if m else "") + axis for axis, m in zip("xyz", more, strict=False)]
        assert found.dims == ("step", *axes[::-1])
        for step in range(program.STEPS):
            np.testing.assert_array_equal(np.asarray(found[step]).T, whole(name, step))


REFUSED = [
    ("axis: x", "axis: q", "one of the 3 of mesh 'grid', x, y or z in their order, found 'q'"),
    ("face, axis: x", "face", "field 'u' lacks 'axis'"),
    ("length: [3.5, 6, 1]", "length: [3.5, 6, 1], levels: {count: 2}",
     "with all their cells, have values at faces; mesh 'grid' has levels of refinement"),
    ("spectrum: {field: c}", "spectrum: {field: u}",
     "field 'u' has values at faces of the uniform mesh 'grid'; stage 'power_spectrum' reads"),
]  # fmt: skip


@pytest.mark.parametrize(("old", "new", "message"), REFUSED)
def test_refusals(build, tmp_path, old, new, message):
    assert old in TEXT
    said = run(tmp_path, build, "one", TEXT.replace(old, new, 1), check=False)
    assert message in said, said
