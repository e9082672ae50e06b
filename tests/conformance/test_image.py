# SPDX-License-Identifier: BSD-3-Clause
"""Pictures: the same pixels wherever they are drawn and however the mesh is divided; slices,
volumes and points against NumPy on the whole field, surfaces against VTK."""

import csv
import os
from functools import cache
from pathlib import Path

import limits
import numpy as np
import pytest
from conftest import some
from datasets import roomy
from frames import Domain, Frame
from image_oracle import colours, interpolator, light_along, pixels, rays
from placements import check_report, placements
from scenes import Placement, Scene

BUILD = Path(os.environ.get("PILLION_BUILD", "build"))
pytestmark = pytest.mark.skipif(
    not (BUILD / "stages/image.so").exists(), reason="the stage image is not built"
)

CELLS, ORIGIN, LENGTH = (22, 18, 37), (1.0, -1.0, 0.5), (1.1, 0.9, 1.85)
SIZE = (96, 80)
CATALOGUE = """
units: {time: s}
meshes:
  grid: {kind: uniform, cells: [22, 18, 37], origin: [1, -1, 0.5], length: [1.1, 0.9, 1.85],
         units: m, periodic: true}
  wall: {kind: uniform, cells: [22, 18, 37], origin: [1, -1, 0.5], length: [1.1, 0.9, 1.85]}
fields:
  density: {mesh: grid, type: float64, units: kg/m^3}
  distance: {mesh: wall, type: float32}
  height: {mesh: wall, type: float64}
"""
PLAIN = "size: [96, 80], labels: false, outline: false, samples: 1"
FACE = "camera: {parallel: true, height: 2}"
SKEW = "camera: {position: [4, -3, 3], focal_point: [1.5, -0.5, 1.4], angle: 28}"
PICTURES = {
    "face": f"draw: [slice: {{field: density, at: 1.07}}], {PLAIN}, {FACE}",
    "side": f"draw: [slice: {{field: height, axis: y, at: -1}}], {PLAIN}, {FACE}",
    "skew": "draw: [slice: {field: density, normal: [1, -1, 2], origin: [1.5, -0.5, 1.4], "
    f"map: inferno, limits: [0.2, 2]}}], {PLAIN}, {SKEW}",
    "ball": f"draw: [isosurface: {{field: distance, values: 0.35, colour: white}}], {PLAIN}, "
    f"camera: {{position: [4, -3, 3], focal_point: [1.55, -0.55, 1.425], angle: 26}}, "
    "background: black",
    "cloud": "draw: [volume: {field: density, opacity: [0, 0.3, 0.9], thickness: 0.2, "
    f"limits: [0, 3]}}], {PLAIN}, {SKEW}",
    "all": "draw: [isosurface: {field: density, values: [1, 2]}, slice: {field: height, axis: x, "
    "at: 1.5, map: coolwarm}, isosurface: {field: distance, values: 0.3, colour_by: height}, "
    "volume: {field: density}], size: [160, 120], title: Everything",
    "round": "draw: [isosurface: {field: distance, values: 0.3}], size: [40, 30], "
    "cinema: {phi: 3, theta: [-20, 40.5]}",
}
ANALYSES = "analyses:\n  look:\n    every: 1 steps\n    stages:\n" + "".join(
    f"      - image: {{name: {name}, {told}}}\n" for name, told in PICTURES.items()
)


@cache
def frames() -> list[Frame]:
    rng = np.random.default_rng(12)
    axes = [
        o + (np.arange(n) + 0.5) * (side / n)
        for n, o, side in zip(CELLS, ORIGIN, LENGTH, strict=True)
    ]
    x, y, z = np.meshgrid(*axes, indexing="ij")
    distance = np.sqrt((x - 1.55) ** 2 + (y + 0.55) ** 2 + (z - 1.425) ** 2)
    out = []
    for step in range(2):
        noise = np.fft.rfftn(rng.normal(size=CELLS))
        k = np.meshgrid(*[np.fft.fftfreq(n) * n for n in CELLS[:2]], np.arange(19), indexing="ij")
        smooth = np.fft.irfftn(noise * (sum(q**2 for q in k) < 20), CELLS, (0, 1, 2))
        fields = {
            "density": np.exp(smooth / smooth.std() * 0.6),
            "distance": distance.astype(np.float32),
            "height": z + 0.3 * step,
        }
        flat = {name: np.ravel(values, order="F") for name, values in fields.items()}
        out.append(Frame(step, 0.5 * step, flat))
    return out


