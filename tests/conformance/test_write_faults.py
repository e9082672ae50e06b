# SPDX-License-Identifier: BSD-3-Clause
"""What can go wrong with datasets that stages write, and what goes on: parameters that
make no sense, a full disk, a run that is killed, one that is resumed, steps that are coarse; and
that writers take turns."""

import json
import os
import re
import signal
import subprocess
import sys
import xml.etree.ElementTree as ET
from pathlib import Path

import h5py
import hdf5plugin
import limits
import numpy as np
import pytest
from conftest import launcher, mpirun, read_table, some
from datasets import in_file_order, mesh_scene, particle_scene, read_raw
from plotfile_oracles import read_level
from scenes import Placement

HDF5 = "write_hdf5: {fields: [density, ids], chunk: [8, 8, 16]"
RAW = "write_raw: {fields: [density, ids]"
PLOTFILE = "write_plotfile: {fields: [density]"
BLOCK = {"plain": HDF5, "grouped": HDF5 + ", files: grouped, groups: 2", "raw": RAW}

REFUSED = {
    "hdf5, compression: lz4": "expected one of none, gzip, zstd, blosc, not 'lz4'",
    "hdf5, compression: zstd": r"no filter 'zstd' here \(there are: gzip\)",
    "hdf5, groups: 3": "`groups` goes with `files: grouped`",
    "hdf5, files: grouped, groups: 0": "expected at least 1, not 0",
    "hdf5, chunk: [8, 8]": "along each of the 3 axes",
    "hdf5, chunk: [8, 12, 8]": "powers of two, which 12 is not",
    "hdf5, position: density": "`position` goes with particles",
    "hdf5, phases: 2": "unknown key 'phases'",
    "hdf5, at_once: -1": "expected at least 0, not -1",
    "hdf5, name: a/b": "'a/b' cannot name a dataset",
    "raw, compression: gzip": "unknown key 'compression'",
    "raw, chunk: [8, 8, 8]": "unknown key 'chunk'",
    "idx, files: grouped": "unknown key 'files'",
}


@pytest.fixture(autouse=True)
def hdf5(build):
    if "HDF5_WORKS:INTERNAL=1" not in (build / "CMakeCache.txt").read_text():
        pytest.skip("the stage write_hdf5 was not built: no HDF5")


@pytest.mark.parametrize("words", REFUSED)
def test_refused_at_its_line(words, build, tmp_path):
    form, _, rest = words.partition(", ")
    stage = f"write_{form}: {{fields: [density], {rest}}}"
    scene = mesh_scene("brick", {"a": stage}, frames=1)
    _, done = scene.run(build, tmp_path, Placement(1, 0, "slabs"), fails=True)
    assert re.search(REFUSED[words], done.stderr), done.stderr
    text = (tmp_path / "pillion.yaml").read_text().splitlines()
    line = next(n for n, of in enumerate(text, 1) if f"write_{form}:" in of)
    assert f"pillion.yaml:{line}: " in done.stderr, done.stderr


def test_the_old_name_is_refused(build, tmp_path):
    scene = mesh_scene("brick", {"a": "write: {fields: [density], format: raw}"}, frames=1)
    _, done = scene.run(build, tmp_path, Placement(1, 0, "slabs"), fails=True)
    text = (tmp_path / "pillion.yaml").read_text().splitlines()
    line = next(n for n, of in enumerate(text, 1) if "write:" in of)
    message = "there is no stage 'write', but one for each format: write_idx, write_hdf5"
    assert f"pillion.yaml:{line}: {message}" in done.stderr, done.stderr


def test_particles_refused(build, tmp_path):
    for words, message in {
        "idx": "not on a uniform mesh, which write_idx needs",
        "hdf5, position: charge": "not among the fields with 3 components",
    }.items():
        form, _, rest = words.partition(", ")
        scene = particle_scene({"a": f"write_{form}: {{fields: [id, charge], {rest}}}"})
        _, done = scene.run(build, tmp_path, Placement(1, 0, "slabs"), fails=True)
        assert message in done.stderr


