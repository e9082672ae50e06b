# SPDX-License-Identifier: BSD-3-Clause
"""RDF, MSD and VACF against LAMMPS's own computes in the same run, wherever the stages run and on
however many ranks: pair counts as integers, the rest to 1e-10.
"""

import numpy as np
import pytest
from conftest import read_table
from lammps_inputs import (
    FLAT_MIXTURE,
    FLAT_ONE,
    FLAT_TWO,
    MIXTURE,
    ONE,
    OWN_RDF,
    RDF,
    RIDE,
    SPECIES,
    TWO,
    own_columns,
    own_correlations,
)
from lammps_runs import configuration, lmp, pair_counts, placements, read_scalars, read_vectors

FIRST = {"species": SPECIES, "origins": "first"}
ANALYSES = {
    "structure": {"every": "10 steps", "stages": [{"rdf": RDF}]},
    "motion": {"every": "10 steps", "stages": [{"msd": FIRST}, {"vacf": FIRST}]},
    "drift": {
        "every": "10 steps",
        "stages": [{"msd": {**FIRST, "remove_drift": "species"}}],
    },
}


def assert_same(table, quantity, rows, kind):
    """A table's columns of both species, total and by axis, against LAMMPS's."""
    assert list(table["lag_steps"]) == list(rows[:, 0])
    for species in SPECIES:
        axes = [f"{quantity}_{axis}_{species}" for axis in "xyz"]
        for name, own in zip([*axes, f"{quantity}_{species}"], own_columns(rows, kind, species)):
            scale = np.abs(own).max()
            np.testing.assert_allclose(table[name], own, rtol=1e-10, atol=1e-13 * scale)


INPUT = OWN_RDF + own_correlations() + RIDE + "run 100\n"


def assert_as_lammps_itself(folder, one=ONE, two=TWO):
    """What ANALYSES left of INPUT, against what LAMMPS computed in the same run."""
    rdf = read_table(folder / "results/structure/rdf.csv")
    blocks = read_vectors(folder / "rdf.txt")
    own = pair_counts(blocks, [one, one, two])
    for number, pair in enumerate(("one_one", "one_two", "two_two")):
        assert own[number].sum() > 10000
        assert np.array_equal(rdf[f"count_{pair}"], own[number])
        g = np.mean([block[:, 1 + 2 * number] for block in blocks.values()], axis=0)
        np.testing.assert_allclose(rdf[f"g_{pair}"], g, rtol=1e-10)

    rows = read_scalars(folder / "own.txt")
    assert len(rows) == 11
    assert_same(read_table(folder / "results/motion/msd.csv"), "msd", rows, "msd")
    assert_same(read_table(folder / "results/motion/vacf.csv"), "vacf", rows, "vacf")
    assert_same(read_table(folder / "results/drift/msd.csv"), "msd", rows, "drift")


@pytest.mark.parametrize(
    ("ranks", "sidecars"), placements([(1, 0), (4, 0), (1, 1), (2, 1), (3, 2), (2, 3)])
)
def test_the_same_as_lammps_itself(build, tmp_path, ranks, sidecars):
    lmp(build, tmp_path, MIXTURE + INPUT, configuration(ANALYSES, sidecars), ranks + sidecars)
    assert_as_lammps_itself(tmp_path)


@pytest.mark.parametrize(("ranks", "sidecars"), [(1, 0), (3, 2)])
def test_the_same_in_two_dimensions(build, tmp_path, ranks, sidecars):
    """The cutoff is far wider than the box is thick, and diffusion has two directions."""
    config = configuration(ANALYSES, sidecars)
    lmp(build, tmp_path, FLAT_MIXTURE + INPUT, config, ranks + sidecars)
    assert_as_lammps_itself(tmp_path, FLAT_ONE, FLAT_TWO)
    rows = read_scalars(tmp_path / "own.txt")
    msd = read_table(tmp_path / "results/motion/msd.csv")
    vacf = read_table(tmp_path / "results/motion/vacf.csv")
    lag = msd["lag"]
    inside = (lag >= 0.2 * lag[-1]) & (lag <= 0.8 * lag[-1])
    for species in SPECIES:
        own = own_columns(rows, "msd", species)[3][inside]
        exponent = np.polyfit(np.log(lag[inside]), np.log(own), 1)[0]
        assert msd.attributes[f"exponent_{species}"] == pytest.approx(exponent, rel=1e-8)
        diffusion = msd.attributes.get(f"diffusion_{species}")
        assert (diffusion is not None) == (0.75 <= exponent <= 1.25)
        if diffusion is not None:
            assert diffusion == pytest.approx(np.polyfit(lag[inside], own, 1)[0] / 4, rel=1e-9)
        integral = np.trapezoid(own_columns(rows, "vacf", species)[3], lag)
        assert vacf[f"diffusion_{species}"][-1] == pytest.approx(integral / 2, rel=1e-9)


@pytest.mark.parametrize("sidecars", [1, 2])
def test_the_same_through_node_memory(build, tmp_path, sidecars):
    on_node = configuration(ANALYSES, {"per_node": sidecars, "when_full": "wait"})
    lmp(build, tmp_path, MIXTURE + INPUT, on_node, 2 + sidecars)
    assert_as_lammps_itself(tmp_path)


@pytest.mark.parametrize(("ranks", "sidecars"), placements([(2, 0), (3, 1)]))
def test_several_time_origins(build, tmp_path, ranks, sidecars):
    """Each origin is a compute that LAMMPS defines at that step; the latest three are kept."""
    text = MIXTURE + RIDE
    for number in range(6):
        text += own_correlations(str(number)) + f"run {20 if number < 5 else 0}\n"
    several = {"species": SPECIES, "origins": {"every": 2, "keep": 3}}
    analyses = {"motion": {"every": "10 steps", "stages": [{"msd": several}, {"vacf": several}]}}
    lmp(build, tmp_path, text, configuration(analyses, sidecars), ranks + sidecars)

    own = [read_scalars(tmp_path / f"own{number}.txt") for number in range(6)]
    for kind in ("msd", "vacf"):
        table = read_table(tmp_path / f"results/motion/{kind}.csv")
        for species in SPECIES:
            means = mean_over_origins(own, kind, species)
            assert list(table["lag_steps"]) == sorted(means)
            expected = [means[lag] for lag in sorted(means)]
            np.testing.assert_allclose(table[f"{kind}_{species}"], expected, rtol=1e-10)


def mean_over_origins(own, kind, species):
    """By lag, the mean over all pairs of an origin and a step at which it was still kept."""
    samples = {}
    for number, rows in enumerate(own):
        for step, value in zip(rows[:, 0], own_columns(rows, kind, species)[3]):
            lag = int(step) - 20 * number
            if lag < 60:
                samples.setdefault(lag, []).append(value)
    return {lag: np.mean(values) for lag, values in samples.items()}
