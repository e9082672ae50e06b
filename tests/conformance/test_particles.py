# SPDX-License-Identifier: BSD-3-Clause
"""Stages on particles against brute force, wherever they run and however particles are divided."""

from functools import cache

import numpy as np
import oracles
import pytest
import worlds
from conftest import read_table
from placements import cases, check_report, placements
from pool import results_of_case
from scenes import Scene

SPECIES = {"O": [2], "ion": [3, 4], "water": [1, 2]}
EVERY, KEEP = 3, 3
SELECTED = "species: {O: [2], ion: [3, 4], water: [1, 2]}"
ORIGINS = f"origins: {{every: {EVERY}, keep: {KEEP}}}"
ANALYSES = f"""
analyses:
  structure:
    every: 50 steps
    products_every: 3
    stages:
      - rdf: {{{SELECTED}, pairs: [[ion, O], [O, O], [water, O], [water, water]], cutoff: 4.5,
              bins: 60}}
  between_molecules:
    every: 50 steps
    stages:
      - rdf: {{{SELECTED}, pairs: [[O, water], [ion, ion]], cutoff: 3, bins: 37, exclude: molecule,
              density: N}}
  motion:
    every: 50 steps
    stages:
      - msd: {{{SELECTED}, {ORIGINS}}}
      - vacf: {{{SELECTED}, {ORIGINS}}}
  motion_first:
    every: 50 steps
    stages:
      - msd: {{{SELECTED}, origins: first, remove_drift: species}}
      - vacf: {{{SELECTED}, origins: first, remove_drift: species}}
  motion_of_molecules:
    every: 50 steps
    stages:
      - msd: {{{SELECTED}, {ORIGINS}, per: molecule, remove_drift: system}}
      - vacf: {{{SELECTED}, {ORIGINS}, per: molecule, remove_drift: system}}
  values:
    every: 50 steps
    stages:
      - statistics: {{fields: [velocity, mass, type]}}
      - histogram: {{field: velocity, component: magnitude, bins: 25, range: [0, 3]}}
      - magnitude: {{field: velocity, into: speed}}
      - histogram: {{field: speed, bins: 25, range: [0, 3]}}
"""

WORLDS = {
    "periodic": dict(breathing=0.02),
    "tilted": dict(tilt=(0.35, -0.2, 0.25), breathing=0.01),
    "open": dict(periodic=(0, 1, 0), uneven_time=True),
    "vanishing": dict(vanish=True, dtype=np.float32, id_type=np.int32, uneven_time=True),
    "xy_plane": dict(tilt=(0.35, -0.2, 0.25), breathing=0.01, thickness=0.36),
}


@cache
def scene(name: str) -> Scene:
    """With components in arrays of their own, if its name says so."""
    world = name.removesuffix("-apart")
    rng = np.random.default_rng(sorted(WORLDS).index(world))
    frames = worlds.walk(rng, **WORLDS[world])
    arguments = ("--apart", 1) if name != world else ()
    return Scene(name, frames, worlds.catalogue(frames), ANALYSES, "trajectory_driver", arguments)


DIVISIONS = ["slabs", "migrate", "sparse", "pieces"]
FEW = [(1, 0, "slabs"), (3, 0, "pieces"), (2, 2, "migrate"), (3, 1, "pieces", "node", 2, 2)]
SPILL = "72 KiB"
CASES = cases(
    {
        "periodic": placements(
            DIVISIONS,
            [
                *((1, 0, "slabs"), (2, 0, "pieces"), (3, 0, "migrate"), (4, 0, "sparse")),
                *((1, 1, "pieces"), (2, 1, "sparse"), (3, 2, "migrate"), (4, 3, "pieces")),
                *((2, 1, "migrate", "node"), (3, 2, "sparse", "node"), (4, 2, "slabs", "node", 2)),
                *((2, 1, "pieces", "separate"), (3, 2, "migrate", "separate", 2)),
                *((2, 1, "sparse", "separate", 1, 3), (2, 0, "pieces", "network", 1, 3)),
                (2, 2, "migrate", "separate", 2, 0, "spill", "64 KiB"),
            ],
            SPILL,
        ),
        "tilted": placements(DIVISIONS, FEW + [(4, 3, "sparse")], SPILL),
        "open": placements(DIVISIONS, FEW, SPILL),
        "vanishing": placements(DIVISIONS, FEW, SPILL),
        "tilted-apart": placements(
            DIVISIONS,
            [
                *((1, 0, "slabs"), (3, 0, "migrate"), (2, 2, "pieces"), (3, 1, "pieces", "node")),
                *((2, 1, "migrate", "node", 1, 2), (2, 1, "sparse", "separate")),
            ],
            SPILL,
        ),
        "xy_plane": placements(DIVISIONS, [(1, 0, "slabs"), (4, 2, "pieces")], SPILL),
    }
)


