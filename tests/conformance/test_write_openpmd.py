# SPDX-License-Identifier: BSD-3-Clause
"""Series that the stage `write_openpmd` makes, read by openPMD-api value by value."""

import sys
from functools import cache

import limits
import numpy as np
import openpmd_api as io
import pytest
from conftest import read_table
from datasets import SHAPES, in_file_order, mesh_scene, particle_frames, particle_scene, roomy
from placements import cases, check_report, placements
from pool import results_of_case
from scenes import Placement, Scene

STAGES = {
    "all": "write_openpmd: {fields: [density, velocity, level, ids], durable: false}",
    "wind": "write_openpmd: {fields: [velocity], name: wind, records: {velocity: v}}",
}
PLACEMENTS = {
    "brick": placements(
        ["slabs", "uneven", "many", "empty"],
        [
            *((1, 0, "slabs"), (3, 0, "uneven"), (5, 0, "many"), (2, 3, "empty")),
            (2, 1, "many", "node", 1, 0, "wait", "8 MiB"),
        ],
    ),
    "sheet": [Placement(2, 2, "many")],
    "line": [Placement(3, 0, "slabs")],
}
PARTICLE_STAGES = {"all": "write_openpmd: {fields: [id, position, charge, kind], durable: false}"}
PARTICLE_PLACEMENTS = placements(
    ["slabs", "migrate", "sparse", "pieces"],
    [(1, 0, "slabs"), (3, 2, "migrate"), (2, 1, "sparse", "node", 1, 0, "wait", "4 MiB")],
)
SECOND, METRE, KILOGRAM, AMPERE = (np.eye(7)[d] for d in (2, 0, 1, 3))


@pytest.fixture(scope="module", autouse=True)
def stage(build):
    if not (build / "stages" / "write_openpmd.so").exists():
        pytest.skip("the stage write_openpmd was not built")


@cache
def scene_of(name: str) -> Scene:
    return mesh_scene(name, STAGES)


@pytest.fixture(
    scope="module", params=cases({name: roomy(those) for name, those in PLACEMENTS.items()})
)
def played(request, build, tmp_path_factory):
    name, placement = request.param
    _, results = results_of_case(
        request, build, tmp_path_factory, lambda case, _: (scene_of(case[0]), case[1])
    )
    check_report(scene_of(name), placement, results)
    return scene_of(name), results


def open_series(folder, name: str) -> io.Series:
    return io.Series(str(folder / f"{name}_openpmd" / f"{name}_%T.h5"), io.Access.read_only)


def load(series, component) -> np.ndarray:
    if 0 in component.shape:
        return np.zeros(component.shape, component.dtype)
    out = component.load_chunk()
    series.flush()
    return out


def components(record) -> list[str]:
    return sorted(record)


def test_every_value(played):
    scene, results = played
    axes = len(SHAPES[scene.name])
    series = open_series(results / "all", "grid")
    assert sorted(series.iterations) == [frame.step for frame in scene.frames]
    for frame in scene.frames:
        meshes = series.iterations[frame.step].meshes
        assert sorted(meshes) == sorted(frame.values)
        for field, values in frame.values.items():
            wanted = in_file_order(scene.name, values)
            record = meshes[field]
            if values.ndim == 1:
                assert record.scalar
                found = load(series, record[io.Record_Component.SCALAR])
                assert found.dtype == values.dtype
                np.testing.assert_array_equal(found, wanted, field)
                continue
            assert components(record) == ["x", "y", "z"]
            for c, name in enumerate("xyz"):
                np.testing.assert_array_equal(load(series, record[name]), wanted[..., c], field)
    wind = open_series(results / "wind", "wind").iterations[1].meshes
    assert list(wind) == ["v"] and wind["v"]["x"].shape == list(SHAPES[scene.name][::-1])
    assert not list(results.rglob(".*.part"))
    assert axes == len(wind["v"]["x"].shape)


