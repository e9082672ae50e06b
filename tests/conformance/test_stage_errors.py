# SPDX-License-Identifier: BSD-3-Clause
"""What stages refuse, and how: parameters before the first step, alike on every rank; data while
running, by disabling the one analysis and leaving the simulation and the others alone."""

import json
from dataclasses import replace

import numpy as np
import pytest
import worlds
from conftest import read_table
from frames import Frame
from scenes import Placement, Scene

GOOD = """
  good:
    every: 50 steps
    stages:
      - statistics: {fields: mass}
"""


def scene_with(stages: str, frames=None, catalogue=None) -> Scene:
    frames = frames or worlds.walk(np.random.default_rng(5), particles=60, frames=3)
    analyses = f"\nanalyses:\n  bad:\n    every: 50 steps\n    stages:\n      - {stages}\n{GOOD}"
    return Scene(
        "errors", frames, catalogue or worlds.catalogue(frames), analyses, "trajectory_driver"
    )


def without(field: str) -> str:
    frames = worlds.walk(np.random.default_rng(5), particles=60, frames=1)
    lines = worlds.catalogue(frames).splitlines(keepends=True)
    return "".join(line for line in lines if not line.startswith(f"  {field}:"))


CONFIGURATIONS = {
    "no image": ("msd: {}", "image", ["unknown field 'image'", "image: null"]),
    "no mass for molecules": ("msd: {per: molecule}", "mass", ["unknown field 'mass'", "'mass'"]),
    "no mass for drift": ("vacf: {remove_drift: system}", "mass", ["unknown field 'mass'"]),
    "no molecule": (
        "rdf: {species: {O: 2}, pairs: [[O, O]], cutoff: 3, exclude: molecule}",
        "molecule",
        ["unknown field 'molecule'"],
    ),
    "scalar as position": ("msd: {position: mass}", None, ["1 components; 3 are needed"]),
    "reals as id": ("vacf: {id: mass}", None, ["integers are needed"]),
    "unknown word": ("msd: {per: atom}", None, ["one of particle, molecule, not 'atom'"]),
    "unknown key of origins": ("msd: {origins: {every: 2, kep: 3}}", None, ["unknown key 'kep'"]),
    "origins without keep": ("vacf: {origins: {every: 2}}", None, ["needs `keep`"]),
    "no origins at all": ("msd: {origins: {every: 0, keep: 1}}", None, ["at least 1, not 0"]),
    "unknown species": (
        "rdf: {species: {O: 2}, pairs: [[O, Na]], cutoff: 3}",
        None,
        ["'Na' is none of the species"],
    ),
    "pair of three": ("rdf: {species: {O: 2}, pairs: [[O, O, O]], cutoff: 3}", None, ["a pair"]),
    "negative cutoff": ("rdf: {species: {O: 2}, pairs: [[O, O]], cutoff: -3}", None, ["above 0"]),
    "vector without component": (
        "histogram: {field: velocity, range: auto}",
        None,
        ["3 components", "component: magnitude"],
    ),
    "component too many": (
        "histogram: {field: velocity, component: 3, range: auto}",
        None,
        ["component 3 is none of the 3"],
    ),
    "range upside down": ("histogram: {field: mass, range: [2, 1]}", None, ["lower end first"]),
    "logarithm of zero": (
        "histogram: {field: mass, range: [0, 1], scale: log}",
        None,
        ["must begin above 0"],
    ),
    "field twice": ("statistics: {fields: [mass, mass]}", None, ["listed twice"]),
}


@pytest.mark.parametrize("case", CONFIGURATIONS.values(), ids=CONFIGURATIONS)
def test_configuration(case, build, tmp_path):
    stage, missing, words = case
    scene = scene_with(stage, catalogue=without(missing) if missing else None)
    _, done = scene.run(build, tmp_path, Placement(1, 1, "slabs"), fails=True)
    assert not (tmp_path / "results" / "bad").exists()
    for rank in (0, 1):
        said = [s for s in done.stderr.splitlines() if s.startswith(f"driver rank {rank}: ")]
        assert said, f"rank {rank} said nothing:\n{done.stderr}"
        for word in [*words, "pillion.yaml:"]:
            assert word in said[0]


def disabled(results, analysis="bad") -> str | None:
    report = json.loads((results / "report.json").read_text(encoding="utf-8"))
    return {a["name"]: a["disabled"] for a in report["analyses"]}[analysis]


