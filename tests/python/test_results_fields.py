# SPDX-License-Identifier: BSD-3-Clause
"""Datasets of fields as xarray datasets: IDX written sample by sample, HDF5 written by h5py, raw
files written by NumPy; whole and in parts, coarse and fine, meshes and particles.
"""

import h5py
import numpy as np
import pillion
import pillion.idx
import pytest
import yaml
from idx_writer import write_dataset
from openvisus_writer import random_field
from pillion.errors import Error
from view_sample import ABOUT, ORIGIN, arrays, write


@pytest.fixture
def idx(tmp_path):
    """Steps 0 and 5 of a vector and a scalar, as `checkpoint/d`, and the files that were opened."""
    (tmp_path / "checkpoint").mkdir()
    path = write(tmp_path / "checkpoint")
    text = path.read_text().replace("(fields)", "(physic_box)\n0 4 -7 0 1 1.6\n(fields)", 1)
    path.write_text(text)
    return pillion.results(tmp_path)


@pytest.fixture
def taken(monkeypatch):
    """Bytes that each reading took from blocks."""
    found, read = [], pillion.idx.Field.read

    def reading(*args, **kwargs):
        samples = read(*args, **kwargs)
        found.append(samples.bytes_read)
        return samples

    monkeypatch.setattr(pillion.idx.Field, "read", reading)
    return found


def test_idx(idx):
    found = idx["checkpoint/d"]
    assert found["f0"].dims == ("step", "z", "y", "x", "component3")
    assert found["f1"].dims == ("step", "z", "y", "x")
    assert (found["f0"].dtype, found["f1"].dtype) == (np.float64, np.int32)
    assert found["f0"].attrs == {"long_name": "f0", "units": "m/s"}
    for step in (0, 5):
        vector, number = arrays(step)
        np.testing.assert_array_equal(found["f0"].sel(step=step), vector)
        np.testing.assert_array_equal(found["f1"].sel(step=step), number[..., 0])
    np.testing.assert_allclose(found["x"], 0.5 * np.arange(8) + 0.25)
    np.testing.assert_allclose(found["y"], np.arange(7) - 6.5)
    np.testing.assert_allclose(found["z"], 1 + 0.1 * (np.arange(6) + 0.5))
    assert found["y"].attrs["units"] == "m"
    np.testing.assert_array_equal(found["time"], [0.0, 2.5])
    assert found["time"].attrs["units"] == "s"
    assert found.attrs["title"] == "Flow <b>" and found.attrs["level"] == 9


@pytest.mark.parametrize("level", range(10))
def test_levels_of_idx(idx, level):
    """Samples and coordinates are those of all cells at multiples of the strides."""
    found, fine = idx.open("checkpoint/d", level=level), idx["checkpoint/d"]
    dataset = pillion.idx.open(idx.path / "checkpoint/d.idx")
    x, y, z = dataset.stride(level)
    np.testing.assert_array_equal(found["f0"].sel(step=5), arrays(5)[0][::z, ::y, ::x])
    coarse = fine.isel(x=slice(None, None, x), y=slice(None, None, y), z=slice(None, None, z))
    for name in ("x", "y", "z"):
        np.testing.assert_array_equal(found[name], coarse[name])


def test_every_so_many_cells_are_read_from_coarse_levels(idx, taken):
    found = idx["checkpoint/d"]["f0"].sel(step=5)
    every = {"x": slice(None, None, 4), "y": slice(None, None, 4), "z": slice(None, None, 4)}
    taken.clear()
    np.testing.assert_array_equal(found.isel(every), arrays(5)[0][::4, ::4, ::4])
    assert taken == [8 * 24]  # one block
    taken.clear()
    np.testing.assert_array_equal(found.isel(x=0, y=4, z=0), arrays(5)[0][0, 4, 0])
    assert taken == [8 * 24]  # one block
    taken.clear()
    np.testing.assert_array_equal(found, arrays(5)[0])
    assert sum(taken) > 40 * 8 * 24


@pytest.mark.parametrize(
    "key",
    [
        {"x": 3, "y": slice(1, 6, 2), "z": [4, 0], "component3": 1},
        {"x": slice(None, None, -1), "y": slice(6, 0, -3), "step": -1},
        {"z": slice(2, 2)},
        {"x": [0, 4], "y": [4], "z": slice(0, 6, 2), "component3": [2, 0]},
        {"x": slice(1, None, 2), "step": [1, 0]},
    ],
)
def test_parts_of_idx(idx, key):
    found = idx["checkpoint/d"]["f0"]
    wanted = found.copy(data=np.stack([arrays(0)[0], arrays(5)[0]]))
    np.testing.assert_array_equal(found.isel(key), wanted.isel(key))


