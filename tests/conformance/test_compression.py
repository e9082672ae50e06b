# SPDX-License-Identifier: BSD-3-Clause
"""Fields that the stages `truncate` and `encode` have compressed, wherever these run: read back,
their errors by NumPy's quadrature on strongly deformed elements are within the bounds, they are the
same to the bit at every placement, and nothing is lost where nothing may be."""

from functools import cache

import h5py
import numpy as np
import pillion.compressed
import pytest
from conftest import read_table
from datasets import in_file_order, mesh_scene
from frames import Frame
from numpy.polynomial import legendre
from placements import cases, check_report, placements
from pool import results_of_case
from scenes import Placement, Scene

ORDER, N = 5, 6
SIDES = (3, 2, 3)
BOUND, PART = 1e-2, 2e-3
CATALOGUE = f"""
meshes:
  box: {{kind: spectral, order: {ORDER}, coordinates: xyz, units: m}}
fields:
  xyz: {{mesh: box, type: float64, components: 3, units: m}}
  velocity: {{mesh: box, type: float64, components: 3, units: m/s}}
  noise: {{mesh: box, type: float32, units: K}}
  holes: {{mesh: box, type: float64}}
  number: {{mesh: box, type: int32, centering: cell}}
"""
ALL = "fields: [velocity, noise, holes]"
KEPT = f"{ALL}, numbers: number, durable: false"
ANALYSES = f"""
analyses:
  plain:
    stages:
      - truncate: {{{ALL}, error: {BOUND}}}
      - encode: {{{KEPT}, continuous: [velocity]}}
  part:
    stages:
      - truncate: {{{ALL}, error: {PART}, relative_to: range, norm: max}}
      - encode: {{{KEPT}, codec: xz, level: 2, coordinates: each, continuous: true}}
  fewest:
    stages:
      - truncate: {{{ALL}, error: {BOUND}, relative_to: rms, round: false}}
      - encode: {{{KEPT}, codec: bzip2, coordinates: none}}
  nothing:
    stages:
      - truncate: {{{ALL}, error: 0}}
      - encode: {{{KEPT}, codec: lz4, continuous: true}}
  values:
    stages: [{{encode: {{{ALL}, codec: zip, name: kept, durable: false}}}}]
"""
HYBRID = ANALYSES.replace("error: 0.01}", "error: 0.01, at: simulation}").replace(
    "norm: max}", "norm: max, at: simulation}"
)
NAMES = {"values": "kept"}


def points() -> np.ndarray:
    inner = legendre.Legendre.basis(ORDER).deriv().roots()
    return np.concatenate([[-1.0], np.sort(inner.real), [1.0]])


@cache
def coordinates() -> np.ndarray:
    """[element, component, k, j, i] of a box that is twisted and stretched."""
    corners = np.stack(np.meshgrid(*map(np.arange, SIDES), indexing="ij"), -1).reshape(-1, 3)
    t, s, r = np.meshgrid(points(), points(), points(), indexing="ij")
    local = (np.stack([r, s, t]) + 1) / 2
    x, y, z = np.moveaxis(
        (corners[:, :, None, None, None] + local) / np.array(SIDES)[:, None, None, None], 1, 0
    )
    angle = 0.5 * z
    return np.stack(
        [
            (1 + x) ** 2 * np.cos(angle) - y * np.sin(angle),
            (1 + x) ** 2 * np.sin(angle) + y * np.cos(angle),
            z + 0.1 * x * y,
        ],
        axis=1,
    )


@cache
def masses() -> np.ndarray:
    """Quadrature weight times the determinant of polynomials fitted to the coordinates."""
    x = points()
    weights = 2 / (ORDER * N * legendre.Legendre.basis(ORDER)(x) ** 2)
    fit = np.linalg.inv(legendre.legvander(x, ORDER))
    slope = legendre.legvander(x, ORDER - 1) @ legendre.legder(np.eye(N)) @ fit
    xyz = coordinates()
    by = [np.einsum(f"{a},ec{b}->ec{c}", slope, xyz) for a, b, c in AXES]
    jacobian = np.linalg.det(np.moveaxis(np.stack(by, -1), 1, -2))
    return jacobian * weights[:, None, None] * weights[:, None] * weights


AXES = [("xi", "kji", "kjx"), ("xj", "kji", "kxi"), ("xk", "kji", "xji")]


