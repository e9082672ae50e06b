# SPDX-License-Identifier: BSD-3-Clause
"""Fields that a stage has made on boxes of its own cross to the sidecars beside shared ones, whose
blocks have the same numbers and are others."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest
from conftest import read_table
from frames import Frame
from placements import check_report
from scenes import Placement, Scene

CELLS = (9, 8, 11)
FRACTION = 0.3
CATALOGUE = f"""
meshes:
  grid: {{kind: uniform, cells: {list(CELLS)}, length: [1, 1, 1], periodic: true}}
fields:
  density: {{mesh: grid, type: float64}}
  light: {{mesh: grid, type: float32}}
"""
PLACES = [
    *(Placement(3, 0, "many"), Placement(3, 2, "many"), Placement(2, 3, "uneven")),
    *(Placement(3, 1, "empty", "node"), Placement(2, 2, "many", "separate")),
]


def frames() -> list[Frame]:
    rng = np.random.default_rng(8)
    count = int(np.prod(CELLS))
    return [
        Frame(
            step,
            0.5 * step,
            {
                "density": np.exp(rng.normal(0, 1, count)),
                "light": np.exp(rng.normal(0, 1, count)).astype(np.float32),
            },
        )
        for step in range(4)
    ]


def total(frame: Frame) -> np.ndarray:
    gas, dark = frame["density"], frame["light"].astype(float)
    return FRACTION * gas / gas.mean() + (1 - FRACTION) * dark / dark.mean()


def seen(folder: Path, step: int) -> dict[str, np.ndarray]:
    fields = {name: np.full(CELLS, np.nan) for name in ("density", "total")}
    for path in folder.glob(f"{step}-*"):
        data = path.read_bytes()
        _, count = np.frombuffer(data, np.int64, 2)
        at = 16
        for _ in range(count):
            lo, hi = np.frombuffer(data, np.int64, 15, at)[3:9].reshape(2, 3)
            at += 15 * 8
            for field in fields.values():
                values = np.frombuffer(data, np.float64, np.prod(hi - lo), at)
                at += values.nbytes
                field[tuple(map(slice, lo, hi))] = values.reshape(hi - lo, order="F")
    return fields


@pytest.mark.parametrize("made_in", ["simulation", "sidecar"])
@pytest.mark.parametrize("place", PLACES, ids=str)
def test_made_and_shared_fields_of_one_mesh(place, made_in, build, tmp_path, monkeypatch):
    if made_in == "sidecar" and place.sidecars == 0:
        pytest.skip("there are none")
    monkeypatch.setenv("PILLION_STAGE_PATH", str(build / "tests" / "conformance" / "stages"))
    cells = tmp_path / "cells"
    analyses = (
        "analyses:\n  made:\n    every: 1 steps\n    stages:\n"
        "      - matter: {gas: density, dark_matter: light, into: total, "
        f"baryon_fraction: {FRACTION}, at: {made_in}}}\n"
        f"      - cells: {{folder: {cells}, fields: [density, total], layout: slabs, axis: 2}}\n"
        "      - statistics: {fields: [total]}\n"
    )
    size = ("--cells", ",".join(map(str, CELLS)))
    scene = Scene("made", frames(), CATALOGUE, analyses, "grid_driver", size)
    results, _ = scene.run(build, tmp_path / "run", place)
    check_report(scene, place, results)
    table = read_table(results / "made" / "statistics_total.csv")
    for row, frame in enumerate(scene.frames):
        fields = seen(cells, frame.step)
        wanted = total(frame).reshape(CELLS, order="F")
        np.testing.assert_array_equal(fields["density"], frame["density"].reshape(CELLS, order="F"))
        np.testing.assert_allclose(fields["total"], wanted, rtol=1e-13)
        assert table["count"][row] == np.prod(CELLS)
        assert table["mean"][row] == pytest.approx(1, rel=1e-13)


@dataclass(frozen=True)
class Little(Placement):
    """Sidecars through the network with hardly more memory than the values take."""

    @property
    def head(self) -> str:
        return "sidecars: {ranks: 1, memory: 24 KiB, when_full: skip}\n"


def test_copies_for_sidecars_count_when_memory_is_checked(build, tmp_path, monkeypatch):
    """Ghost cells make the publication larger than what is shared: said before the first step."""
    monkeypatch.setenv("PILLION_STAGE_PATH", str(build / "tests" / "conformance" / "stages"))
    size = ("--cells", ",".join(map(str, CELLS)))
    text = (
        "analyses:\n  wide:\n    every: 1 steps\n    stages:\n"
        f"      - cells: {{folder: {tmp_path / 'cells'}, fields: [density], ghosts: [%d, 0, 0]}}\n"
    )
    place = Little(1, 1, "slabs")
    enough = Scene("enough", frames(), CATALOGUE, text % 1, "grid_driver", size)
    enough.run(build, tmp_path / "enough", place)
    wide = Scene("wide", frames(), CATALOGUE, text % 30, "grid_driver", size)
    _, done = wide.run(build, tmp_path / "wide", place, fails=True)
    assert "more than its share of 24.0 KiB" in done.stderr, done.stderr
