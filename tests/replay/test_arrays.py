# SPDX-License-Identifier: BSD-3-Clause
"""Every value of an array in a file becomes that of the right cell or particle: any type that fits,
both byte orders, both orders of indices in memory, both ways to index, one to three dimensions, and
any number of ranks, also more than there are planes."""

import h5py
import numpy as np
import pillion
import pytest
from conftest import read_table
from replaying import needs_hdf5, read_seen, replay, write_hdf5, write_npy

# What each field is declared as, and as what it may be stored.
FIELDS = {
    "density": ("float64", 1, ["<f8", ">f8", "<f4", ">i4", "<u2"]),
    "velocity": ("float32", 3, ["<f4", ">f4", ">i2", "|u1"]),
    "level": ("int32", 1, ["<i4", ">i2", "<u2", "|i1"]),
    "number": ("int64", 1, ["<i8", ">u4", "<i4", ">i8"]),
}
SHAPES = {"cube": (7, 5, 6), "sheet": (9, 4), "line": (13,)}
STEPS = (0, 7, 10)
SEED = {"npy": 100, "hdf5": 200}

CASES = [
    ("cube", 1, "npy", "zyx", "{}"),
    ("cube", 3, "npy", "xyz", "{}"),
    ("cube", 8, "npy", "zyx", "{}"),
    ("cube", 4, "npy", "zyx", "{per_node: 1}"),
    ("cube", 3, "hdf5", "zyx", "{ranks: 1}"),
    ("cube", 8, "hdf5", "xyz", "{}"),
    ("sheet", 6, "npy", "zyx", "{}"),
    ("sheet", 3, "hdf5", "xyz", "{}"),
    ("line", 4, "npy", "xyz", "{}"),
]


def stored_array(rng, shape, kind: str) -> np.ndarray:
    """Values over the whole range of a type, in a random order in memory."""
    kind = np.dtype(kind)
    if kind.kind == "f":
        array = rng.normal(0, 1e3, shape).astype(kind)
    else:
        ends = np.iinfo(kind)
        array = rng.integers(ends.min, ends.max, shape, dtype=kind.newbyteorder("="), endpoint=True)
        array = array.astype(kind)
    return np.asfortranarray(array) if rng.random() < 0.5 else array


def configuration(cells, sidecars: str, folder) -> str:
    fields = "".join(
        f"  {name}: {{mesh: grid, type: {kind}, components: {components}}}\n"
        for name, (kind, components, _) in FIELDS.items()
    )
    return f"""
sidecars: {sidecars}
parameters: {{lowest: -2000}}
meshes:
  grid: {{kind: uniform, cells: [{", ".join(map(str, cells))}]}}
fields:
{fields}
analyses:
  seen:
    stages:
      - cells: {{fields: [{", ".join(FIELDS)}], folder: {folder}/seen, layout: shared}}
      - histogram: {{field: density, range: [$lowest, 2000], bins: 20}}
      - statistics: {{fields: [density]}}
"""


