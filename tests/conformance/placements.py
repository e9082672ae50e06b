# SPDX-License-Identifier: BSD-3-Clause
"""Where stages run and how data are divided, for tests that must not depend on it. Everyday a few
that differ in everything; with PILLION_TEST_ALL=1 every number of ranks with every division."""

import itertools
import os

import pytest
from frames import Placement

EVERYTHING = os.environ.get("PILLION_TEST_ALL", "") not in ("", "0")


def placements(decompositions: list[str], everyday: list[tuple]) -> list[Placement]:
    if not EVERYTHING:
        return [Placement(*p) for p in everyday]
    return [Placement(*p) for p in itertools.product((1, 2, 3, 4), (0, 1, 2, 3), decompositions)]


def cases(scenes: dict[str, list[Placement]]) -> list:
    """Parameters of a fixture: a scene's name and a placement."""
    return [
        pytest.param((name, p), id=f"{name}-{p}") for name, those in scenes.items() for p in those
    ]
