# SPDX-License-Identifier: BSD-3-Clause
"""Power spectra against NumPy's transforms of the whole mesh, and against powerbox, wherever they
are computed, however the mesh is shared and on however many ranks."""

from functools import cache

import numpy as np
import powerbox
import pytest
from conftest import read_table
from frames import Frame
from placements import cases, placements
from pool import results_of_case
from scenes import Placement, Scene

ANALYSES = """
analyses:
  matter:
    every: 1 steps
    stages:
      - power_spectrum: {{field: density, line_of_sight: [{axes}]}}
      - power_spectrum: {{field: density, with: light, with_window: cic}}
  raw:
    every: 1 steps
    stages:
      - power_spectrum: {{field: light, contrast: false, scale: log, bins: 7, layout: pencils}}
  counts:
    every: 2 steps
    stages:
      - power_spectrum: {{field: counts, window: cic, shot_noise: 5000, width: 1.5}}
"""

CATALOGUE = """
meshes:
  grid: {{kind: uniform, cells: [{cells}], length: [{length}], units: Mpc, periodic: true}}
fields:
  density: {{mesh: grid, type: float64, units: g/cm^3}}
  light: {{mesh: grid, type: float32, units: K}}
  counts: {{mesh: grid, type: int32}}
"""

SHAPES = {
    "cube": ((16, 16, 16), (40, 40, 40)),
    "brick": ((9, 8, 15), (3, 5, 4)),
    "plate": ((14, 10, 2), (7, 6, 1)),  # fewer planes than some placements have peers
    "sheet": ((12, 21), (1, 1.5)),
    "line": ((64,), (8,)),
}


@cache
def scene(name: str) -> Scene:
    cells, length = SHAPES[name]
    rng = np.random.default_rng(len(name))
    count = int(np.prod(cells))
    frames = []
    for step in range(3):
        density = np.exp(rng.normal(0, 0.8, count))
        light = (density**0.5 + rng.normal(0, 0.1, count)).astype(np.float32)
        counts = rng.poisson(3 * density).astype(np.int32)
        frames.append(
            Frame(step, 0.5 * step, {"density": density, "light": light, "counts": counts})
        )
    text = CATALOGUE.format(cells=", ".join(map(str, cells)), length=", ".join(map(str, length)))
    analyses = ANALYSES.format(axes=", ".join(map(str, range(len(cells)))))
    arguments = ("--cells", ",".join(map(str, cells)))
    return Scene(name, frames, text, analyses, "grid_driver", arguments)


PLACEMENTS = {
    "cube": placements(
        ["slabs", "uneven", "many", "empty"],
        [
            *((1, 0, "slabs"), (3, 0, "uneven"), (4, 0, "many"), (2, 3, "empty")),
            *((3, 1, "many"), (3, 2, "slabs", "node"), (2, 2, "many", "separate", 2)),
        ],
    ),
    "brick": [Placement(2, 0, "many"), Placement(1, 4, "slabs"), Placement(3, 2, "empty")],
    "plate": [Placement(2, 0, "slabs"), Placement(4, 0, "uneven"), Placement(2, 3, "many")],
    "sheet": [Placement(3, 0, "uneven"), Placement(2, 2, "many")],
    "line": [Placement(2, 0, "slabs"), Placement(2, 3, "many")],
}


@pytest.fixture(scope="module", params=cases(PLACEMENTS))
def played(request, build, tmp_path_factory):
    name, placement = request.param
    _, results = results_of_case(
        request, build, tmp_path_factory, lambda case, _: (scene(case[0]), case[1])
    )
    return name, placement, results


def whole(name: str, frame: Frame, field: str) -> np.ndarray:
    return frame[field].astype(float).reshape(SHAPES[name][0], order="F")


def waves(name: str) -> list[np.ndarray]:
    """Components of the wave vector of every mode."""
    cells, length = SHAPES[name]
    axes = [
        2 * np.pi / size * np.fft.fftfreq(n, 1 / n) for n, size in zip(cells, length, strict=True)
    ]
    return np.meshgrid(*axes, indexing="ij")


