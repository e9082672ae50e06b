# SPDX-License-Identifier: BSD-3-Clause
"""Field files that `write_nek` writes: byte by byte those that NumPy makes of the frames, at every
placement; and pymech and VTK's reader read them."""

import json
from dataclasses import replace
from functools import cache

import numpy as np
import pytest
from conftest import read_table
from frames import Frame
from placements import cases, check_report, placements
from pool import results_of_case
from pymech.neksuite import readnek
from scenes import Placement, Scene
from test_spectral import points
from vtkmodules.util.numpy_support import vtk_to_numpy
from vtkmodules.vtkCommonExecutionModel import vtkStreamingDemandDrivenPipeline
from vtkmodules.vtkIOParallel import vtkNek5000Reader

N = 4
ELEMENTS = {3: (3, 2, 2), 2: (4, 3)}
CATALOGUE = """
meshes: {box: {kind: spectral, order: 3, dimensions: AXES, coordinates: xyz}}
fields:
  xyz: {mesh: box, type: float64, components: AXES}
  velocity: {mesh: box, type: float64, components: AXES}
  pressure: {mesh: box, type: float32}
  heat: {mesh: box, type: float64}
  pair: {mesh: box, type: float64, components: 2}
  number: {mesh: box, type: int64, centering: cell}
"""
ANALYSES = """
analyses:
  a:
    stages:
      - write_nek: {fields: [heat, pressure, velocity, pair], durable: false}
      - write_nek: {fields: [velocity, heat], name: single, precision: single, coordinates: each}
      - write_nek: {fields: [pressure], name: bare, coordinates: none, durable: false}
"""
# What each dataset has: coordinates, then fields in the order of the format, and bytes of a value.
DATASETS = {
    "box": ("changed", ["velocity", "pressure", "heat", "pair"], "UPS03", 8),
    "single": ("each", ["velocity", "heat"], "US01", 4),
    "bare": ("none", ["pressure"], "P", 4),
}


@cache
def frames(axes: int) -> list[Frame]:
    """Coordinates change at step 2, and numbers have gaps, in no order."""
    rng = np.random.default_rng(axes)
    counts = ELEMENTS[axes]
    corners = np.stack(np.meshgrid(*map(np.arange, counts), indexing="ij"), -1).reshape(-1, axes)
    grid = np.meshgrid(*[points()] * axes, indexing="ij")[::-1]
    local = (np.stack(grid) + 1) / 2
    xyz = corners.reshape(-1, axes, *[1] * axes) + local
    number = (rng.permutation(len(xyz)) * 2 + 5).astype(np.int64)
    out = []
    for step in range(4):
        places = xyz if step < 2 else xyz + 0.1 * xyz**2
        values = {
            "xyz": places,
            "velocity": rng.normal(size=xyz.shape),
            "pressure": rng.normal(size=xyz[:, :1].shape).astype(np.float32),
            "heat": rng.normal(size=xyz[:, :1].shape),
            "pair": rng.normal(size=xyz[:, :1].repeat(2, 1).shape),
        }
        flat = {name: v.reshape(len(v), -1) for name, v in values.items()} | {"number": number}
        out.append(Frame(step, 0.03125 * step, flat))
    return out


def expected(axes: int, name: str, frame: Frame) -> bytes:
    coordinates, fields, letters, size = DATASETS[name]
    with_places = coordinates == "each" or (coordinates == "changed" and frame.step in (0, 2))
    order = np.argsort(frame["number"])
    count = len(order)
    # Fortran's e20.13 of a time that has few digits.
    exponent = 0 if frame.time == 0 else int(np.floor(np.log10(frame.time))) + 1
    time = f"{frame.time / 10.0**exponent:.13f}E{exponent:+03d}"
    head = f"#std {size} {N:2} {N:2} {N if axes == 3 else 1:2} {count:10} {count:10} {time:>20} "
    letters = "X" * with_places + letters
    head += f"{frame.step:9} {0:6} {1:6} {letters:10}  0.0000000E+00 F 0000"
    parts = [head.ljust(132).encode(), np.float32(6.54321).tobytes()]
    parts += [np.arange(1, count + 1, dtype=np.int32).tobytes()]
    extremes = []
    for field in ["xyz"] * with_places + fields:
        values = frame[field].reshape(count, -1, N**axes)[order].astype(f"f{size}")
        vector = field in ("xyz", "velocity")
        for part in [values] if vector else np.split(values, values.shape[1], axis=1):
            parts.append(part.tobytes())
            ends = np.stack([part.min(axis=-1), part.max(axis=-1)], axis=-1)
            extremes.append(ends.astype(np.float32).tobytes())
    return b"".join(parts + extremes * (axes == 3))


