# SPDX-License-Identifier: BSD-3-Clause
"""Values at the nodes of quadratic cells: means and deviations against the integrals of scikit-fem,
and counts that do not depend on how many ranks have a node."""

import json
import os
import sys
from pathlib import Path

import numpy as np
import pytest
from conftest import mpirun, read_table
from datasets import read_raw
from vtkmodules import vtkCommonDataModel

fem = pytest.importorskip("finite_elements", reason="scikit-fem is not installed")
skfem = pytest.importorskip("skfem")
HERE = Path(__file__).parent
BINS = 12


def text() -> str:
    meshes = "".join(
        f"  {name}: {{kind: unstructured, dimensions: {kind.dimensions}}}\n"
        for name, kind in fem.KINDS.items()
    )
    fields = "".join(
        f"  {name}_u: {{mesh: {name}, type: float64, centering: point}}\n" for name in fem.KINDS
    )
    stages = "".join(
        f"      - average: {{field: {name}_u, into: {name}_mean}}\n"
        f"      - statistics: {{fields: [{name}_u]}}\n"
        f"      - histogram: {{field: {name}_u, bins: {BINS}, range: [-9, 9], means: true}}\n"
        f"      - write_raw: {{fields: [{name}_mean], durable: false}}\n"
        for name in fem.KINDS
    )
    stages += "      - slice: {field: tet10_u, axis: z, position: 0.3, pixels: 60}\n"
    head = f"output: results\nmeshes:\n{meshes}fields:\n{fields}analyses:\n"
    return f"{head}  a:\n    every: 2 steps\n    stages:\n{stages}" + "".join(
        f"  {name}:\n    when: {condition}\n    stages: [statistics: {{fields: [tet_u]}}]\n"
        for name, (condition, _) in conditions().items()
    )


def conditions() -> dict[str, tuple[str, bool]]:
    """Just below and just above the right values, and whether they hold."""
    of = fem.integrals("tet")
    out = {}
    for name, value in {"mean": of.mean, "rms": np.hypot(of.mean, of.deviation)}.items():
        for side, holds in ((-1, True), (1, False)):
            condition = f"{name}(tet_u) > {value * (1 + side * 1e-11):.17g}"
            out[f"{name}_{'low' if holds else 'high'}"] = condition, holds
    return out


@pytest.fixture(scope="module")
def played(build, tmp_path_factory):
    """Results of one rank and of three."""
    out = {}
    for ranks in (1, 3):
        folder = tmp_path_factory.mktemp(f"elements{ranks}")
        (folder / "run.yaml").write_text(text())
        env = os.environ | {"PYTHONPATH": f"{build / 'python'}:{HERE}"}
        mpirun(ranks, sys.executable, HERE / "finite_elements_program.py", env=env, cwd=folder)
        out[ranks] = folder / "results/a"
    return out


@pytest.mark.parametrize("ranks", [1, 3])
@pytest.mark.parametrize("name", fem.KINDS)
def test_means_are_those_of_the_elements(played, name, ranks):
    wanted, u = fem.integrals(name), fem.values(name)
    table = read_table(played[ranks] / f"statistics_{name}_u.csv")
    assert table["volume"][0] == pytest.approx(wanted.volume, rel=1e-12)
    assert table["mean"][0] == pytest.approx(wanted.mean, rel=1e-12)
    rel = 1e-12 if fem.KINDS[name].has_exact_squares else 1e-6
    assert table["standard_deviation"][0] == pytest.approx(wanted.deviation, rel=rel)
    assert table["min"][0] == u.min() and table["max"][0] == u.max()
    assert table["count"][0] == len(u) and table["not_finite"][0] == 0


@pytest.mark.parametrize("name", fem.KINDS)
def test_histograms_do_not_depend_on_ranks(played, name):
    one, three = (
        read_table(played[ranks] / f"histogram_{name}_u.000000000.csv") for ranks in (1, 3)
    )
    counts, _ = np.histogram(fem.values(name), BINS, (-9, 9))
    wanted = fem.integrals(name)
    for table in (one, three):
        np.testing.assert_array_equal(table["count"], counts)
        assert table["volume"].sum() == pytest.approx(wanted.volume, rel=1e-12)
        good = table["volume"] > 0
        column = next(c for c in table.columns if c.startswith("mean"))
        integral = (table["volume"] * table[column])[good].sum()
        assert integral == pytest.approx(wanted.volume * wanted.mean, rel=1e-12)
    np.testing.assert_allclose(one["volume"], three["volume"], rtol=1e-12, atol=1e-15)


@pytest.mark.parametrize("ranks", [1, 3])
def test_conditions_compare_the_same_numbers(played, ranks):
    report = json.loads((played[ranks].parent / "report.json").read_text())
    found = {a["name"]: a["publications"] == 1 for a in report["analyses"] if a["name"] != "a"}
    assert found == {name: holds for name, (_, holds) in conditions().items()}


@pytest.mark.parametrize("name", fem.KINDS)
def test_averages_are_those_of_the_elements(played, name):
    wanted, seen = fem.integrals(name).cell_means, 0
    for blocks in (read_raw(played[3], f"{name}.raw.yaml")[0][1],):
        for block in blocks:
            ids = block["cells"]["ids"]
            np.testing.assert_allclose(block[f"{name}_mean"], wanted[ids], rtol=1e-12, atol=1e-13)
            seen += len(ids)
    assert seen == len(wanted)


