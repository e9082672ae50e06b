# SPDX-License-Identifier: BSD-3-Clause
"""The stage `catalyst` in parallel: ParaView in all sidecars of a separate job. Pictures and
extracts are those of ParaView on the whole data, and no peer has the values of another beyond a
layer of ghost cells. A script that ends its process ends the sidecars alone. With ParaView and
Xvfb only."""

import json
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import limits
import numpy as np
import pytest
from conftest import mpirun
from frames import Domain, Frame
from PIL import Image
from placements import EVERYTHING
from scenes import Placement, Scene, SidecarJob, new_run, wait_for
from test_catalyst import analysis, with_paraview

PIECES = Path(__file__).parent / "stages" / "paraview_pieces.py"
CELLS = (18, 16, 22)
CATALOGUE = """
units: {time: s}
meshes:
  grid:
    {kind: uniform, cells: [18, 16, 22], length: [4.5, 8, 22], origin: [0, -2, 1], units: m,
     periodic: [true, false, true]}
fields:
  density: {mesh: grid, type: float64, units: kg/m^3}
  velocity: {mesh: grid, type: float32, components: 3}
"""
IN_PARALLEL = ", parallel: true"

needs_time = pytest.mark.skipif(not EVERYTHING, reason="takes long: with PILLION_TEST_ALL=1")


def waves(step: int) -> np.ndarray:
    """Smooth enough for a contour, different along all axes."""
    x, y, z = np.meshgrid(*[(np.arange(n) + 0.5) / n for n in CELLS], indexing="ij")
    values = np.sin(7 * x + 0.2 * step) * np.cos(9 * y) + np.sin(5 * z + 2 * x)
    return values.ravel(order="F")


def scene(script: Path, more: str = "", steps=(3, 4)) -> Scene:
    rng = np.random.default_rng(1)
    count = int(np.prod(CELLS))
    frames = [
        Frame(
            step,
            0.5 * step,
            {
                "density": waves(step),
                "velocity": rng.normal(size=(count, 3)).astype(np.float32),
            },
        )
        for step in steps
    ]
    told = analysis(f"script: '{script}', fields: [density, velocity]{more}")
    cells = ",".join(map(str, CELLS))
    return Scene("catalyst", frames, CATALOGUE, told, "grid_driver", ("--cells", cells))


def apart(ranks: int, simulation: int = 2) -> Placement:
    return Placement(simulation, ranks, "slabs", "separate", memory="4 MiB")


def pieces(results: Path, step: int) -> list:
    return [np.load(path) for path in sorted((results / "look").glob(f"piece.{step}.*.npz"))]


def different_pixels(first: Path, second: Path) -> int:
    one, other = (np.asarray(Image.open(p).convert("RGB"), int) for p in (first, second))
    assert one.shape == other.shape and one.std() > 5, "there is nothing in the picture"
    return int((np.abs(one - other).max(axis=-1) > 16).sum())


def check_pieces(held: list, frame: Frame, ranks: int) -> None:
    """Together they have each cell once, with its value, and beside it one layer of their
    neighbours' cells at most."""
    assert len(held) == ranks
    times_owned = np.zeros(CELLS, int)
    for piece in held:
        extent = piece["extent"].reshape(3, 2)
        part = tuple(slice(*ends) for ends in extent)
        shape = extent[:, 1] - extent[:, 0]
        for name in ("density", "velocity"):
            whole = frame[name].reshape(*CELLS, -1, order="F")[part]
            assert np.array_equal(piece[name].reshape(*shape, -1, order="F"), whole), name
        owned = piece["owned"].reshape(shape, order="F")
        times_owned[part] += owned
        inner = np.argwhere(owned)
        beyond = [inner.min(axis=0), shape - 1 - inner.max(axis=0)]
        assert np.min(beyond) >= 0 and np.max(beyond) <= 1
    assert np.all(times_owned == 1)


@with_paraview
@pytest.mark.parametrize("ranks", [2, *([1, 3, 4] * EVERYTHING)])
def test_pieces_show_what_the_whole_shows(build, tmp_path, ranks):
    whole, _ = scene(PIECES).run(build, tmp_path / "whole", Placement(1, 0, "slabs"))
    made = scene(PIECES, IN_PARALLEL)
    results, _ = made.run(build, tmp_path / "pieces", apart(ranks))
    for frame in made.frames:
        (alone,) = pieces(whole, frame.step)
        held = pieces(results, frame.step)
        check_pieces(held, frame, ranks)
        assert all(piece["time"] == frame.time for piece in held)
        assert alone["triangles"] > 1000
        assert sum(piece["triangles"] for piece in held) == alone["triangles"]
        for name in ("area", "total"):
            seen = np.concatenate([piece[name] for piece in held])
            assert seen == pytest.approx(alone[name], rel=1e-9), name
        volume = 4.5 * 8 * 22 / np.prod(CELLS)
        assert alone["total"] == pytest.approx([frame["density"].sum() * volume], rel=1e-9)
        for picture in ("surfaces", "volume"):
            name = f"look/{picture}.{frame.step}.png"
            assert different_pixels(whole / name, results / name) <= 20, picture


