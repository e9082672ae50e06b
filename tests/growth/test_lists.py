# SPDX-License-Identifier: BSD-3-Clause
"""Files that list all steps of a dataset are not written at each of many steps. At the end of a run
they list all; after a run was killed, all but a sixteenth, and the run that resumes lists all.
"""

import json
import os
import re
import sys
from xml.etree import ElementTree

import limits
import pytest
import yaml
from stage_cases import CASES, configuration, stages_of
from test_growing_costs import needs_modules

pytestmark = needs_modules
STEPS = 45  # not a number of steps at which lists are written
PROGRAM = """
import os, signal, sys
import numpy as np, pillion
first, last, ends = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3]
restart = {"restart": "saved"} if first > 0 else {}
with pillion.open("run.yaml", **restart) as session:
    array = np.random.default_rng(0).random((4, 4, 4))
    session.share("noise", array)
    for step in range(first, last):
        session.step(17 * step + step % 3, 0.1 * step)
        if step == last - 9:
            session.checkpoint("saved")
    if ends == "killed":
        os.kill(os.getpid(), signal.SIGKILL)
"""


def listed_in_idx(text):
    ranges = re.findall(r"\((\d+),(\d+),(\d+)\)", text[text.index("(time)") :])
    return sum((int(last) - int(first)) // int(step) + 1 for first, last, step in ranges)


def listed(folder):
    """How many steps each of the lists has."""
    out = folder / "out"
    grids = ElementTree.parse(out / "write_hdf5/cube.xmf").findall(".//Grid[@GridType='Uniform']")
    return {
        "xmf": len(grids),
        "series": len(json.loads((out / "write_vtkhdf/cube.vtkhdf.series").read_text())["files"]),
        "raw": len(yaml.safe_load((out / "write_raw/cube.raw.yaml").read_text())["steps"]),
        "visit": (out / "write_plotfile/cube.visit").read_text().count("/Header\n"),
        "idx": listed_in_idx((out / "write_idx/cube.idx").read_text()),
        "cinema": (out / "image/image.cdb/data.csv").read_text().count(".png"),
    }


def play(build, folder, first, last, ends):
    done = limits.run(
        [sys.executable, "program.py", str(first), str(last), ends],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(build / "python"), "OMP_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == (-9 if ends == "killed" else 0), done.stdout + done.stderr


@pytest.fixture
def folder(build, tmp_path):
    names = ["write_hdf5", "write_vtkhdf", "write_raw", "write_plotfile", "write_idx"]
    if not {*names, "image"} <= set(stages_of(build)):
        pytest.skip("not all of these stages are in this build")
    config = configuration([], 4)
    one = {"every": "1 steps"}
    image = {"draw": [{"slice": {"field": "noise"}}], "size": [16, 16], "cinema": {"phi": 1}}
    config["fields"] = {"noise": config["fields"]["noise"]}
    config["meshes"] = {"cube": config["meshes"]["cube"]}
    config["analyses"] = {name: {**one, "stages": CASES[name]} for name in names}
    config["analyses"]["image"] = {**one, "stages": [{"image": image}]}
    (tmp_path / "run.yaml").write_text(json.dumps(config))
    (tmp_path / "program.py").write_text(PROGRAM)
    return tmp_path


def test_lists_are_complete_at_the_end(build, folder):
    play(build, folder, 0, STEPS, "well")
    assert set(listed(folder).values()) == {STEPS}


def test_lists_of_a_killed_run_and_of_the_next(build, folder):
    play(build, folder, 0, STEPS, "killed")
    counts = listed(folder)
    assert all(STEPS - STEPS / 16 <= count <= STEPS for count in counts.values()), counts
    notes = [path.read_text().count("\n") for path in sorted(folder.glob("out/*/*/.steps"))]
    assert notes == [STEPS] * 5
    play(build, folder, STEPS - 8, STEPS + 4, "well")
    assert set(listed(folder).values()) == {STEPS + 4}
