# SPDX-License-Identifier: BSD-3-Clause
"""Averages over time and second moments against NumPy on all samples, on spectral elements that
move from rank to rank, on boxes, across a restart, and with a large mean."""

from dataclasses import replace
from functools import cache

import numpy as np
import pytest
from conftest import read_table
from datasets import SHAPES, mesh_scene, read_raw
from frames import Frame
from placements import cases, check_report, placements
from pool import results_of_case
from scenes import Placement, Scene
from test_write_nek import CATALOGUE, N
from test_write_nek import frames as moving_frames

TIMES = [0, 0.25, 0.75, 1.0]
ANALYSES = """
analyses:
  a:
    stages:
      - time_average: {fields: [velocity, pressure, heat], pairs: [[velocity, heat]],
                       output_every: 1}
      - write_raw: {fields: [FIELDS], durable: false}
  b:
    stages:
      - time_average: {fields: [heat, pair], moments: product, weights: equal, output_every: 2,
                       reset: true}
      - write_raw: {fields: [number, heat_mean, heat_product, pair_product], durable: false}
"""
MADE = {
    "velocity_mean": 3, "pressure_mean": 1, "heat_mean": 1, "velocity_covariance": 6,
    "pressure_covariance": 1, "heat_covariance": 1, "velocity_heat_covariance": 3,
}  # fmt: skip


@cache
def frames() -> list[Frame]:
    """Values are 1e6 times as large as their deviations."""
    out = []
    for frame, time in zip(moving_frames(3), TIMES, strict=True):
        values = dict(frame.values) | {"heat": 1e6 + frame["heat"]}
        out.append(replace(frame, time=time, values=values))
    return out


def scene() -> Scene:
    analyses = ANALYSES.replace("FIELDS", ", ".join(["number", *MADE]))
    catalogue = CATALOGUE.replace("AXES", "3")
    return Scene("cube", frames(), catalogue, analyses, "trajectory_driver", ("--elements", 1))


DIVISIONS = ["slabs", "migrate", "sparse", "pieces"]
CASES = cases(
    {
        "cube": placements(
            DIVISIONS,
            [(1, 0, "slabs"), (3, 0, "migrate"), (3, 2, "pieces"), (2, 1, "migrate", "node")],
        )
    }
)


@pytest.fixture(scope="module", params=CASES)
def played(request, build, tmp_path_factory):
    _, results = results_of_case(
        request, build, tmp_path_factory, lambda case, _: (scene(), case[1])
    )
    check_report(scene(), request.param[1], results)
    return results


def made(folder, step: int) -> dict[str, np.ndarray]:
    """Fields as [element, component, point], in the order of the elements' numbers."""
    _, blocks = read_raw(folder, "box.raw.yaml")[step]
    blocks = [block for block in blocks if block["count"] > 0]
    numbers = np.concatenate([block["number"].ravel() for block in blocks])
    out = {}
    for name in blocks[0]:
        if name.endswith(("_mean", "_covariance", "_product")):
            parts = [block[name].reshape(block["count"], -1, N**3) for block in blocks]
            out[name] = np.concatenate(parts)[np.argsort(numbers)]
    return out


def values_of(field: str, frame: Frame) -> np.ndarray:
    order = np.argsort(frame["number"])
    return frame[field].astype(float).reshape(len(order), -1, N**3)[order]


PAIRS = [(0, 0), (1, 1), (2, 2), (0, 1), (1, 2), (0, 2)]


def moments(x, y, pairs, weights, central: bool) -> np.ndarray:
    """[element, pair, point] of series [sample, element, component, point]."""
    if central:
        x = x - np.average(x, axis=0, weights=weights)
        y = y - np.average(y, axis=0, weights=weights)
    return np.stack(
        [np.average(x[:, :, a] * y[:, :, b], axis=0, weights=weights) for a, b in pairs], axis=1
    )


@pytest.mark.parametrize("step", [1, 2, 3])
def test_averages_and_covariances_by_time(played, step):
    found = made(played / "a", step)
    samples, weights = frames()[1 : step + 1], np.diff(TIMES)[:step]
    series = {
        f: np.array([values_of(f, s) for s in samples]) for f in ("velocity", "pressure", "heat")
    }
    for field, values in series.items():
        wanted = np.average(values, axis=0, weights=weights)
        np.testing.assert_allclose(found[f"{field}_mean"], wanted, rtol=1e-14, atol=1e-14)
        pairs = PAIRS if field == "velocity" else [(0, 0)]
        wanted = moments(values, values, pairs, weights, True)
        # Deviations from 1e6 have ten digits.
        tolerance = 1e-9 if field == "heat" else 1e-13
        np.testing.assert_allclose(found[f"{field}_covariance"], wanted, rtol=0, atol=tolerance)
    wanted = moments(series["velocity"], series["heat"], [(0, 0), (1, 0), (2, 0)], weights, True)
    np.testing.assert_allclose(found["velocity_heat_covariance"], wanted, rtol=0, atol=1e-9)


