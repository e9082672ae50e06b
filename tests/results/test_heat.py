# SPDX-License-Identifier: BSD-3-Clause
"""`pillion.results` of a real run, the heat example: what one sees while it goes on, and that all
products tell one story in the end.
"""

import re
import subprocess

import limits
import numpy as np
import OpenVisus
import pillion
import pytest
import xarray
from conftest import launcher

CONFIGURATION = """
output: results
parameters: {n: 16}
sidecars: {ranks: 1, memory: 64 MiB, when_full: wait}
units: {time: s}
meshes:
  cube: {kind: uniform, cells: [$n, $n, $n], length: [1, 1, 1], units: m, periodic: true}
fields:
  temperature: {mesh: cube, type: float64, units: K}
analyses:
  decay:
    every: 10 steps
    products_every: 1
    stages:
      - statistics: {fields: [temperature]}
  distribution:
    every: 100 steps
    stages:
      - histogram: {field: temperature, bins: 40, range: [290, 310]}
      - slice: {field: temperature, axis: y}
      - halos: {field: temperature, thresholds: [[1.01, 1.02]]}
  snapshots:
    every: 500 steps
    stages:
      - write_idx: {fields: [temperature], durable: false}
      - write_hdf5: {fields: [temperature], name: packed, durable: false}
      - write_raw: {fields: [temperature], name: loose, durable: false}
"""
STEPS = 20_000


@pytest.fixture(scope="module")
def watched(build, tmp_path_factory):
    """The results of a run, and the numbers of steps that histograms had while it went on."""
    folder = tmp_path_factory.mktemp("heat")
    (folder / "pillion.yaml").write_text(CONFIGURATION)
    (folder / "results").mkdir()
    results = pillion.results(folder / "results")
    xarray.Dataset({"first": ("x", [0])})  # imports dask and more: seconds beside a busy run
    command = [*launcher(), "-n", "2", str(build / "examples/heat/heat"), "16", str(STEPS)]
    with (folder / "log").open("w") as log:
        process = subprocess.Popen(command, cwd=folder, stdout=log, stderr=log)
    try:
        seen = []
        for found in results.follow("distribution/histogram_temperature", 0.05, at_most=100):
            last = found["count"].isel(step=-1)
            assert last.sum() == 16**3, "a step that is seen is whole"
            assert np.isfinite(found["time"].values).all()
            seen.append((found.sizes["step"], process.poll() is None))
        assert limits.wait(process, timeout=60) == 0, (folder / "log").read_text()
    finally:
        process.kill()
        limits.wait(process, timeout=60)
    return results, seen


def test_new_steps_appear(watched):
    results, seen = watched
    steps = [number for number, _ in seen]
    assert steps == sorted(set(steps)) and steps[-1] == STEPS // 100 + 1
    assert sum(runs for _, runs in seen) > 3, "it was seen while it went on"
    assert results.has_ended and results.report.facts["last_step"] == STEPS


def test_all_products_tell_one_story(watched):
    results, _ = watched
    decay = results["decay/statistics_temperature"]
    every = results["snapshots/cube"]["temperature"]
    assert every.dims == ("step", "z", "y", "x") and every.sizes["step"] == STEPS // 500 + 1
    for other in ("packed", "loose"):
        there = results[f"snapshots/{other}"]
        np.testing.assert_array_equal(there["temperature"], every)
        np.testing.assert_array_equal(there["time"], every["time"])
        np.testing.assert_allclose(there["y"], every["y"], rtol=1e-15)
    at = decay.sel(step=every["step"].values)
    np.testing.assert_allclose(at["mean"], every.mean(["x", "y", "z"]), rtol=1e-13)
    np.testing.assert_array_equal(at["max"], every.max(["x", "y", "z"]))
    np.testing.assert_array_equal(at["time"], every["time"])
    counts = results["distribution/histogram_temperature"]["count"]
    edges = [*counts["lower"].values, counts["upper"].values[-1]]
    for step in (0, STEPS):
        wanted, _ = np.histogram(every.sel(step=step), bins=edges)
        np.testing.assert_array_equal(counts.sel(step=step), wanted)
    plane = results["distribution/slice_temperature_y"]
    wanted = every.sel(step=500).sel(y=plane["from"][0].item(), method="backfill")
    np.testing.assert_allclose(plane["mean"].sel(step=500), wanted, rtol=1e-14)
    np.testing.assert_allclose(plane["x"], every["x"], rtol=1e-15)


def test_halos_are_where_it_is_hot(watched):
    results, _ = watched
    halos = results["distribution/halos_temperature"]
    every = results["snapshots/cube"]["temperature"]
    first = halos.sel(step=0)
    assert first.sizes["row"] == halos["row_size"].sel(publication=0) == 4
    there = every.sel(step=0).sel(
        {axis: first[f"peak_{axis}"].drop_vars(["step", "time"]) for axis in "xyz"},
        method="nearest",
    )
    np.testing.assert_array_equal(there, first["peak"])


def test_open_visus_reads_the_same(watched):
    results, _ = watched
    dataset = OpenVisus.LoadDataset(str(results.path / "snapshots/cube.idx"))
    found = results["snapshots/cube"]["temperature"]
    for step in (0, STEPS):
        np.testing.assert_array_equal(
            dataset.read(field="temperature", time=step), found.sel(step=step)
        )


def test_the_overview_of_a_run(watched):
    results, _ = watched
    text = repr(results)
    assert re.search(
        rf"distribution/histogram_temperature +\(step: {STEPS // 100 + 1}, bin\)", text
    )
    assert text.count("!!") == 0 and "ended" in text.splitlines()[0]
    assert len(results) == 11