@pytest.mark.drawn
@pytest.mark.parametrize(("shape", "ranks", "kind", "axes", "sidecars"), CASES)
def test_grids(build, tmp_path, shape, ranks, kind, axes, sidecars):
    cells = SHAPES[shape]
    rng = np.random.default_rng(SEED[kind] + ranks)
    (tmp_path / "c.yaml").write_text(configuration(cells, sidecars, tmp_path))
    indexed = cells if axes == "xyz" else cells[::-1]
    arrays = {}
    for step in STEPS:
        for name, (_, components, kinds) in FIELDS.items():
            extents = (*indexed, components) if components > 1 else indexed
            arrays[name, step] = stored_array(rng, extents, rng.choice(kinds))
        if kind == "npy":
            for name in FIELDS:
                write_npy(tmp_path / "fields", name, step, arrays[name, step])
        else:
            needs_hdf5(build)
            of_step = {f"some/{name}": arrays[name, step] for name in FIELDS}
            write_hdf5(tmp_path / f"fields/run_{step}.h5", of_step)
    env = {"PILLION_STAGE_PATH": build / "tests/conformance/stages"}
    words = ("--axes", axes, "--time-per-step", 0.5, "fields", "c.yaml")
    replay(build, tmp_path, ranks, *words, env=env)
    table = read_table(tmp_path / "results/seen/statistics_density.csv")
    assert list(table["step"]) == list(STEPS) and list(table["time"]) == [0, 3.5, 5]
    for step in STEPS:
        seen = read_seen(tmp_path, step, cells, FIELDS)
        for name, (declared, _, _) in FIELDS.items():
            expected = arrays[name, step].astype(declared)
            if axes == "zyx":
                expected = expected.transpose(
                    *range(len(cells) - 1, -1, -1), *range(len(cells), expected.ndim)
                )
            np.testing.assert_array_equal(seen[name], expected.reshape(seen[name].shape), name)
        histogram = read_table(tmp_path / f"results/seen/histogram_density.{step:09}.csv")
        edges = np.append(histogram["lower"], histogram["upper"][-1])
        expected = np.histogram(arrays["density", step].astype(float), edges)[0]
        np.testing.assert_array_equal(histogram["count"], expected)


PARTICLES = """
sidecars: {sidecars}
meshes: {{stars: {{kind: particles}}}}
fields:
  place: {{mesh: stars, type: float64, components: 3}}
  speed: {{mesh: stars, type: float32}}
analyses:
  a:
    stages:
      - histogram:
          field: place
          component: 1
          range: [0, 1]
          bins: 7
          against: {{field: speed, range: [-2, 2], bins: 5}}
      - statistics: {{fields: [place, speed]}}
"""


@pytest.mark.parametrize(
    ("ranks", "kind", "sidecars"),
    [(1, "npy", "{}"), (4, "npy", "{}"), (3, "npy", "{per_node: 1}"), (3, "hdf5", "{ranks: 1}")],
)
def test_particles(build, tmp_path, ranks, kind, sidecars):
    """Their number changes from step to step, down to none; components may lie apart."""
    rng = np.random.default_rng(ranks)
    (tmp_path / "c.yaml").write_text(PARTICLES.format(sidecars=sidecars))
    frames = {}
    for step, count in enumerate((50, 2, 0, 301)):
        place = rng.random((count, 3))
        speed = rng.normal(0, 1, count).astype(np.float32)
        frames[step] = place, speed
        if kind == "npy":
            write_npy(tmp_path, "x", step, np.asfortranarray(place) if step % 3 == 0 else place)
            write_npy(tmp_path, "speed", step, speed)
        else:
            needs_hdf5(build)
            arrays = {"PartType1/Coordinates": place, "PartType1/speed": speed}
            write_hdf5(tmp_path / f"s{step}.hdf5", arrays, time=0.1 * step)
    name = "place=x" if kind == "npy" else "place=PartType1/Coordinates"
    files = sorted(tmp_path.glob("*.npy")) + sorted(tmp_path.glob("*.hdf5"))
    replay(build, tmp_path, ranks, "--name", name, "--domain", "stars=1,1,1", *files, "c.yaml")
    for step, (place, speed) in frames.items():
        path = f"results/a/histogram_place_y_against_speed.{step:09}.csv"
        table = read_table(tmp_path / path)
        counts = table["count"].reshape(9, 7)[1:-1, 1:-1]
        bins = (np.linspace(0, 1, 8), np.linspace(-2, 2, 6))
        expected = np.histogram2d(place[:, 1], speed, bins)[0]
        np.testing.assert_array_equal(counts, expected)


DOMAIN = """
import numpy as np
import pillion


@pillion.stage("speed", products=["domain.csv"])
def domain(step):
    found = step.domain("stars")
    columns = {"lo": found.lo, "hi": found.hi, "tilt": found.tilt}
    columns |= {"periodic": np.array(found.periodic, int)}
    step.table("domain", columns, attributes={"dimensions": found.dimensions})
"""


