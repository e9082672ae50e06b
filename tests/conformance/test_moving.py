# SPDX-License-Identifier: BSD-3-Clause
"""Analyses that change sides while the run goes on: back and forth at publications that the test
names, or once, whatever stages remember, through the network and the node's memory. Products are
those of a run in which everything stayed in the simulation: the same files, the same rows."""

import json
from dataclasses import replace

import numpy as np
import pytest
import read_idx
import test_grids
import test_halos
import test_image
import test_particles
import test_uncertainty
import test_write_idx
import yaml
from conftest import read_table
from datasets import SHAPES, mesh_scene, read_raw
from placements import EVERYTHING
from scenes import Placement, Scene
from test_restart import same

PLACES = [Placement(3, 2, "many", "node", 1, 2), Placement(2, 1, "uneven")]
if EVERYTHING:
    PLACES += [
        Placement(1, 1, "slabs", "node"),
        Placement(2, 3, "many"),
        Placement(4, 2, "many", "node", 2),
        Placement(4, 1, "empty"),
    ]
DIVISIONS = {"many": "migrate", "uneven": "pieces", "empty": "sparse"}  # of particles


def written(form: str) -> Scene:
    return mesh_scene("brick", {"a": f"write_{form}: {{fields: [density]}}"}, frames=4)


SCENES = {
    "particles": (lambda: test_particles.scene("vanishing"), "3,4,8,11"),
    "grid": (lambda: test_grids.scene("cube"), "2,3,4"),
    "halos": (lambda: test_halos.scene(next(iter(test_halos.MESHES))), "2,3"),
    "images": (test_image.scene, "2"),
    "uncertainty": (lambda: test_uncertainty.scene(("auto", "auto")), "7,25,26,38,45"),
    "fits": (lambda: test_uncertainty.scene(("simulation", "auto")), "30,40,45"),
    "idx": (lambda: written("idx"), "2,4"),
    "raw": (lambda: written("raw"), "2,3,4"),
    "hdf5": (lambda: written("hdf5"), "2,3,4"),
}


def at(scene: Scene, place: str) -> Scene:
    """With all stages there that are not said to be in the simulation, behind one that may move."""
    wanted = yaml.safe_load(scene.analyses)
    for analysis in wanted["analyses"].values():
        for stage in analysis["stages"]:
            (parameters,) = stage.values()
            if place == "simulation" or parameters.get("at") != "simulation":
                parameters["at"] = place
    text = "\n" + yaml.safe_dump(wanted, sort_keys=False, allow_unicode=True)
    return Scene(scene.name, scene.frames, scene.catalogue, text, scene.driver, scene.arguments)


def fit(place: Placement, scene: Scene) -> Placement:
    roomy = replace(place, memory="8 MiB")
    if scene.driver != "trajectory_driver":
        return roomy
    return replace(roomy, decomposition=DIVISIONS.get(place.decomposition, "slabs"))


@pytest.fixture(scope="module")
def fixed(build, tmp_path_factory):
    """Results of the runs in which nothing moves."""
    found = {}

    def results(name: str):
        if name not in found:
            folder = tmp_path_factory.mktemp("fixed")
            scene = at(SCENES[name][0](), "simulation")
            found[name], _ = scene.run(build, folder, Placement(1, 0, "slabs"))
        return found[name]

    return results


def report_of(results) -> dict:
    return json.loads((results / "report.json").read_text())


def products(results) -> list[str]:
    paths = [product["path"] for product in report_of(results)["products"]]
    assert len(paths) == len(set(paths)), "each product is listed once"
    return sorted(paths)


def tables(results) -> list:
    """Those of stages, and not of databases of pictures; how many files a dataset has, on the other
    hand, depends on who writes it."""
    found = (p.relative_to(results) for p in results.rglob("*.csv"))
    return sorted(p for p in found if p.name != "data.csv" and not p.name.startswith("write_"))


def check_tables(results, expected) -> None:
    assert tables(results) == tables(expected)
    for path in tables(expected):
        same(read_table(results / path), read_table(expected / path))


def check_costs(results, expected) -> None:
    """What writing took differs, but it is told of every step."""
    for path in expected.rglob("write_*.csv"):
        found = read_table(results / path.relative_to(expected))
        assert list(found["step"]) == list(read_table(path)["step"])


def check_pictures(results, expected) -> None:
    found, wanted = test_image.shown(results), test_image.shown(expected)
    assert found.keys() == wanted.keys()
    for name, picture in found.items():
        assert np.array_equal(picture, wanted[name]), name
    database = "look/round.cdb/data.csv"
    assert (results / database).read_text() == (expected / database).read_text()


def check_averages(results, expected) -> None:
    steps = [2 * (n * test_uncertainty.FIT_EVERY - 1) for n in (1, 2)]
    test_uncertainty.check_same(results, expected, steps)


def check_idx(results, expected) -> None:
    """How samples lie in files depends on who begins to write them."""

    def samples(folder) -> list:
        path = folder / "a" / "grid.idx"
        head = test_write_idx.header(path)
        level = len(head["bits"]) - 1
        asked = [["density", step, level] for step in range(4)]
        return [head["time"], *read_idx.read(path, asked)]

    for mine, other in zip(samples(results), samples(expected), strict=True):
        np.testing.assert_array_equal(mine, other)


