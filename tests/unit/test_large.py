# SPDX-License-Identifier: BSD-3-Clause
"""Compiled tests that take too much memory for every day, with PILLION_TEST_ALL=1."""

import os
from pathlib import Path

import pytest
from conftest import mpirun

NEEDED = 10 * 2**30


def memory() -> int:
    """Bytes that may still be taken."""
    lines = Path("/proc/meminfo").read_text().splitlines()
    return next(int(line.split()[1]) * 1024 for line in lines if line.startswith("MemAvailable"))


@pytest.mark.skipif("PILLION_TEST_ALL" not in os.environ, reason="only with PILLION_TEST_ALL=1")
@pytest.mark.skipif(memory() < NEEDED, reason="needs 10 GiB of memory")
def test_messages_of_more_than_two_gibibytes(build):
    program = build / "tests" / "unit" / "unit_parallel"
    done = mpirun(2, program, "-ns", "-nc", "-tc=messages of more than 2 GiB", timeout=300)
    assert "test cases: 1 | 1 passed" in " ".join(done.stdout.split())
