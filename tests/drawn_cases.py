# SPDX-License-Identifier: BSD-3-Clause
"""Tests marked `drawn` have many cases, and each starts programs. Half of them run, others
every day; with PILLION_TEST_ALL=1 all. Cases that are named on the command line always run.
"""

import os
import random
from collections import defaultdict

import pytest


def drawn(names: list[str], seed: str) -> set[str]:
    """Half of the names, at least one."""
    return set(random.Random(seed).sample(sorted(names), (len(names) + 1) // 2))


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if os.environ.get("PILLION_TEST_ALL", "") not in ("", "0") or any(
        "::" in a for a in config.args
    ):
        return
    cases = defaultdict(list)
    for item in items:
        if item.get_closest_marker("drawn"):
            cases[item.nodeid.partition("[")[0]].append(item.nodeid)
    kept = set()
    for name, those in cases.items():
        kept |= drawn(those, f"{os.environ['PILLION_TEST_SEED']} {name}")
    left = {name for those in cases.values() for name in those} - kept
    config.hook.pytest_deselected(items=[item for item in items if item.nodeid in left])
    items[:] = [item for item in items if item.nodeid not in left]