def test_idx_of_a_region(tmp_path):
    """Indices go on from the region's first cell; coordinates are where the region lies."""
    (tmp_path / "a").mkdir()
    values = random_field(1, (3, 5, 4, 1), "float32", 1)
    path = write_dataset(tmp_path / "a", "part", {0: [values]}, **ABOUT, low=(3, 1, 2))
    path.write_text(
        path.read_text().replace("(fields)", "(physic_box)\n30 70 10 60 20 50\n(fields)")
    )
    found = pillion.results(tmp_path)["a/part"]
    np.testing.assert_array_equal(found["x"], [35, 45, 55, 65])
    np.testing.assert_array_equal(found["f0"].isel(step=0), values[..., 0])
    coarse = pillion.results(tmp_path).open("a/part", level=6)  # every 2nd cell of the mesh
    np.testing.assert_array_equal(coarse["x"], [45, 65])
    np.testing.assert_array_equal(coarse["f0"].isel(step=0), values[::2, 1::2, 1::2, 0])


def test_idx_that_says_little(tmp_path):
    """No time, no place, no units: indices are coordinates."""
    (tmp_path / "a").mkdir()
    write_dataset(tmp_path / "a", "d", {0: arrays()}, **ABOUT, low=(0, 1, 0))
    found = pillion.results(tmp_path)["a/d"]
    assert "time" not in found
    np.testing.assert_array_equal(found["y"], np.arange(1, 8))
    assert "units" not in found["f0"].attrs


def test_a_level_that_is_not_there(idx):
    with pytest.raises(Error, match="has the levels 0 to 9; 10 is not there"):
        idx.open("checkpoint/d", level=10)


def test_idx_grows(idx):
    """A dataset that one has stays; the next has the new step."""
    before = idx["checkpoint/d"]
    write(idx.path / "checkpoint", steps=(0, 5, 10))
    after = idx["checkpoint/d"]
    assert (before.sizes["step"], after.sizes["step"]) == (2, 3)
    np.testing.assert_array_equal(before["f1"].sel(step=5), arrays(5)[1][..., 0])
    np.testing.assert_array_equal(after["f1"].sel(step=10), arrays(10)[1][..., 0])
    assert ORIGIN.splitlines()[0][2:] == "analysis: snapshots"


def put_hdf5(folder, name, steps, note=True, coarse=()):
    """As the stages that write do, for particles whose number each step says."""
    folder = folder / f"a/{name}_hdf5"
    folder.mkdir(parents=True, exist_ok=True)
    lines = []
    for step, count in steps.items():
        with h5py.File(folder / f"{name}.{step:09}.h5", "w") as file:
            file.attrs.update(step=step, time=0.5 * step, time_units="ps", mesh="ions")
            file.attrs["coarsening"] = 2 if step in coarse else 1
            file.attrs["origin"] = 'title: "Ions"\nanalysis: "a"\nstep: 3\nconfiguration: "c: 1"\n'
            axes = {"particle": count, "component3": 3}
            for axis, size in axes.items():
                file[axis] = np.zeros(size, "i4")
                file[axis].make_scale(
                    f"This is a netCDF dimension but not a netCDF variable. {size}"
                )
            for field, of in ions(step, count).items():
                file[field] = of
                file[field].attrs["units"] = {"position": "nm"}.get(field, "")
                for axis, dim in zip(axes, file[field].dims, strict=False):
                    dim.attach_scale(file[axis])
        lines.append(f"{step} {0.5 * step} {2 if step in coarse else 1} {count}\n")
    if note:
        (folder / ".steps").write_text("".join(lines))
    return folder


def ions(step, count):
    rng = np.random.default_rng(step)
    return {"id": rng.permutation(count), "position": rng.random((count, 3)).astype("f4")}


@pytest.mark.parametrize("note", [True, False])
def test_particles_that_stay(tmp_path, note):
    put_hdf5(tmp_path, "p", {0: 6, 10: 6}, note)
    found = pillion.results(tmp_path)["a/p"]
    assert found["position"].dims == ("step", "particle", "component3")
    assert found["position"].attrs["units"] == "nm" and found["position"].dtype == np.float32
    np.testing.assert_array_equal(found["time"], [0.0, 5.0])
    for step in (0, 10):
        for name, values in ions(step, 6).items():
            np.testing.assert_array_equal(found[name].sel(step=step), values)
    part = found["position"].isel(step=1, particle=[5, 1], component3=slice(1, None))
    np.testing.assert_array_equal(part, ions(10, 6)["position"][[5, 1], 1:])
    assert found.attrs["title"] == "Ions" and found.attrs["mesh"] == "ions"


