# SPDX-License-Identifier: BSD-3-Clause
"""What the stage `write` has stored in any of its formats, replayed with other analyses, gives what
these gave while the run went on."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from conftest import read_table
from frames import Domain, Frame
from replaying import assert_same, needs_hdf5, replay
from scenes import Placement, Scene

CELLS = (24, 20, 18)
MESH = """
meshes:
  grid: {kind: uniform, cells: [24, 20, 18], origin: [1, 2, 3], length: [6, 5, 9], periodic: true}
fields:
  density: {mesh: grid, type: float64, units: kg/m^3}
  velocity: {mesh: grid, type: float32, components: 3, units: m/s}
  level: {mesh: grid, type: int32}
  ids: {mesh: grid, type: int64}
  species: {mesh: grid, type: float64, components: 11}
"""
FIELDS = "fields: [density, velocity, level, ids, species]"
WRITTEN = {
    "idx": f"{FIELDS}, bits_per_block: 8, blocks_per_file: 5",
    "zip": f"{FIELDS}, compression: zip, bits_per_block: 7",
    "lz4": f"{FIELDS}, compression: lz4, bits_per_block: 10",
    "one_phase": f"{FIELDS}, phases: 1, bits_per_block: 6",
    "zfp": f"{FIELDS}, compression: zfp, bits_per_block: 9",
    "hdf5": FIELDS,
    "grouped": f"{FIELDS}, files: grouped, groups: 2, chunk: [8, 8, 4], compression: gzip",
    "raw": FIELDS,
    "plotfile": "fields: [density, velocity, species]",
    "openpmd": f"{FIELDS}, records: {{density: n}}",
    "vtkhdf": FIELDS,
    "old": f"{FIELDS}, old_readers: true",
}
# All else is IDX.
FORMATS = {key: key for key in ("hdf5", "openpmd", "plotfile", "raw", "vtkhdf")} | {
    "grouped": "hdf5",
    "old": "vtkhdf",
}
# What is replayed of each: the dataset itself, or the folder that it is in.
FOUND = {
    **{key: f"{key}/grid.idx" for key in ("idx", "zip", "lz4", "zfp", "one_phase")},
    "hdf5": "hdf5/grid_hdf5",
    "grouped": "grouped",
    "raw": "raw/grid.raw.yaml",
    "plotfile": "plotfile",
    "openpmd": "openpmd/grid_openpmd",
    "vtkhdf": "vtkhdf/grid.vtkhdf",
    "old": "old",
}
SCIENCE = """
  often:
    every: 1 steps
    stages:
      - statistics: {fields: [density, velocity, level, ids, species]}
      - histogram: {field: density, range: [0.01, 20], bins: 30, scale: log}
      - histogram: {field: level, range: [-10, 10], bins: 20}
  in_time:
    every: 1.5 time
    stages:
      - power_spectrum: {field: density}
      - slice: {field: velocity, component: 1, axis: x, position: 2.3}