@pytest.mark.parametrize("codec", ["zstd", "blosc"])
def test_filters_that_are_plugins(codec, build, tmp_path, monkeypatch):
    monkeypatch.setenv("HDF5_PLUGIN_PATH", hdf5plugin.PLUGIN_PATH)
    stage = f"{HDF5}, compression: {codec}, durable: false}}"
    scene = mesh_scene("brick", {"a": stage}, frames=1)
    results, _ = scene.run(build, tmp_path, Placement(2, 1, "slabs"))
    read = (
        "import sys, h5py, hdf5plugin, numpy; f = h5py.File(sys.argv[1]); "
        "p = f['ids'].id.get_create_plist(); print(p.get_filter(p.get_nfilters() - 1)[0]); "
        "numpy.savez(sys.argv[2], density=f['density'], ids=f['ids'])"
    )
    path = results / "a" / "grid_hdf5" / "grid.000000000.h5"
    command = [sys.executable, "-c", read, path, tmp_path / "read.npz"]
    done = limits.run(list(map(str, command)), capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    assert int(done.stdout) == {"zstd": 32015, "blosc": 32001}[codec]
    with np.load(tmp_path / "read.npz") as values:
        for field in ("density", "ids"):
            wanted = in_file_order("brick", scene.frames[0][field])
            np.testing.assert_array_equal(values[field], wanted)


def watch_disk(build: Path, monkeypatch) -> None:
    if "PILLION_SANITIZE:STRING=\n" not in (build / "CMakeCache.txt").read_text():
        pytest.skip("sanitizers must be loaded first")
    monkeypatch.setenv("LD_PRELOAD", str(build / "tests" / "conformance" / "watched_disk.so"))


def spans(log: Path, sizes: set[int]) -> list[tuple[float, float]]:
    """When each process wrote, from its first write of such a size to the end of its last."""
    out = []
    for path in log.iterdir():
        times = np.loadtxt(path, ndmin=2)
        times = times[np.isin(times[:, 2], list(sizes))]
        out.append((times[:, 0].min(), times[:, 1].max()))
    return out


def writes(log: Path) -> list[tuple[float, float]]:
    return [(a, b) for path in log.iterdir() for a, b, _ in np.loadtxt(path, ndmin=2)]


def most_at_once(spans_of) -> int:
    return max(sum(a <= begin < b for a, b in spans_of) for begin, _ in spans_of)


@pytest.mark.parametrize("at_once", [0, 1, 2])
@pytest.mark.parametrize("key", [*BLOCK, "idx"])
def test_writers_take_turns(key, at_once, build, tmp_path, monkeypatch):
    log = tmp_path / "log"
    log.mkdir()
    idx = "write_idx: {fields: [density, ids], box: [8, 8, 8], bits_per_block: 8"
    stage = f"{BLOCK.get(key, idx)}, at_once: {at_once}, durable: false}}"
    scene = mesh_scene("cube", {"a": stage}, frames=1)
    watch_disk(build, monkeypatch)
    monkeypatch.setenv("WATCHED_LOG", str(log))
    monkeypatch.setenv("WATCHED_PAUSE", "30" if key == "raw" else "3")
    scene.run(build, tmp_path, Placement(5, 0, "slabs"))
    # Chunks, or slabs: 8 bytes a value. Heads of files are of other sizes.
    sizes = {"raw": {8 * 32 * 32 * n for n in (6, 7)}}.get(key, {8 * 8 * 8 * 16})
    # IDX is written in several turns.
    found = writes(log) if key == "idx" else spans(log, sizes)
    assert len(list(log.iterdir())) == 5
    assert most_at_once(found) == at_once if at_once else most_at_once(found) > 2


@pytest.mark.parametrize("key", [*BLOCK, "packed", "plotfile"])
def test_full_disk(key, build, tmp_path, monkeypatch):
    """One rank finds no room: all learn of it, each step is lost, and the third ends the analysis.
    The simulation and others go on, and there is nothing that looks like a dataset."""
    others = {"packed": HDF5 + ", compression: gzip", "plotfile": PLOTFILE}
    stage = (BLOCK | others)[key] + ", durable: false, at_once: 1}"
    scene = mesh_scene("cube", {"a": stage, "b": "statistics: {fields: [density]}"}, frames=3)
    watch_disk(build, monkeypatch)
    monkeypatch.setenv("WATCHED_ROOM", "60000")
    results, done = scene.run(build, tmp_path, Placement(3, 0, "slabs"), fails=True)
    assert "No space left on device" in done.stderr
    report = json.loads((results / "report.json").read_text())
    a, b = report["analyses"]
    assert "No space left on device" in a["disabled"] and b["disabled"] is None
    assert b["publications"] == 3
    assert not [p for p in (results / "a").rglob("*") if p.suffix in (".h5", ".part", ".xmf")]
    assert not [*(results / "a").glob("*.yaml"), *(results / "a").rglob("*plt*")]


KILLED = """
output: out
meshes: {grid: {kind: uniform, cells: [8, 4]}}
fields: {density: {mesh: grid, type: float64, units: kg}}
analyses:
  a: {stages: [write_hdf5: {fields: [density], MORE}]}
  r: {stages: [write_raw: {fields: [density]}]}
  p: {stages: [write_plotfile: {fields: [density]}]}
"""


@pytest.mark.parametrize("more", ["chunk: auto", "files: grouped, groups: 2, chunk: [2, 2]"])
def test_killed_writer(more, build, tmp_path):
    (tmp_path / "pillion.yaml").write_text(KILLED.replace("MORE", more))
    driver = build / "tests" / "faults" / "fault_driver"
    command = [*launcher(), "-n", "2", driver, "pillion.yaml", "100000", "pause=1"]
    process = subprocess.Popen(
        [str(word) for word in command],
        cwd=tmp_path,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    folder = tmp_path / "out" / "a"
    try:
        limits.until(lambda: len(list(folder.glob("grid_hdf5/*.h5"))) >= 15, 30, "15 files")
    finally:
        os.killpg(process.pid, signal.SIGKILL)
        for rank in ranks_of(driver, tmp_path):
            os.kill(rank, signal.SIGKILL)
        limits.wait(process, timeout=30)
    steps = steps_of(folder / "grid.xmf")
    assert len(steps) >= 14 and list(steps) == list(range(len(steps)))
    assert len(list(folder.glob("grid_hdf5/*.h5"))) - len(steps) in (0, 1)
    for path in some(folder.glob("grid_hdf5/*.h5")):
        with h5py.File(path) as file:
            assert (file["density"][...] == file.attrs["step"]).all()
            assert file["density"].shape == (4, 8)
    for step, (_, blocks) in read_raw(tmp_path / "out" / "r", "grid.raw.yaml").items():
        assert sum(block["count"] for block in blocks) == 32
        assert all((block["density"] == step).all() for block in blocks)
    plotfiles = sorted((tmp_path / "out/p/grid_plotfiles").glob("plt*"))
    assert [int(path.name[3:]) for path in plotfiles] == list(range(len(plotfiles)))
    listed = (tmp_path / "out/p/grid.visit").read_text().count("/Header")
    assert len(plotfiles) - listed in (0, 1) and listed > 0
    for step, path in enumerate(plotfiles):
        boxes = read_level(path, 0, 2)
        assert sum(box["values"].size for box in boxes) == 32
        assert all((box["values"] == step).all() for box in boxes)


def ranks_of(driver: Path, folder: Path) -> list[int]:
    """Processes of the driver that work in a folder."""
    out = []
    for process in Path("/proc").glob("[0-9]*"):
        try:
            same = os.readlink(process / "exe") == str(driver)
            if same and os.readlink(process / "cwd") == str(folder):
                out.append(int(process.name))
        except OSError:
            continue
    return out


def steps_of(path: Path) -> dict[int, float]:
    """Steps and times that an XDMF document tells of."""
    out = {}
    for grid in ET.parse(path).iterfind(".//Grid[Time]"):
        text = grid.find("Attribute/DataItem").text
        out[int(text.split(":")[0].split(".")[1])] = float(grid.find("Time").get("Value"))
    return out


@pytest.mark.parametrize("resumed", [True, False])
def test_resumed(resumed, build, tmp_path):
    """A run that is resumed goes on with the dataset; one that begins again begins it anew."""
    stages = {"a": HDF5 + ", durable: false}", "r": RAW + ", durable: false}"}
    scene = mesh_scene("brick", stages, frames=4)
    state = tmp_path / "state"
    scene.run(build, tmp_path, Placement(2, 0, "slabs"), last=2, checkpoint=state)
    results, _ = scene.run(
        build, tmp_path, Placement(3, 1, "many"), first=2, restart=state if resumed else None
    )
    expected = [0, 1, 2, 3] if resumed else [2, 3]
    assert list(steps_of(results / "a" / "grid.xmf")) == expected
    files = sorted((results / "a" / "grid_hdf5").glob("*.h5"))
    assert [int(path.name.split(".")[1]) for path in files] == expected
    for step, path in zip(expected, files, strict=True):
        with h5py.File(path) as file:
            wanted = in_file_order("brick", scene.frames[step]["density"])
            np.testing.assert_array_equal(file["density"][...], wanted)
    assert list(read_raw(results / "r", "grid.raw.yaml")) == expected


def test_coarse_steps(build, tmp_path):
    """What was published as a subsample is written as one, and says so."""
    stages = {"a": HDF5, "r": RAW, "p": PLOTFILE}
    stages = {key: stage + ", durable: false}" for key, stage in stages.items()}
    scene = mesh_scene("brick", stages, frames=24)
    place = Placement(3, 1, "many", "separate", 1, 0, "coarsen", "900 KiB")
    results, _ = scene.run(build, tmp_path, place, meet_at=16)
    seen, checked = set(), set()
    raw = read_raw(results / "r", "grid.raw.yaml")
    for path in some((results / "a" / "grid_hdf5").glob("*.h5")):
        with h5py.File(path) as file:
            step, factor = int(file.attrs["step"]), int(file.attrs["coarsening"])
            seen.add(factor)
            values = in_file_order("brick", scene.frames[step]["ids"])[::factor, ::factor, ::factor]
            np.testing.assert_array_equal(file["ids"][...], values)
            np.testing.assert_allclose(file.attrs["mesh_spacing"], 0.25 * factor)
            x = -1.0 + (np.arange(values.shape[2]) * factor + 0.5) * 0.25
            np.testing.assert_allclose(file["x"][...], x)
        coarsening, blocks = raw[step]
        assert coarsening == factor
        assert sum(block["count"] for block in blocks) == values.size
        plotfile = results / f"p/grid_plotfiles/plt{step:09}"
        if plotfile.exists():
            coarse = f"coarsening: {factor}" in (plotfile / "pillion.yaml").read_text()
            if coarse:  # the analyses need not be coarse at the same steps
                density = in_file_order("brick", scene.frames[step]["density"])
                found = np.full(values.shape, np.nan)
                for box in read_level(plotfile, 0, 3):
                    ends = zip(box["lo"], box["hi"], strict=True)
                    found[tuple(slice(a, b) for a, b in ends)[::-1]] = box["values"][0]
                np.testing.assert_array_equal(found, density[::factor, ::factor, ::factor])
                checked.add(factor)
    assert 1 in seen and len(seen) > 1, seen
    assert len(checked) > 1, checked


def test_coarse_steps_are_counted_on(build, tmp_path):
    """A resumed run knows of all steps that an IDX dataset lacks."""
    scene = mesh_scene("brick", {"a": "write_idx: {fields: [density], durable: false}"}, frames=26)
    place = Placement(3, 1, "many", "separate", 1, 0, "coarsen", "450 KiB")
    state = tmp_path / "state"
    results, _ = scene.run(build, tmp_path / "1", place, last=24, meet_at=20, checkpoint=state)
    lacking = read_table(results / "a" / "write_grid.csv").attributes["coarse_not_written"]
    assert lacking > 0
    results, _ = scene.run(build, tmp_path / "2", Placement(2, 0, "slabs"), first=24, restart=state)
    resumed = read_table(results / "a" / "write_grid.csv")
    assert list(resumed["step"][-2:]) == [24, 25]
    assert resumed.attributes.get("coarse_not_written") == lacking


def test_replayed(build, tmp_path):
    """Stored fields give the results that the run itself had."""
    more = ", files: grouped, groups: 3, compression: gzip, durable: false}"
    stages = {"a": HDF5 + more, "b": "statistics: {fields: [density, ids]}"}
    scene = mesh_scene("brick", stages, frames=3)
    results, _ = scene.run(build, tmp_path, Placement(2, 0, "many"))
    config = (tmp_path / "pillion.yaml").read_text().replace(HDF5 + more, RAW + "}")
    (tmp_path / "again.yaml").write_text(config)
    program = build / "bin" / "pillion"
    again = tmp_path / "again"
    stored = results / "a" / "grid_hdf5"
    words = ("replay", "--output", again, stored, "again.yaml")
    mpirun(3, program, *words, cwd=tmp_path, timeout=90)
    for field in ("density", "ids"):
        live = read_table(results / "b" / f"statistics_{field}.csv")
        found = read_table(again / "b" / f"statistics_{field}.csv")
        for name, column in live.columns.items():
            np.testing.assert_allclose(found[name], column, rtol=1e-12)