@pytest.mark.parametrize("note", [True, False])
def test_particles_that_come_and_go(tmp_path, note):
    counts = {0: 6, 10: 2, 20: 9}
    put_hdf5(tmp_path, "p", counts, note)
    found = pillion.results(tmp_path)["a/p"]
    assert found["position"].dims == ("particle", "component3")
    for step, count in counts.items():
        for name, values in ions(step, count).items():
            np.testing.assert_array_equal(found[name].sel(step=step), values)
    np.testing.assert_array_equal(found["time"].sel(step=20), [10.0] * 9)
    whole = np.concatenate([ions(s, n)["id"] for s, n in counts.items()])
    np.testing.assert_array_equal(found["id"], whole)
    np.testing.assert_array_equal(found["id"][::-3], whole[::-3])


def test_particles_that_are_very_many(tmp_path, monkeypatch):
    """Nothing that is as long as all of them is made before it is asked for."""
    monkeypatch.setattr("pillion.datasets.stored.MOST_INDEXED", 10)
    put_hdf5(tmp_path, "p", {0: 6, 10: 2, 20: 9})
    results = pillion.results(tmp_path)
    found = results["a/p"]
    assert "step" not in found.xindexes and not found["step"].variable._in_memory
    np.testing.assert_array_equal(found["step"], [0] * 6 + [10] * 2 + [20] * 9)
    np.testing.assert_array_equal(found["time"][5:9], [0, 5, 5, 10])
    one = results.at("a/p", 10)
    np.testing.assert_array_equal(one["position"], ions(10, 2)["position"])
    assert (one["step"].item(), one["time"].item()) == (10, 5.0)


def test_files_that_were_replaced(idx):
    """By a run with another mesh, while somebody has the dataset of before."""
    found = idx["checkpoint/d"]["f1"]
    (idx.path / "checkpoint/d.idx").unlink()
    write_dataset(idx.path / "checkpoint", "d", {0: [a[:4] for a in arrays()]}, **ABOUT)
    with pytest.raises(Error, match="its files have been replaced; ask the results"):
        found.sel(step=0).load()


@pytest.mark.parametrize("kind", ["idx", "raw"])
def test_one_step(tmp_path, kind):
    if kind == "raw":
        put_raw(tmp_path, {step: arrays(step) for step in (0, 5)})
    else:
        (tmp_path / "a").mkdir()
        write(tmp_path / "a").rename(tmp_path / "a/r.idx")
    results = pillion.results(tmp_path)
    np.testing.assert_array_equal(results.at("a/r", 5)["f0"], arrays(5)[0])
    assert results.at("a/r", 5)["step"].item() == 5
    with pytest.raises(Error, match="a/r has no step 6; it has 2, 0 to 5"):
        results.at("a/r", 6)


def test_steps_that_were_coarsened(tmp_path):
    put_hdf5(tmp_path, "p", {0: 6, 10: 3, 20: 6}, coarse=[10])
    results = pillion.results(tmp_path)
    found = results["a/p"]
    np.testing.assert_array_equal(found["step"], [0, 20])
    np.testing.assert_array_equal(found.attrs["coarse_steps"], [10])
    np.testing.assert_array_equal(results.at("a/p", 10)["id"], ions(10, 3)["id"])
    with pytest.raises(Error, match="p_hdf5 has no step 7"):
        results.at("a/p", 7)


def test_steps_that_a_restart_has_forgotten(tmp_path):
    """The note tells which files count: 20 is that of the run before."""
    folder = put_hdf5(tmp_path, "p", {0: 4, 10: 4, 20: 4})
    (folder / ".steps").write_text("0 0 1 4\n10 5 1 4\n20 10 1 4\n10 6.5 1 4\n30 15 1 ")
    found = pillion.results(tmp_path)["a/p"]
    np.testing.assert_array_equal(found["step"], [0, 10])
    np.testing.assert_array_equal(found["time"], [0, 6.5])


