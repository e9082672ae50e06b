# SPDX-License-Identifier: BSD-3-Clause
"""The stage `catalyst`: ParaView gets the very values that the simulation shares, wherever it runs;
what goes wrong there disables the analysis and nothing else. With ParaView and Xvfb only."""

import os
import shutil
from functools import cache
from pathlib import Path

import limits
import numpy as np
import pytest
from frames import Domain, Frame
from placements import EVERYTHING
from scenes import Placement, Scene

SCRIPT = Path(__file__).parent / "stages" / "paraview_view.py"
BUILD = Path(os.environ.get("PILLION_BUILD", "build"))
HAS_STAGE = (BUILD / "stages/catalyst.so").exists()


@cache
def has_paraview() -> bool:
    python = "/usr/bin/python3"
    if not shutil.which("Xvfb") or not Path(python).exists():
        return False
    look = "import importlib.util as u; raise SystemExit(u.find_spec('paraview') is None)"
    return limits.run([python, "-c", look], timeout=60).returncode == 0


with_paraview = pytest.mark.skipif(
    not HAS_STAGE or not has_paraview(), reason="ParaView or Xvfb is not installed"
)

CATALOGUE = """
units: {time: s}
meshes:
  grid: {kind: uniform, cells: [9, 8, 11], length: [4.5, 8, 22], origin: [0, -2, 1], units: m}
fields:
  density: {mesh: grid, type: float64, units: kg/m^3}
  velocity: {mesh: grid, type: float32, components: 3}
"""


def analysis(told: str) -> str:
    how = "every: 1 steps, disable_after: 1"
    return f"analyses: {{look: {{{how}, stages: [catalyst: {{{told}}}]}}}}\n"


def grid_scene(script: Path = SCRIPT) -> Scene:
    rng = np.random.default_rng(1)
    frames = [
        Frame(
            step,
            0.5 * step,
            {
                "density": rng.normal(size=792),
                "velocity": rng.normal(size=(792, 3)).astype(np.float32),
            },
        )
        for step in (3, 4)
    ]
    told = analysis(f"script: '{script}', fields: [density, velocity]")
    return Scene("catalyst", frames, CATALOGUE, told, "grid_driver", ("--cells", "9,8,11"))


@with_paraview
@pytest.mark.parametrize(
    "placement",
    [
        Placement(3, 2, "many"),
        *([Placement(1, 0, "slabs"), Placement(2, 0, "uneven")] * EVERYTHING),
    ],
    ids=str,
)
def test_paraview_sees_the_cells(build, tmp_path, placement):
    scene = grid_scene()
    results, _ = scene.run(build, tmp_path, placement)
    for frame in scene.frames:
        seen = np.load(results / "look" / f"seen.{frame.step}.npz")
        assert seen["time"] == frame.time and seen["cells"] == 792
        assert np.allclose(seen["bounds"], [0, 4.5, -2, 6, 1, 23])
        assert np.array_equal(seen["density"], frame["density"])
        assert np.array_equal(seen["velocity"], frame["velocity"])
        assert (results / "look" / f"view.{frame.step}.png").stat().st_size > 200


@with_paraview
@pytest.mark.skipif(not EVERYTHING, reason="takes long: with PILLION_TEST_ALL=1")
def test_paraview_sees_elements_and_particles(build, tmp_path):
    rng = np.random.default_rng(2)
    for axes in (2, 3):
        elements_are_seen(build, tmp_path / str(axes), rng, axes)
    place = rng.uniform(size=(40, 3))
    atoms = {"position": place, "charge": rng.normal(size=40)}
    catalogue = """
meshes: {atoms: {kind: particles}}
fields:
  position: {mesh: atoms, type: float64, components: 3}
  charge: {mesh: atoms, type: float64}
"""
    told = analysis(f"script: '{SCRIPT}', fields: [charge], position: position")
    frame = Frame(0, 0, atoms, Domain(np.zeros(3), np.ones(3)))
    made = Scene("atoms", [frame], catalogue, told, "trajectory_driver")
    results, _ = made.run(build, tmp_path / "atoms", Placement(2, 0, "slabs"))
    seen = np.load(results / "look" / "seen.0.npz")
    assert np.array_equal(np.sort(seen["charge"]), np.sort(atoms["charge"]))