@pytest.fixture(scope="module", params=CASES)
def played(request, build, tmp_path_factory):
    """A scene that was played: its frames, and the folder of the results."""
    name, placement = request.param
    _, results = results_of_case(
        request, build, tmp_path_factory, lambda case, _: (scene(case[0]), case[1])
    )
    check_report(scene(name), placement, results)
    return scene(name), results


@cache
def expected_rdf(name, a, b, cutoff, bins, exclude_molecules, others):
    return oracles.rdf(
        scene(name).frames,
        SPECIES[a],
        SPECIES[b],
        cutoff,
        bins,
        exclude_molecules=exclude_molecules,
        others=others,
    )


def check_rdf(scene, table, pairs, cutoff, bins, exclude_molecules, others):
    width = cutoff / bins
    np.testing.assert_allclose(table["r"], (np.arange(bins) + 0.5) * width, rtol=1e-14)
    for a, b in pairs:
        counts, g, n, doubtful = expected_rdf(
            scene.name, a, b, cutoff, bins, exclude_molecules, others
        )
        found = table[f"count_{a}_{b}"]
        if doubtful.sum() == 0:
            np.testing.assert_array_equal(found, counts)
        else:
            assert np.all(np.abs(found - counts) <= doubtful[1:] + doubtful[:-1])
            assert abs(found.sum() - counts.sum()) <= doubtful[-1]
        same = found == counts
        np.testing.assert_allclose(table[f"g_{a}_{b}"][same], g[same], rtol=1e-12)
        np.testing.assert_allclose(table[f"n_{a}_{b}"], n, rtol=1e-12 if same.all() else 1e-2)
        assert counts.sum() > 100, "the oracle counted next to nothing"


def test_rdf(played):
    scene, results = played
    table = read_table(results / "structure" / "rdf.csv")
    pairs = [("ion", "O"), ("O", "O"), ("water", "O"), ("water", "water")]
    check_rdf(scene, table, pairs, 4.5, 60, False, True)
    assert table.attributes["frames"] == len(scene.frames)
    densities = [np.isin(f["type"], [3, 4]).sum() / f.domain.volume for f in scene.frames]
    np.testing.assert_allclose(table.attributes["density_ion"], np.mean(densities), rtol=1e-12)
    assert table.units["r"] == "Å"
    dimensions = scene.frames[0].domain.dimensions
    units = {entry["name"]: entry.get("units") for entry in table.head["attributes"]}
    assert units["density_ion"] == f"1/Å^{dimensions}"
    assert table.attributes.get("dimensions", 3) == dimensions


def test_rdf_in_double_is_exact(played):
    """The comparison above may only be lenient where positions are of single precision."""
    scene, _ = played
    if scene.frames[0]["position"].dtype == np.float64:
        assert expected_rdf(scene.name, "water", "water", 4.5, 60, False, True)[3].sum() == 0


def test_rdf_without_pairs_of_one_molecule(played):
    scene, results = played
    table = read_table(results / "between_molecules" / "rdf.csv")
    check_rdf(scene, table, [("O", "water"), ("ion", "ion")], 3, 37, True, False)


@cache
def expected_motion(name, quantity, species, origins, per, drift):
    frames = scene(name).frames
    if quantity == "msd":
        vectors, term = [worlds.unwrap(f) for f in frames], oracles.squared_displacement
    else:
        vectors = [f.domain.flattened(f["velocity"]) for f in frames]
        term = oracles.velocity_product
    drift_types = {"none": None, "species": SPECIES[species], "system": [1, 2, 3, 4]}[drift]
    return oracles.correlate(
        frames, vectors, SPECIES[species], term, origins=origins, per=per, drift_types=drift_types
    )


def check_motion(scene, results, quantity, *, origins, per="particle", drift="none"):
    table = read_table(results / f"{quantity}.csv")
    for species in SPECIES:
        expected = expected_motion(scene.name, quantity, species, origins, per, drift)
        assert table["lag_steps"].tolist() == list(expected)
        times, samples, means = map(np.array, zip(*expected.values()))
        np.testing.assert_allclose(table["lag"], times, rtol=1e-13, atol=1e-13)
        np.testing.assert_array_equal(table[f"samples_{species}"], samples)
        scale = np.nanmax(np.abs(means), initial=0)
        near = dict(rtol=1e-11, atol=1e-13 * scale)
        np.testing.assert_allclose(table[f"{quantity}_{species}"], means.sum(1), **near)
        for axis, letter in enumerate("xyz"):
            column = table[f"{quantity}_{letter}_{species}"]
            np.testing.assert_allclose(column, means[:, axis], **near)
    return table


