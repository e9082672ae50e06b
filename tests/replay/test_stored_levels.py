# SPDX-License-Identifier: BSD-3-Clause
"""A mesh with three levels, of the example `amr`, whose values are known. What stages write is
read by others, and replayed on other numbers of ranks.
"""

import os
from pathlib import Path

import numpy as np
import pytest
import yaml
from conftest import mpirun
from pillion.datasets import open_plotfile
from plotfile_oracles import vtk_levels
from replaying import assert_same, replay

EXAMPLE = Path(__file__).parents[2] / "examples/amr"
STEPS = (0, 8, 16, 24)
SCIENCE = {
    "statistics": {
        "every": "8 steps",
        "stages": [
            {"statistics": {"fields": ["density"]}},
            {"histogram": {"field": "density", "range": [0, 130], "bins": 13}},
            {"flatten": {"fields": ["density"], "level": "finest", "into": ["fine"]}},
            {"histogram": {"field": "fine", "range": [0, 130], "bins": 13}},
        ],
    }
}
FILES = {
    "files": {
        "every": "8 steps",
        "stages": [
            {"write_plotfile": {"fields": ["density"], "durable": False}},
            {"write_raw": {"fields": ["density"], "durable": False}},
            {"write_vtkhdf": {"fields": ["density"], "durable": False}},
            {"write_openpmd": {"fields": ["density"], "durable": False}},
        ],
    }
}


def configure(folder: Path, output: str, analyses: dict) -> None:
    base = yaml.safe_load((EXAMPLE / "pillion.yaml").read_text())
    text = yaml.safe_dump(base | {"output": output, "analyses": analyses}, sort_keys=False)
    (folder / "pillion.yaml").write_text(text)


@pytest.fixture(scope="module")
def live(build, tmp_path_factory):
    folder = tmp_path_factory.mktemp("live")
    configure(folder, "results", SCIENCE | FILES)
    mpirun(4, build / "examples/amr/amr", cwd=folder, timeout=90)
    return folder / "results"


def blob(step: int, lo: list[np.ndarray], width: float) -> np.ndarray:
    """Means of the blob in cells whose lower corners are given along each axis: [z, y, x]."""
    start, velocity, radius = (0.3, 0.5, 0.45), (1.0, 0.5, -0.25), 0.2

    def below(x):
        x = np.clip(x, -radius, radius)
        return 0.5 + (x + radius / np.pi * np.sin(np.pi * x / radius)) / (2 * radius)

    parts = []
    for d in range(3):
        centre = (start[d] + velocity[d] * 0.02 * step) % 1
        images = [lo[d] - centre + n for n in (-1, 0, 1)]
        parts.append(sum(below(x + width) - below(x) for x in images) / width)
    return np.einsum("i,j,k->kji", *parts)


def plotfile(live: Path, step: int) -> Path:
    return live / f"files/cube_plotfiles/plt{step:09}"


@pytest.mark.parametrize("step", STEPS)
def test_every_box_as_vtk_reads_it(live, step):
    levels = vtk_levels(plotfile(live, step), "density")
    own = open_plotfile(plotfile(live, step))
    assert len(levels) == len(own.levels) == 3
    for number, boxes in enumerate(levels):
        width = 1 / (32 << number)
        assert len(boxes) == len(own.levels[number].boxes)
        for box, (corner, values) in enumerate(boxes):
            lo = [corner[d] + width * np.arange(8) for d in range(3)]
            np.testing.assert_allclose(values, blob(step, lo, width), rtol=1e-9, atol=1e-9)
            np.testing.assert_array_equal(own.levels[number].read(box, "density"), values)


@pytest.mark.skipif(
    os.environ.get("PILLION_TEST_ALL", "") in ("", "0"), reason="yt is large: PILLION_TEST_ALL"
)
def test_as_yt_reads_it(live):
    import yt

    yt.set_log_level(40)
    for step in STEPS:
        found = yt.load(str(plotfile(live, step)))
        assert found.index.max_level == 2 and found.periodicity == (True, True, True)
        own = open_plotfile(plotfile(live, step))
        count = 0
        for grid in found.index.grids:
            level = own.levels[grid.Level]
            lo = np.rint(np.array(grid.LeftEdge) * (32 << grid.Level)).astype(int)
            (box,) = np.flatnonzero((level.boxes[:, 0] == lo).all(axis=1))
            np.testing.assert_array_equal(grid["boxlib", "density"].v.T, level.read(box, "density"))
            count += 1
        assert count == sum(len(level.boxes) for level in own.levels)
        # Over leaf cells, as yt finds them.
        data = found.all_data()
        volume = data["index", "cell_volume"].v
        assert (data["boxlib", "density"].v * volume).sum() == pytest.approx(1, rel=1e-12)


@pytest.mark.parametrize(
    ("stored", "ranks"),
    [
        ("files/cube_plotfiles", 1),
        ("files/cube.raw.yaml", 3),
        ("files/cube.vtkhdf", 2),
        ("files/cube_openpmd", 3),
    ],
)
def test_replayed(live, build, tmp_path, stored, ranks):
    configure(tmp_path, "again", SCIENCE)
    done = replay(build, tmp_path, ranks + 1, live / stored, "pillion.yaml")
    assert "4 steps, 0 to 24; 4 were due; 1 fields" in done.stdout
    tables = sorted((live / "statistics").glob("*.csv"))
    assert len(tables) == 9
    for path in tables:
        assert_same(path, tmp_path / "again/statistics" / path.name)


def test_too_few_levels(live, build, tmp_path):
    configure(tmp_path, "again", SCIENCE)
    path = tmp_path / "pillion.yaml"
    path.write_text(path.read_text().replace("count: 3", "count: 2"))
    done = replay(build, tmp_path, 2, live / "files/cube_plotfiles", "pillion.yaml", check=False)
    assert done.returncode == 1
    assert "has 3 levels of refinement, but mesh 'cube' has 2" in done.stderr