@pytest.mark.parametrize("ranks", [1, 2])
def test_domain_in_a_file(build, tmp_path, ranks):
    """As the stages that write note it, in a plane, too; it goes before snapshots.yaml."""
    attributes = {"domain_lo": [-1.0, 0, 0], "domain_hi": [1.0, 3, 1], "domain_tilt": [0.5, 0, 0]}
    attributes |= {"domain_periodic": [1, 0, 1], "domain_dimensions": 2}
    speed = np.arange(7, dtype=np.float32)
    write_hdf5(tmp_path / "s/s1.h5", {"speed": speed}, time=0.5, **attributes)
    (tmp_path / "s/snapshots.yaml").write_text("domains: {stars: {length: [9, 9, 9]}}\n")
    (tmp_path / "d.py").write_text(DOMAIN)
    (tmp_path / "c.yaml").write_text(
        "meshes: {stars: {kind: particles}}\nfields: {speed: {mesh: stars, type: float32}}\n"
        'analyses: {a: {stages: [python: {call: "d.py:domain"}]}}\n'
    )
    replay(build, tmp_path, ranks, "s", "c.yaml")
    table = read_table(tmp_path / "results/a/domain.csv")
    assert table.attributes["dimensions"] == 2
    for name in ("lo", "hi", "tilt", "periodic"):
        np.testing.assert_array_equal(table[name], attributes[f"domain_{name}"])


def test_a_filter_that_is_not_the_library_s_own(build, tmp_path):
    hdf5plugin = pytest.importorskip("hdf5plugin")
    values = np.random.default_rng(1).random((8, 8, 8))
    with h5py.File(tmp_path / "s1.h5", "w") as file:
        file.create_dataset("gas", data=values, chunks=(4, 4, 4), **hdf5plugin.Zstd())
    (tmp_path / "c.yaml").write_text(
        "meshes: {grid: {kind: uniform, cells: [8, 8, 8]}}\n"
        "fields: {gas: {mesh: grid, type: float64}}\n"
        "analyses: {a: {stages: [statistics: {fields: [gas]}]}}\n"
    )
    replay(build, tmp_path, 1, "s1.h5", "c.yaml")
    table = read_table(tmp_path / "results/a/statistics_gas.csv")
    assert table["max"][0] == values.max()


COMPONENTS = """
output: results
meshes: {grid: {kind: uniform, cells: [4, 5, 6]}}
fields:
  vx: {mesh: grid, type: float64}
  vy: {mesh: grid, type: float64}
  vz: {mesh: grid, type: float64}
  velocity: {components: [vx, vy, vz]}
analyses: {a: {stages: [write_raw: {fields: [velocity, vy], durable: false}]}}
"""


def test_a_vector_that_consists_of_fields(build, tmp_path):
    """Files have it whole, in either order of memory; one component is there on its own, too."""
    rng = np.random.default_rng(8)
    v, vy = rng.normal(size=(4, 6, 5, 4, 3)), rng.normal(size=(6, 5, 4))
    write_npy(tmp_path / "f", "velocity", 0, v[0])
    write_npy(tmp_path / "f", "velocity", 1, np.asfortranarray(v[1]))
    write_hdf5(tmp_path / "f/a_2.h5", {"velocity": v[2]})
    write_npy(tmp_path / "f", "velocity", 3, v[3])
    write_npy(tmp_path / "f", "vy", 3, vy)
    (tmp_path / "c.yaml").write_text(COMPONENTS)
    replay(build, tmp_path, 3, "f", "c.yaml")
    v[3, ..., 1] = vy
    found = pillion.results(tmp_path / "results")
    for step in range(4):
        values = found.at("a/grid", step)
        np.testing.assert_array_equal(values["velocity"].values, v[step])
        np.testing.assert_array_equal(values["vy"].values, v[step, ..., 1])
