# SPDX-License-Identifier: BSD-3-Clause
"""Meshes with levels of refinement and with missing cells, at every placement, against numpy and
scipy, which look at all cells of all levels."""

import json
import os
import sys
from pathlib import Path

import h5py
import hierarchy
import numpy as np
import pytest
from conftest import mpirun, read_table
from image_oracle import colours, pixels

HERE = Path(__file__).parent
CATALOGUE = f"""
meshes:
  grid:
    kind: uniform
    cells: {list(hierarchy.CELLS)}
    periodic: {json.dumps(hierarchy.PERIODIC)}
    levels: {{count: {hierarchy.LEVELS}, ratio: {json.dumps(hierarchy.RATIOS)}}}
  ocean: {{kind: uniform, cells: {list(hierarchy.OCEAN)}, covered: partial}}
fields:
  density: {{mesh: grid, type: float64}}
  velocity: {{mesh: grid, type: float32, components: 2}}
  heat: {{mesh: ocean, type: float64}}
"""
WAYS = {
    "average": hierarchy.averaged,
    "inject": hierarchy.injected,
    "interpolate": hierarchy.interpolated,
}
PLACES = {
    "inside": (3, 0, ""),
    "network": (3, 2, "{ranks: 2, when_full: wait}"),
    "node": (2, 1, "{per_node: 1, when_full: wait, memory: 1 MiB}"),
    "one": (1, 0, ""),
}


PICTURES = {"leaves": ((144, 96), 4), "sea": ((240, 200), 10)}  # pixels, and cells of level 0


def analyses() -> str:
    text = "analyses:\n"
    for way in WAYS:
        text += f"  {way}:\n    every: 1 steps\n    stages:\n"
        for level in range(hierarchy.LEVELS):
            text += (
                f"      - flatten: {{fields: [density, velocity], level: {level}, by: {way}}}\n"
                f"      - write_hdf5: {{fields: [density_level_{level}, velocity_level_{level}]}}\n"
            )
    text += (
        "  leaves:\n    every: 1 steps\n    stages:\n      - statistics: {fields: [density]}\n"
        "      - histogram: {field: density, range: [-5, 7], bins: 24}\n"
    )
    text += (
        "  land:\n    every: 1 steps\n    stages:\n"
        "      - flatten: {fields: [heat], level: 0, into: [flat], missing: -1}\n"
        "      - write_hdf5: {fields: [flat]}\n"
    )
    text += "  pictures:\n    every: 1 steps\n    stages:\n"
    for name, (size, height) in PICTURES.items():
        x, y = height / 2 * size[0] / size[1], height / 2
        field = "heat" if name == "sea" else "density, axis: z, at: 2.1"
        text += (
            f"      - image: {{name: {name}, size: {list(size)}, samples: 1, labels: false, "
            f"outline: false, camera: {{position: [{x}, {y}, 50], focal_point: [{x}, {y}, 0], "
            f"up: [0, 1, 0], parallel: true, height: {height}}}, "
            f"draw: [slice: {{field: {field}, limits: [-3, 3]}}]}}\n"
        )
    return text


def run(folder: Path, build: Path, place: str) -> Path:
    ranks, more, sidecars = PLACES[place]
    head = f"output: results\nsidecars: {sidecars}\n" if sidecars else "output: results\n"
    (folder / "run.yaml").write_text(head + CATALOGUE + analyses())
    env = os.environ | {"PYTHONPATH": f"{build / 'python'}:{HERE}"}
    mpirun(ranks + more, sys.executable, HERE / "hierarchy_program.py", env=env, cwd=folder)
    report = json.loads((folder / "results" / "report.json").read_text())
    for analysis in report["analyses"]:
        assert analysis["publications"] == hierarchy.STEPS, analysis
        assert analysis["dropped"] == 0 and analysis["disabled"] is None, analysis
    return folder / "results"


def read(path: Path, name: str) -> np.ndarray:
    with h5py.File(path) as file:
        array = file[name][()]
    return (
        array.transpose(*reversed(range(array.ndim)))
        if array.ndim < 4
        else array.transpose(2, 1, 0, 3)
    )


@pytest.mark.parametrize("place", PLACES)
def test_levels_are_flattened(place, build, tmp_path):
    results = run(tmp_path, build, place)
    for step in range(hierarchy.STEPS):
        for way, oracle in WAYS.items():
            for level in range(hierarchy.LEVELS):
                name = f"grid_level_{level}"
                path = results / way / f"{name}_hdf5" / f"{name}.{step:09d}.h5"
                for field in hierarchy.FIELDS:
                    found = read(path, f"{field}_level_{level}")
                    wanted = oracle(field, step, level)
                    tolerance = 1e-13 if field == "density" else 2e-6
                    np.testing.assert_allclose(found, wanted, rtol=0, atol=tolerance)
        found = read(
            results / "land" / "ocean_level_0_hdf5" / f"ocean_level_0.{step:09d}.h5", "flat"
        )
        wanted = np.full(hierarchy.OCEAN, -1.0)
        for box in hierarchy.ocean(step):
            wanted[box.cells] = hierarchy.heat(step)[box.cells]
        np.testing.assert_array_equal(found, wanted)
    check_leaves(results / "leaves")
    check_pictures(results / "pictures")