class Interrupted:
    """A simulation publishes its first frame, waits until the sidecars have ended, and then plays
    the other frames. `more` sidecars may join then. If the sidecars make a file named `done`, they
    get a signal to leave."""

    def __init__(self, build, folder: Path, made: Scene, ranks: int, more: int = 0, done: str = ""):
        run = new_run()
        placement = apart(ranks)
        arguments = [*made.prepare(folder, placement, run=run), "--meet", folder / "meet"]
        command = [build / "tests" / "conformance" / made.driver, *arguments, "--meet-at", 1]
        with ThreadPoolExecutor() as pool:
            playing = pool.submit(mpirun, placement.simulation, *command, timeout=180, cwd=folder)
            here = folder / "meet.here"
            wait_for(lambda: here.exists() or playing.done(), "the driver publishes a frame")
            sidecars = SidecarJob(build, folder, run, ranks)
            try:
                if done:
                    wait_for((folder / "results" / "look" / done).exists, "the script runs")
                    sidecars.process.terminate()
                self.status = limits.wait(sidecars.process, 100)
                self.log = sidecars.log.read_text()
                others = SidecarJob(build, folder, run, more) if more else None
                if others:
                    others.await_joined()
            finally:
                sidecars.stop()
                (folder / "meet").touch()
            self.done = playing.result()
            if others:
                others.await_end()
        self.report = json.loads((folder / "results" / "report.json").read_text())

    def counts(self) -> tuple:
        (analysis,) = self.report["analyses"]
        return analysis["publications"], analysis["lost"]


CRASH = """
import os
def catalyst_execute(info):
    if info.timestep == 3:
        os.abort()
    open(f"seen.{info.timestep}", "w").close()
"""


@with_paraview
@pytest.mark.parametrize("ranks", [2, *([1] * EVERYTHING)])
def test_a_crash_ends_the_sidecars_alone(build, tmp_path, ranks):
    script = tmp_path / "script.py"
    script.write_text(CRASH)
    made = scene(script, IN_PARALLEL, steps=(3, 4, 5))
    run = Interrupted(build, tmp_path, made, ranks, more=ranks)
    assert run.status not in (0, None) and "SIGABRT" in run.log
    assert run.done.returncode == 0 and run.report["run"]["steps"] == 3
    assert run.counts() == (2, 1), run.report
    assert sorted(p.name for p in (tmp_path / "results" / "look").iterdir()) == ["seen.4", "seen.5"]


@with_paraview
@needs_time
def test_sidecars_leave_when_they_are_told(build, tmp_path):
    """ParaView's libraries take signals for themselves."""
    script = tmp_path / "script.py"
    script.write_text(CRASH.replace("info.timestep == 3", "False"))
    made = scene(script, IN_PARALLEL, steps=(3, 4, 5))
    run = Interrupted(build, tmp_path, made, 1, more=2, done="seen.3")
    assert run.status == 0 and "left the run" in run.log, run.log
    assert run.done.returncode == 0 and run.counts() == (3, 0), run.report
    seen = sorted(p.name for p in (tmp_path / "results" / "look").iterdir())
    assert seen == ["seen.3", "seen.4", "seen.5"]


@with_paraview
@needs_time
def test_a_script_that_hangs_ends_the_sidecars_alone(build, tmp_path):
    script = tmp_path / "script.py"
    script.write_text("import time\ndef catalyst_execute(info):\n    time.sleep(1000)\n")
    run = Interrupted(build, tmp_path, scene(script, f"{IN_PARALLEL}, timeout: 15"), 2)
    assert run.status == 1
    said = f"the script {script} did not end within 15 s, so this job of sidecars is ended"
    assert said in run.log
    assert run.done.returncode == 0 and run.report["run"]["steps"] == 2


