# SPDX-License-Identifier: BSD-3-Clause
"""Datasets that the stage `write_hdf5` makes, read by h5py, xarray and VTK value by value,
wherever they are written, on however many ranks, in however many files."""

from functools import cache

import h5py
import numpy as np
import pytest
import xarray
import yaml
from conftest import read_table
from datasets import (
    COUNTS,
    SHAPES,
    in_file_order,
    mesh_scene,
    particle_frames,
    particle_scene,
    roomy,
)
from placements import cases, check_report, placements
from pool import results_of_case
from scenes import Placement, Scene
from vtkmodules.util.numpy_support import vtk_to_numpy
from vtkmodules.vtkCommonExecutionModel import vtkStreamingDemandDrivenPipeline
from vtkmodules.vtkIOHDF import vtkHDFReader
from vtkmodules.vtkIOXdmf2 import vtkXdmfReader

ALL = "fields: [density, velocity, level, ids], durable: false"
STAGES = {
    "plain": f"write_hdf5: {{{ALL}}}",
    "packed": f"write_hdf5: {{{ALL}, compression: gzip, chunk: [CHUNK], name: packed}}",
    "grouped": f"write_hdf5: {{{ALL}, files: grouped, groups: 3, chunk: [CHUNK], at_once: 2}}",
    "both": f"write_hdf5: {{{ALL}, files: grouped, groups: 40, chunk: [CHUNK], compression: gzip, "
    "shuffle: false, at_once: 1}",
}
CHUNKS = {3: "8, 4, 16", 2: "16, 8", 1: "32"}
ATOMS = "fields: [id, position, charge, kind], durable: false, chunk: 64"
PARTICLE_STAGES = {
    "plain": f"write_hdf5: {{{ATOMS}}}",
    "packed": f"write_hdf5: {{{ATOMS}, compression: gzip}}",
    "grouped": f"write_hdf5: {{{ATOMS}, files: grouped, groups: 3}}",
    "both": f"write_hdf5: {{{ATOMS}, files: grouped, groups: 2, compression: gzip}}",
}
PLACEMENTS = {
    "brick": placements(
        ["slabs", "uneven", "many", "empty"],
        [
            *((1, 0, "slabs"), (3, 0, "uneven"), (5, 0, "many")),
            *((2, 3, "empty"), (2, 1, "many", "node", 1, 0, "wait", "8 MiB")),
        ],
    ),
    "thin": [Placement(3, 0, "slabs")],
    "sheet": [Placement(2, 2, "many")],
    "line": [Placement(3, 0, "slabs")],
}
PARTICLE_PLACEMENTS = placements(
    ["slabs", "migrate", "sparse", "pieces"],
    [
        *((1, 0, "slabs"), (4, 0, "pieces"), (3, 2, "migrate")),
        (2, 1, "sparse", "node", 1, 0, "wait", "4 MiB"),
    ],
)


@pytest.fixture(scope="module", autouse=True)
def hdf5(build):
    if "HDF5_WORKS:INTERNAL=1" not in (build / "CMakeCache.txt").read_text():
        pytest.skip("the stage write_hdf5 was not built")


@cache
def scene_of(name: str) -> Scene:
    chunk = CHUNKS[len(SHAPES[name])]
    return mesh_scene(name, {key: text.replace("CHUNK", chunk) for key, text in STAGES.items()})


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


def dataset(key: str) -> str:
    return "packed" if key == "packed" else "grid"


def file_of(results, key: str, step: int, name: str | None = None):
    name = name or dataset(key)
    return results / key / f"{name}_hdf5" / f"{name}.{step:09}.h5"


@pytest.mark.parametrize("key", STAGES)
def test_every_value(played, key):
    scene, results = played
    for frame in scene.frames:
        with h5py.File(file_of(results, key, frame.step)) as file:
            assert (file.attrs["step"], file.attrs["time"]) == (frame.step, frame.time)
            assert file.attrs["coarsening"] == 1
            for field, values in frame.values.items():
                assert file[field].dtype == values.dtype
                np.testing.assert_array_equal(
                    file[field][...], in_file_order(scene.name, values), field
                )
    assert not list(results.rglob(".*.part"))