def check_pictures(folder: Path) -> None:
    """Each pixel has the colour of the leaf in its middle; land has that of the ground."""
    for step in range(hierarchy.STEPS):
        fine = hierarchy.finest("density", step)[:, :, 4]
        finest = np.repeat(np.repeat(fine, 144 // fine.shape[0], 0), 96 // fine.shape[1], 1)
        sea = np.full(hierarchy.OCEAN, np.nan)
        for box in hierarchy.ocean(step):
            sea[box.cells] = hierarchy.heat(step)[box.cells]
        for name, values in (("leaves", finest), ("sea", np.kron(sea, np.ones((20, 20))))):
            picture = pixels(folder / f"{name}.{step:09d}.png")
            upright = values.T[::-1]
            expected = np.where(
                np.isnan(upright)[..., None], 255, colours(np.nan_to_num(upright), -3, 3)
            )
            # The middles of pixels are in cells, since cells are whole numbers of them.
            assert np.abs(picture - expected).max() <= 1, (name, step)


def check_leaves(folder: Path) -> None:
    """Each leaf counts once, and weighs by its volume: as all cells of the finest level do."""
    table = read_table(folder / "statistics_density.csv")
    for step in range(hierarchy.STEPS):
        leaves = hierarchy.level_of_leaves(step)
        fine = hierarchy.finest("density", step)
        volume = [int(np.prod(hierarchy.RATIOS[n:])) for n in range(hierarchy.LEVELS)]
        counts = [(leaves == level).sum() // v for level, v in enumerate(volume)]
        assert table["count"][step] == sum(counts)
        assert table["volume"][step] == pytest.approx(np.prod(hierarchy.CELLS), rel=1e-14)
        assert table["min"][step] == fine.min() and table["max"][step] == fine.max()
        assert table["mean"][step] == pytest.approx(fine.mean(), rel=1e-13)
        assert table["standard_deviation"][step] == pytest.approx(fine.std(), rel=1e-13)
        bins = read_table(folder / f"histogram_density.{step:09d}.csv")
        wanted, _ = np.histogram(fine, 24, (-5, 7))
        np.testing.assert_allclose(bins["volume"], wanted / volume[0], rtol=1e-12)


FAULTY = """
meshes:
  flat: {kind: uniform, cells: [8, 8]}
  grid: {kind: uniform, cells: [8, 8], levels: {count: 3, ratio: 2}}
fields:
  plain: {mesh: flat, type: float64}
  refined: {mesh: grid, type: float64}
analyses:
  shared: {every: 1 steps, stages: [statistics: {fields: [plain]}]}
  divided: {every: 1 steps, stages: [average: {field: plain, onto: flat, into: copy}]}
  levels: {every: 1 steps, stages: [statistics: {fields: [refined]}]}
"""


def run_faulty(folder: Path, build: Path, place: str, *modes: str) -> str:
    ranks, more, sidecars = PLACES[place]
    head = f"output: results\nsidecars: {sidecars}\n" if sidecars else "output: results\n"
    (folder / "run.yaml").write_text(head + FAULTY)
    env = os.environ | {"PYTHONPATH": str(build / "python")}
    program = HERE / "faulty_boxes_program.py"
    done = mpirun(ranks + more, sys.executable, program, *modes, env=env, cwd=folder)
    return done.stdout + done.stderr


@pytest.mark.parametrize("place", PLACES)
def test_faulty_publications_are_dropped_alike(place, build, tmp_path):
    modes = ["good", "hole", "good", "overlap", "outside", "good"]
    output = run_faulty(tmp_path, build, place, *modes)
    report = json.loads((tmp_path / "results" / "report.json").read_text())
    dropped = {"shared": {"hole", "overlap"}, "levels": {"hole", "overlap", "outside"}}
    dropped["divided"] = dropped["shared"]
    for analysis in report["analyses"]:
        expected = sum(mode in dropped[analysis["name"]] for mode in modes)
        assert analysis["dropped"] == expected, analysis
        assert analysis["publications"] == len(modes) - expected, analysis
        assert analysis["disabled"] is None, analysis
    for text in ("cells of mesh 'flat'", "overlap"):
        assert text in output
    table = read_table(tmp_path / "results" / "levels" / "statistics_refined.csv")
    assert table["step"].tolist() == [0, 2, 5]
    assert table["count"].tolist() == [64 - 4 + 16 - 4 + 16] * 3


@pytest.mark.parametrize("mode", ["hole", "overlap", "outside"])
def test_the_first_fault_is_an_error_on_every_rank(mode, build, tmp_path):
    output = run_faulty(tmp_path, build, "network", mode)
    errors = {line.split(": ", 1)[1] for line in output.splitlines() if line.startswith("rank ")}
    ranks = [line for line in output.splitlines() if line.startswith("rank ")]
    assert len(ranks) == 3 and len(errors) == 1, output
    assert ("is in none of them" if mode == "hole" else "(block ") in errors.pop()