def transform(name: str, values: np.ndarray, contrast: bool, power: int) -> np.ndarray:
    if contrast:
        values = values / values.mean() - 1
    cells, length = SHAPES[name]
    window = 1.0
    for n, size, k in zip(cells, length, waves(name), strict=True):
        window = window * np.sinc(k * size / n / (2 * np.pi)) ** power
    return np.fft.fftn(values) * np.prod(length) / np.prod(cells) / window


def expected(name: str, a: np.ndarray, b: np.ndarray, table) -> dict:
    """Means over shells whose edges are taken from the table."""
    volume = np.prod(SHAPES[name][1])
    modes = (a * b.conj()).real / volume
    k = np.sqrt(sum(c**2 for c in waves(name)))
    edges = np.append(table["k_lower"], table["k_upper"][-1])
    # The means of the wave numbers of a shell lie on no edge, if edges are between them.
    which = np.digitize(k.ravel() * (1 + 1e-12), edges) - 1
    inside = (which >= 0) & (which < len(edges) - 1) & (k.ravel() > 0)
    count = np.bincount(which[inside], minlength=len(edges) - 1)
    with np.errstate(invalid="ignore", divide="ignore"):
        return {
            "modes": count,
            "k": np.bincount(which[inside], k.ravel()[inside], len(edges) - 1) / count,
            "power": np.bincount(which[inside], modes.ravel()[inside], len(edges) - 1) / count,
        }


def tables(played, analysis: str, stem: str):
    name, _, results = played
    for frame in scene(name).frames:
        if analysis == "counts" and frame.step % 2:
            continue
        path = results / analysis / f"{stem}.{frame.step:09}.csv"
        yield name, frame, read_table(path)


def check(table, wanted, subtract: float = 0):
    np.testing.assert_array_equal(table["modes"], wanted["modes"])
    np.testing.assert_allclose(table["k"], wanted["k"], rtol=1e-12)
    scale = np.nanmax(np.abs(wanted["power"]))
    np.testing.assert_allclose(
        table["power"], wanted["power"] - subtract, rtol=1e-10, atol=1e-10 * scale
    )


def test_contrast(played):
    for name, frame, table in tables(played, "matter", "power_spectrum_density"):
        a = transform(name, whole(name, frame, "density"), True, 0)
        wanted = expected(name, a, a, table)
        check(table, wanted)
        with np.errstate(invalid="ignore", divide="ignore"):
            error = wanted["power"] * np.sqrt(2 / wanted["modes"])
        np.testing.assert_allclose(table["error"], error, rtol=1e-10)
        dimensions = a.ndim
        area = {1: np.pi, 2: 2 * np.pi, 3: 2 * np.pi**2}[dimensions]
        np.testing.assert_allclose(
            table["dimensionless"], table["k"] ** dimensions * table["power"] / area, rtol=1e-12
        )


def test_parseval(played):
    for name, frame, table in tables(played, "matter", "power_spectrum_density"):
        values = whole(name, frame, "density")
        contrast = values / values.mean() - 1
        assert table.attributes["variance"] == pytest.approx((contrast**2).mean(), rel=1e-12)
        assert table.attributes["mean"] == pytest.approx(values.mean(), rel=1e-12)


def test_cross_spectrum(played):
    for name, frame, table in tables(played, "matter", "power_spectrum_density_light"):
        a = transform(name, whole(name, frame, "density"), True, 0)
        b = transform(name, whole(name, frame, "light"), True, 2)
        check(table, expected(name, a, b, table))
        own = [expected(name, f, f, table)["power"] for f in (a, b)]
        with np.errstate(invalid="ignore", divide="ignore"):
            error = np.sqrt((table["power"] ** 2 + own[0] * own[1]) / table["modes"])
        np.testing.assert_allclose(table["error"], error, rtol=1e-9)


def test_values_as_they_are_in_logarithmic_shells(played):
    for name, frame, table in tables(played, "raw", "power_spectrum_light"):
        a = transform(name, whole(name, frame, "light"), False, 0)
        check(table, expected(name, a, a, table))
        assert len(table["k"]) == 7
        ratio = table["k_upper"] / table["k_lower"]
        np.testing.assert_allclose(ratio, ratio[0], rtol=1e-12)


