# SPDX-License-Identifier: BSD-3-Clause
"""The fault matrix of the node transport: sidecars that are killed, stopped, starved of memory or
disk at any point, and simulations that are killed. Every case draws its run and its moment from a
seed; node_fault.py says what each kind does, and repeats one. By default one case of each kind
runs; with PILLION_TEST_ALL=1, as in `make test-faults`, more than 1,000 in all. Seeds are others
every day. PILLION_FAULT_SEED=N sets the first seed of a kind. A case that fails prints the command
that repeats it.
"""

import os
import signal
import subprocess
import sys
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import limits
import pytest
from conftest import seed_of_the_day

sys.path.insert(0, str(Path(__file__).parent))
from node_fault import ALL_TOLD, KINDS, NOT_HERE, unsharing

ALL = os.environ.get("PILLION_TEST_ALL", "") not in ("", "0")
# How many cases of a kind there are, and the seed of the first. Without name spaces two kinds of 17
# cannot be tried, and there are more of the others.
COUNT = (60 if unsharing() else 67) if ALL else 1
TODAY = seed_of_the_day() * COUNT
FIRST = int(os.environ.get("PILLION_FAULT_SEED") or TODAY)
CASES = [(kind, seed) for seed in range(FIRST, FIRST + COUNT) for kind in KINDS]

pytestmark = pytest.mark.alone


def start(command: list) -> subprocess.Popen:
    """Tries again for a while if the system cannot: it may be short of something for a moment, as
    other cases do what they can to bring that about."""
    for pause in (0.5, 2, 5, None):
        try:
            return subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                text=True,
                errors="replace",
                start_new_session=True,
            )
        except OSError as error:
            if pause is None:
                raise
            print(f"cannot start {command}: {error!r}")
            time.sleep(pause)
    raise AssertionError


def run_case(build: Path, kind: str, seed: int) -> tuple[int, str]:
    """The status of node_fault.py, and what it said. It limits itself; this is if it hangs."""
    program = Path(__file__).with_name("node_fault.py")
    process = start([sys.executable, program, build, kind, str(seed)])
    try:
        said, _ = limits.communicate(process, timeout=ALL_TOLD + 30)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        said = limits.communicate(process, timeout=60)[0] + f"\n{program} {kind} {seed} hangs"
    return process.returncode, said


@pytest.fixture(scope="module")
def cases(request, build):
    """The selected cases, under way. They compare delays with promises, so by default there is one
    at a time. The whole matrix runs several where they cannot see each other."""
    counts = Counter()
    selected = [
        (item.callspec.params["kind"], item.callspec.params["seed"])
        for item in request.session.items
        if getattr(item, "originalname", "") == "test_fault" and item.path == request.path
    ]
    pool = ThreadPoolExecutor(max(2, (os.cpu_count() or 1) // 2) if ALL and unsharing() else 1)
    futures = {case: pool.submit(run_case, build, *case) for case in selected}
    yield futures, counts
    pool.shutdown(cancel_futures=True)
    kinds = ", ".join(f"{kind} {number}" for kind, number in counts.items())
    with request.config.pluginmanager.getplugin("capturemanager").global_and_fixture_disabled():
        seeds = f"seeds {FIRST} to {FIRST + COUNT - 1}"
        print(f"\nfault matrix: {counts.total()} cases ran, {seeds}: {kinds}")
    if ALL and len(selected) == len(CASES):
        assert counts.total() >= 1000, "too few cases ran; why the others did not is above"


@pytest.mark.parametrize(("kind", "seed"), CASES)
def test_fault(cases, kind, seed):
    futures, counts = cases
    status, said = futures[kind, seed].result()
    if status == NOT_HERE:
        pytest.skip(said.strip().splitlines()[-1])
    counts[kind] += 1
    assert status == 0, said