@cache
def frames() -> list[Frame]:
    rng = np.random.default_rng(5)
    xyz = coordinates()
    number = (rng.permutation(len(xyz)) * 5 - 20).astype(np.int32)
    out = []
    for step in range(3):
        velocity = np.sin(3 * xyz[:, [1, 2, 0]] * (1 + step) + 0.3) + 0.2 * xyz
        noise = rng.normal(280, 2, xyz[:, :1].shape).astype(np.float32)
        holes = np.cos(xyz[:, :1] * xyz[:, 1:2])
        holes[3, 0, 2, 1, 0] = np.nan
        holes[7, 0, 1, 1, 1] = -np.inf
        values = {
            "xyz": xyz,
            "velocity": velocity,
            "noise": noise,
            "holes": holes,
            "number": number,
        }
        flat = {k: v.reshape(len(v), -1) if v.ndim > 1 else v for k, v in values.items()}
        flat["noise"], flat["holes"] = noise.reshape(len(xyz), -1), holes.reshape(len(xyz), -1)
        out.append(Frame(step, 0.5 * step, flat))
    return out


def original(frame: Frame, name: str) -> np.ndarray:
    """In the order of numbers."""
    values = frame[name].reshape(len(frame["number"]), -1, N, N, N)
    return values[np.argsort(frame["number"])]


def sorted_masses(frame: Frame) -> np.ndarray:
    return masses()[np.argsort(frame["number"])]


def scene(analyses: str) -> Scene:
    arguments = ("--elements", 1)
    return Scene("compression", frames(), CATALOGUE, analyses, "trajectory_driver", arguments)


CASES = cases(
    {
        "plain": placements(
            ["slabs", "migrate", "sparse", "pieces"],
            [(1, 0, "slabs"), (3, 0, "pieces"), (2, 2, "migrate")],
        ),
        "hybrid": [
            Placement(3, 2, "sparse"),
            Placement(2, 1, "pieces", "node", 2, 2, "wait", "8 MiB"),
        ],
    }
)


@pytest.fixture(scope="module", autouse=True)
def stage(build):
    if not (build / "stages/encode.so").exists():
        pytest.skip("the stage encode was not built")


def scene_of(kind: str) -> Scene:
    return scene(HYBRID if kind == "hybrid" else ANALYSES)


@pytest.fixture(scope="module", params=CASES)
def played(request, build, tmp_path_factory):
    kind, placement = request.param
    _, results = results_of_case(
        request, build, tmp_path_factory, lambda case, _: (scene_of(case[0]), case[1])
    )
    check_report(scene_of(kind), placement, results)
    return results


def path_of(results, analysis: str, frame: Frame):
    name = NAMES.get(analysis, "box")
    return results / analysis / f"{name}_compressed/{name}.{frame.step:09}.h5"


def finite_elements(values: np.ndarray) -> np.ndarray:
    return np.isfinite(values).all(axis=(1, 2, 3, 4))


def rms(off: np.ndarray, weights: np.ndarray) -> float:
    """Over the volume, of the component that is worst."""
    return max(
        np.sqrt((weights * off[:, c] ** 2).sum() / weights.sum()) for c in range(off.shape[1])
    )


def test_rms_is_within_the_bound(played):
    for frame in frames():
        weights = sorted_masses(frame)
        file = pillion.compressed.open(path_of(played, "plain", frame))
        assert (file.step, file.time, file.mesh) == (frame.step, frame.time, "box")
        for name in ("velocity", "noise", "holes"):
            wanted = original(frame, name)
            good = finite_elements(wanted)
            as_decoded = file.read(name, average=False)
            assert as_decoded.dtype == wanted.dtype
            np.testing.assert_array_equal(as_decoded[~good], wanted[~good])
            off = as_decoded[good] - wanted[good]
            # Of each element, and so of all.
            own = np.sqrt(
                (weights[good][:, None] * off**2).sum(axis=(2, 3, 4))
                / weights[good].sum(axis=(1, 2, 3))[:, None]
            )
            assert own.max() <= BOUND
            assert own.max() > 0.9 * BOUND  # nothing is stored in vain
            field = file.field(name)
            assert field.bound == BOUND and field.norm == "rms"
            every = np.zeros(wanted.shape)
            every[good] = off
            assert rms(every, weights) <= field.error <= BOUND
        # A continuous field is continuous again, and no further off.
        averaged = file.read("velocity")
        off = averaged - original(frame, "velocity")
        before = file.read("velocity", average=False) - original(frame, "velocity")
        for c in range(3):
            assert rms(off[:, c : c + 1], weights) <= rms(before[:, c : c + 1], weights) <= BOUND
        assert file.average is not None
        for c in range(3):
            jumps = np.zeros(file.average.places.max() + 1)
            jumps[file.average.places.ravel()] = averaged[:, c].ravel()
            np.testing.assert_array_equal(jumps[file.average.places], averaged[:, c])
        width = np.array(SIDES) * ORDER + 1
        assert file.average.places.max() + 1 == np.prod(width)


