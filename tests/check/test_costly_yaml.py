# SPDX-License-Identifier: BSD-3-Clause
"""`pillion check` refuses what would crash or starve it with file, line and reason, at once."""

import os

import pytest
from costly_yaml import COSTLY, cost_of

SLOWNESS = 10 if "ASAN_OPTIONS" in os.environ else 1
MOST_SECONDS, MOST_MEMORY = 1 * SLOWNESS, SLOWNESS * 100 << 20

CONDITION = """\
meshes: {g: {kind: uniform, cells: [4]}}
fields: {d: {mesh: g, type: float64}}
analyses:
  a: {when: WHEN, stages: [statistics: {fields: [d]}]}
"""


@pytest.fixture(scope="module")
def least(build, tmp_path_factory):
    """What a check of almost nothing costs."""
    folder = tmp_path_factory.mktemp("least")
    (folder / "a.yaml").write_text(CONDITION.replace("WHEN", "step > 1"))
    cost = cost_of([build / "bin/pillion-check", "a.yaml"], folder)
    assert cost.status == 0, cost.shown
    return cost


def refused(build, folder, content, least) -> str:
    """What is said of it, within the bounds."""
    (folder / "a.yaml").write_bytes(content)
    cost = cost_of([build / "bin/pillion-check", "a.yaml"], folder)
    assert cost.status == 1
    assert cost.seconds - least.seconds < MOST_SECONDS
    assert cost.memory - least.memory < MOST_MEMORY
    assert len(cost.shown) < 3000
    return cost.shown


@pytest.mark.parametrize("name", COSTLY)
def test_costly_text_is_refused_at_once(build, tmp_path, least, name):
    content, line, words = COSTLY[name]
    shown = refused(build, tmp_path, content, least)
    assert shown.startswith(f"a.yaml:{line}: ") and words in shown
    assert shown.endswith("a.yaml: 1 mistake\n")


@pytest.mark.parametrize("when", ["not " * 100_000 + "1", "(" * 100_000, "1" + "+1" * 100_000])
def test_endless_conditions(build, tmp_path, least, when):
    content = CONDITION.replace("WHEN", f"'{when}'").encode()
    shown = refused(build, tmp_path, content, least)
    assert shown.startswith("a.yaml:4: cannot read the condition") and "at character" in shown


def test_many_mistakes_take_no_longer(build, tmp_path, least):
    content = "parameters: {" + "".join(f"a{n}: 1," for n in range(12_000)) + "}\n"
    content += "x: [" + "".join(f"$b{n}," for n in range(12_000)) + "]\n"
    (tmp_path / "a.yaml").write_text(content)
    cost = cost_of([build / "bin/pillion-check", "a.yaml"], tmp_path)
    assert cost.status == 1 and "a.yaml: 100 mistakes\n" in cost.shown
    assert "there are more mistakes" in cost.shown
    assert cost.seconds - least.seconds < 2 * SLOWNESS
    assert cost.memory - least.memory < MOST_MEMORY


def test_a_catalogue_in_utf_16(build, tmp_path):
    (tmp_path / "a.yaml").write_text(CONDITION.replace("WHEN", "step > 1"))
    (tmp_path / "c.yaml").write_text("fields: {}\n", encoding="utf-16-le")
    command = [build / "bin/pillion-check", "a.yaml", "--catalogue", "c.yaml"]
    cost = cost_of(command, tmp_path)
    assert cost.status == 1 and "U+0000" in cost.shown