def elements_are_seen(build, folder, rng, axes: int) -> None:
    n = 3
    x = rng.uniform(size=(2, axes, n**axes))
    speed = rng.uniform(size=(2, n**axes))
    values = {"xyz": x.reshape(2, -1), "rank": np.array([5, 7]), "speed": speed}
    catalogue = f"""
meshes: {{box: {{kind: spectral, order: 2, dimensions: {axes}, coordinates: xyz}}}}
fields:
  xyz: {{mesh: box, type: float64, components: {axes}}}
  rank: {{mesh: box, type: int64, centering: cell}}
  speed: {{mesh: box, type: float64}}
"""
    told = analysis(f"script: '{SCRIPT}', fields: [speed, rank]")
    driver = ("trajectory_driver", ("--elements", 1))
    made = Scene("elements", [Frame(0, 0, values)], catalogue, told, *driver)
    results, _ = made.run(build, folder, Placement(2, 0, "slabs"))
    seen = np.load(results / "look" / "seen.0.npz")
    assert seen["cells"] == 2 * (n - 1) ** axes
    assert np.array_equal(seen["speed"], values["speed"].ravel())
    assert np.array_equal(seen["rank"], np.repeat([5, 7], 2**axes))
    lo, hi = np.zeros(3), np.zeros(3)
    lo[:axes], hi[:axes] = x.min(axis=(0, 2)), x.max(axis=(0, 2))
    assert np.allclose(seen["bounds"], np.stack([lo, hi], axis=1).ravel(), rtol=1e-6)


@with_paraview
def test_a_script_that_fails_harms_nobody_else(build, tmp_path):
    script = tmp_path / "script.py"
    script.write_text("import os\ndef catalyst_execute(info):\n    os._exit(3)\n")
    _, done = grid_scene(script).run(build, tmp_path, Placement(2, 0, "slabs"))
    assert "disabled for the rest of the run" in done.stderr
    assert "the process that runs the script has ended with status 3" in done.stderr


@pytest.mark.skipif(not HAS_STAGE, reason="the stage catalyst is not built")
@pytest.mark.parametrize(
    ("told", "words"),
    [
        ("script: nowhere.py, fields: [density]", "there is no file 'nowhere.py'"),
        (f"script: '{SCRIPT}', fields: [density], python: /nowhere/python", "cannot be run"),
        (f"script: '{SCRIPT}', fields: [density], python: /bin/false", "has no module paraview"),
        (f"script: '{SCRIPT}', fields: []", "at least one field"),
        (f"script: '{SCRIPT}', fields: [density], timeout: 0", "above 0"),
        (f"script: '{SCRIPT}', fields: [density], position: velocity", "for particles"),
        (
            f"script: '{SCRIPT}', fields: [density], parallel: true",
            "set 'sidecars: {job: separate}'",
        ),
    ],
)
def test_what_is_wrong_is_said_at_once(build, tmp_path, told, words):
    check_says(build, tmp_path, CATALOGUE + analysis(told), words)


def check_says(build, folder: Path, text: str, words: str, *options) -> None:
    config = folder / "wrong.yaml"
    config.write_text(text)
    check = [build / "bin" / "pillion-check", config, *options]
    done = limits.run(check, capture_output=True, text=True, timeout=60)
    assert done.returncode != 0 and words in done.stdout + done.stderr, done.stdout + done.stderr


@pytest.mark.skipif(not HAS_STAGE, reason="the stage catalyst is not built")
def test_in_parallel_it_needs_a_job_without_the_simulation(build, tmp_path):
    told = f"script: '{SCRIPT}', fields: [density], parallel: true, python: /bin/false"
    refused, accepted = "set 'sidecars: {job: separate}'", "has no module paraview"
    separate = "sidecars: {job: separate}\n"
    for head, more, words in [
        ("sidecars: {per_node: 1}\n", "", refused),
        ("sidecars: {per_node: 1}\n", ", at: auto", refused),
        (separate, ", at: simulation", refused),
        (separate, "", accepted),
    ]:
        check_says(build, tmp_path, head + CATALOGUE + analysis(told + more), words)
    run = tmp_path / "run.yaml"
    run.write_text(
        CATALOGUE + analysis(f"script: '{SCRIPT}', fields: [density], python: /bin/false")
    )
    added = f"analyses: {{more: {{stages: [catalyst: {{{told}}}]}}}}\n"
    check_says(build, tmp_path, added, accepted, "--of", run)


@with_paraview
def test_a_script_with_other_sources(build, tmp_path):
    """ParaView would run it without data."""
    script = tmp_path / "script.py"
    script.write_text(SCRIPT.read_text().replace('"input"', '"grid"'))
    _, done = grid_scene(script).run(build, tmp_path, Placement(2, 0, "slabs"))
    assert "no source 'input', which is the `channel` of the stage" in done.stderr
    assert "'grid'" in done.stderr
