# SPDX-License-Identifier: BSD-3-Clause
"""`pillion.results` of what the stages that write leave in each format: every value is what was
played, whatever wrote it, and coordinates are those that xarray finds in the files by itself.
"""

import numpy as np
import pillion
import pytest
import xarray
from datasets import SHAPES, in_file_order, mesh_scene, particle_frames, particle_scene
from scenes import Placement

FIELDS = "fields: [density, velocity, level, ids], durable: false"
REGION = [(3, 20), (5, 30), (7, 8)]
STAGES = {
    "idx": f"write_idx: {{{FIELDS}}}",
    "zipped": f"write_idx: {{{FIELDS}, compression: zip, bits_per_block: 6, blocks_per_file: 8}}",
    "hdf5": f"write_hdf5: {{{FIELDS}}}",
    "grouped": f"write_hdf5: {{{FIELDS}, files: grouped, groups: 3, compression: gzip}}",
    "raw": f"write_raw: {{{FIELDS}}}",
    "openpmd": f"write_openpmd: {{{FIELDS}}}",
    "plotfile": "write_plotfile: {fields: [density, velocity], durable: false}",
}
ATOMS = "fields: [id, position, charge, kind], durable: false"
PLACEMENT = Placement(3, 2, "empty", memory="8 MiB")


@pytest.fixture(scope="module", params=["brick", "sheet", "line"])
def played(request, build, tmp_path_factory):
    stages = dict(STAGES)
    if request.param == "brick":
        stages["region"] = f"write_idx: {{{FIELDS}, region: {[list(r) for r in REGION]}}}"
        stages["coarse"] = f"write_idx: {{{FIELDS}, leave_out: 3}}"
    scene = mesh_scene(request.param, stages)
    folder, _ = scene.run(build, tmp_path_factory.mktemp("run"), PLACEMENT)
    return scene, pillion.results(folder)


@pytest.mark.parametrize("key", STAGES)
def test_every_value(played, key):
    scene, results = played
    found = results[f"{key}/grid"]
    for frame in scene.frames:
        for field in found:
            of_step, values = found[field].sel(step=frame.step), frame[field]
            assert of_step.dtype == values.dtype
            np.testing.assert_array_equal(of_step, in_file_order(scene.name, values), field)
    np.testing.assert_array_equal(found["time"], [frame.time for frame in scene.frames])
    stored = ["density", "velocity"] if key == "plotfile" else [*scene.frames[0].values]
    assert sorted(found) == sorted(stored)
    units = {"density": "kg/m^3", "velocity": "m/s"}
    assert all(found[field].attrs.get("units", "") == units.get(field, "") for field in found)


@pytest.mark.parametrize("key", STAGES)
def test_coordinates(played, key):
    scene, results = played
    found = results[f"{key}/grid"]
    path = results.path / "hdf5/grid_hdf5/grid.000000001.h5"
    with xarray.open_dataset(path, engine="h5netcdf") as oracle:
        assert found["velocity"].dims == ("step", *oracle["velocity"].dims)
        for axis in ("x", "y", "z")[: len(SHAPES[scene.name])]:
            np.testing.assert_allclose(found[axis], oracle[axis], rtol=1e-14)
            assert found[axis].attrs["units"] == oracle[axis].attrs["units"] == "m"


def test_a_region_and_levels(played):
    scene, results = played
    if scene.name != "brick":
        pytest.skip("of one mesh is enough")
    whole = results["idx/grid"]
    part = {axis: slice(*span) for axis, span in zip("xyz", REGION, strict=True)}
    region = results["region/grid"]
    for field in whole:
        np.testing.assert_array_equal(region[field], whole[field].isel(part))
    for axis in "xyz":
        np.testing.assert_allclose(region[axis], whole[axis].isel({axis: part[axis]}), rtol=1e-13)
    coarse = results["coarse/grid"]
    assert coarse.attrs["level"] == whole.attrs["level"] - 3
    stride = {axis: slice(None, None, whole.sizes[axis] // coarse.sizes[axis]) for axis in "xyz"}
    np.testing.assert_array_equal(coarse["density"], whole["density"].isel(stride))
    for axis in "xyz":
        np.testing.assert_allclose(coarse[axis], whole.isel(stride)[axis], rtol=1e-13)


def test_particles(build, tmp_path):
    """Their number changes; at one step there are none."""
    stages = {
        "hdf5": f"write_hdf5: {{{ATOMS}, chunk: 64}}",
        "raw": f"write_raw: {{{ATOMS}}}",
        "openpmd": f"write_openpmd: {{{ATOMS}}}",
    }
    folder, _ = particle_scene(stages).run(build, tmp_path, Placement(3, 2, "pieces"))
    results = pillion.results(folder)
    for key in stages:
        found = results[f"{key}/atoms"]
        assert found["position"].dims == ("particle", "component3")
        for frame in particle_frames():
            of_step = found.isel(particle=found["step"].values == frame.step)
            order, wanted = np.argsort(of_step["id"].values), np.argsort(frame["id"])
            for field, values in frame.values.items():
                assert of_step[field].dtype == values.dtype
                np.testing.assert_array_equal(of_step[field].values[order], values[wanted], field)
        times = np.repeat([f.time for f in particle_frames()], [f.count for f in particle_frames()])
        np.testing.assert_array_equal(found["time"], times)
    assert found["position"].attrs["units"] == "nm"
