# SPDX-License-Identifier: BSD-3-Clause
"""Scalars of stored steps: those in files of HDF5, in raw files and in snapshots.yaml."""

import os
import sys

import numpy as np
import pytest
from conftest import mpirun, read_table
from replaying import replay, write_hdf5, write_npy

CONFIGURATION = """
meshes: {line: {kind: uniform, cells: [4]}}
fields: {height: {mesh: line, type: float64}}
scalars: [a]
analyses:
  all: {stages: [statistics: {fields: [height]}]}
  late: {when: a > 0.6, stages: [statistics: {fields: [height]}]}
"""
STEPS = range(4)
SCALES = [0.5 + 0.125 * step for step in STEPS]


def origin(scale):
    """As `write_hdf5` leaves it, with a scalar that the configuration lacks."""
    return f'run: "x"\nscalars:\n  "a": {{value: {scale}, units: ""}}\n  "b": {{value: 1.0}}\n'


@pytest.mark.parametrize("kind", ["hdf5", "about"])
def test_scalars_of_stored_steps(build, tmp_path, kind):
    (tmp_path / "run.yaml").write_text(CONFIGURATION)
    files = tmp_path / "files"
    for step, scale in zip(STEPS, SCALES, strict=True):
        height = np.arange(4.0) + step
        if kind == "hdf5":
            file = files / f"height{step:03}.h5"
            write_hdf5(file, {"height": height}, step=step, time=0.1 * step, origin=origin(scale))
        else:
            write_npy(files, "height", step, height)
    if kind == "about":
        lines = [f"  {n}: {{scalars: {{a: {a}}}}}\n" for n, a in zip(STEPS, SCALES, strict=True)]
        (files / "snapshots.yaml").write_text("steps:\n" + "".join(lines))
    replay(build, tmp_path, 2, files, "run.yaml")
    check(tmp_path / "results")


def check(results) -> None:
    for analysis, first in (("all", 0), ("late", 2)):
        table = read_table(results / f"{analysis}/statistics_height.csv")
        assert table["step"].tolist() == list(STEPS)[first:]
        assert table["a"].tolist() == SCALES[first:]


PROGRAM = f"""
import numpy as np
import pillion

with pillion.open("live.yaml") as session:
    rank, height = session.communicator.rank, np.zeros(2)
    session.share("height", height, [2 * rank])
    for step, scale in enumerate({SCALES}):
        height[:] = np.arange(2.0) + 2 * rank + step
        session.set_scalar("a", scale)
        session.step(step, 0.1 * step)
"""


def test_scalars_that_a_run_has_written(build, tmp_path):
    writers = ["write_raw", "write_vtkhdf"] if (build / "stages/write_vtkhdf.so").exists() else []
    live = CONFIGURATION + "".join(
        f"  {stage}: {{stages: [{stage}: {{fields: [height], durable: false}}]}}\n"
        for stage in writers or ["write_raw"]
    )
    (tmp_path / "live.yaml").write_text("output: live\n" + live)
    (tmp_path / "program.py").write_text(PROGRAM)
    env = os.environ | {"PYTHONPATH": str(build / "python")}
    mpirun(2, sys.executable, "program.py", env=env, cwd=tmp_path)
    check(tmp_path / "live")
    for stage in writers or ["write_raw"]:
        (tmp_path / "run.yaml").write_text(f"output: {stage}\n{CONFIGURATION}")
        replay(build, tmp_path, 2, f"live/{stage}", "run.yaml")
        check(tmp_path / stage)