def test_slices_use_the_nodes_of_edges(played):
    """Errors of pixels are a quarter of those of linear cells, by the interpolation of scikit-fem
    at their centres."""
    of = fem.basis("tet10")
    table = read_table(played[3] / "slice_tet10_u_z.000000000.csv")
    good = np.isfinite(table["mean"])
    at = np.stack([table["x"], table["y"], np.full(len(good), 0.3)])[:, good]
    # Pixels on the border are averages of a part.
    inside = np.abs(np.linalg.solve(np.eye(3) + 0.2 * np.eye(3, k=1), at) - 0.5).max(axis=0) < 0.48
    at = at[:, inside]
    exact = of.probes(at) @ fem.values("tet10")
    linear = skfem.Basis(of.mesh, skfem.ElementTetP1())
    corners = fem.values("tet10")[of.nodal_dofs[0]]
    error = np.sqrt(np.mean((table["mean"][good][inside] - exact) ** 2))
    assert error < 0.4 * np.sqrt(np.mean((linear.probes(at) @ corners - exact) ** 2))
    assert inside.sum() > 2000


def corners_of(name: str) -> np.ndarray:
    cell = getattr(vtkCommonDataModel, name)()
    count = cell.GetNumberOfPoints()
    return np.array(cell.GetParametricCoords())[: 3 * count].reshape(count, 3)


@pytest.mark.parametrize(
    ("lagrange", "quadratic", "axes"),
    [
        ("vtkLagrangeQuadrilateral", "vtkBiQuadraticQuad", 2),
        ("vtkLagrangeHexahedron", "vtkTriQuadraticHexahedron", 3),
        ("vtkLagrangeWedge", "vtkBiQuadraticQuadraticWedge", 3),
    ],
)
def test_lagrange_cells_of_order_2_have_the_nodes_of_quadratic_ones(lagrange, quadratic, axes):
    """Which is why they may have another number; of simplices VTK's documentation says it."""
    number = getattr(vtkCommonDataModel, lagrange).PointIndexFromIJK
    places = np.rint(2 * corners_of(quadratic)).astype(int)[:, :axes]
    order = (2,) * (2 if axes == 2 else 3)
    assert [number(*map(int, at), order) for at in places] == list(range(len(places)))


REFUSED = """
import json
import finite_elements as fem
import numpy as np
import pillion
from mpi4py import MPI

said = {}
places, cells = fem.nodes("tet")
for how in ("good", "order", "lagrange", "high", "ghosts"):
    with pillion.open("run.yaml", MPI.COMM_WORLD, overrides={"output": how}) as session:
        rank, ranks = session.communicator.rank, session.communicator.size
        own, used, local = fem.part("tet", rank, ranks)
        kind = 24
        if how == "order" and rank == 1:
            local = local[:, [0, 1, 2, 3, 9, 8, 5, 7, 6, 4]]  # that of DOLFINx
        if how in ("lagrange", "high"):
            kind = 71
        if how == "high":
            local = np.concatenate([local, local], axis=1)
        if how == "ghosts" and rank == 1:
            own = np.append(own[1:], 0)
        session.share_points("tet", places[used])
        session.share_cells(
            "tet",
            points=local.ravel().astype(np.int64),
            offsets=np.arange(len(own) + 1) * local.shape[1],
            types=np.full(len(own), kind, np.uint8),
            ids=own.astype(np.int64),
        )
        u = fem.values("tet")[used].copy()
        session.share("tet_u", u)
        try:
            session.ready()
            session.step(0, 0.0)
            said[how] = ""
        except pillion.Error as error:
            said[how] = str(error)
if rank == 0:
    print("SAID " + json.dumps(said))
"""


def test_cells_that_would_give_wrong_numbers_are_refused_before_the_first_step(build, tmp_path):
    (tmp_path / "run.yaml").write_text(
        "output: results\nmeshes: {tet: {kind: unstructured}}\n"
        "fields: {tet_u: {mesh: tet, type: float64, centering: point}}\n"
        "analyses: {a: {stages: [statistics: {fields: [tet_u]}]}}\n"
    )
    (tmp_path / "program.py").write_text(REFUSED)
    env = os.environ | {"PYTHONPATH": f"{build / 'python'}:{HERE}"}
    done = mpirun(2, sys.executable, "program.py", env=env, cwd=tmp_path)
    line = next(line for line in done.stdout.splitlines() if line.startswith("SAID "))
    said = json.loads(line.removeprefix("SAID "))
    assert said["good"] == said["lagrange"] == ""
    assert "rank 1: cell 0 is a quadratic tetrahedron whose point 4 is not between" in said["order"]
    assert "in the order of VTK's type 24" in said["order"]
    assert "cell 0 is a lagrange tetrahedron of 20 points" in said["high"]
    assert "kind: spectral" in said["high"]
    assert "cell id 0 of mesh 'tet' is shared by ranks 0 and 1, without a flag" in said["ghosts"]
    one, other = (
        read_table(tmp_path / how / "a/statistics_tet_u.csv") for how in ("good", "lagrange")
    )
    for column in ("count", "volume", "mean", "standard_deviation"):
        assert one[column].tolist() == other[column].tolist()
