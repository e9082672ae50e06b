# SPDX-License-Identifier: BSD-3-Clause
"""Averages over time where cells are new, or have ids that belonged to others: they begin again
there, or the analysis fails, and the reason names mesh, step and cell."""

import json
import os
import sys
from pathlib import Path

import changing_cells_program as program
import numpy as np
import pytest
from conftest import mpirun, read_table
from datasets import read_raw

HERE = Path(__file__).parent
TEXT = """
output: results
meshes: {m: {kind: unstructured, dimensions: 2}}
fields: {u: {mesh: m, type: float64}}
analyses:
  mean:
    disable_after: 1
    stages:
      - time_average: {fields: [u], weights: equal, output_every: 1}
      - write_raw: {fields: [u_mean, u_covariance], durable: false}
  strict:
    disable_after: 1
    stages:
      - time_average: {fields: [u], weights: equal, output_every: 1, when_cells_change: fail}
  series:
    disable_after: 1
    stages:
      - autocorrelation: {field: u, lags: 1, fit_every: 1}
      - write_raw: {fields: [u_autocovariance], durable: false}
"""
NEW = {"refine": 4, "child": 4, "reuse": 16, "still": 0, "move": 0}


def play(build, folder: Path, how: str) -> tuple[Path, dict]:
    (folder / "run.yaml").write_text(TEXT)
    env = os.environ | {"PYTHONPATH": f"{build / 'python'}:{HERE}"}
    mpirun(2, sys.executable, HERE / "changing_cells_program.py", how, env=env, cwd=folder)
    return folder / "results", json.loads((folder / "results/report.json").read_text())


@pytest.fixture(scope="module", params=NEW)
def played(request, build, tmp_path_factory):
    return request.param, *play(build, tmp_path_factory.mktemp(request.param), request.param)


def begins(how: str, cell: int) -> int:
    """The step from which a cell's samples count at the end."""
    changed = {
        "refine": lambda id: id >= program.CHILDREN,
        "child": lambda id: id == 0 or id >= program.CHILDREN,
        "reuse": lambda id: True,
    }.get(how, lambda id: False)
    return program.CHANGE if changed(cell) else 0


def test_averages_are_those_of_samples_of_the_same_cell(played):
    how, results, _ = played
    last = program.STEPS - 1
    seen = {}
    for block in read_raw(results / "mean", "m.raw.yaml")[last][1]:
        for number, cell in enumerate(block["cells"]["ids"]):
            steps = range(begins(how, cell), program.STEPS)
            samples = np.array([program.value(np.array([cell]), n)[0] for n in steps])
            seen[int(cell)] = block["u_mean"][number], block["u_covariance"][number], samples
    assert sorted(seen) == sorted(cell for cell, *_ in program.cells(how, last))
    for mean, covariance, samples in seen.values():
        assert mean == pytest.approx(samples.mean(), rel=1e-13)
        assert covariance == pytest.approx(samples.var(), rel=1e-12, abs=1e-15)
    table = read_table(results / "mean/time_average_u.csv")
    assert table["samples"].tolist() == [1, 2, 3, 4, 5, 6]
    assert table["changed_cells"].tolist() == [0] * program.CHANGE + [NEW[how]] * 3


def test_cells_without_ids_are_followed_while_they_stay(build, tmp_path):
    results, report = play(build, tmp_path, "nameless")
    assert [analysis["disabled"] for analysis in report["analyses"]] == [None] * 3
    last = read_raw(results / "mean", "m.raw.yaml")[program.STEPS - 1][1]
    found = np.concatenate([block["u_mean"] for block in last])
    samples = [program.value(np.arange(16), step) for step in range(program.STEPS)]
    np.testing.assert_allclose(sorted(found), sorted(np.mean(samples, axis=0)), rtol=1e-13)


def test_cells_without_ids_that_change_are_an_error(build, tmp_path):
    _, report = play(build, tmp_path, "lost")
    for analysis in report["analyses"]:
        assert "cells of mesh 'm' have changed at step 3 and have no ids" in str(
            analysis["disabled"]
        )


def test_what_has_changed_is_named(played):
    how, _, report = played
    mean, strict, series = report["analyses"]
    assert mean["disabled"] is None and series["disabled"] is None
    if NEW[how] == 0:
        assert strict["disabled"] is None and not report["warnings"]
        return
    (of_mean,) = [w for w in report["warnings"] if "'mean'" in w and "time_average" in w]
    new, other = "of mesh 'm' are new at step 3", "of mesh 'm' have ids at step 3 that belonged"
    for text in (of_mean, str(strict["disabled"])):
        if how in ("refine", "child"):
            assert f"{4 if how == 'refine' else 3} cells {new} (id 100 is the first)" in text
        if how in ("child", "reuse"):
            assert f"{1 if how == 'child' else 16} cells {other}" in text
            assert "(id 0 is the first)" in text
    assert "when_cells_change: begin_again" in str(strict["disabled"])


def test_series_begin_again_together(played):
    how, results, _ = played
    last = read_raw(results / "series", "m.raw.yaml")[program.STEPS - 1][1]
    wanted = program.STEPS - (program.CHANGE if NEW[how] else 0)
    for block in last:
        assert (block["u_autocovariance"][:, 0] == wanted).all()