def shot_noise(name: str, cloud: int, undone: bool) -> np.ndarray:
    """Of every mode in units of V/N, as a sum over aliases: particles at random have the same
    power on all scales, times the window of their cloud, and the mesh folds it all in."""
    aliases = np.arange(-4000, 4001)
    noise = 1.0
    for n, size, k in zip(*SHAPES[name], waves(name), strict=True):
        phase = np.rint(k * size / (2 * np.pi)) / n
        windows = np.sinc(np.unique(phase)[:, None] + aliases) ** (2 * cloud)
        noise = noise * windows.sum(axis=1)[np.searchsorted(np.unique(phase), phase)]
        noise = noise / (np.sinc(phase) ** (2 * cloud) if undone else 1)
    return noise


def mean_noise(name: str, noise: np.ndarray, table) -> np.ndarray:
    a = np.sqrt(noise * np.prod(SHAPES[name][1]))
    return expected(name, a, a, table)["power"]


def test_window_and_shot_noise(played):
    name = played[0]
    noise = shot_noise(name, 2, undone=True) * np.prod(SHAPES[name][1]) / 5000
    for _, frame, table in tables(played, "counts", "power_spectrum_counts"):
        a = transform(name, whole(name, frame, "counts"), True, 2)
        check(table, expected(name, a, a, table), mean_noise(name, noise, table))


CLOUDS = {"ngp": 1, "cic": 2, "tsc": 3}
RANDOM = 50_000


def deposited(at: np.ndarray, cells: tuple, cloud: int) -> np.ndarray:
    """Particles per cell; `at` is in units of cells, whose centres are at halves."""
    out = np.zeros(cells)
    first = np.floor(at - 0.5 * (cloud - 1)).astype(int)
    for offset in np.ndindex(*[cloud] * len(cells)):
        cell = first + offset
        d = np.abs(at - cell - 0.5)
        tsc = np.where(d < 0.5, 0.75 - d**2, 0.5 * (1.5 - d) ** 2)
        share = {1: np.ones_like(d), 2: 1 - d, 3: tsc}[cloud]
        np.add.at(out, tuple((cell % cells).T), share.prod(axis=1))
    return out


def test_particles_at_random_have_no_power_but_their_shot_noise(build, tmp_path):
    """In every shell, whichever cloud, whether its window is undone or not."""
    name = "random"
    SHAPES[name] = cells, length = (20, 16, 18), (25, 16, 18)
    rng = np.random.default_rng(5)
    frames = []
    for step in range(4):
        at = rng.uniform(0, cells, (RANDOM, 3))
        fields = {c: deposited(at, cells, p).ravel(order="F") for c, p in CLOUDS.items()}
        frames.append(Frame(step, float(step), fields))
    stages = {
        "left": "cloud: {0}",
        "undone": "window: {0}",
        "counts": "window: {0}, contrast: false",
    }
    analyses = "analyses:\n" + "".join(
        f"  {analysis}:\n    stages:\n"
        + "".join(
            f"      - power_spectrum: {{field: {c}, shot_noise: {RANDOM}, {rest.format(c)}}}\n"
            for c in CLOUDS
        )
        for analysis, rest in stages.items()
    )
    text = CATALOGUE.split("fields:")[0].format(
        cells=", ".join(map(str, cells)), length=", ".join(map(str, length))
    )
    text += "fields:\n" + "".join(f"  {c}: {{mesh: grid, type: float64}}\n" for c in CLOUDS)
    run = Scene(name, frames, text, analyses, "grid_driver", ("--cells", ",".join(map(str, cells))))
    results, _ = run.run(build, tmp_path, Placement(2, 0, "slabs"))
    level = np.prod(length) / RANDOM
    mean = RANDOM / np.prod(cells)
    for cloud, power in CLOUDS.items():
        for analysis in stages:
            those = [
                read_table(results / analysis / f"power_spectrum_{cloud}.{step:09}.csv")
                for step in range(len(frames))
            ]
            scale = mean**2 if analysis == "counts" else 1
            noise = shot_noise(name, power, undone=analysis != "left") * level * scale
            # Modes and their conjugates are one draw.
            squares = mean_noise(name, noise**2, those[0])
            deviation = np.sqrt(2 * squares / those[0]["modes"] / len(frames))
            found = np.mean([table["power"] for table in those], axis=0)
            assert (np.abs(found) / deviation).max() < 4, (cloud, analysis)
            assert deviation[-1] < 0.1 * mean_noise(name, noise, those[0])[-1]
            assert those[0].attributes["shot_noise"] == pytest.approx(level * scale, rel=1e-12)