@pytest.mark.filterwarnings("error")
def test_what_is_read_is_within_the_bound(played):
    """By default, whatever fields are and whatever is said of them: of `noise`, which jumps."""
    for frame in frames():
        weights, wanted = sorted_masses(frame), original(frame, "noise")
        file = pillion.compressed.open(path_of(played, "plain", frame))
        assert file.field("velocity").is_continuous and not file.field("noise").is_continuous
        assert rms(file.read("noise") - wanted, weights) <= BOUND
        assert rms(file.read("noise", average=True) - wanted, weights) > 10 * BOUND
        file = pillion.compressed.open(path_of(played, "part", frame))
        assert file.field("noise").is_continuous  # which is not true
        with pytest.warns(UserWarning, match="jumps between elements.*not averaged"):
            found = file.read("noise")
        assert np.abs(found - wanted).max() <= file.field("noise").bound
        off = file.read("velocity") - original(frame, "velocity")
        assert np.abs(off).max() <= file.field("velocity").bound


def test_every_point_is_within_a_bound(played):
    for frame in frames():
        file = pillion.compressed.open(path_of(played, "part", frame))
        np.testing.assert_array_equal(file.coordinates, original(frame, "xyz"))
        for name in ("velocity", "noise", "holes"):
            wanted = original(frame, name)
            good = finite_elements(wanted)
            ranges = [np.ptp(wanted[good][:, c].astype(float)) for c in range(wanted.shape[1])]
            field = file.field(name)
            assert field.bound == pytest.approx(PART * max(ranges), rel=1e-12)
            for average in (False, True) if name == "velocity" else (False,):
                off = np.abs(file.read(name, average=average)[good].astype(float) - wanted[good])
                assert off.max() <= field.bound
            assert field.norm == "max" and off.max() <= field.error <= field.bound


def test_the_fewest_coefficients_are_kept(played):
    for frame in frames():
        file = pillion.compressed.open(path_of(played, "fewest", frame))
        assert file.coordinates is None
        velocity, weights = original(frame, "velocity"), sorted_masses(frame)
        magnitude = np.sqrt((weights * (velocity**2).sum(axis=1)).sum() / weights.sum())
        field = file.field("velocity")
        assert field.bound == pytest.approx(BOUND * magnitude, rel=1e-12)
        assert rms(file.read("velocity") - velocity, weights) <= field.bound
        assert (file.coefficients("velocity") == 0).mean() > 0.3


@pytest.mark.parametrize("analysis", ["nothing", "values"])
def test_nothing_is_lost(played, analysis):
    for frame in frames():
        file = pillion.compressed.open(path_of(played, analysis, frame))
        for name in ("velocity", "noise", "holes"):
            found, wanted = file.read(name), original(frame, name)
            assert found.dtype == wanted.dtype and found.tobytes() == wanted.tobytes()
        assert file.field("velocity").error == 0 and file.field("velocity").ratio >= 1


