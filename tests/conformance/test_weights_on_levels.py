# SPDX-License-Identifier: BSD-3-Clause
"""Weights of cells on a mesh with levels, as embedded boundaries have them, against NumPy: cells of
weight 0 count for nothing, whatever they hold.
"""

import numpy as np
import pytest
import weights_program as program
from conftest import read_table
from programs import PLACES, results_of, runner

TEXT = """
output: results
SIDECARS
meshes:
  grid: {kind: uniform, cells: [12, 4], levels: {count: 2, ratio: 2}, weight: part}
fields:
  heat: {mesh: grid, type: float64}
  part: {mesh: grid, type: float64}
analyses:
  whole: {stages: [statistics: {fields: [heat]}]}
  flat:
    stages:
      - flatten: {fields: [heat], level: 0, into: [coarse]}
      - slice: {field: coarse}
"""
run = runner("weights_program.py")


@pytest.fixture(scope="module", params=PLACES)
def results(request, build, tmp_path_factory):
    folder = tmp_path_factory.mktemp("weights")
    run(folder, build, request.param, TEXT)
    return results_of(folder, program.STEPS)


def level(step: int, number: int) -> tuple[np.ndarray, np.ndarray]:
    """Values, 0 where there is no part of a cell, and parts on all cells; [x, y]."""
    shape = (12 * 2**number, 4 * 2**number)
    value, part = np.zeros(shape), np.zeros(shape)
    for lo, hi in (program.COARSE, program.FINE)[number]:
        box = tuple(slice(a, b) for a, b in zip(lo, hi, strict=True))
        value[box] = np.nan_to_num(program.values(lo, hi, number, step))
        part[box] = program.part(lo, hi, number, step)
    return value, part


def leaves(step: int) -> tuple[np.ndarray, np.ndarray]:
    """The same with cells of level 0 where finer ones do not cover them: sums over cells of level
    0 of value times part, and of part, in volumes of such a cell.
    """
    value, part = level(step, 0)
    part[2:10, 1:3] = 0
    fine, fine_part = level(step, 1)
    inside = (fine_part / 4).reshape(12, 2, 4, 2).sum((1, 3))
    weighted = (fine * fine_part / 4).reshape(12, 2, 4, 2).sum((1, 3))
    return value * part + weighted, part + inside


def test_means_count_the_part_of_each_cell(results):
    table = read_table(results / "whole/statistics_heat.csv")
    for step in range(program.STEPS):
        sums, parts = leaves(step)
        assert table["volume"][step] == pytest.approx(parts.sum(), rel=1e-12)
        assert table["mean"][step] == pytest.approx(sums.sum() / parts.sum(), rel=1e-12)


def test_flatten_reads_no_cell_without_any_part(results):
    for step in range(program.STEPS):
        sums, parts = leaves(step)
        wanted = np.divide(sums, parts, out=np.full(sums.shape, np.nan), where=parts > 0)
        found = read_table(results / f"flat/slice_coarse_z.{step:09d}.csv")["mean"]
        np.testing.assert_allclose(found.reshape(4, 12).T, wanted, rtol=1e-12)
        fine_part = level(step, 1)[1].reshape(12, 2, 4, 2).min((1, 3))
        assert (parts[2:10, 1:3][fine_part[2:10, 1:3] == 0] > 0).any(), "the test would be weak"