def test_lines_of_sight(played):
    name = played[0]
    cells, length = SHAPES[name]
    for axis in range(len(cells)):
        stem = f"power_spectrum_density_axis_{axis}"
        for _, frame, table in tables(played, "matter", stem):
            values = whole(name, frame, "density")
            lines = np.fft.rfft(values / values.mean() - 1, axis=axis)
            powers = np.abs(lines * length[axis] / cells[axis]) ** 2 / length[axis]
            others = tuple(d for d in range(len(cells)) if d != axis)
            np.testing.assert_allclose(table["power"], powers.mean(axis=others)[1:], rtol=1e-10)
            n = np.arange(1, cells[axis] // 2 + 1)
            np.testing.assert_allclose(table["k"], 2 * np.pi * n / length[axis], rtol=1e-12)


def test_shells_are_those_of_powerbox():
    """The oracle above against another library, on a cube."""
    name = "cube"
    frame = scene(name).frames[0]
    values = whole(name, frame, "density")
    contrast = values / values.mean() - 1
    fundamental = 2 * np.pi / 40
    edges = fundamental * (np.arange(10) + 0.5)
    found = powerbox.get_power(contrast, 40, bins=edges, ignore_zero_mode=True)
    power, k = found.power, found.bin_avg
    a = transform(name, values, True, 0)
    wanted = expected(name, a, a, {"k_lower": edges[:-1], "k_upper": edges[1:]})
    np.testing.assert_allclose(power, wanted["power"], rtol=1e-10)
    np.testing.assert_allclose(k, wanted["k"], rtol=1e-10)


def test_invariants(build, tmp_path):
    """What shifting, scaling and turning a field does to its spectrum, and one of a plane wave."""
    n, size, amplitude = 16, 40, 0.7
    rng = np.random.default_rng(3)
    field = rng.normal(0, 1, (n, n, n))
    x = np.arange(n)
    wave = amplitude * np.cos(2 * np.pi * (3 * x[:, None, None] + 4 * x[None, None, :]) / n)
    fields = [
        field,
        np.roll(field, (3, -5, 7), (0, 1, 2)),
        3 * field,
        field.transpose(2, 0, 1),
        wave + 0 * field,
    ]
    frames = [
        Frame(
            step,
            0.5 * step,
            {
                "density": values.ravel(order="F"),
                "light": np.ones(n**3, np.float32),
                "counts": np.ones(n**3, np.int32),
            },
        )
        for step, values in enumerate(fields)
    ]
    analyses = (
        "analyses:\n  raw:\n    every: 1 steps\n    stages:\n"
        "      - power_spectrum: {field: density, contrast: false}\n"
    )
    text = CATALOGUE.format(cells="16, 16, 16", length="40, 40, 40")
    run = Scene("invariants", frames, text, analyses, "grid_driver", ("--cells", "16,16,16"))
    results, _ = run.run(build, tmp_path, Placement(3, 2, "many"))
    read = [
        read_table(results / "raw" / f"power_spectrum_density.{step:09}.csv") for step in range(5)
    ]
    plain = read[0]["power"]
    np.testing.assert_allclose(read[1]["power"], plain, rtol=1e-12)
    np.testing.assert_allclose(read[2]["power"], 9 * plain, rtol=1e-12)
    np.testing.assert_allclose(read[3]["power"], plain, rtol=1e-12)
    # White noise: P = sigma^2 V / N^3, as far as so few modes tell.
    level = size**3 / n**3
    assert np.abs(plain / level - 1)[2:].max() < 0.35
    # |n| = 5: two modes of A^2 V / 4 each.
    modes = read[4]["modes"]
    total = read[4]["power"] * modes
    assert total[4] == pytest.approx(2 * amplitude**2 * size**3 / 4, rel=1e-12)
    assert np.abs(np.delete(total, 4)).max() < 1e-12 * total[4]