def whole(step: int, name: str) -> np.ndarray:
    return frames()[step][name].astype(float).reshape(CELLS, order="F")


def scene(analyses: str = ANALYSES, catalogue: str = CATALOGUE) -> Scene:
    cells = ",".join(map(str, CELLS))
    return Scene("image", frames(), catalogue, analyses, "grid_driver", ("--cells", cells))


PLACEMENTS = roomy(
    placements(
        ["slabs", "uneven", "many", "empty"],
        [
            (3, 0, "uneven"),
            (2, 3, "many"),
            (2, 1, "empty", "node", 1, 0, "wait", "2 MiB"),
            (4, 0, "slabs"),
        ],
    )
)


def shown(results: Path) -> dict[str, np.ndarray]:
    found = sorted((results / "look").rglob("*.png"))
    return {str(path.relative_to(results)): pixels(path) for path in found}


@pytest.fixture(scope="module")
def alone(build, tmp_path_factory):
    """By a single rank."""
    results, _ = scene().run(build, tmp_path_factory.mktemp("alone"), Placement(1, 0, "slabs"))
    return results


@pytest.mark.parametrize("placement", PLACEMENTS, ids=str)
def test_pixels_are_the_same_everywhere(build, tmp_path, alone, placement):
    results, _ = scene().run(build, tmp_path, placement)
    check_report(scene(), placement, results)
    expected, found = shown(alone), shown(results)
    assert found.keys() == expected.keys() and len(found) == 2 * (len(PICTURES) - 1 + 6)
    for name, picture in found.items():
        assert np.array_equal(picture, expected[name]), name


def picture(results: Path, name: str, step: int) -> np.ndarray:
    return pixels(results / "look" / f"{name}.{step:09d}.png")


def expect_slice(found, field, seen, depth, lo, hi, name="viridis"):
    """Pixels whose place is in the mesh, but for those where a rounding decides it."""
    values = field(seen.at(depth))
    expected = np.where(np.isnan(values)[..., None], 255, colours(values, lo, hi, name))
    off = np.abs(found - expected).max(axis=-1) > 1
    assert (~np.isnan(values)).sum() > 1000
    assert off.sum() == 0, f"{off.sum()} pixels differ"


@pytest.mark.parametrize("step", [0, 1])
def test_a_slice_is_what_the_field_is_there(alone, step):
    values = whole(step, "density")
    field = interpolator(values, ORIGIN, LENGTH, True)
    centre = np.array(ORIGIN) + np.array(LENGTH) / 2
    seen = rays(SIZE, (*centre[:2], 10), centre, (0, 1, 0), height=2)
    expect_slice(
        picture(alone, "face", step),
        field,
        seen,
        np.full(SIZE[::-1], 10 - 1.07),
        values.min(),
        values.max(),
    )


def test_a_slice_may_lie_in_the_face_of_a_mesh(alone):
    values = whole(0, "height")
    field = interpolator(values, ORIGIN, LENGTH, False)
    centre = np.array(ORIGIN) + np.array(LENGTH) / 2
    seen = rays(SIZE, (centre[0], -11, centre[2]), centre, (0, 0, 1), height=2)
    depth = np.full(SIZE[::-1], 10.0)
    expect_slice(picture(alone, "side", 0), field, seen, depth, values.min(), values.max())


@pytest.mark.parametrize("step", [0, 1])
def test_a_plane_may_be_seen_from_anywhere(alone, step):
    field = interpolator(whole(step, "density"), ORIGIN, LENGTH, True)
    seen = rays(SIZE, (4, -3, 3), (1.5, -0.5, 1.4), (0, 0, 1), angle=28)
    normal = np.array([1, -1, 2])
    depth = ((np.array([1.5, -0.5, 1.4]) - seen.origin) @ normal) / (seen.direction @ normal)
    expect_slice(picture(alone, "skew", step), field, seen, depth, 0.2, 2, "inferno")


