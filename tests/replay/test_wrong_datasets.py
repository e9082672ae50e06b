# SPDX-License-Identifier: BSD-3-Clause
"""Datasets that cannot be replayed (broken, or of another mesh) are refused before the first step,
in one sentence that helps, on every rank alike."""

import shutil
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from frames import Frame
from replaying import needs_hdf5, replay
from scenes import Placement, Scene

MESH = """
meshes:
  grid: {kind: uniform, cells: [8, 6, 10]}
  stars: {kind: particles}
fields:
  gas: {mesh: grid, type: float32}
  dust: {mesh: grid, type: float64}
  more: {mesh: grid, type: int32}
  place: {mesh: stars, type: float64, components: 3}
"""
WRITE = """
analyses:
  idx: {stages: [write_idx: {fields: [gas, dust], bits_per_block: 4, blocks_per_file: 8}]}
  coarse: {stages: [write_idx: {fields: [gas], leave_out: 2}]}
  raw: {stages: [write_raw: {fields: [gas, dust]}]}
  hdf5:
    stages:
      - write_hdf5: {fields: [gas, dust], files: grouped, groups: 2, chunk: [4, 4, 4]}
"""
READ = """
sidecars: {ranks: $sidecars}
analyses: {a: {stages: [statistics: {fields: [gas, dust]}]}}
"""


@pytest.fixture(scope="module")
def live(build, tmp_path_factory):
    needs_hdf5(build)
    rng = np.random.default_rng(1)
    frames = [
        Frame(n, 0.5 * n, {"gas": rng.random(480, np.float32), "dust": rng.random(480)})
        for n in range(2)
    ]
    scene = Scene("grid", frames, MESH, WRITE, "grid_driver", ("--cells", "8,6,10"))
    return scene.run(build, tmp_path_factory.mktemp("live"), Placement(2, 0, "slabs"))[0]


def shorter(pattern: str, by: int):
    def work(folder):
        path = sorted(folder.glob(pattern))[-1]
        path.write_bytes(path.read_bytes()[:-by])

    return work


def remove(pattern: str):
    return lambda folder: sorted(folder.glob(pattern))[-1].unlink()


def change(name: str, before: str, after: str):
    def work(folder):
        text = (folder / name).read_text()
        assert before in text
        (folder / name).write_text(text.replace(before, after))

    return work


def entry_of_nothing(folder):
    """Of the first file, the first field's second block."""
    path = sorted(folder.glob("idx/grid/*/0*.bin"))[0]
    data = bytearray(path.read_bytes())
    data[80:120] = bytes(40)
    path.write_bytes(bytes(data))


def config(before: str, after: str):
    return change("c.yaml", before, after)


LAST = "idx/grid/time000000001/*.bin"
IDX, RAW, HDF5 = "idx/grid.idx", "raw/grid.raw.yaml", "hdf5"

# What is wrong, with which files; and what must be said of it.
WRONG = {
    "idx cut short": (shorter(LAST, 1), IDX, "is cut short: 128 bytes at"),
    "idx head cut short": (shorter(LAST, 30_000), IDX, "cut short"),
    "idx file missing": (remove(LAST), IDX, "step 1 is not whole: there is no idx/grid/time0000"),
    "idx block missing": (entry_of_nothing, IDX, "block 1 of field 'gas' is missing"),
    "idx no box": (change(IDX, "(box)", "(bax)"), IDX, "grid.idx: it has no (box)"),
    "idx codec": (change(IDX, "float64", "float16"), IDX, "'dust' is of a type that is not known"),
    "idx no field": (
        config("fields: [gas, dust]", "fields: [gas, more]"),
        IDX,
        "field 'more', which analyses use, is missing at step 0: 'idx/grid.idx' has no field",
    ),
    "idx none of them": (config("fields: [gas, dust]", "fields: [more]"), IDX, "see --name"),
    "idx other mesh": (
        config("[8, 6, 10]", "[8, 6, 12]"),
        IDX,
        "field 'gas' has shape [10, 6, 8], but field 'gas' on mesh 'grid' needs [12, 6, 8]",
    ),
    "idx turned": (config("[8, 6, 10]", "[10, 6, 8]"), IDX, "do the parameters say the right"),
    "idx particles": (
        config("dust: {mesh: grid", "dust: {mesh: stars"),
        IDX,
        "field 'dust' on mesh 'stars' needs [n]",
    ),
    "idx digits": (config("type: float64}", "type: float32}"), IDX, "holds float64, but"),
    "idx coarse": (config("[gas, dust]", "[gas]"), "coarse/grid.idx", "its 2 finest levels"),
    "idx twice": (lambda folder: None, f"{IDX} {RAW}", "is there twice at step 0"),
    "raw cut short": (shorter("raw/grid_raw/*.raw", 4), RAW, "it is cut short: it has"),
    "raw file missing": (remove("raw/grid_raw/*.raw"), RAW, "No such file"),
    "raw index missing": (remove("raw/grid_raw/*.yaml"), RAW, "000000001.yaml' cannot be read"),
    "raw block missing": (
        change("raw/grid_raw/grid.000000001.yaml", "  - {file: ", "  # - {file: "),
        RAW,
        "its blocks have 0 values of field 'gas', and the mesh 480",
    ),
    "raw no yaml": (change(RAW, "fields:", "fields: ]"), RAW, "cannot be read: line"),
    "raw other mesh": (config("[8, 6, 10]", "[8, 6, 12]"), RAW, "needs [12, 6, 8]"),
    "hdf5 part missing": (remove("hdf5/grid_hdf5/parts/*"), HDF5, "is missing or broken"),
    "hdf5 part cut": (shorter("hdf5/grid_hdf5/parts/*", 500), HDF5, "is missing or broken"),
    "hdf5 cut": (shorter("hdf5/grid_hdf5/*.h5", 500), HDF5, "it is not an HDF5 file, or broken"),
}


