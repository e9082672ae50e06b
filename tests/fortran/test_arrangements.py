# SPDX-License-Identifier: BSD-3-Clause
"""Arrays of a Fortran program are the fields that they say: each is written as it arrived, wherever
that happens, and every number must be at its place. x, y and z have different lengths, and numbers
that tell them apart, so that nothing can be in another order unseen.
"""

import json

import numpy as np
import pytest
import yaml
from conftest import mpirun
from datasets import read_raw

CELLS = (5, 4, 6)
ONE = {
    **{"packed": "float64", "ghosts": "float32", "every_other": "int32", "backwards": "int64"},
    **{"member": "float64", "like_c": "float64", "own": "float64"},
    **{"around": "int16", "unsigned": "uint16", "small": "int8"},
}
SEVERAL = {
    **{"first": ("float64", 3), "last": ("float32", 3)},
    **{"flat_first": ("int32", 2), "flat_last": ("float64", 2), "apart": ("float32", 3)},
}
PARTICLES = {
    **{"id": ("int64", 1), "position": ("float64", 3), "velocity": ("float64", 3)},
    **{"mass": ("float32", 1), "xyz": ("float64", 3)},
}
ELEMENTS = {
    "points": "float64, components: 2",
    "one_of_them": "float32",
    "flat": "int64, components: 2",
    "means": "int32, components: 2, centering: cell",
    "v": "float64, components: 2",
}
# Ranks of the simulation, and who writes.
PLACES = {
    "synchronous": (4, 0, "{ranks: 0}", "simulation"),
    "node": (2, 1, "{per_node: 1, memory: 16 MiB, when_full: wait}", "sidecar"),
    "network": (3, 2, "{ranks: 2, memory: 16 MiB, when_full: wait}", "sidecar"),
}


def configuration(sidecars: str, place: str) -> str:
    on_grid = [f"  {name}: {{mesh: grid, type: {kind}}}" for name, kind in ONE.items()]
    on_grid += [
        f"  {name}: {{mesh: grid, type: {kind}, components: {n}}}"
        for name, (kind, n) in SEVERAL.items()
    ]
    of_atoms = [
        f"  {name}: {{mesh: atoms, type: {kind}, components: {n}}}"
        for name, (kind, n) in PARTICLES.items()
    ]
    on_elements = [f"  {name}: {{mesh: hexa, type: {kind}}}" for name, kind in ELEMENTS.items()]
    stages = {"grid": [*ONE, *SEVERAL], "plane": ["sheet"], "rod": ["line"], "atoms": PARTICLES}
    stages["hexa"] = ELEMENTS
    lines = [
        f"output: results\nsidecars: {sidecars}\nmeshes:",
        f"  grid: {{kind: uniform, cells: {list(CELLS)}, length: [1, 1, 1]}}",
        "  plane: {kind: uniform, cells: [6, 5], length: [1, 1]}",
        "  rod: {kind: uniform, cells: [7], length: [1]}",
        "  atoms: {kind: particles}",
        "  hexa: {kind: spectral, order: 2, coordinates: corner}\nfields:",
        "  corner: {mesh: hexa, type: float64, components: 3}",
        *on_grid,
        *of_atoms,
        *on_elements,
        "  sheet: {mesh: plane, type: float32}",
        "  line: {mesh: rod, type: float32, components: 2}",
        "analyses:",
    ]
    for mesh, fields in stages.items():
        stage = f"write_raw: {{fields: [{', '.join(fields)}], durable: false, at: {place}}}"
        lines.append(f"  {mesh}:\n    every: 1 steps\n    stages:\n      - {stage}")
    return "\n".join(lines) + "\n"


@pytest.fixture(scope="module", params=PLACES)
def results(request, build, tmp_path_factory):
    program = build / "tests/fortran/arrangements"
    if not program.exists():
        pytest.skip("this build has no Fortran modules")
    simulating, extra, sidecars, place = PLACES[request.param]
    folder = tmp_path_factory.mktemp(request.param)
    text = configuration(sidecars, place)
    (folder / "pillion.yaml").write_text(text, encoding="utf-8")
    mpirun(simulating + extra, program, cwd=folder, timeout=60)
    report = json.loads((folder / "results/report.json").read_text(encoding="utf-8"))
    assert extra == 0 or report["sidecars"]["transport"] == request.param
    return folder / "results", simulating