@pytest.mark.parametrize("step", [0, 1])
def test_a_volume_is_the_light_along_its_rays(alone, step):
    field = interpolator(whole(step, "density"), ORIGIN, LENGTH, True)
    seen = rays(SIZE, (4, -3, 3), (1.5, -0.5, 1.4), (0, 0, 1), angle=28)
    spacing = min(side / n for side, n in zip(LENGTH, CELLS, strict=True)) / 2
    expected = light_along(seen, field, 0, 3, [0, 0.3, 0.9], 0.2, spacing, "viridis")
    found = picture(alone, "cloud", step)
    assert (found != 255).any(axis=-1).mean() > 0.2
    assert np.abs(found - expected).max() <= 1.5


def test_a_sphere_is_lit_as_one(alone):
    found = picture(alone, "ball", 0)[..., 0]
    centre = np.array([1.55, -0.55, 1.425])
    seen = rays(SIZE, (4, -3, 3), centre, (0, 0, 1), angle=26)
    off = seen.origin - centre
    a, b = (seen.direction**2).sum(-1), (off * seen.direction).sum(-1)
    root = b * b - a * ((off**2).sum(-1) - 0.35**2)
    hits = root > 0
    place = seen.at(np.where(hits, (-b - np.sqrt(np.maximum(root, 0))) / a, 0))
    facing = np.abs(((place - centre) * seen.direction).sum(-1)) / 0.35 / np.sqrt(a)
    expected = np.minimum(255, 255 * (0.35 + 0.65 * facing) + 40 * facing**20)
    inside, outside = root > 0.1 * root.max(), root < -0.1 * root.max()
    assert inside.sum() > 600
    assert np.abs(found - expected)[inside].max() <= 4
    assert not found[outside].any()


def test_a_surface_covers_what_vtk_draws(alone):
    vtk = pytest.importorskip("vtk")
    from vtk.util.numpy_support import numpy_to_vtk, vtk_to_numpy

    field = interpolator(whole(0, "distance"), ORIGIN, LENGTH, False)
    grid = vtk.vtkRectilinearGrid()
    grid.SetDimensions(*field.values.shape)
    for set_axis, places in zip(
        (grid.SetXCoordinates, grid.SetYCoordinates, grid.SetZCoordinates), field.grid, strict=True
    ):
        set_axis(numpy_to_vtk(np.ascontiguousarray(places), deep=True))
    grid.GetPointData().SetScalars(numpy_to_vtk(np.ravel(field.values, order="F"), deep=True))
    contour = vtk.vtkContourFilter()
    contour.SetInputData(grid)
    contour.SetValue(0, 0.35)
    mapper = vtk.vtkPolyDataMapper()
    mapper.SetInputConnection(contour.GetOutputPort())
    mapper.ScalarVisibilityOff()
    actor = vtk.vtkActor()
    actor.SetMapper(mapper)
    actor.GetProperty().LightingOff()
    renderer = vtk.vtkRenderer()
    renderer.AddActor(actor)
    camera = renderer.GetActiveCamera()
    camera.SetPosition(4, -3, 3)
    camera.SetFocalPoint(1.55, -0.55, 1.425)
    camera.SetViewUp(0, 0, 1)
    camera.SetViewAngle(26)
    window = vtk.vtkRenderWindow()
    window.SetOffScreenRendering(1)
    window.SetMultiSamples(0)
    window.SetSize(*SIZE)
    window.AddRenderer(renderer)
    renderer.ResetCameraClippingRange()
    window.Render()
    grab = vtk.vtkWindowToImageFilter()
    grab.SetInput(window)
    grab.ReadFrontBufferOff()
    grab.Update()
    drawn = vtk_to_numpy(grab.GetOutput().GetPointData().GetScalars())[:, 0].reshape(SIZE[::-1])
    there = drawn[::-1] > 0
    if not there.any():
        pytest.skip("VTK draws nothing here")
    found = picture(alone, "ball", 0)[..., 0] > 0
    assert (found != there).sum() <= 0.01 * there.sum()


def test_a_cinema_database_lists_its_pictures(alone):
    folder = alone / "look" / "round.cdb"
    with (folder / "data.csv").open() as table:
        rows = list(csv.DictReader(table))
    assert len(rows) == 12 and list(rows[0]) == ["step", "time", "phi", "theta", "FILE"]
    assert {(r["step"], r["time"]) for r in rows} == {("0", "0"), ("1", "0.5")}
    assert {r["phi"] for r in rows} == {"0", "120", "240"}
    assert {r["theta"] for r in rows} == {"-20", "40.5"}
    assert {r["FILE"] for r in rows} == {p.name for p in folder.glob("*.png")}
    for row in rows:
        assert pixels(folder / row["FILE"]).shape == (30, 40, 3)