def scene(name: str) -> Scene:
    axes = 3 if name == "cube" else 2
    catalogue = CATALOGUE.replace("AXES", str(axes))
    return Scene(name, frames(axes), catalogue, ANALYSES, "trajectory_driver", ("--elements", 1))


DIVISIONS = ["slabs", "migrate", "sparse", "pieces"]
CASES = cases(
    {
        "cube": placements(DIVISIONS, [(1, 0, "slabs"), (3, 2, "pieces"), (2, 1, "migrate")]),
        "plane": placements(DIVISIONS, [(3, 0, "sparse"), (2, 2, "migrate", "node")]),
    }
)


@pytest.fixture(scope="module", params=CASES)
def played(request, build, tmp_path_factory):
    name, placement = request.param
    _, results = results_of_case(
        request, build, tmp_path_factory, lambda case, _: (scene(case[0]), case[1])
    )
    check_report(scene(name), placement, results)
    return (3 if name == "cube" else 2), results / "a"


def test_files_have_these_bytes(played):
    axes, folder = played
    for name in DATASETS:
        found = sorted((folder / f"{name}_nek").glob(f"{name}*"))
        assert [path.name for path in found] == [f"{name}0.f{n:05}" for n in range(1, 5)]
        for path, frame in zip(found, frames(axes), strict=True):
            assert path.read_bytes() == expected(axes, name, frame), path
        assert read_table(folder / f"write_{name}_nek.csv")["step"].tolist() == [0, 1, 2, 3]


def test_pymech_reads_them(played):
    axes, folder = played
    for number, frame in enumerate(frames(axes), 1):
        data = readnek(str(folder / f"box_nek/box0.f{number:05}"))
        assert (data.time, data.istep, data.ndim) == (frame.time, frame.step, axes)
        order = np.argsort(frame["number"])
        for element, at in zip(data.elem, order, strict=True):
            for found, field in ((element.vel[:axes], "velocity"), (element.pres, "pressure")):
                np.testing.assert_array_equal(found.ravel(), frame[field][at])
            np.testing.assert_array_equal(element.scal[0].ravel(), frame["heat"][at])
            np.testing.assert_array_equal(element.scal[1:].ravel(), frame["pair"][at])


def test_vtk_reads_them(played):
    axes, folder = played
    if axes == 2:
        pytest.skip("VTK 9 misreads elements of two dimensions, Nek5000's own files too")
    reader = vtkNek5000Reader()
    reader.SetFileName(str(folder / "box.nek5000"))
    reader.UpdateInformation()
    key = vtkStreamingDemandDrivenPipeline.TIME_STEPS()
    assert reader.GetOutputInformation(0).Get(key) == tuple(f.time for f in frames(axes))
    reader.EnableAllPointArrays()
    for frame in frames(axes):
        reader.UpdateTimeStep(frame.time)
        grid = reader.GetOutput()
        values = vtk_to_numpy(grid.GetPointData().GetArray("Pressure"))
        np.testing.assert_array_equal(np.sort(values), np.sort(frame["pressure"].ravel()))
        x = vtk_to_numpy(grid.GetPoints().GetData())[:, 0]
        # This reader has the coordinates of the first file at all steps.
        wanted = frames(axes)[0]["xyz"].reshape(len(frame["number"]), axes, -1)[:, 0]
        np.testing.assert_array_equal(np.sort(x), np.sort(wanted.astype(np.float32).ravel()))


def test_files_after_the_checkpoint_are_written_anew(build, tmp_path):
    placement, state = Placement(2, 0, "slabs"), tmp_path / "state"
    played = scene("cube")
    played.run(build, tmp_path, placement, last=2, checkpoint=state)
    results, _ = played.run(build, tmp_path, placement, first=2, last=3, restart=state)
    folder = results / "a/box_nek"
    assert sorted(p.name for p in folder.glob("b*")) == [f"box0.f{n:05}" for n in (1, 2, 3)]
    assert "numtimesteps: 3" in (results / "a/box.nek5000").read_text()
    assert (folder / "box0.f00003").read_bytes() == expected(3, "box", frames(3)[2])


def test_elements_that_share_a_number_are_named(build, tmp_path):
    twice = [replace(f, values=f.values | {"number": f["number"] // 4}) for f in frames(3)[:1]]
    played = replace(scene("cube"), frames=twice)
    results, _ = played.run(build, tmp_path, Placement(3, 0, "slabs"))
    (warning,) = json.loads((results / "report.json").read_text())["warnings"]
    assert "two elements have the number" in warning
    assert not list((results / "a").glob("box_nek/box*"))