@with_paraview
@needs_time
def test_a_script_that_fails_disables_its_analysis(build, tmp_path):
    script = tmp_path / "script.py"
    script.write_text("def catalyst_execute(info):\n    raise ValueError('no such view')\n")
    results, _ = scene(script, IN_PARALLEL).run(build, tmp_path, apart(2))  # both jobs end well
    log = (tmp_path / "attach.txt").read_text()
    assert "no such view" in log and "analysis 'look' is disabled for the rest of the run" in log
    (analysis,) = json.loads((results / "report.json").read_text())["analyses"]
    assert "ParaView could not run it" in analysis["disabled"]


RANKS = Path(__file__).parent / "stages" / "paraview_ranks.py"


def joined(results: Path, ranks: int, analysis: str = "look", name: str = RANKS.stem) -> dict:
    """What all ranks have, in the order of their values, and how many have anything."""
    held = [np.load(results / analysis / f"{name}.0.{rank}.npz") for rank in range(ranks)]
    out = {key: np.concatenate([h[key] for h in held]) for key in held[0] if key != "cells"}
    order = np.argsort(out["point.charge"])
    out = {key: values[order] for key, values in out.items()}
    return {
        **out,
        "cells": sum(h["cells"] for h in held),
        "busy": sum(h["cells"] > 0 for h in held),
    }


def particles() -> tuple[Frame, str, tuple]:
    rng = np.random.default_rng(3)
    values = {"position": rng.uniform(size=(90, 3)), "charge": rng.normal(size=90)}
    catalogue = """
meshes: {atoms: {kind: particles}}
fields:
  position: {mesh: atoms, type: float64, components: 3}
  charge: {mesh: atoms, type: float64}
"""
    return Frame(0, 0, values, Domain(np.zeros(3), np.ones(3))), catalogue, ()


def elements() -> tuple[Frame, str, tuple]:
    """Eight cubes of 27 points that fill the unit cube."""
    n = 3
    local = np.stack(np.meshgrid(*[np.linspace(0, 0.5, n)] * 3, indexing="ij")).T.reshape(-1, 3)
    corners = np.stack(np.meshgrid(*[[0, 0.5]] * 3, indexing="ij")).T.reshape(-1, 3)
    places = corners[:, None] + local[None]  # [element, point, axis]
    charge = np.random.default_rng(4).normal(size=(8, n**3))
    values = {"position": np.moveaxis(places, 2, 1).reshape(8, -1), "charge": charge}
    catalogue = """
meshes: {box: {kind: spectral, order: 2, coordinates: position}}
fields:
  position: {mesh: box, type: float64, components: 3}
  charge: {mesh: box, type: float64}
"""
    return Frame(0, 0, values), catalogue, ("--elements", 1)


@with_paraview
@needs_time
@pytest.mark.parametrize(
    ("make", "division"), [(particles, "slabs"), (particles, "sparse"), (elements, "slabs")]
)
def test_peers_have_their_own_items(build, tmp_path, make, division):
    """All peers together have what one gathers without `parallel`. A peer may have none."""
    frame, catalogue, arguments = make()
    position = ", position: position" if make is particles else ""
    told = f"script: '{RANKS}', fields: [charge]{position}"

    def play(folder: Path, placement: Placement, more: str) -> Path:
        made = Scene(
            "items", [frame], catalogue, analysis(told + more), "trajectory_driver", arguments
        )
        return made.run(build, folder, placement)[0]

    whole = play(tmp_path / "whole", Placement(1, 0, "slabs"), "")
    split = Placement(3, 3, division, "separate", memory="1 MiB")
    results = play(tmp_path / "split", split, IN_PARALLEL)
    alone, held = joined(whole, 1), joined(results, 3)
    assert alone["busy"] == 1 and held["busy"] == (1 if division == "sparse" else 3)
    assert np.array_equal(held["point.charge"], np.sort(frame["charge"].ravel()))
    for key in alone:
        assert key == "busy" or np.array_equal(alone[key], held[key]), key
    picture = f"look/{RANKS.stem}.0.png"
    assert different_pixels(whole / picture, results / picture) <= 20


@with_paraview
@needs_time
def test_two_scripts_share_a_process(build, tmp_path):
    """One of them fails, and the other continues; a third reads another mesh."""
    frame, catalogue, _ = particles()
    other = tmp_path / "other.py"
    other.write_text(RANKS.read_text())
    failing = tmp_path / "failing.py"
    failing.write_text("def catalyst_execute(info):\n    raise ValueError('no such view')\n")
    told = "".join(
        f"  {name}: {{disable_after: 1, stages: [catalyst: {{script: '{script}', fields: [charge], "
        f"position: position{IN_PARALLEL}}}]}}\n"
        for name, script in [("failing", failing), ("first", RANKS), ("second", other)]
    )
    made = Scene("items", [frame], catalogue, f"analyses:\n{told}", "trajectory_driver")
    results, _ = made.run(build, tmp_path, Placement(2, 2, "slabs", "separate", memory="1 MiB"))
    first, second = joined(results, 2, "first"), joined(results, 2, "second", "other")
    assert np.array_equal(first["point.charge"], np.sort(frame["charge"]))
    for key in first:
        assert np.array_equal(first[key], second[key]), key
    report = json.loads((results / "report.json").read_text())
    disabled = {a["name"]: a["disabled"] is not None for a in report["analyses"]}
    assert disabled == {"failing": True, "first": False, "second": False}