def whole(blocks, field, cells):
    """The field over the whole mesh, indexed [component,] k, j, i; each cell must be there once."""
    values = seen = None
    for block in blocks:
        box = tuple(slice(a, b) for a, b in zip(block["lo"], block["hi"], strict=True))
        box = box[: len(cells)][::-1]
        shape = tuple(s.stop - s.start for s in box)
        part = block[field].reshape(*shape, -1)
        if values is None:
            values = np.zeros((*cells[::-1], part.shape[-1]), part.dtype)
            seen = np.zeros(cells[::-1], int)
        values[box] = part
        seen[box] += 1
    assert (seen == 1).all()
    return values


def expected(cells, components):
    """Cell (i, j, k) and component c, counted from 1, has 100 i + 10 j + k + 1000 c."""
    index = np.indices(cells[::-1])[::-1] + 1
    value = sum(w * axis for w, axis in zip((100, 10, 1), index, strict=False))
    if components == 1:
        return value[..., None]
    return value[..., None] + 1000 * np.arange(1, components + 1)


@pytest.mark.parametrize("field", [*ONE, *SEVERAL])
def test_every_arrangement_of_a_grid(results, field):
    steps = read_raw(results[0] / "grid", "grid.raw.yaml")
    assert list(steps) == [0, 1, 2]
    kind, components = SEVERAL.get(field, (ONE.get(field), 1))
    for _, blocks in steps.values():
        found = whole(blocks, field, CELLS)
        assert found.dtype == kind
        wanted = expected(CELLS, components)
        np.testing.assert_array_equal(found, wanted // 10 if field == "small" else wanted)


@pytest.mark.parametrize("mesh, field, cells", [("plane", "sheet", (6, 5)), ("rod", "line", (7,))])
def test_fewer_axes(results, mesh, field, cells):
    for _, blocks in read_raw(results[0] / mesh, f"{mesh}.raw.yaml").values():
        found = whole(blocks, field, cells)
        np.testing.assert_array_equal(found, expected(cells, found.shape[-1]))


def test_particles(results):
    folder, ranks = results
    for step, (_, blocks) in read_raw(folder / "atoms", "atoms.raw.yaml").items():
        counts = [0 if r == 1 and step == 0 else 5 + r + step for r in range(ranks)]
        wanted = np.concatenate([100 * r + 1 + np.arange(n) for r, n in enumerate(counts)])
        found = {f: np.concatenate([block[f] for block in blocks]) for f in PARTICLES}
        order = np.argsort(found["id"].ravel())
        np.testing.assert_array_equal(found["id"].ravel()[order], wanted)
        np.testing.assert_array_equal(found["mass"].ravel()[order], wanted)
        position = found["position"].reshape(-1, 3)[order]
        np.testing.assert_array_equal(position, wanted[:, None] + [0.1, 0.2, 0.3])
        np.testing.assert_array_equal(found["xyz"].reshape(-1, 3)[order], position)
        np.testing.assert_array_equal(found["velocity"].reshape(-1, 3)[order], -position)
    index = folder / "atoms/atoms_raw" / f"atoms.{step:09}.yaml"
    domain = yaml.safe_load(index.read_text(encoding="utf-8"))["domain"]
    assert domain["hi"] == [1000] * 3 and domain["tilt"] == [1, 2, 3]
    assert domain["periodic"] == [1, 0, 1]


def test_elements(results):
    folder, ranks = results
    k, j, i = np.indices((3, 3, 3)) + 1
    point = 100 * i + 10 * j + k
    for step, (_, blocks) in read_raw(folder / "hexa", "hexa.raw.yaml").items():
        counts = [0 if r == 1 and step == 0 else 2 + r + step for r in range(ranks)]
        wanted = np.concatenate([100 * r + 1 + np.arange(n) for r, n in enumerate(counts)])
        values = {f: np.concatenate([block[f].ravel() for block in blocks]) for f in ELEMENTS}
        means = values["means"].reshape(-1, 2)
        np.testing.assert_array_equal(np.sort(means[:, 0]), wanted)
        np.testing.assert_array_equal(means[:, 1], -means[:, 0])
        by_component = 1000 * np.array([1, 2])[:, None, None, None] + point
        expected = 10000 * means[:, 0][:, None, None, None, None] + by_component
        for field in ("points", "flat", "v"):
            np.testing.assert_array_equal(values[field].reshape(-1, 2, 3, 3, 3), expected)
        np.testing.assert_array_equal(
            values["one_of_them"].reshape(-1, 3, 3, 3), expected[:, 0].astype(np.float32)
        )