def test_what_it_says(played):
    scene, results = played
    cells = SHAPES[scene.name]
    series = open_series(results / "all", "grid")
    assert (series.openPMD, series.openPMD_extension, series.software) == ("1.1.0", 0, "Pillion")
    assert series.iteration_encoding == io.Iteration_Encoding.file_based
    step = series.iterations[1]
    assert (step.time, step.dt, step.time_unit_SI) == (0.5, 0.5, 1.0)
    for name, dimension in {
        "density": KILOGRAM - 3 * METRE,
        "velocity": METRE - SECOND,
        "level": 0 * METRE,
    }.items():
        mesh = step.meshes[name]
        assert mesh.geometry == io.Geometry.cartesian and mesh.data_order == "C"
        assert mesh.axis_labels == ["z", "y", "x"][-len(cells) :]
        assert list(mesh.grid_spacing) == [0.25] * len(cells)
        assert list(mesh.grid_global_offset) == [-1.0 - d for d in range(len(cells))][::-1]
        assert mesh.grid_unit_SI == 1
        np.testing.assert_array_equal(mesh.unit_dimension, dimension)
        component = mesh["x"] if name == "velocity" else mesh[io.Record_Component.SCALAR]
        assert component.unit_SI == 1 and list(component.position) == [0.5] * len(cells)


def expect_valid(path) -> None:
    """By the standard's own check."""
    words = [sys.executable, "-m", "openpmd_validator.check_h5", "-i", path]
    done = limits.run(words, capture_output=True, text=True, timeout=60, check=False)
    assert "Result: 0 Errors" in done.stdout, done.stdout + done.stderr


def test_it_is_valid(played):
    _, results = played
    expect_valid(results / "all/grid_openpmd/grid_000000001.h5")
    expect_valid(results / "wind/wind_openpmd/wind_000000000.h5")


def test_files_beside_the_series(played):
    scene, results = played
    assert (results / "all/grid.pmd").read_text() == "grid_openpmd/grid_%09T.h5\n"
    table = read_table(results / "all" / "write_grid_openpmd.csv")
    assert table["step"].tolist() == [frame.step for frame in scene.frames]
    assert (table["bytes"] == sum(v.nbytes for v in scene.frames[0].values.values())).all()


@pytest.fixture(scope="module", params=roomy(PARTICLE_PLACEMENTS), ids=str)
def atoms(request, build, tmp_path_factory):
    scene = particle_scene(PARTICLE_STAGES)
    _, results = results_of_case(request, build, tmp_path_factory, lambda place, _: (scene, place))
    check_report(scene, request.param, results)
    return results


def test_every_particle(atoms):
    expect_valid(atoms / "all/atoms_openpmd/atoms_000000001.h5")
    series = open_series(atoms / "all", "atoms")
    for frame in particle_frames():
        species = series.iterations[frame.step].particles["atoms"]
        assert sorted(species) == ["charge", "id", "kind", "position", "positionOffset"]
        scalar = io.Record_Component.SCALAR
        ids = load(series, species["id"][scalar])
        assert ids.dtype == np.uint64 and len(ids) == frame.count
        order, wanted = np.argsort(ids), np.argsort(frame["id"])
        for field in ("id", "charge", "kind"):
            found = load(series, species[field][scalar])
            np.testing.assert_array_equal(found[order], frame[field][wanted], field)
        for c, name in enumerate("xyz"):
            found = load(series, species["position"][name])
            np.testing.assert_array_equal(found[order], frame["position"][wanted, c])
            offset = species["positionOffset"][name]
            assert offset.shape == [frame.count] and not load(series, offset).any()
        np.testing.assert_array_equal(species["position"].unit_dimension, METRE)
        np.testing.assert_array_equal(species["charge"].unit_dimension, AMPERE + SECOND)
        assert species["position"]["x"].unit_SI == pytest.approx(1e-9, rel=1e-15)
        assert species["charge"][scalar].unit_SI == pytest.approx(1.602176634e-19, rel=1e-15)


def test_refused(build, tmp_path):
    for stage, message in {
        "[density, density]": "field 'density' is listed twice",
        "[density], records: {density: a/b}": "letters, digits and underscores in names, and 'a/b'",
        "[density], records: {level: a}": "'level' is not among the fields that are written",
        "[density, level], records: {level: density}": "two fields would be called 'density'",
    }.items():
        scene = mesh_scene("brick", {"a": f"write_openpmd: {{fields: {stage}}}"}, frames=1)
        _, done = scene.run(build, tmp_path, Placement(1, 0, "slabs"), fails=True)
        assert message in done.stderr
    for stage, message in {
        "[charge]": "particles of openPMD have positions, and none is listed for mesh 'atoms'",
        "[charge], records: {charge: position}": "'charge' has 1 components; positions have 3",
    }.items():
        scene = particle_scene({"a": f"write_openpmd: {{fields: {stage}}}"})
        _, done = scene.run(build, tmp_path, Placement(1, 0, "slabs"), fails=True)
        assert message in done.stderr