def test_how_it_is_stored(played):
    scene, results = played
    with h5py.File(file_of(results, "packed", 0)) as file:
        assert file["density"].compression == "gzip" and file["density"].shuffle
        chunk = [int(n) for n in CHUNKS[len(SHAPES[scene.name])].split(", ")]
        cells = SHAPES[scene.name]
        assert list(file["density"].chunks) == [
            min(n, c) for n, c in zip(chunk[::-1], cells[::-1], strict=True)
        ]
    with h5py.File(file_of(results, "plain", 0)) as file:
        assert file["density"].compression is None and not file["density"].is_virtual
    parts = sorted((results / "grouped" / "grid_hdf5" / "parts").glob("grid.000000000.*.h5"))
    planes = -(-SHAPES[scene.name][-1] // chunk[-1])
    assert len(parts) == (min(3, planes) if planes > 1 else 0)
    table = read_table(results / "grouped" / "write_grid_hdf5.csv")
    assert table["step"].tolist() == [0, 1]
    assert (table["files"] == max(len(parts), 1)).all()
    of_fields = sum(values.nbytes for values in scene.frames[0].values.values())
    assert (table["bytes_of_fields"] == of_fields).all() and (table["bytes"] > 0).all()


def test_it_says_where_it_comes_from(played):
    _, results = played
    with h5py.File(file_of(results, "plain", 1)) as file:
        origin = yaml.safe_load(file.attrs["origin"])
    assert (origin["analysis"], origin["stage"], origin["step"]) == ("plain", "write_hdf5", 1)
    assert "write_hdf5:" in origin["configuration"] and origin["version"]


@pytest.mark.parametrize("key", STAGES)
def test_xarray_finds_coordinates(played, key):
    scene, results = played
    cells = SHAPES[scene.name]
    with xarray.open_dataset(file_of(results, key, 1), engine="h5netcdf") as opened:
        assert opened["density"].dims == ("z", "y", "x")[-len(cells) :]
        assert opened["velocity"].dims == (*opened["density"].dims, "component3")
        assert opened["velocity"].attrs["units"] == "m/s"
        for d, axis in enumerate("xyz"[: len(cells)]):
            expected = -1.0 - d + (np.arange(cells[d]) + 0.5) * 0.25
            np.testing.assert_allclose(opened[axis], expected, rtol=1e-14)
            assert opened[axis].attrs["units"] == "m"
        values = in_file_order(scene.name, scene.frames[1]["density"])
        nearest = opened["density"].sel(x=opened["x"][3], method="nearest")
        np.testing.assert_array_equal(nearest, values[..., 3])


def check_image(scene, frame, image):
    cells = SHAPES[scene.name]
    fill = [1.0] * (3 - len(cells))
    assert image.GetNumberOfCells() == np.prod(cells)
    assert list(image.GetOrigin())[: len(cells)] == [-1.0 - d for d in range(len(cells))]
    assert list(image.GetSpacing())[: len(cells)] == [0.25] * len(cells), fill
    for field, values in frame.values.items():
        found = vtk_to_numpy(image.GetCellData().GetArray(field))
        assert found.dtype == values.dtype
        np.testing.assert_array_equal(found, values, field)


@pytest.mark.parametrize("key", STAGES)
def test_vtk_reads_the_files(played, key):
    scene, results = played
    reader = vtkHDFReader()
    reader.SetFileName(str(file_of(results, key, 1)))
    reader.Update()
    check_image(scene, scene.frames[1], reader.GetOutput())


def open_series(path):
    reader = vtkXdmfReader()
    reader.SetFileName(str(path))
    reader.UpdateInformation()
    times = reader.GetOutputInformation(0).Get(vtkStreamingDemandDrivenPipeline.TIME_STEPS())
    return reader, list(times)


@pytest.mark.parametrize("key", STAGES)
def test_vtk_reads_the_series(played, key):
    scene, results = played
    if scene.name == "line":
        pytest.skip("XDMF has no meshes with one axis")
    reader, times = open_series(results / key / f"{dataset(key)}.xmf")
    assert times == [frame.time for frame in scene.frames]
    for frame in scene.frames:
        reader.UpdateTimeStep(frame.time)
        check_image(scene, frame, reader.GetOutputDataObject(0))


@pytest.fixture(scope="module", params=roomy(PARTICLE_PLACEMENTS), ids=str)
def atoms(request, build, tmp_path_factory):
    scene = particle_scene(PARTICLE_STAGES)
    _, results = results_of_case(request, build, tmp_path_factory, lambda place, _: (scene, place))
    check_report(scene, request.param, results)
    return results


@pytest.mark.parametrize("key", PARTICLE_STAGES)
def test_every_particle(atoms, key):
    for frame in particle_frames():
        with h5py.File(file_of(atoms, key, frame.step, "atoms")) as file:
            order, wanted = np.argsort(file["id"][...]), np.argsort(frame["id"])
            for field, values in frame.values.items():
                assert file[field].dtype == values.dtype and len(file[field]) == frame.count
                np.testing.assert_array_equal(file[field][...][order], values[wanted], field)
            np.testing.assert_array_equal(file.attrs["domain_hi"], frame.domain.hi)


def test_others_read_particles(atoms):
    frame = particle_frames()[1]
    with xarray.open_dataset(file_of(atoms, "plain", 1, "atoms"), engine="h5netcdf") as opened:
        assert opened["position"].dims == ("particle", "component3")
        assert opened.sizes["particle"] == frame.count
    reader, times = open_series(atoms / "packed" / "atoms.xmf")
    assert times == [f.time for f, n in zip(particle_frames(), COUNTS, strict=True) if n > 0]
    reader.UpdateTimeStep(frame.time)
    points = reader.GetOutputDataObject(0)
    order = np.argsort(vtk_to_numpy(points.GetPointData().GetArray("id")))
    wanted = frame["position"][np.argsort(frame["id"])]
    np.testing.assert_allclose(vtk_to_numpy(points.GetPoints().GetData())[order], wanted, 1e-6)