"""
OF_REALS = SCIENCE.replace(", level, ids", "").replace(
    "      - histogram: {field: level, range: [-10, 10], bins: 20}\n", ""
)
STEPS = ((2, 0.0), (3, 0.25), (10, 2.5), (11, 1e5 / 3), (400, 1e5))


def frames():
    rng = np.random.default_rng(42)
    count = int(np.prod(CELLS))
    return [
        Frame(
            step,
            time,
            {
                "density": rng.lognormal(size=count),
                "velocity": rng.normal(size=(count, 3)).astype(np.float32),
                "level": rng.integers(-9, 9, count).astype(np.int32),
                "ids": rng.integers(-(2**40), 2**40, count),
                "species": rng.random((count, 11)),
            },
        )
        for step, time in STEPS
    ]


def has_zfp(build) -> bool:
    return "PILLION_ZFP:INTERNAL=ON" in (build / "CMakeCache.txt").read_text()


def written(stages: dict[str, str]) -> str:
    return "".join(
        f"  {key}:\n    every: 1 steps\n    stages:\n      - write_{FORMATS.get(key, 'idx')}: "
        f"{{{what}, durable: false}}\n"
        for key, what in stages.items()
    )


def scene(stages) -> Scene:
    analyses = "\nanalyses:" + SCIENCE + written(stages)
    arguments = ("--cells", ",".join(map(str, CELLS)))
    return Scene("grid", frames(), MESH, analyses, "grid_driver", arguments)


LIVE = [
    Placement(1, 0, "slabs"),
    Placement(3, 2, "many"),
    Placement(4, 1, "uneven", "node", 1, 0, "wait", "16 MiB"),
]


@pytest.fixture(scope="module")
def live(request, build, tmp_path_factory):
    """The output folder of a run that has written in every format, and analysed by itself."""
    if not (build / "stages" / "write_idx.so").exists():
        pytest.skip("the stage write_idx was not built: zlib or LZ4 was not found")
    needs_hdf5(build)
    placement = replace(request.param, memory="16 MiB")
    stages = {key: what for key, what in WRITTEN.items() if key != "zfp" or has_zfp(build)}
    return scene(stages).run(build, tmp_path_factory.mktemp("live"), placement)[0]


def configure(folder: Path, text: str, sidecars: str = "{}") -> None:
    (folder / "c.yaml").write_text(f"output: again\nsidecars: {sidecars}\n{text}", encoding="utf-8")


def compare(live: Path, again: Path, analyses, least: int, without=("none",)) -> None:
    tables = [path for key in analyses for path in sorted((live / key).glob("*.csv"))]
    assert len(tables) >= least
    for path in tables:
        if not path.stem.partition("_")[2].startswith(without):
            assert_same(path, again / path.relative_to(live))


# Datasets are the same wherever they were written, so each is replayed after one run or two.
REPLAYED = [
    *((LIVE[1 + n % 2], key, 3, "{}") for n, key in enumerate(WRITTEN)),
    *((LIVE[0], key, 5, "{ranks: 1}") for key in ("lz4", "raw", "plotfile", "openpmd")),
    *((LIVE[0], key, 1, "{}") for key in ("idx", "grouped")),
    (LIVE[1], "idx", 7, "{per_node: 2}"),
]


@pytest.mark.drawn
@pytest.mark.parametrize(("live", "key", "ranks", "sidecars"), REPLAYED, indirect=["live"], ids=str)
def test_grids(live, build, tmp_path, key, ranks, sidecars):
    if not (live / key).exists():
        pytest.skip("datasets are not compressed with zfp: it was not found")
    science, fields, without = SCIENCE, 5, ("none",)
    if key == "plotfile":  # which has reals only
        science, fields, without = OF_REALS, 3, ("level", "ids")
    configure(tmp_path, MESH + "\nanalyses:" + science, sidecars)
    done = replay(build, tmp_path, ranks, live / FOUND[key], "c.yaml")
    assert f"5 steps, 2 to 400; 5 were due; {fields} fields" in done.stdout
    assert "warning" not in done.stderr
    compare(live, tmp_path / "again", ("often", "in_time"), 9, without)


ATOMS = """
meshes: {atoms: {kind: particles}}
fields:
  id: {mesh: atoms, type: int64}
  position: {mesh: atoms, type: float64, components: 3}
  charge: {mesh: atoms, type: float32}
  type: {mesh: atoms, type: int32}
"""
OF_ATOMS = """
  seen:
    every: 1 steps
    stages:
      - statistics: {fields: [id, position, charge, type]}
      - rdf: {species: {a: [0, 1], b: [2]}, pairs: [[a, b], [a, a]], cutoff: 0.8, bins: 20}
