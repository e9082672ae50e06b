# SPDX-License-Identifier: BSD-3-Clause
"""When there is no room all ranks decide alike, though only some of them are short of it: a step is
in the products whole, or as one and the same subsample everywhere, or not at all. Sidecars come
late, so that there is no room, however fast anything is."""

import json

import limits
import numpy as np
import pytest
from conftest import read_table
from frames import Frame
from scenes import Placement, Scene

CELLS = (9, 8, 11)
FRAMES, MEETING = 40, 25
CATALOGUE = """
meshes: {grid: {kind: uniform, cells: [9, 8, 11]}}
fields: {density: {mesh: grid, type: float64}}
"""
ANALYSES = """
analyses:
  values: {stages: [statistics: {fields: density}]}
  seldom: {every: 3 steps, stages: [histogram: {field: density, range: [0, 1], bins: 4}]}
"""
DUE = {"values": FRAMES, "seldom": -(-FRAMES // 3)}


def place(policy: str, division: str, deadline: str = "60 s") -> Placement:
    memory = "48 KiB" if policy == "coarsen" else "32 KiB"
    return Placement(3, 1, division, "separate", 1, 0, policy, memory, deadline)


def scene(cells=CELLS, catalogue=CATALOGUE, analyses=ANALYSES) -> Scene:
    rng = np.random.default_rng(3)
    count = int(np.prod(cells))
    frames = [Frame(n, float(n), {"density": rng.random(count)}) for n in range(FRAMES)]
    arguments = ("--cells", ",".join(map(str, cells)))
    return Scene("shortage", frames, catalogue, analyses, "grid_driver", arguments)


# The same on a mesh whose cells differ, each twice as wide as the one before.
FACES = [(2.0 ** np.arange(n + 1)).tolist() for n in CELLS]
STRETCHED = CATALOGUE.replace("uniform, cells: [9, 8, 11]", f"rectilinear, coordinates: {FACES}")


def widths(faces: list[float], factor: int) -> np.ndarray:
    """Of coarse cells, whose faces are midway between the centres that remain."""
    at = np.array(faces)
    centres = ((at[1:] + at[:-1]) / 2)[::factor]
    inner = at[1:-1] if factor == 1 else (centres[1:] + centres[:-1]) / 2
    return np.diff([at[0], *inner, at[-1]])


def subsamples(frame: Frame, faces) -> dict[int, tuple[np.ndarray, np.ndarray]]:
    """By number of cells: the whole, and every 2nd, 4th, ... cell along each axis; with weights."""
    whole = frame["density"].reshape(CELLS[::-1])
    samples = {}
    for f in (1, 2, 4, 8, 16):
        sample = whole[::f, ::f, ::f]
        x, y, z = (np.ones(-(-n // f)) for n in CELLS)
        if faces is not None:
            x, y, z = (widths(of, f) for of in faces)
        samples[sample.size] = sample.ravel(), np.einsum("k,j,i->kji", z, y, x).ravel()
    return samples


def play(build, folder, placement: Placement, meet_at: int, faces=None):
    """Returns the table over the run, the report, and how many cells were seen at each step."""
    shortage = scene() if faces is None else scene(catalogue=STRETCHED)
    results, _ = shortage.run(build, folder, placement, meet_at=meet_at)
    table = read_table(results / "values" / "statistics_density.csv")
    assert (np.diff(table["step"]) > 0).all()
    for row, step in enumerate(table["step"]):
        sample, weights = subsamples(shortage.frames[step], faces)[table["count"][row]]
        assert (table["min"][row], table["max"][row]) == (sample.min(), sample.max())
        mean = np.average(sample, weights=weights)
        np.testing.assert_allclose(table["mean"][row], mean, rtol=1e-13)
    report = json.loads((results / "report.json").read_text())
    for analysis in report["analyses"]:
        parts = [analysis[k] for k in ("publications", "skipped", "dropped", "lost")]
        assert sum(parts) == DUE[analysis["name"]], analysis
    assert report["analyses"][0]["publications"] == len(table)
    assert len(list((results / "seldom").glob("*.csv"))) == report["analyses"][1]["publications"]
    return table, report


# On the first rank of an `empty` division there is always room, on the others there is not.
@pytest.mark.parametrize("meet_at", [MEETING, FRAMES])
@pytest.mark.parametrize("division", ["empty", "many"])
@pytest.mark.parametrize("policy", ["skip", "coarsen"])
def test_shortage(policy, division, meet_at, build, tmp_path):
    faces = FACES if division == "many" else None
    table, report = play(build, tmp_path, place(policy, division), meet_at, faces)
    (values, _) = report["analyses"]
    whole = table["count"] == np.prod(CELLS)
    assert whole[:2].all() and table["step"][1] == 1, "there is room for the first ones"
    if policy == "skip":
        assert whole.all() and values["skipped"] > 0
        assert values["dropped"] <= FRAMES - meet_at + 1, "a rank found no room where others did"
        assert table.head["skipped"] == values["skipped"]
    else:
        assert values["coarsened"] >= (~whole).sum() > 0
        assert table.head["coarsened"] == values["coarsened"]


EVEN_CELLS = (8, 8, 12)
EVEN_CATALOGUE = CATALOGUE.replace("[9, 8, 11]", "[8, 8, 12], periodic: true")
WITH_SPECTRUM = """
analyses:
  values: {stages: [statistics: {fields: density}]}
  spectrum: {stages: [power_spectrum: {field: density}]}
"""


def test_a_spectrum_is_never_one_of_a_coarse_publication(build, tmp_path):
    """Where `values` sees a coarse publication, `spectrum` skips it, and says so."""
    shortage = scene(EVEN_CELLS, EVEN_CATALOGUE, WITH_SPECTRUM)
    results, _ = shortage.run(build, tmp_path, place("coarsen", "many"), meet_at=MEETING)
    report = json.loads((results / "report.json").read_text())
    values, spectrum = report["analyses"]
    seen = read_table(results / "values" / "statistics_density.csv")
    whole = seen["count"] == np.prod(EVEN_CELLS)
    assert values["coarsened"] >= (~whole).sum() > 0
    tables = sorted((results / "spectrum").glob("power_spectrum_density.*.csv"))
    assert [int(path.suffixes[0][1:]) for path in tables] == seen["step"][whole].tolist()
    for path, step in zip(tables, seen["step"][whole], strict=True):
        density = shortage.frames[step]["density"]
        variance = (density / density.mean()).var()
        assert read_table(path).attributes["variance"] == pytest.approx(variance, rel=1e-12)
    assert spectrum["publications"] == len(tables) and spectrum["coarsened"] == 0
    parts = [spectrum[k] for k in ("publications", "skipped", "dropped", "lost")]
    assert sum(parts) == FRAMES and spectrum["skipped"] >= (~whole).sum()
    assert any("'power_spectrum' cannot use coarse" in warning for warning in report["warnings"])


def test_waiting_ends_at_the_deadline(build, tmp_path):
    """Once, not at every step."""
    table, report = play(build, tmp_path, place("wait", "empty", "0.4 s"), FRAMES)
    (values, seldom) = report["analyses"]
    assert (table["count"] == np.prod(CELLS)).all()
    assert values["skipped"] + values["dropped"] == FRAMES - len(table) > 0
    stall = values["seconds"]["stall"]["max"] + seldom["seconds"]["stall"]["max"]
    assert 0.4 <= stall < 0.7 + limits.limit(0.5)