def test_hdf5_that_is_broken(tmp_path):
    folder = put_hdf5(tmp_path, "p", {0: 4, 10: 4})
    found = pillion.results(tmp_path)["a/p"]
    (folder / "p.000000000.h5").write_bytes(b"no HDF5")
    with pytest.raises(Error, match=r"cannot read .*p.000000000.h5"):
        found["id"].load()
    (folder / ".steps").write_text("")
    with pytest.raises(Error, match="p_hdf5 has no step that is whole"):
        pillion.results(tmp_path)["a/p"]


def put_raw(folder, values, cuts=(3, 2), coarse=()):
    """Blocks [lo, hi) of z and x, each in its own file; `values[step][field]` is [z, y, x, c]."""
    (folder / "a/r_raw").mkdir(parents=True)
    steps = []
    for step, arrays_ in values.items():
        nz, ny, nx = arrays_[0].shape[:3]
        blocks = []
        for z, x in ((z, x) for z in range(0, nz, cuts[0]) for x in range(0, nx, cuts[1])):
            hi = (min(x + cuts[1], nx), ny, min(z + cuts[0], nz))
            parts = [a[z : hi[2], :, x : hi[0]].tobytes() for a in arrays_]
            file = f"r_raw/r.{step:09}.{len(blocks):06}.raw"
            (folder / "a" / file).write_bytes(b"".join(parts))
            offsets = np.cumsum([0, *map(len, parts[:-1])]).tolist()
            block = {"file": file, "lo": [x, 0, z], "hi": list(hi), "offsets": offsets}
            blocks.append(block | {"count": (hi[0] - x) * ny * (hi[2] - z)})
        index = f"r_raw/r.{step:09}.yaml"
        (folder / "a" / index).write_text(yaml.safe_dump({"coarsening": 1, "blocks": blocks}))
        coarsening = 2 if step in coarse else 1
        steps.append({"step": step, "time": 0.5 * step, "coarsening": coarsening, "index": index})
    fields = [
        {"name": f"f{n}", "type": a.dtype.str, "components": a.shape[3], "units": "K"}
        for n, a in enumerate(arrays_)
    ]
    mesh = {"name": "m", "cells": [nx, ny, nz], "origin": [0, 1, 2], "length": [nx, ny, 2 * nz]}
    configuration = "meshes: {m: {units: cm}}\nfields: {f0: {mesh: m}}"
    head = {"title": "Raw", "time_units": "s", "mesh": mesh, "fields": fields, "steps": steps}
    head["configuration"] = configuration
    (folder / "a/r.raw.yaml").write_text(yaml.safe_dump(head))


def test_raw(tmp_path):
    put_raw(tmp_path, {step: arrays(step) for step in (0, 5, 7)}, coarse=[7])
    found = pillion.results(tmp_path)["a/r"]
    assert found["f0"].dims == ("step", "z", "y", "x", "component3")
    np.testing.assert_array_equal(found["z"], 3 + 2 * np.arange(6))
    assert found["z"].attrs["units"] == "cm" and found["f1"].attrs["units"] == "K"
    np.testing.assert_array_equal(found["time"], [0, 2.5])
    assert found.attrs["coarse_steps"] == [7]
    for step in (0, 5):
        np.testing.assert_array_equal(found["f0"].sel(step=step), arrays(step)[0])
        np.testing.assert_array_equal(found["f1"].sel(step=step), arrays(step)[1][..., 0])
    key = (1, slice(1, 5, 2), [6, 0], slice(None, None, -1), 2)
    np.testing.assert_array_equal(found["f0"][key], arrays(5)[0][1:5:2, [6, 0]][:, :, ::-1, 2])


def test_raw_with_a_hole(tmp_path):
    put_raw(tmp_path, {0: arrays(0)})
    index = tmp_path / "a/r_raw/r.000000000.yaml"
    said = yaml.safe_load(index.read_text())
    index.write_text(yaml.safe_dump(said | {"blocks": said["blocks"][1:]}))
    found = pillion.results(tmp_path)["a/r"]["f1"].isel(step=0)
    with pytest.raises(Error, match="blocks of a step do not cover the mesh"):
        found.load()
    np.testing.assert_array_equal(found[4:], arrays(0)[1][4:, ..., 0])


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("a: [", "is not an index of raw files"),
        ("7", "is not an index of raw files"),
        ("steps: [{step: 0, coarsening: 1}]", "lacks or garbles an entry: KeyError..mesh"),
        ("steps: []", "has no step that is whole"),
    ],
)
def test_raw_that_is_broken(tmp_path, text, why):
    (tmp_path / "a").mkdir()
    (tmp_path / "a/r.raw.yaml").write_text(text)
    with pytest.raises(Error, match=why):
        pillion.results(tmp_path)["a/r"]