def check_raw(results, expected) -> None:
    def whole(folder) -> dict:
        out = {}
        for step, (coarsening, blocks) in read_raw(folder / "a", "grid.raw.yaml").items():
            values = np.full(SHAPES["brick"], np.nan)
            for block in blocks:
                box = tuple(slice(a, b) for a, b in zip(block["lo"], block["hi"], strict=True))
                shape = values[box].shape
                values[box] = block["density"].reshape(shape[::-1]).transpose()
            out[step] = (coarsening, values)
        return out

    ours, theirs = whole(results), whole(expected)
    assert list(ours) == list(theirs) == [0, 1, 2, 3]
    for step, (coarsening, values) in theirs.items():
        assert ours[step][0] == coarsening and not np.isnan(values).any()
        np.testing.assert_array_equal(ours[step][1], values)


def check_hdf5(results, expected) -> None:
    h5py = pytest.importorskip("h5py")
    names = [sorted(p.name for p in r.rglob("*.h5")) for r in (results, expected)]
    assert names[0] == names[1] and len(names[0]) == 4
    for name in names[0]:
        path = f"a/grid_hdf5/{name}"
        with h5py.File(results / path) as ours, h5py.File(expected / path) as theirs:
            np.testing.assert_array_equal(ours["density"][...], theirs["density"][...])
    series = [(r / "a" / "grid.xmf").read_text().count("<Time ") for r in (results, expected)]
    assert series[0] == series[1] > 0


CHECKS = {
    "images": check_pictures,
    "uncertainty": check_averages,
    "fits": check_averages,
    "idx": check_idx,
    "raw": check_raw,
    "hdf5": check_hdf5,
}


def check_moved(report: dict, moves: str, frames: int) -> None:
    for analysis in report["analyses"]:
        assert analysis["publications"] <= frames
        assert analysis["placement"] == "auto" and analysis["disabled"] is None, analysis
        went = [move["to"] for move in analysis["moves"]]
        number = len(moves.split(","))
        assert went == (["sidecar", "simulation"] * number)[:number], analysis["moves"]
        places = analysis["publications_at"]
        assert min(places.values()) > 0, places
        assert sum(places.values()) == analysis["publications"]
        gaps = {k: analysis[k] for k in ("skipped", "coarsened", "dropped", "lost")}
        assert set(gaps.values()) == {0}, analysis


@pytest.mark.drawn
@pytest.mark.parametrize("place", PLACES, ids=str)
@pytest.mark.parametrize("name", SCENES)
def test_back_and_forth(name, place, fixed, build, tmp_path, monkeypatch):
    needs = {
        "idx": "write_idx",
        "raw": "write_raw",
        "hdf5": "write_hdf5",
        "images": "image",
    }.get(name)
    if needs and not (build / "stages" / f"{needs}.so").exists():
        pytest.skip(f"the stage {needs} was not built")
    make, moves = SCENES[name]
    monkeypatch.setenv("PILLION_MOVE_AT", moves)
    scene = at(make(), "auto")
    results, _ = scene.run(build, tmp_path, fit(place, scene))
    check_moved(report_of(results), moves, len(scene.frames))
    assert products(results) == products(fixed(name))
    check_tables(results, fixed(name))
    check_costs(results, fixed(name))
    if name in CHECKS:
        CHECKS[name](results, fixed(name))
    assert not list(results.glob(".moving*")), "what moved leaves nothing behind"


def test_whatever_its_name(build, tmp_path, monkeypatch):
    monkeypatch.setenv("PILLION_MOVE_AT", "2,3")
    scene = mesh_scene("brick", {"list": "statistics: {fields: [density], at: auto}"}, frames=4)
    results, _ = scene.run(build, tmp_path, Placement(2, 1, "many", "node", memory="8 MiB"))
    check_moved(report_of(results), "2,3", 4)


def test_beside_many_that_stay(build, tmp_path, monkeypatch):
    """What sidecars tell of their efforts is short, however many analyses there are."""
    monkeypatch.setenv("PILLION_MOVE_AT", "2,4")
    stays = {f"a{n}": "statistics: {fields: [density], at: sidecar}" for n in range(300)}
    moves = {"mover": "statistics: {fields: [density], at: auto}"}
    scene = mesh_scene("line", moves | stays, frames=5)
    results, _ = scene.run(build, tmp_path, Placement(1, 1, "slabs"))
    mover = report_of(results)["analyses"][0]
    assert [move["to"] for move in mover["moves"]] == ["sidecar", "simulation"]


STOP = 8


@pytest.mark.parametrize("moves", ["3", "3,9", "3,6", "20"])
def test_checkpoint_and_resumed(moves, fixed, build, tmp_path, monkeypatch):
    """What is on either side, or just on its way, is in the checkpoint; and a resumed run begins in
    the simulation again."""
    monkeypatch.setenv("PILLION_MOVE_AT", moves)
    scene = at(SCENES["particles"][0](), "auto")
    state = tmp_path / "state"
    scene.run(build, tmp_path / "1", Placement(2, 1, "migrate"), last=STOP, checkpoint=state)
    place = Placement(3, 2, "pieces", "node")
    results, _ = scene.run(build, tmp_path / "2", place, first=STOP, restart=state)
    for path in tables(fixed("particles")):
        if "histogram" not in path.name:  # of the steps before, they are in the other folder
            same(read_table(results / path), read_table(fixed("particles") / path))


def test_where_there_are_no_sidecars(fixed, build, tmp_path, monkeypatch):
    """It is as if nothing had been said."""
    monkeypatch.setenv("PILLION_MOVE_AT", "2,3")
    scene = at(SCENES["grid"][0](), "auto")
    results, _ = scene.run(build, tmp_path, Placement(2, 0, "many"))
    for analysis in report_of(results)["analyses"]:
        assert analysis["placement"] == "simulation" and "moves" not in analysis
    check_tables(results, fixed("grid"))
