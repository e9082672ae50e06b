# SPDX-License-Identifier: BSD-3-Clause
"""The flow solver begins from a velocity that was compressed, on a deformed mesh, and ends as near
to where it would have ended as the bound on the error says."""

import sys
from pathlib import Path

import limits
import numpy as np
import pytest
from flow_runs import read_state, simulate, write_state
from frames import Frame
from scenes import Placement, Scene

ROOT = Path(__file__).resolve().parents[2]
DEFORM = 0.15
SETTINGS = {
    **{"case": "turbulence", "elements": 3, "order": 7, "deform": DEFORM, "reynolds": 30},
    **{"max_dt": 0.02, "checkpoint": "end", "peak": 2, "report_every": 100},
}
CONFIGURATION = """
meshes:
  box: {kind: spectral, order: 7, coordinates: xyz}
fields:
  xyz: {mesh: box, type: float64, components: 3}
  velocity: {mesh: box, type: float64, components: 3}
  number: {mesh: box, type: int64, centering: cell}
"""
ANALYSES = """
analyses:
  checkpoint:
    stages:
      - truncate: {fields: [velocity], error: BOUND, relative_to: rms, at: simulation}
      - encode: {fields: [velocity], numbers: number, continuous: true,
                 periods: [6.283185307179586, 6.283185307179586, 6.283185307179586]}
"""


@pytest.mark.parametrize("bound", [1e-2, 1e-4, 0])
def test_restart_from_a_compressed_velocity(build, tmp_path, bound):
    if not (build / "stages/encode.so").exists():
        pytest.skip("the stage encode was not built")
    half = simulate(build, tmp_path, 2, end_time=0.1, **SETTINGS).state
    write_state(tmp_path / "exact", half)
    whole = simulate(build, tmp_path, 2, end_time=0.2, restart="exact", **SETTINGS).state
    velocity = half.velocity[:, 0]
    values = {
        "xyz": half.coordinates(DEFORM).reshape(len(velocity), -1),
        "velocity": velocity.reshape(len(velocity), -1),
        "number": np.arange(1, len(velocity) + 1),
    }
    frames = [Frame(half.step, half.time, values)]
    scene = Scene(
        "restart",
        frames,
        CONFIGURATION,
        ANALYSES.replace("BOUND", repr(bound)),
        "trajectory_driver",
        ("--elements", 1),
    )
    results, _ = scene.run(build, tmp_path / "run", Placement(2, 1, "pieces", memory="8 MiB"))
    path = results / f"checkpoint/box_compressed/box.{half.step:09}.h5"
    made = tmp_path / "decoded"
    script = ROOT / "miniapps/taylor_green/checkpoint_of.py"
    limits.run(
        [sys.executable, script, path, made],
        env={"PYTHONPATH": str(ROOT / "python")},
        check=True,
        timeout=60,
    )
    begun = read_state(made)
    assert (begun.step, begun.order, begun.side) == (half.step, 7, 3)
    if bound == 0:
        assert begun.velocity[:, 0].tobytes() == velocity.tobytes()
    end = simulate(build, tmp_path, 2, end_time=0.2, restart="decoded", **SETTINGS).state
    size = np.sqrt((whole.velocity[:, 0] ** 2).sum(axis=1).mean())
    off = np.sqrt(((end.velocity[:, 0] - whole.velocity[:, 0]) ** 2).sum(axis=1).mean()) / size
    print(bound, off)
    assert off <= np.sqrt(3) * bound + 1e-12