@pytest.mark.parametrize("resumed", [False, True])
def test_steps_with_other_elements_have_their_own_coordinates(build, tmp_path, resumed):
    """All elements, some, as many of which one is another, and all again in another order; also
    where a restart lies between.
    """
    whole = frames()[0]
    count = len(whole["number"])
    order = np.random.default_rng(3).permutation(count)
    first = np.arange(count - 1)
    kept = [first, order[: count // 2], first + 1, first[::-1]]
    parts = [
        Frame(step, 0.5 * step, {name: whole[name][those] for name in whole.values})
        for step, those in enumerate(kept)
    ]
    told = f"""
analyses:
  plain:
    stages:
      - truncate: {{fields: [velocity], error: {BOUND}}}
      - encode: {{fields: [velocity], durable: false}}
"""
    here = Scene("elements", parts, CATALOGUE, told, "trajectory_driver", ("--elements", 1))
    if resumed:
        state = tmp_path / "state"
        here.run(build, tmp_path, Placement(1, 0, "slabs"), last=2, checkpoint=state)
        results, _ = here.run(build, tmp_path, Placement(2, 0, "slabs"), first=2, restart=state)
    else:
        results, _ = here.run(build, tmp_path, Placement(2, 0, "slabs"))
    table = read_table(results / "plain" / "encode_box.csv")
    assert list(table["step"]) == [0, 1, 2, 3]
    for frame in parts:
        file = pillion.compressed.open(path_of(results, "plain", frame))
        np.testing.assert_array_equal(file.coordinates, original(frame, "xyz"))
        off = file.read("velocity") - original(frame, "velocity")
        assert 0 < np.abs(off).max() < 20 * BOUND
        with h5py.File(path_of(results, "plain", frame)) as stored:
            assert ("mesh_file" in stored.attrs) == (frame.step in (0, 3))


def test_other_fields_after_a_restart_are_refused(build, tmp_path):
    """Their columns would go on where those of others have ended."""
    told = "analyses: {{plain: {{stages: [{{encode: {{fields: [{}], durable: false}}}}]}}}}\n"
    place, state = Placement(2, 0, "slabs"), tmp_path / "state"
    results, _ = scene(told.format("velocity, noise")).run(
        build, tmp_path, place, last=2, checkpoint=state
    )
    path = results / "plain" / "encode_box.csv"
    before = path.read_bytes()
    _, done = scene(told.format("noise")).run(
        build, tmp_path, place, first=2, restart=state, fails=True
    )
    assert "velocity, noise, not noise" in done.stderr and "another name" in done.stderr
    assert path.read_bytes() == before


def test_table(played):
    table = read_table(played / "plain/encode_box.csv")
    assert table["step"].tolist() == [0, 1, 2] and table.units["error_velocity"] == "m/s"
    for row, frame in enumerate(frames()):
        with h5py.File(path_of(played, "plain", frame)) as file:
            for name in ("velocity", "noise", "holes"):
                assert table[f"bytes_out_{name}"][row] == file[name].size
                assert table[f"bytes_in_{name}"][row] == frame[name].nbytes
                assert table[f"error_{name}"][row] == file[name].attrs["error"]
                ratio = frame[name].nbytes / file[name].size
                assert table[f"ratio_{name}"][row] == pytest.approx(ratio)
            assert table["untouched_holes"][row] == 2 and table["untouched_velocity"][row] == 0
            assert 0 < table["kept_velocity"][row] < 1 and table["bound_noise"][row] == BOUND


def test_placements_make_no_difference(build, tmp_path):
    """Decoded values are the same to the bit."""
    found = []
    for number, placement in enumerate([Placement(1, 0, "slabs"), Placement(3, 2, "sparse")]):
        text = ANALYSES if number == 0 else HYBRID
        results, _ = scene(text).run(build, tmp_path / str(number), placement)
        files = [pillion.compressed.open(path_of(results, "plain", f)) for f in frames()]
        found.append([f.read(name) for f in files for name in ("velocity", "noise")])
    for one, other in zip(*found, strict=True):
        np.testing.assert_array_equal(one, other)


UNIFORM = {
    "points": "encode: {fields: [density, velocity], error: 1e-3, relative_to: range}",
    "mean": "encode: {fields: [density, velocity], error: 1e-2, norm: rms}",
    "exact": "encode: {fields: [density, velocity], error: 0}",
}


@pytest.mark.parametrize(
    ("name", "placement"),
    [
        ("brick", Placement(3, 0, "uneven")),
        ("brick", Placement(2, 3, "empty")),
        ("sheet", Placement(2, 1, "many")),
        ("line", Placement(3, 0, "slabs")),
    ],
    ids=str,
)
def test_uniform_meshes(build, tmp_path, name, placement):
    if "PILLION_ZFP:INTERNAL=ON" not in (build / "CMakeCache.txt").read_text():
        pytest.skip("built without zfp")
    here = mesh_scene(name, UNIFORM)
    results, _ = here.run(build, tmp_path, placement)
    for frame in here.frames:
        for analysis in UNIFORM:
            path = results / analysis / f"grid_compressed/grid.{frame.step:09}.h5"
            file = pillion.compressed.open(path)
            for field in ("density", "velocity"):
                wanted = in_file_order(name, frame[field])
                off = np.abs(file.read(field).astype(float) - wanted)
                about = file.field(field)
                if analysis == "exact":
                    assert off.max() == 0 and about.error == 0
                elif analysis == "points":
                    ends = wanted.reshape(-1, about.components)
                    assert about.bound == pytest.approx(1e-3 * np.ptp(wanted), rel=1e-6)
                    assert len(ends) and off.max() <= about.error <= about.bound
                    assert about.ratio > 1.5
                else:
                    assert np.sqrt((off**2).mean()) <= about.error * (1 + 1e-9) <= about.bound * 2


def test_what_is_no_number_and_bounds_whose_squares_are_none(build, tmp_path):
    """Nothing comes back as a number that was none, and no bound breaks since its square is 0."""
    if "PILLION_ZFP:INTERNAL=ON" not in (build / "CMakeCache.txt").read_text():
        pytest.skip("built without zfp")
    told = {
        "points": "encode: {fields: [velocity], error: 1e-3}",
        "tiny": "encode: {fields: [density], error: 1e-170, norm: rms}",
    }
    here = mesh_scene("brick", told)
    for frame in here.frames:
        frame.values["density"] = frame["density"] * 1e-168
        frame.values["velocity"] = frame["velocity"].copy()
        frame.values["velocity"].reshape(-1)[[0, 77, 200]] = [np.nan, np.inf, np.nan]
    results, _ = here.run(build, tmp_path, Placement(2, 0, "slabs"))
    for frame in here.frames:
        path = {a: results / a / f"grid_compressed/grid.{frame.step:09}.h5" for a in told}
        found = pillion.compressed.open(path["points"]).read("velocity")
        wanted = in_file_order("brick", frame["velocity"])
        good = np.isfinite(wanted)
        np.testing.assert_array_equal(found[~good], wanted[~good])
        assert np.abs(found[good] - wanted[good]).max() <= 1e-3
        found = pillion.compressed.open(path["tiny"]).read("density")
        scaled = (found - in_file_order("brick", frame["density"])) * 1e170
        assert np.sqrt((scaled**2).mean()) <= 1


@pytest.mark.parametrize("codec", ["zfp", "sz3"])
def test_no_box_takes_more_than_its_values_and_bounds_are_used(build, tmp_path, codec, monkeypatch):
    """Numbers that no code can shorten, and noise, whose bound is worth bits."""
    if codec == "zfp" and "PILLION_ZFP:INTERNAL=ON" not in (build / "CMakeCache.txt").read_text():
        pytest.skip("built without zfp")
    if codec == "sz3":
        monkeypatch.setenv("HDF5_PLUGIN_PATH", pytest.importorskip("hdf5plugin").PLUGIN_PATH)
    told = {
        "decades": f"encode: {{fields: [density], error: 1.0e-3, codec: {codec}}}",
        "exact": f"encode: {{fields: [density], error: 0, codec: {codec}}}",
        "noise": f"encode: {{fields: [velocity], error: 0.1, codec: {codec}}}",
        "mean": f"encode: {{fields: [velocity], error: 0.1, norm: rms, codec: {codec}}}",
    }
    here, rng = mesh_scene("brick", told), np.random.default_rng(2)
    for frame in here.frames:
        bits = rng.integers(0, 2**64, frame["density"].shape, np.uint64).view(np.float64)
        frame.values["density"] = np.where(np.isfinite(bits), bits, 1.0)
        noise = rng.normal(size=frame["velocity"].shape)
        frame.values["velocity"] = noise.astype(frame["velocity"].dtype)
    results, _ = here.run(build, tmp_path, Placement(2, 0, "uneven"))
    for frame in here.frames:
        for analysis in told:
            path = results / analysis / f"grid_compressed/grid.{frame.step:09}.h5"
            (field,) = pillion.compressed.open(path).fields.values()
            assert field.ratio >= 1, (analysis, field)
            if field.name == "velocity":
                assert 0.45 < field.error / field.bound <= 1, (analysis, field)


@pytest.mark.drawn
@pytest.mark.parametrize(
    ("stages", "said"),
    [
        ("encode: {fields: [velocity], continuous: [noise]}", "'noise' is not listed in `fields`"),
        ("encode: {fields: [velocity, noise, velocity]}", "'velocity' is listed twice"),
        ("encode: {fields: [velocity, xyz]}", "stored as the mesh's coordinates"),
        ("truncate: {fields: [velocity], error: -1}", "0 or greater"),
        ("truncate: {fields: [number], error: 1}", "not one of reals at the points"),
        ("encode: {fields: [velocity], codec: gzip}", "there are"),
        ("encode: {fields: [velocity], codec: xz, level: 12}", "levels of xz are 0 to 9, not 12"),
        ("encode: {fields: [velocity], error: 1}", "whose errors the stage truncate bounds"),
        ("encode: {fields: [velocity], numbers: noise}", "not an integer of each element"),
        ("encode: {fields: [velocity], periods: [1, 2]}", "three lengths"),
    ],
)
def test_mistakes(build, tmp_path, stages, said):
    text = f"analyses:\n  wrong:\n    stages:\n      - {stages}\n"
    placement = Placement(1, 0, "slabs")
    with pytest.raises(pytest.fail.Exception) as failure:
        scene(text).run(build, tmp_path, placement)
    assert said in str(failure.value)