def test_a_resumed_run_goes_on(build, tmp_path, alone):
    """On another number of ranks; the database lists what was drawn before, too."""
    kept = tmp_path / "kept"
    scene().run(build, tmp_path / "first", Placement(2, 0, "slabs"), last=1, checkpoint=kept)
    results, _ = scene().run(
        build, tmp_path / "second", Placement(3, 0, "uneven"), first=1, restart=kept
    )
    for path in some(results.rglob("*.png")):
        whole_run = alone / path.relative_to(results)
        assert np.array_equal(pixels(path), pixels(whole_run)), path.name
    table = Path("look/round.cdb/data.csv")
    assert (results / table).read_text() == (alone / table).read_text()


def test_labels_and_outline_leave_the_rest_as_it_is(build, tmp_path):
    told = "draw: [slice: {field: density, axis: x}], samples: 1"
    analyses = (
        "scalars: [unset]\nanalyses: {look: {every: 1 steps, stages: ["
        f"image: {{name: plain, {told}, outline: false, labels: false}}, "
        f"image: {{name: full, {told}, outline: false, title: "
        "'Ünits → µm {step} {unset} {b}'}]}}\n"
    )
    results, _ = scene(analyses).run(build, tmp_path, Placement(2, 0, "slabs"))
    for name, ink in (("plain", False), ("full", True)):
        top = picture(results, name, 0)[:30, :150]
        assert (top < 100).any() == ink
    from PIL import Image

    with Image.open(results / "look" / "full.000000001.png") as file:
        assert file.size == (1024, 768)
        assert file.text["Title"] == "Ünits → µm 1 nan {b}"
        assert 'analysis: "look"' in file.text["Comment"]


ATOMS = """
meshes: {atoms: {kind: particles, units: nm}}
fields:
  position: {mesh: atoms, type: float64, components: 3, units: nm}
  charge: {mesh: atoms, type: float32}
analyses:
  look:
    every: 1 steps
    stages:
      - image: {draw: [points: {position: position, radius: 0.07, colour_by: charge}],
                size: [96, 80], labels: false, outline: false, samples: 1,
                camera: {direction: [0, -1, 0], parallel: true, height: 1.1}}
"""


