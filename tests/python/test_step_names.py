# SPDX-License-Identifier: BSD-3-Clause
"""Steps in the names of products, as the library prints them."""

from pathlib import Path

import pillion
import pytest
from pillion.step_names import has_step, step_pattern, without_step

STEPS = [0, 7, 123456789, 1234567890123, -1, -30, -12345678, -123456789]


@pytest.mark.parametrize("step", STEPS)
@pytest.mark.parametrize("form", ["{:09}", "%09d"])
def test_a_step_is_read_as_it_was_printed(step, form):
    text = form.format(step) if "{" in form else form % step
    match = step_pattern(r"(.+)\.", r"(\.\w+)").fullmatch(f"slice_u.v.{text}.csv")
    assert match is not None and int(match[2]) == step
    assert match[1] == "slice_u.v" and match[3] == ".csv"
    assert has_step(f"slice_u.{text}") and without_step(f"slice_u.{text}") == "slice_u"


@pytest.mark.parametrize("stem", ["u", "u.12345678", "u.-1234567", "u.000000001a", "000000001"])
def test_other_numbers_are_parts_of_names(stem):
    assert not has_step(stem)


def test_only_one_module_knows_how_steps_are_printed():
    folder = Path(pillion.__file__).parent
    knowing = [p.name for p in sorted(folder.rglob("*.py")) if r"\d{9" in p.read_text()]
    assert knowing == ["step_names.py"]