def test_products_of_values_that_begin_again(played):
    table = read_table(played / "b/time_average_heat.csv")
    assert table["step"].tolist() == [1, 3] and table["samples"].tolist() == [2, 2]
    assert table["begin"].tolist() == [0, 0.25]
    for step in (1, 3):
        found = made(played / "b", step)
        samples = frames()[step - 1 : step + 1]
        heat = np.array([values_of("heat", s) for s in samples])
        pair = np.array([values_of("pair", s) for s in samples])
        np.testing.assert_allclose(found["heat_mean"], heat.mean(axis=0), rtol=1e-15)
        wanted = moments(heat, heat, [(0, 0)], None, False)
        np.testing.assert_allclose(found["heat_product"], wanted, rtol=1e-14)
        wanted = moments(pair, pair, [(0, 0), (1, 1), (0, 1)], None, False)
        np.testing.assert_allclose(found["pair_product"], wanted, rtol=0, atol=1e-14)


def test_a_resumed_run_gives_the_same_averages(build, tmp_path):
    state = tmp_path / "state"
    whole, _ = scene().run(build, tmp_path / "whole", Placement(2, 0, "slabs"))
    scene().run(build, tmp_path / "parts", Placement(3, 0, "slabs"), last=2, checkpoint=state)
    parts, _ = scene().run(
        build, tmp_path / "parts", Placement(2, 1, "migrate"), first=2, restart=state
    )
    for folder, step in (("a", 2), ("a", 3), ("b", 3)):
        one, other = made(whole / folder, step), made(parts / folder, step)
        for name, values in one.items():
            np.testing.assert_array_equal(values, other[name], err_msg=name)


SERIES = ["time_average: {fields: [FIELD], moments: none}", "autocorrelation: {field: FIELD}"]


@pytest.mark.parametrize("stage", SERIES)
@pytest.mark.parametrize("before", ["pressure", "heat"])
def test_series_of_other_fields_are_not_continued(build, tmp_path, stage, before):
    stage = f"\nanalyses:\n  a:\n    stages: [{stage}]\n"
    placement, state = Placement(1, 0, "slabs"), tmp_path / "state"
    played = replace(scene(), analyses=stage.replace("FIELD", before))
    played.run(build, tmp_path, placement, last=2, checkpoint=state)
    played = replace(played, analyses=stage.replace("FIELD", "heat"))
    fails = before != "heat"
    _, done = played.run(build, tmp_path, placement, first=2, restart=state, fails=fails)
    assert ("saved with other" in done.stderr) == fails


@pytest.mark.parametrize("placement", [Placement(1, 0, "slabs"), Placement(3, 1, "pencils")])
def test_averages_on_boxes(build, tmp_path, placement):
    stage = "time_average: {fields: [density, velocity], weights: equal, output_every: 3}"
    writing = "write_raw: {fields: [density_mean, velocity_covariance], durable: false}"
    played = mesh_scene("brick", {"a": f"{stage}\n      - {writing}"}, frames=3)
    results, _ = played.run(build, tmp_path, placement)
    cells = SHAPES["brick"][::-1]
    whole = {"density_mean": np.empty(cells), "velocity_covariance": np.empty((*cells, 6))}
    for block in read_raw(results / "a", "grid.raw.yaml")[2][1]:
        (x, y, z), (i, j, k) = block["lo"], block["hi"]
        for name, values in whole.items():
            part = values[z:k, y:j, x:i]
            part[...] = block[name].reshape(part.shape)
    density = np.array([frame["density"] for frame in played.frames])
    velocity = np.array([frame["velocity"] for frame in played.frames]).astype(float)
    found = whole["density_mean"].ravel()
    np.testing.assert_allclose(found, density.mean(axis=0, dtype=float).ravel(), rtol=1e-14)
    covariance = np.stack(
        [(((velocity - velocity.mean(axis=0))[..., a]) * velocity[..., b]).mean(axis=0)
         for a, b in PAIRS], axis=-1,
    )  # fmt: skip
    found = whole["velocity_covariance"].reshape(-1, 6)
    np.testing.assert_allclose(found, covariance, rtol=0, atol=1e-13 * np.abs(velocity).max() ** 2)


WRONG = {
    "is listed twice": "{fields: [velocity, velocity]}",
    "'heat' is not listed in `fields`": "{fields: [velocity], pairs: [[velocity, heat]]}",
    "expected two fields": "{fields: [velocity, heat], pairs: [[heat]]}",
    "pairs need `moments`": "{fields: [velocity, heat], moments: none, pairs: [[velocity, heat]]}",
    "has integers; reals are needed": "{fields: [number]}",
    "has reals; integers are needed": "{fields: [heat], key: pressure}",
}


@pytest.mark.parametrize("message", WRONG)
def test_mistakes_are_found_before_the_first_step(build, tmp_path, message):
    stage = WRONG[message]
    text = f"analyses:\n  a:\n    stages: [time_average: {stage}]\n"
    wrong = Scene(
        "cube", frames(), CATALOGUE.replace("AXES", "3"), text, "trajectory_driver",
        ("--elements", 1),
    )  # fmt: skip
    _, done = wrong.run(build, tmp_path, Placement(1, 0, "slabs"), fails=True)
    assert message in done.stderr