"""
ATOM_FORMATS = {
    "hdf5": "fields: [id, position, charge, type], compression: gzip, chunk: [32]",
    "grouped": "fields: [id, position, charge, type], files: grouped, chunk: [64]",
    "raw": "fields: [id, position, charge, type]",
    "openpmd": "fields: [id, position, charge, type], name: all",
    "vtkhdf": "fields: [id, position, charge, type]",
}


def atom_frames():
    rng = np.random.default_rng(3)
    out = []
    for number, count in enumerate((400, 90, 333)):
        values = {
            "id": rng.permutation(count) + 3,
            "position": rng.random((count, 3)) * [2, 3, 4] + [-1, 0, 1],
            "charge": rng.normal(size=count).astype(np.float32),
            "type": rng.integers(0, 3, count).astype(np.int32),
        }
        high = np.array([1.0, 3.0, 5.0 + 0.01 * number])
        domain = Domain(np.array([-1.0, 0, 1]), high, np.array([0.3, 0, 0]), (1, 1, 0))
        out.append(Frame(5 * number, 0.1 * number**2, values, domain))
    return out


@pytest.mark.parametrize(
    ("live_at", "first"),
    [(Placement(3, 0, "pieces"), 0), (Placement(2, 2, "pieces"), 1)],
    ids=str,
)
def test_particles(build, tmp_path, live_at, first):
    """Their domain, too, which changes from step to step here."""
    needs_hdf5(build)
    analyses = "\nanalyses:" + OF_ATOMS + written(ATOM_FORMATS)
    scene = Scene("atoms", atom_frames(), ATOMS, analyses, "trajectory_driver")
    live, _ = scene.run(build, tmp_path, replace(live_at, memory="16 MiB"))
    for number, key in enumerate(ATOM_FORMATS, first):
        ranks, sidecars = ((1, "{}"), (4, "{ranks: 1}"))[number % 2]
        folder = tmp_path / f"{key}{ranks}"
        folder.mkdir()
        configure(folder, ATOMS + "\nanalyses:" + OF_ATOMS, sidecars)
        replay(build, folder, ranks, live / key, "c.yaml")
        compare(live, folder / "again", ("seen",), 5)


def test_a_run_is_not_replayed_over_itself(build, tmp_path):
    """The results that are being read would be moved aside, and are left as they are."""
    live, _ = scene({"idx": WRITTEN["idx"]}).run(build, tmp_path, Placement(2, 0, "slabs"))
    before = sorted(path for path in live.rglob("*"))
    done = replay(build, tmp_path, 2, "results/idx/grid.idx", "pillion.yaml", check=False)
    assert done.returncode == 1
    assert "'results/idx/grid.idx' is among the results of the run in" in done.stderr
    assert before == sorted(live.rglob("*"))
    words = ("--output", "again", "results/idx/grid.idx", "pillion.yaml")
    replay(build, tmp_path, 3, *words)
    compare(live, tmp_path / "again", ("often", "in_time"), 9)
    # And what is written anew is the same again.
    replay(build, tmp_path, 1, "--output", "more", "again/idx/grid.idx", "pillion.yaml")
    compare(live, tmp_path / "more", ("often", "in_time"), 9)


def test_only_what_is_needed_is_read(build, tmp_path):
    """Of a field and of a few steps: files of others are not even opened."""
    live, _ = scene({"idx": WRITTEN["idx"]}).run(build, tmp_path, Placement(2, 0, "slabs"))
    analysis = "\nanalyses:\n  a:\n    every: 10 steps\n    stages:\n      - statistics: "
    configure(tmp_path, MESH + analysis + "{fields: level}\n")
    done = replay(build, tmp_path, 1, live / "idx/grid.idx", "c.yaml")
    assert "; 2 were due; 1 fields" in done.stdout
    # Blocks reach beyond the mesh, whose sides are no powers of two.
    read, most = float(done.stdout.split(" MB read")[0].split()[-1]), 2 * 32**3 * 4 / 1e6
    assert 2 * np.prod(CELLS) * 4 / 1e6 - 0.05 <= read <= most + 0.05
    assert list(read_table(tmp_path / "again/a/statistics_level.csv")["step"]) == [10, 400]


def test_some_steps_of_two_datasets(build, tmp_path):
    """One was written more often than the other, and one step of it is broken."""
    stages = {"idx": "fields: [density, species]", "raw": "fields: [level]"}
    often = scene(stages)
    often.analyses = often.analyses.replace("raw:\n    every: 1", "raw:\n    every: 10")
    live, _ = often.run(build, tmp_path, Placement(2, 0, "slabs"))
    next((live / "idx/grid").glob("time000000011/*.bin")).unlink()
    fields = "\nanalyses:\n  often:\n    stages:\n      - statistics: {fields: [level, density]}\n"
    configure(tmp_path, MESH + fields)
    files = (live / "idx/grid.idx", live / "raw", "c.yaml")
    done = replay(build, tmp_path, 2, *files, check=False)
    assert done.returncode == 1 and "step 11 is not whole" in done.stderr
    done = replay(build, tmp_path, 2, "--steps", "2..10", *files, check=False)
    assert (
        done.returncode == 1 and "'level', which analyses use, is missing at step 2" in done.stderr
    )
    done = replay(build, tmp_path, 2, "--steps", "12..14", *files, check=False)
    assert done.returncode == 1 and "such as 'density', at these steps" in done.stderr
    replay(build, tmp_path, 2, "--steps", "400,9..10", *files)
    for field in ("level", "density"):
        name = f"often/statistics_{field}.csv"
        found, whole = read_table(tmp_path / "again" / name), read_table(live / name)
        assert list(found["step"]) == [10, 400] and list(found["time"]) == [2.5, 1e5]
        np.testing.assert_allclose(found["mean"], whole["mean"][[2, 4]], rtol=1e-12)


def test_datasets_without_times(build, tmp_path):
    live, _ = scene({"idx": WRITTEN["idx"]}).run(build, tmp_path, Placement(1, 0, "slabs"))
    path = live / "idx/grid.idx"
    lines = path.read_text().splitlines(keepends=True)
    assert sum(line.startswith("# times: [0.0, 0.25, 2.5, ") for line in lines) == 1
    path.write_text("".join(line for line in lines if not line.startswith("# times")))
    analysis = "\nanalyses:\n  a:\n    stages:\n      - statistics: {fields: level}\n"
    configure(tmp_path, MESH + analysis)
    numbers = [step for step, _ in STEPS]
    for words, times in (((), numbers), (("--time-per-step", 2), [2 * n for n in numbers])):
        done = replay(build, tmp_path, 2, *words, path, "c.yaml")
        assert ("does not say the times of its steps" in done.stderr) == (not words)
        kept_aside = done.stderr.count("were moved to")  # what the round before has left
        assert done.stderr.count("pillion-replay: warning") == (not words) + kept_aside
        assert list(read_table(tmp_path / "again/a/statistics_level.csv")["time"]) == times