@pytest.mark.parametrize("place", [Placement(2, 0, "migrate"), Placement(2, 2, "migrate")], ids=str)
class TestWhileRunning:
    def check(self, scene, build, folder, place, words, lost=1):
        """The first bad publication is told, and counted; three in a row end the analysis."""
        results, _ = scene.run(build, folder, place)
        report = json.loads((results / "report.json").read_text(encoding="utf-8"))
        (message,) = [w for w in report["warnings"] if w.startswith("analysis 'bad' loses")]
        for word in words:
            assert word in message
        (bad,) = [a for a in report["analyses"] if a["name"] == "bad"]
        assert bad["disabled"] is None and bad["dropped"] == lost, bad
        assert bad["publications"] == len(scene.frames) - lost
        assert disabled(results, "good") is None
        good = read_table(results / "good" / "statistics_mass.csv")
        assert good["step"].tolist() == [f.step for f in scene.frames]

    def test_ids_that_are_not_unique(self, place, build, tmp_path):
        scene = scene_with("msd: {}")
        scene.frames[1]["id"][7] = scene.frames[1]["id"][19]
        self.check(scene, build, tmp_path, place, ["'id'", "more than once", "step 50"])

    def test_cutoff_beyond_half_the_domain(self, place, build, tmp_path):
        scene = scene_with("rdf: {species: {O: 2}, pairs: [[O, O]], cutoff: 5}")
        for frame in scene.frames[1:]:
            frame.domain.hi = frame.domain.lo + np.array([12, 9.9, 12])
        self.check(scene, build, tmp_path, place, ["cutoff 5", "4.95", "step 50"], lost=2)

    def test_positions_that_are_not_finite(self, place, build, tmp_path):
        """Found where particles are dealt: through the network, in the simulation's ranks."""
        scene = scene_with("rdf: {species: {O: 2}, pairs: [[O, O]], cutoff: 3}")
        oxygen = np.flatnonzero(scene.frames[1]["type"] == 2)
        scene.frames[1]["position"][oxygen[3], 1] = np.nan
        self.check(scene, build, tmp_path, place, ["not finite", "particle"])

    def test_masses_that_weigh_nothing(self, place, build, tmp_path):
        scene = scene_with("vacf: {remove_drift: system}")
        scene.frames[2]["mass"][:2] = [0, np.nan]
        self.check(scene, build, tmp_path, place, ["2 particles", "mass", "step 100"])


def test_species_without_particles(build, tmp_path):
    """Not an error: there may be some later. No numbers, and it is said."""
    scene = scene_with("rdf: {species: {O: 2, Xe: 54}, pairs: [[Xe, O], [O, O]], cutoff: 3}")
    results, _ = scene.run(build, tmp_path, Placement(2, 1, "slabs"))
    table = read_table(results / "bad" / "rdf.csv")
    assert table.attributes["species_without_particles"] == "Xe"
    assert not table["count_Xe_O"].any()
    assert np.isnan(table["g_Xe_O"]).all() and np.isnan(table["n_Xe_O"]).all()
    assert table["count_O_O"].any()


def test_no_particles_at_all(build, tmp_path):
    """A simulation may have none yet."""
    frames = worlds.walk(np.random.default_rng(5), particles=60, frames=2)
    empty = [replace(f, values={k: v[:0] for k, v in f.values.items()}) for f in frames]
    for stage in (
        "rdf: {species: {O: 2}, pairs: [[O, O]], cutoff: 3}",
        "msd: {}",
        "vacf: {remove_drift: species}",
        "statistics: {fields: [velocity]}",
        "histogram: {field: mass, range: auto}",
    ):
        scene = scene_with(stage, frames=empty)
        results, _ = scene.run(build, tmp_path / stage[:4], Placement(2, 1, "pieces"))
        assert disabled(results) is None
    values = read_table(tmp_path / "stat" / "results" / "bad" / "statistics_velocity.csv")
    assert values["count_x"].tolist() == [0, 0] and np.isnan(values["mean_x"]).all()


def test_positions_that_are_not_wrapped(build, tmp_path):
    """`image: null` takes positions as they are."""
    frames = worlds.walk(np.random.default_rng(6), particles=60, frames=4)
    loose = [
        Frame(f.step, f.time, {**f.values, "position": worlds.unwrap(f)}, f.domain) for f in frames
    ]
    found = []
    for name, stage, those in [("a", "msd: {}", frames), ("b", "msd: {image: null}", loose)]:
        results, _ = scene_with(stage, frames=those).run(
            build, tmp_path / name, Placement(2, 0, "migrate")
        )
        found.append(read_table(results / "bad" / "msd.csv"))
    assert found[0]["msd_all"][-1] > 1
    np.testing.assert_allclose(found[1]["msd_all"], found[0]["msd_all"], rtol=1e-10)


def test_lags_are_bounded(build, tmp_path):
    scene = scene_with("vacf: {origins: {every: 1, keep: 2}, lags: 2}")
    frames = scene.frames
    frames[2].step = 170  # an uneven schedule: lags 0, 50, 120 (left out)
    scene = replace(scene, analyses=scene.analyses.replace("every: 50 steps", "every: 10 steps"))
    results, _ = scene.run(build, tmp_path, Placement(1, 0, "slabs"))
    table = read_table(results / "bad" / "vacf.csv")
    assert table["lag_steps"].tolist() == [0, 50]
    assert table.attributes["samples_left_out"] == 1
