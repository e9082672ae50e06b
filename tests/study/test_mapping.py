# SPDX-License-Identifier: BSD-3-Clause
"""That the study of mappings still builds with SimGrid, and that what a small machine's links carry
is what follows from the definitions of the mappings, counted here by hand."""

import json
import os
import shutil
from pathlib import Path

import limits
import pytest

STUDY = Path(__file__).parents[2] / "study"
NODES = 4

pytestmark = [
    pytest.mark.skipif("PILLION_TEST_ALL" not in os.environ, reason="only with PILLION_TEST_ALL=1"),
    pytest.mark.skipif(shutil.which("smpicxx") is None, reason="needs SimGrid (libsimgrid-dev)"),
]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("mapping")
    limits.run(
        ["bash", STUDY / "mapping.sh", "small"],
        env={**os.environ, "BUILD": str(folder / "build"), "OUT": str(folder)},
        check=True,
        timeout=300,
    )
    return folder


def read(path):
    return [json.loads(line) for line in path.read_text().splitlines()]


def points_of(folder, kind):
    return {p["mapping"]: p for p in read(folder / "mapping-small.jsonl") if p["kind"] == kind}


def near(value):
    return pytest.approx(value, rel=1e-4)


def test_two_domains(folder):
    points = points_of(folder, "haswell")
    assert set(points) == {"default", "contiguous", "striped", "numa", "folded", "auto"}
    for point in points.values():
        assert (point["simulation"], point["analysis"]) == (24 * NODES, 8 * NODES)
        assert point["step_seconds"] > point["computing_seconds"]
        assert point["taking_seconds_most"] < point["step_seconds"]
    bytes_of_rank = points["numa"]["hand_over_bytes"]
    assert bytes_of_rank == near(64 * 1e6 / (24 * NODES))
    alone = {name: p["hand_over_alone"] for name, p in points.items()}
    # All that three of four nodes have goes to the last one.
    assert alone["default"]["in"]["bytes"] == near(24 * NODES * bytes_of_rank)
    assert points["default"]["step_seconds"] > alone["default"]["in"]["seconds"]
    # All cores of the first domain hand over to the second; else nobody crosses.
    assert alone["contiguous"]["between"]["bytes"] == near(16 * bytes_of_rank)
    for name in ("striped", "numa", "auto"):
        assert not {"between", "in", "out", "network"} & set(alone[name])
    for name in ("contiguous", "striped", "numa", "auto"):
        assert alone[name]["copy"]["bytes"] == near(3 * bytes_of_rank)
        assert points[name]["step_seconds"] < points["default"]["step_seconds"]
    assert points["auto"]["placement_cost"] == min(p["placement_cost"] for p in points.values())


def test_mesh(folder):
    points = points_of(folder, "knl")
    bytes_of_rank = points["folded"]["hand_over_bytes"]
    hops = {
        "contiguous": NODES * 8 * sum(range(8)),  # along the column to the last row
        "striped": NODES * 8 * sum(range(8)),  # along the row to the last column
        "folded": NODES * 8 * sum(abs(row - 4) for row in range(8)),  # to the middle
    }
    for name, expected in hops.items():
        mesh = points[name]["hand_over_alone"]["mesh"]
        assert mesh["all_bytes"] == near(expected * bytes_of_rank)
        assert points[name]["step_seconds"] < points["default"]["step_seconds"]
    # At most what half a column has goes over one link.
    assert points["folded"]["hand_over_alone"]["mesh"]["bytes"] == near(4 * bytes_of_rank)
    assert points["contiguous"]["hand_over_alone"]["mesh"]["bytes"] == near(7 * bytes_of_rank)


def test_files(folder):
    points = {p["mapping"]: p for p in read(folder / "mapping-io-small.jsonl")}
    assert set(points) == {"default", "numa", "near"}
    for point in points.values():
        assert point["bytes"] == near(8 * 32 * 2**22)
        # Four aggregators, each with a gateway of its own that passes 5 GB/s on.
        assert point["busiest"]["storage"]["bytes"] == near(point["bytes"] / 4)
        assert point["seconds"] > point["bytes"] / 4 / 5e9
    # An aggregator on one of the two nodes whose data it takes spares half of the way.
    assert (
        points["near"]["busiest"]["network"]["all_bytes"]
        < points["default"]["busiest"]["network"]["all_bytes"]
    )