@pytest.mark.parametrize("limits", ["[-2.3e-9, 2.3e-9]", "[1.2955e10, 2.1206e10], scale: log"])
def test_long_numbers_stay_in_the_picture(build, tmp_path, limits):
    stage = f"- image: {{draw: [slice: {{field: density, axis: y, at: -0.5, limits: {limits}}}]}}"
    text = f"analyses: {{look: {{stages: [{stage[2:]}]}}}}\n"
    results, _ = scene(text).run(build, tmp_path, Placement(1, 0, "slabs"), last=1)
    (path,) = (results / "look").rglob("*.png")
    found = pixels(path)
    ink = (found < 128).all(axis=-1)
    letter = min(ink.shape) // 42
    assert not ink[:, -letter // 2 :].any()
    # The label, which is turned, is a column of letters of its own at the right.
    columns = ink[3 * letter :, -7 * letter :].any(axis=0)
    gaps = np.diff(np.flatnonzero(columns))
    assert (gaps > letter // 2).any()


@pytest.mark.parametrize(
    "placement", [Placement(1, 0, "slabs"), Placement(3, 2, "migrate")], ids=str
)
def test_points_are_spheres(build, tmp_path, placement):
    rng = np.random.default_rng(2)
    place, charge = rng.uniform(0.1, 0.9, (60, 3)), rng.normal(size=60).astype(np.float32)
    values = {"position": place, "charge": charge, "id": np.arange(60)}
    catalogue = ATOMS.replace("analyses:", "  id: {mesh: atoms, type: int64}\nanalyses:")
    frame = Frame(0, 0, values, Domain(np.zeros(3), np.ones(3)))
    made = Scene("points", [frame], catalogue, "", "trajectory_driver")
    results, _ = made.run(build, tmp_path, placement)
    found = pixels(results / "look" / "image.000000000.png")
    seen = rays(SIZE, (0.5, -9.5, 0.5), (0.5, 0.5, 0.5), (0, 0, 1), height=1.1)
    aside = seen.origin[:, :, None] - place
    near = (aside[..., 0] ** 2 + aside[..., 2] ** 2) < 0.07**2
    front = -aside[..., 1] - np.sqrt(
        np.maximum(0, 0.07**2 - aside[..., 0] ** 2 - aside[..., 2] ** 2)
    )
    front[~near] = np.inf
    first = front.argmin(axis=-1)
    hit = near.any(axis=-1)
    height = np.take_along_axis(front, first[..., None], -1)[..., 0]
    facing = np.where(
        hit,
        (-aside[..., 1][np.indices(hit.shape)[0], np.indices(hit.shape)[1], first] - height) / 0.07,
        0,
    )
    colour = colours(charge[first], charge.min(), charge.max())
    expected = np.minimum(
        255, colour * (0.35 + 0.65 * facing)[..., None] + 40 * facing[..., None] ** 20
    )
    expected[~hit] = 255
    assert hit.mean() > 0.3
    assert np.abs(found - expected).max() <= 1


WRONG = [
    ("draw: []", "list of what to draw"),
    ("draw: [cube: {field: density}]", "cannot draw 'cube'"),
    ("draw: [slice: {field: densty}]", "densty"),
    ("draw: [slice: {field: density, at: 9}]", "reaches from 0.5"),
    ("draw: [slice: {field: density, normal: [0, 0, 0]}]", "not 0"),
    ("draw: [slice: {field: density, normal: [0, 0, 1], at: 1}]", "either `normal`"),
    ("draw: [slice: {field: density, map: jet}]", "known: viridis"),
    ("draw: [slice: {field: density, limits: [2, 1]}]", "smaller one first"),
    ("draw: [slice: {field: density, limits: [0, 1], scale: log}]", "above 0"),
    ("draw: [isosurface: {field: density}]", "`values: 0.5`"),
    ("draw: [isosurface: {field: density, values: [.nan]}]", "expected a number"),
    ("draw: [isosurface: {field: density, values: 1, colour: mauve}]", "mauve"),
    ("draw: [isosurface: {field: density, values: 1, map: inferno}]", "colour_by"),
    ("draw: [isosurface: {field: density, values: 1, colour_by: height}]", "on mesh 'wall'"),
    ("draw: [volume: {field: density, opacity: [0, 2]}]", "from 0 to 1"),
    ("draw: [volume: {field: density}, volume: {field: height}]", "one volume"),
    ("draw: [volume: {field: density, resolution: 9}]", "spectral"),
    ("draw: [points: {position: density, radius: 1}]", "not of particles"),
    ("draw: [slice: {field: density}], size: [0, 9]", "at least 16"),
    ("draw: [slice: {field: density}], size: [8000, 8000]", "67 million"),
    ("draw: [slice: {field: density}], camera: {angle: 200}", "below 180"),
    ("draw: [slice: {field: density}], camera: {height: 2}", "parallel"),
    ("draw: [slice: {field: density}], camera: {up: [0, 0, 1], direction: [0, 0, 2]}", "along"),
    ("draw: [slice: {field: density}], camera: {zoom: 0}", "above 0"),
    ("draw: [slice: {field: density}], camera: {focus: 0}", "focus"),
    ("draw: [slice: {field: density}], background: ochre", "ochre"),
    ("draw: [slice: {field: density}], name: a/b", "without dots and slashes"),
    ("draw: [slice: {field: density}], cinema: {theta: [99]}", "-90 to 90"),
    ("draw: [slice: {field: density}], cinema: {}, camera: {direction: [1, 0, 0]}", "leave out"),
]


@pytest.mark.parametrize(("told", "words"), WRONG, ids=[told for told, _ in WRONG])
def test_what_is_wrong_is_said_at_once(build, tmp_path, told, words):
    config = tmp_path / "wrong.yaml"
    config.write_text(
        CATALOGUE + f"analyses: {{a: {{every: 1 steps, stages: [image: {{{told}}}]}}}}\n"
    )
    done = limits.run(
        [build / "bin" / "pillion-check", config], capture_output=True, text=True, timeout=20
    )
    said = done.stdout + done.stderr
    assert done.returncode != 0 and words in said and "wrong.yaml:" in said, said