@pytest.mark.parametrize("quantity", ["msd", "vacf"])
class TestMotion:
    def test_several_origins(self, played, quantity):
        scene, results = played
        check_motion(scene, results / "motion", quantity, origins=(EVERY, KEEP))

    def test_first_origin_without_the_drift_of_each_species(self, played, quantity):
        scene, results = played
        table = check_motion(
            scene, results / "motion_first", quantity, origins="first", drift="species"
        )
        assert table.attributes["origins"] == "first"

    def test_molecules_without_the_drift_of_all(self, played, quantity):
        scene, results = played
        table = check_motion(
            scene,
            results / "motion_of_molecules",
            quantity,
            origins=(EVERY, KEEP),
            per="molecule",
            drift="system",
        )
        ions = np.isin(scene.frames[-1]["type"], [3, 4]).sum()
        assert table.attributes["particles_without_molecule"] == ions
        assert np.isnan(table[f"{quantity}_ion"]).all(), "ions have no molecule"


def test_diffusion_from_msd(played):
    scene, results = played
    dimensions = scene.frames[0].domain.dimensions
    table = read_table(results / "motion" / "msd.csv")
    lag, msd = table["lag"], table["msd_O"]
    inside = (lag >= 0.2 * lag[-1]) & (lag <= 0.8 * lag[-1])
    slope = np.polyfit(lag[inside], msd[inside], 1)[0]
    exponent = np.polyfit(np.log(lag[inside]), np.log(msd[inside]), 1)[0]
    np.testing.assert_allclose(table.attributes["exponent_O"], exponent, rtol=1e-8)
    if 0.75 <= exponent <= 1.25:
        diffusion = slope / (2 * dimensions)
        np.testing.assert_allclose(table.attributes["diffusion_O"], diffusion, rtol=1e-9)
    else:
        assert "diffusion_O" not in table.attributes
        assert f"O as lag^{exponent:.2f}" in table.attributes["no_diffusion_coefficient"]
    assert table.units["msd_O"] == "Å^2"


def test_diffusion_from_vacf(played):
    scene, results = played
    dimensions = scene.frames[0].domain.dimensions
    table = read_table(results / "motion" / "vacf.csv")
    for n in range(1, len(table) + 1):
        integral = np.trapezoid(table["vacf_O"][:n], table["lag"][:n]) / dimensions
        np.testing.assert_allclose(table["diffusion_O"][n - 1], integral, rtol=1e-11, atol=1e-13)
    left = table["vacf_O"][-((len(table) + 4) // 5) :].mean() / table["vacf_O"][0]
    if table["vacf_O"][1] >= 0.5 * table["vacf_O"][0] and abs(left) <= 0.1:
        np.testing.assert_allclose(table.attributes["diffusion_O"], integral, rtol=1e-11)
    else:
        assert "diffusion_O" not in table.attributes
        assert "O" in table.attributes["no_diffusion_coefficient"]
    assert table.units["vacf_O"] == "Å^2/fs^2"
    assert table.units["diffusion_O"] == "Å^2/fs"


def test_statistics(played):
    scene, results = played
    velocity = read_table(results / "values" / "statistics_velocity.csv")
    mass = read_table(results / "values" / "statistics_mass.csv")
    assert velocity["step"].tolist() == [f.step for f in scene.frames]
    for row, frame in enumerate(scene.frames):
        v = frame["velocity"].astype(np.float64)
        for ending, values in [
            ("_x", v[:, 0]),
            ("_y", v[:, 1]),
            ("_z", v[:, 2]),
            ("_magnitude", np.sqrt((v**2).sum(1))),
        ]:
            near = dict(rtol=1e-12, atol=1e-14)
            assert velocity["count" + ending][row] == len(values)
            np.testing.assert_allclose(velocity["mean" + ending][row], values.mean(), **near)
            np.testing.assert_allclose(
                velocity["standard_deviation" + ending][row], values.std(), **near
            )
        assert mass["max"][row] == frame["mass"].max()
        assert mass["count"][row] == frame.count


def test_histogram_of_speeds(played):
    scene, results = played
    for frame in scene.frames:
        step = f"{frame.step:09d}"
        direct = read_table(results / "values" / f"histogram_velocity_magnitude.{step}.csv")
        edges = np.append(direct["lower"], direct["upper"][-1])
        v = frame["velocity"].astype(np.float64)
        speed = np.sqrt(v[:, 0] ** 2 + v[:, 1] ** 2 + v[:, 2] ** 2)
        np.testing.assert_array_equal(direct["count"], np.histogram(speed, edges)[0])
        # The chain's own field has the type of the field it is made of.
        through = read_table(results / "values" / f"histogram_speed.{step}.csv")
        made = speed.astype(frame["velocity"].dtype)
        np.testing.assert_array_equal(through["count"], np.histogram(made, edges)[0])
        assert through.attributes["above"] == (made > 3).sum()