@pytest.fixture(scope="module")
def outcomes(build, live, tmp_path_factory):
    """Launchers of programs that fail mostly sleep, so several run at a time."""

    def outcome(folder, case, ranks):
        shutil.copytree(live, folder, dirs_exist_ok=True)
        (folder / "c.yaml").write_text("output: again" + READ + MESH)
        make, files, _ = WRONG[case]
        make(folder)
        setting = ("--set", f"sidecars={0 if ranks == 1 else 1}")
        return replay(build, folder, ranks, *setting, *files.split(), "c.yaml", check=False)

    with ThreadPoolExecutor(4) as pool:
        yield {
            (case, ranks): (folder, pool.submit(outcome, folder, case, ranks))
            for case in WRONG
            for ranks in (1, 3)
            for folder in [tmp_path_factory.mktemp("case")]
        }


@pytest.mark.drawn
@pytest.mark.parametrize("ranks", [1, 3])
@pytest.mark.parametrize("case", WRONG)
def test_refused(outcomes, case, ranks):
    folder, running = outcomes[case, ranks]
    done = running.result()
    assert done.returncode == 1, done.stdout
    ours = [line for line in done.stderr.splitlines() if line.startswith("pillion")]
    assert len(ours) == 1 and WRONG[case][2] in ours[0], done.stderr
    assert not list((folder / "again").rglob("*.csv"))


def test_the_same_without_a_mistake(build, live, tmp_path):
    """So that the table above tests what it says."""
    (tmp_path / "c.yaml").write_text("output: again" + READ + MESH)
    for files in (IDX, RAW, HDF5):
        replay(build, tmp_path, 3, "--set", "sidecars=1", live / files, "c.yaml")


def test_blocks_that_break_later(build, tmp_path):
    """What only reading finds stops all ranks at that step."""
    scene_of = {"gas": np.zeros(480, np.float32), "dust": np.zeros(480)}
    frames = [Frame(n, float(n), scene_of) for n in range(2)]
    write = "analyses: {z: {stages: [write_idx: {fields: [gas, dust], compression: zip}]}}\n"
    scene = Scene("grid", frames, MESH, write, "grid_driver", ("--cells", "8,6,10"))
    folder, _ = scene.run(build, tmp_path, Placement(1, 0, "slabs"))
    path = sorted(folder.glob("z/grid/time000000001/*.bin"))[-1]
    data = path.read_bytes()
    path.write_bytes(data[:-8] + b"\xff" * 8)
    (tmp_path / "c.yaml").write_text("output: again" + READ + MESH)
    done = replay(
        build, tmp_path, 3, "--set", "sidecars=1", folder / "z/grid.idx", "c.yaml", check=False
    )
    ours = [line for line in done.stderr.splitlines() if line.startswith("pillion")]
    assert done.returncode == 1 and len(ours) == 1, done.stderr
    assert "of field 'dust' cannot be read: it cannot be decompressed" in ours[0]