COLOURED = """
from paraview.simple import ColorBy, CreateView, SaveScreenshot, Show, TrivialProducer

data = TrivialProducer(registrationName="input")
view = CreateView("RenderView")
view.ViewSize = [80, 60]
ColorBy(Show(data, view), ("CELLS", "density"))


def catalyst_execute(info):
    SaveScreenshot(f"view.{info.timestep}.png", view)
"""


@with_paraview
@needs_time
def test_colours_that_follow_from_a_part_of_the_data_are_reported(build, tmp_path):
    script = tmp_path / "script.py"
    script.write_text(COLOURED)
    made = scene(script, IN_PARALLEL)
    made.run(build, tmp_path, apart(2))
    log = (tmp_path / "attach.txt").read_text()
    lo, hi = made.frames[0]["density"].min(), made.frames[0]["density"].max()
    said = f"GetColorTransferFunction('density').RescaleTransferFunction({lo:g}, {hi:g})"
    assert log.count("with different ranges of colours") == 1 and said in log
    script.write_text(COLOURED.replace("def ", f"from paraview.simple import *\n{said}\ndef ", 1))
    made.run(build, tmp_path / "set", apart(2))
    assert "ranges of colours" not in (tmp_path / "set" / "attach.txt").read_text()


@with_paraview
@needs_time
@pytest.mark.parametrize("kind", ["uniform", "rectilinear"])
def test_peers_without_cells_take_part(build, tmp_path, kind):
    """Three cells for four peers. VTK 9.2 crashes as it draws the volume of an empty rectilinear
    grid."""
    script = tmp_path / "script.py"
    text = PIECES.read_text().replace(
        'for name in ("density", "velocity")', 'for name in ["density"]'
    )
    text = text.replace("Volume", "Surface") if kind == "rectilinear" else text
    script.write_text(text.replace("[2.2, 2, 12]", "[0.5, 0.5, 1.4]"))
    grid = {
        "uniform": "cells: [1, 1, 3], length: [1, 1, 3]",
        "rectilinear": "coordinates: [[0, 1], [0, 1], [0, 1, 2, 3]]",
    }[kind]
    catalogue = f"""
meshes: {{grid: {{kind: {kind}, {grid}}}}}
fields: {{density: {{mesh: grid, type: float64}}}}
"""
    frame = Frame(3, 0, {"density": np.array([0.1, 0.7, -1.0])})
    told = analysis(f"script: '{script}', fields: [density], parallel: true")
    made = Scene("few", [frame], catalogue, told, "grid_driver", ("--cells", "1,1,3"))
    results, _ = made.run(build, tmp_path, apart(4, simulation=1))
    held = pieces(results, 3)
    assert [int(piece["owned"].sum()) for piece in held].count(0) == 1
    owned = np.concatenate([piece["density"][piece["owned"]] for piece in held])
    assert np.array_equal(np.sort(owned), [-1, 0.1, 0.7])
    assert np.concatenate([piece["total"] for piece in held]) == pytest.approx([-0.2])


@with_paraview
@needs_time
def test_another_python_in_the_process_is_refused(build, tmp_path):
    """That of a stage in Python, unless it is ParaView's."""
    paraview = ["/usr/bin/python3", "-c", "import sys; print(sys.base_prefix)"]
    prefix = limits.run(paraview, capture_output=True, text=True, check=True).stdout.strip()
    if sys.base_prefix == prefix:
        pytest.skip("Pillion was built with ParaView's Python")
    (tmp_path / "look.py").write_text(
        "import pillion\n@pillion.stage('density')\ndef f(step):\n    1\n"
    )
    made = scene(RANKS, IN_PARALLEL)
    first = f"stages: [python: {{call: '{tmp_path / 'look.py'}:f'}}, catalyst"
    made.analyses = made.analyses.replace("stages: [catalyst", first)
    results, _ = made.run(build, tmp_path, apart(2))
    (analysis,) = json.loads((results / "report.json").read_text())["analyses"]
    assert f"ParaView needs the Python in {prefix}, and this process" in analysis["disabled"]
