# SPDX-License-Identifier: BSD-3-Clause
"""Fields on uniform meshes that the stage `encode` has compressed by SZ3: their errors by NumPy are
within the bounds, whatever the values are, also what is no number; and each stream decodes to what
h5py makes of the same box with the package hdf5plugin."""

from functools import cache

import h5py
import limits
import numpy as np
import pillion.compressed
import pytest
from datasets import SHAPES, in_file_order, listed
from datasets import analyses as analyses_of
from frames import Frame
from placements import check_report
from scenes import Placement, Scene

hdf5plugin = pytest.importorskip("hdf5plugin")

FIELDS = {
    "smooth": "float64",
    "wind": "float32, components: 3",
    "noise": "float64",
    "constant": "float32",
    "spread": "float64",
    "largest": "float32",
    "least": "float64",
    "holes": "float32",
    "gaps": "float64",
}
TAME = ("smooth", "wind", "noise", "constant")
STAGES = {
    "points": f"{{fields: [{', '.join(FIELDS)}], error: 1e-3}}",
    "part": f"{{fields: [{', '.join(TAME)}], error: 1e-4, relative_to: range}}",
    "mean": f"{{fields: [{', '.join(TAME)}], error: 1e-2, relative_to: rms, norm: rms}}",
    "exact": f"{{fields: [{', '.join(FIELDS)}], error: 0}}",
}
ANALYSES = analyses_of(
    {name: f"encode: {text[:-1]}, codec: sz3, durable: false}}" for name, text in STAGES.items()}
)
STAGE = "encode: {fields: [smooth], error: 1, codec: sz3}"
DIVISIONS = [
    ("brick", Placement(3, 0, "uneven")),
    ("brick", Placement(2, 3, "empty")),
    ("thin", Placement(2, 1, "many")),
    ("sheet", Placement(2, 1, "many")),
    ("sheet", Placement(1, 1, "slabs", "node", 1, 2)),
    ("line", Placement(3, 0, "slabs")),
]


