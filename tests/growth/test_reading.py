# SPDX-License-Identifier: BSD-3-Clause
"""Reading all steps of a product takes time in proportion to their number: bytes and calls that
read, and calls of functions, of `pillion.results` for the products of every stage that writes.
"""

import json
import os
import sys
from pathlib import Path

import limits
import pytest
from stage_cases import CASES, OWN_STAGE, configuration, stages_of
from test_growing_costs import HERE, needs_all, needs_modules

pytestmark = [needs_modules, needs_all]
FEW = 200
TOO_MUCH = 2.7  # times as much for twice the steps; the square of them gives 4
WRITERS = ["statistics", "histogram", "halos", "encode"] + [n for n in CASES if "write_" in n]


def run_of(build, folder, steps):
    """The products of all writers that the build has, each in an analysis of its own."""
    config = configuration([])
    built = stages_of(build)
    config["analyses"] = {
        name: {"every": "1 steps", "products_every": 10, "stages": CASES[name]}
        for name in WRITERS
        if name in built
    }
    folder.mkdir()
    (folder / "run.yaml").write_text(json.dumps(config))
    (folder / "own_stage.py").write_text(OWN_STAGE)
    env = {**os.environ, "PYTHONPATH": str(build / "python"), "OMP_NUM_THREADS": "1"}
    for command in (
        [HERE / "grow.py", str(steps), "8", "1", "random", "run.yaml"],
        [HERE / "read_all.py", "out"],
    ):
        done = limits.run(
            [sys.executable, *command],
            cwd=folder,
            env=env,
            capture_output=True,
            text=True,
            timeout=120,
        )
        assert done.returncode == 0, done.stdout + done.stderr
    return json.loads(done.stdout.splitlines()[-1])


@pytest.fixture(scope="module")
def taken(build, tmp_path_factory):
    folder: Path = tmp_path_factory.mktemp("reading")
    return run_of(build, folder / "few", FEW), run_of(build, folder / "many", 2 * FEW)


def test_readers_are_in_proportion(taken):
    few, many = taken
    assert set(few) == set(many) and len(few) >= 4
    wrong = {}
    for key in few:
        for what, once, twice in zip(("bytes", "reads", "calls"), few[key], many[key]):
            if twice > TOO_MUCH * once + 2000:
                wrong[f"{key}: {what}"] = (once, twice)
    assert not wrong