@cache
def frames(name: str) -> list[Frame]:
    """Values by cell, the first axis fastest."""
    cells = SHAPES[name][::-1]
    at = np.stack(np.meshgrid(*[np.linspace(0, 3, n) for n in cells], indexing="ij"), -1)
    phase = at.reshape(-1, len(cells)) @ np.arange(1, len(cells) + 1)
    rng, out = np.random.default_rng(11), []
    for step in range(2):
        noise = rng.normal(size=len(phase))
        holes, gaps = np.cos(phase + step).astype(np.float32), noise.copy()
        holes[len(holes) // 2] = np.nan
        gaps[::7], gaps[3::70] = np.inf, -np.inf
        values = {
            "smooth": 5 * np.sin(phase + step),
            "wind": np.stack([np.sin(phase), np.cos(phase), 0 * phase], 1).astype(np.float32),
            "noise": noise,
            "constant": np.full(len(phase), -7.7, np.float32),
            "spread": noise * 10.0 ** rng.integers(-300, 300, len(phase)),
            "largest": (rng.choice([-1, 1], len(phase)) * np.finfo("f4").max).astype(np.float32),
            "least": rng.integers(-50, 50, len(phase)) * 5e-324,
            "holes": holes,
            "gaps": gaps,
        }
        out.append(Frame(step, 0.5 * step, values))
    return out


def scene(name: str, analyses: str = ANALYSES) -> Scene:
    cells = SHAPES[name]
    catalogue = (
        f"meshes:\n  grid: {{kind: uniform, cells: [{listed(cells)}], "
        f"origin: [{listed(0 for _ in cells)}], length: [{listed(1 for _ in cells)}]}}\nfields:\n"
    )
    catalogue += "".join(f"  {f}: {{mesh: grid, type: {type}}}\n" for f, type in FIELDS.items())
    arguments = ("--cells", ",".join(map(str, cells)))
    return Scene("sz3", frames(name), catalogue, analyses, "grid_driver", arguments)


@pytest.fixture(autouse=True)
def plugin(build, monkeypatch):
    if not (build / "stages/encode.so").exists():
        pytest.skip("the stage encode was not built")
    if "PILLION_SANITIZE:STRING=\n" not in (build / "CMakeCache.txt").read_text():
        pytest.skip("the plug-in frees what it has not allocated the same way")
    if len(dict(hdf5plugin.SZ3(absolute=1.0))["compression_opts"]) != 9:
        pytest.skip("this hdf5plugin has another version of SZ3")
    monkeypatch.setenv("HDF5_PLUGIN_PATH", hdf5plugin.PLUGIN_PATH)


def path_of(results, analysis: str, frame: Frame):
    return results / analysis / f"grid_compressed/grid.{frame.step:09}.h5"


@pytest.fixture(scope="module", params=DIVISIONS, ids=lambda of: f"{of[0]}-{of[1]}")
def division(request):
    return request.param


@pytest.fixture
def played(division, build, tmp_path):
    name, placement = division
    here = scene(name)
    results, _ = here.run(build, tmp_path, placement)
    check_report(here, placement, results)
    return name, results


def off_by(found: np.ndarray, wanted: np.ndarray) -> np.ndarray:
    """Errors; what is no finite number must be the same."""
    assert found.dtype == wanted.dtype and found.shape == wanted.shape
    finite = np.isfinite(wanted)
    np.testing.assert_array_equal(found[~finite], wanted[~finite])
    return np.abs(found[finite].astype(np.longdouble) - wanted[finite])


def test_errors_are_within_bounds(played):
    name, results = played
    for frame in frames(name):
        for analysis in STAGES:
            file = pillion.compressed.open(path_of(results, analysis, frame))
            for field in file.fields:
                check_error(analysis, file, field, in_file_order(name, frame[field]))
        close = pillion.compressed.open(path_of(results, "points", frame))
        assert name == "line" or close.field("constant").ratio > 5


def check_error(analysis: str, file, field: str, wanted: np.ndarray) -> None:
    found, about = file.read(field), file.field(field)
    off = off_by(found, wanted)
    assert about.codec == "sz3"
    if analysis == "exact":
        assert found.tobytes() == wanted.tobytes() and about.error == about.bound == 0
    elif analysis == "mean":
        rms = np.sqrt((off.reshape(-1, about.components) ** 2).mean(axis=0).max())
        assert rms <= about.error * (1 + 1e-9) and about.error <= about.bound * (1 + 1e-9)
    else:
        bound = 1e-3 if analysis == "points" else 1e-4 * np.ptp(wanted.astype(float))
        assert about.bound == pytest.approx(bound, rel=1e-6)
        assert off.max() <= about.error <= about.bound
        if about.ratio > 1 and field == "smooth":
            assert about.error > 0.5 * bound  # what is told was measured


def test_streams_are_those_of_hdf5plugin(played):
    """Each piece, found and decoded by FORMAT.md alone. Its bytes may be others than h5py's, since
    the plug-in calls whichever zstd the process has."""
    name, results = played
    made = 0
    for frame in frames(name):
        for field in TAME:
            with h5py.File(path_of(results, "points", frame)) as file:
                bound = float(file[field].attrs["bound"])
                assert file[field].attrs["codec"] == "sz3"
                data, pieces = file[field][...], file[f"{field}_pieces"][...].tolist()
            at, axes = 0, len(SHAPES[name])
            values = in_file_order(name, frame[field]).reshape(*SHAPES[name][::-1], -1)
            for size, coded, component, *box in pieces:
                stream, at = data[at : at + size].tobytes(), at + size
                where = tuple(slice(a, b) for a, b in zip(box[:axes], box[3 : 3 + axes]))[::-1]
                cells = np.ascontiguousarray(values[(*where, component)]).squeeze()
                if coded:
                    made += 1
                    by_plugin = decoded(stream_of(cells, bound), cells)
                    np.testing.assert_array_equal(decoded(stream, cells), by_plugin)
                else:
                    assert stream == cells.tobytes()
            assert at == len(data)
    assert made > 0


def dataset_like(cells: np.ndarray, bound: float):
    file = h5py.File("one box", "w", driver="core", backing_store=False)
    how = hdf5plugin.SZ3(absolute=bound)
    return file.create_dataset("box", cells.shape, cells.dtype, chunks=cells.shape, **how)


def stream_of(cells: np.ndarray, bound: float) -> bytes:
    dataset = dataset_like(cells, bound)
    with dataset.file:
        dataset[...] = cells
        dataset.flush()
        return dataset.id.read_direct_chunk((0,) * cells.ndim)[1]


def decoded(stream: bytes, cells: np.ndarray) -> np.ndarray:
    dataset = dataset_like(cells, 0)
    with dataset.file:
        dataset.id.write_direct_chunk((0,) * cells.ndim, stream)
        return dataset[...]


def test_placements_make_no_difference(build, tmp_path):
    """The same boxes are the same bytes, in the simulation and in sidecars."""
    found = []
    for number, placement in enumerate([Placement(2, 0, "slabs"), Placement(2, 2, "slabs")]):
        results, _ = scene("brick").run(build, tmp_path / str(number), placement)
        with h5py.File(path_of(results, "points", frames("brick")[1])) as file:
            found.append({name: file[name][...].tobytes() for name in file})
    assert found[0] == found[1]


def test_without_the_plugin(build, tmp_path, monkeypatch):
    monkeypatch.setenv("HDF5_PLUGIN_PATH", str(tmp_path))
    said = refused(build, tmp_path / "run", STAGE)
    for words in ("number 32024", "HDF5_PLUGIN_PATH", "pip install hdf5plugin", "PLUGIN_PATH)"):
        assert words in said
    assert "pillion.yaml:" in said
    config = tmp_path / "run" / "pillion.yaml"
    checked = limits.run(
        [build / "bin/pillion-check", config], capture_output=True, text=True, timeout=60
    )
    line = config.read_text().splitlines().index("      - " + STAGE) + 1
    assert checked.returncode == 1
    assert f"{config}:{line}: HDF5 does not find the filter" in checked.stdout + checked.stderr


@pytest.mark.parametrize(
    ("parameters", "words"),
    [
        ("error: 1, codec: xz", "are compressed by zfp or sz3, not by 'xz'"),
        ("codec: sz3", "a bound is needed"),
        ("error: -1, codec: sz3", "0 or greater"),
        ("error: 1, codec: sz3, level: 3", "'level' means nothing"),
    ],
)
def test_mistakes(build, tmp_path, parameters, words):
    assert words in refused(build, tmp_path, f"encode: {{fields: [smooth], {parameters}}}")


def refused(build, folder, stage: str) -> str:
    here = scene("brick", analyses_of({"wrong": stage}))
    _, done = here.run(build, folder, Placement(1, 0, "slabs"), fails=True)
    return done.stderr
