# SPDX-License-Identifier: BSD-3-Clause
"""Time averages and their uncertainty: what is gathered while a run goes on against statsmodels, at
every placement, whatever blocks do, and over restarts; the errors of means against theory, and
against what emcee and batch means make of the same series."""

import json
from functools import cache

import emcee
import numpy as np
import pytest
from conftest import read_table
from datasets import read_raw
from placements import EVERYTHING
from scenes import Placement, Scene
from series_of_test import (
    CONSTANT,
    FITTED,
    MADE,
    MISFIT,
    NUMBERS,
    UNKNOWN,
    ar1,
    catalogue,
    check_command,
    frames_of,
    stages,
    variance_of_mean,
)
from statsmodels.tsa.stattools import acovf

LAGS, FIT_EVERY, COUNT = 6, 25, 50
CELLS = (7, 5, 4)
SYNCHRONOUS, ASYNCHRONOUS = ("simulation", "simulation"), ("sidecar", "sidecar")
HYBRID = ("simulation", "sidecar")

# What runs where, and how the simulation's cells are divided; boxes of `many` change hands.
PLACES = [
    (SYNCHRONOUS, Placement(3, 0, "many")),
    (ASYNCHRONOUS, Placement(3, 2, "many", "node")),
    (ASYNCHRONOUS, Placement(2, 2, "uneven", "separate")),
    (HYBRID, Placement(2, 1, "many")),
    (HYBRID, Placement(3, 2, "uneven", "node", 1, 2)),
    (HYBRID, Placement(2, 1, "empty", "separate")),
]
if EVERYTHING:
    PLACES += [
        (at, Placement(ranks, sidecars, division, *rest))
        for at in (ASYNCHRONOUS, HYBRID)
        for ranks in (2, 3, 4)
        for sidecars, *rest in ((1,), (3,), (2, "node", 1, 2), (1, "node", 2), (2, "separate"))
        for division in ("uneven", "many", "empty")
    ]
    PLACES += [
        (SYNCHRONOUS, Placement(ranks, 0, division))
        for ranks in (1, 2, 4)
        for division in ("slabs", "uneven", "many", "empty")
    ]


@cache
def flow() -> np.ndarray:
    """[step, cell, component]: correlated, about a large mean; the first cell does not move."""
    rng = np.random.default_rng(3)
    x = ar1(rng, COUNT, (int(np.prod(CELLS)), 2), 0.7)
    x[:, 0] = 0
    return 1e6 + 3 * x


def scene(at, *, lags: int = LAGS, fit_every: int = FIT_EVERY, values=None, steps=None) -> Scene:
    values = flow() if values is None else values
    text = stages(lags, fit_every, *at)
    arguments = ("--cells", ",".join(map(str, CELLS)))
    return Scene("flow", frames_of(values, steps), catalogue(CELLS), text, "grid_driver", arguments)


def fields(results, step: int, cells=CELLS) -> dict[str, np.ndarray]:
    """What was written at a step, by field: [cell, component]."""
    _, blocks = read_raw(results / "averages", "grid.raw.yaml")[step]
    found: dict[str, np.ndarray] = {}
    number = np.arange(np.prod(cells)).reshape(cells[::-1])
    for block in blocks:
        box = tuple(slice(a, b) for a, b in zip(block["lo"], block["hi"], strict=True))[::-1]
        for name in MADE:
            values = block[name].reshape(number[box].size, -1)
            whole = found.setdefault(name, np.zeros((number.size, values.shape[1]), values.dtype))
            whole[number[box].ravel()] = values
    return found


def gathered(results, step: int, lags: int = LAGS) -> dict[str, np.ndarray]:
    """The field that goes from the one stage to the other: [cell, component(, lag)]."""
    raw = fields(results, step)["u_autocovariance"]
    raw = raw.reshape(len(raw), -1, len(NUMBERS) + lags + 1)
    out = {name: raw[..., i] for i, name in enumerate(NUMBERS)}
    return out | {"covariance": raw[..., len(NUMBERS) :]}


def check_gathered(found, x: np.ndarray) -> None:
    """Of series x, [step, cell, component], that have all samples."""
    n, cells, components = x.shape
    assert (found["samples"] == n).all() and (found["missing"] == 0).all()
    assert (found["spacing_steps"] == 2).all()
    np.testing.assert_allclose(found["spacing_time"], 0.5, rtol=1e-12)
    np.testing.assert_allclose(found["mean"], x.mean(axis=0), rtol=1e-15)
    size = 1
    while n // size >= 40:
        size *= 2
    assert (found["batches"] == n // size).all()
    for cell in range(cells):
        for c in range(components):
            # The offset is taken off exactly, so that the oracle loses no digits.
            series = x[:, cell, c] - 1e6
            expected = acovf(series, adjusted=False, fft=False, nlag=LAGS)
            np.testing.assert_allclose(
                found["covariance"][cell, c], expected, rtol=0, atol=1e-12 * expected[0]
            )
            batches = series[: n // size * size].reshape(-1, size).mean(axis=1)
            np.testing.assert_allclose(
                found["batch_variance"][cell, c],
                batches.var(ddof=1) / len(batches),
                rtol=1e-10,
            )


@pytest.fixture(scope="module")
def reference(build, tmp_path_factory):
    results, _ = scene(SYNCHRONOUS).run(
        build, tmp_path_factory.mktemp("reference"), Placement(1, 0, "slabs")
    )
    return results


def check_same(results, expected, steps) -> None:
    """Numbers of samples and verdicts exactly, the rest but for rounding of coordinates in fits."""
    for step in steps:
        ours, theirs = fields(results, step), fields(expected, step)
        for name in MADE:
            exact = name in ("u_verdict", "u_autocovariance", "u_mean")
            np.testing.assert_allclose(
                ours[name], theirs[name], rtol=0 if exact else 1e-12, err_msg=name
            )
    ours, theirs = (read_table(r / "averages" / "uncertainty_u.csv") for r in (results, expected))
    assert list(ours.columns) == list(theirs.columns)
    for name, column in theirs.columns.items():
        np.testing.assert_allclose(ours[name], column, rtol=1e-12, err_msg=name)


@pytest.mark.parametrize(("at", "place"), PLACES, ids=str)
def test_everywhere(at, place, reference, build, tmp_path):
    results, _ = scene(at).run(build, tmp_path, place)
    for fit in (1, 2):
        n = fit * FIT_EVERY
        check_gathered(gathered(results, 2 * (n - 1)), flow()[:n])
    check_same(results, reference, [2 * (fit * FIT_EVERY - 1) for fit in (1, 2)])


@pytest.mark.parametrize("through", ["network", "node"] if EVERYTHING else ["node"])
def test_only_what_is_fitted_crosses(through, build, tmp_path):
    """Gathered in the simulation, it is moved when it is to be fitted, and not at each sample."""
    moved = {}
    for at in (ASYNCHRONOUS, HYBRID):
        results, _ = scene(at).run(build, tmp_path / at[0], Placement(2, 1, "slabs", through))
        (analysis,) = json.loads((results / "report.json").read_text())["analyses"]
        moved[at] = analysis["bytes_moved"]
        fits = COUNT // FIT_EVERY
        assert analysis["publications"] == (fits if at == HYBRID else COUNT)
        assert analysis["skipped"] == analysis["dropped"] == 0 and not analysis["disabled"]
    values = 2 * int(np.prod(CELLS))
    assert moved[HYBRID] == fits * values * (len(NUMBERS) + LAGS + 1) * 8
    assert moved[ASYNCHRONOUS] == COUNT * values * 8


# The checkpoint lies between fits, and within what waits to be added to the sums.
RESUMED = [
    (SYNCHRONOUS, Placement(1, 0, "slabs"), HYBRID, Placement(3, 2, "many", "node")),
    (HYBRID, Placement(3, 1, "many"), ASYNCHRONOUS, Placement(2, 2, "uneven")),
]
if EVERYTHING:
    RESUMED += [
        (ASYNCHRONOUS, Placement(2, 2, "uneven", "separate"), HYBRID, Placement(2, 1, "empty")),
        (HYBRID, Placement(2, 1, "slabs"), ASYNCHRONOUS, Placement(4, 3, "many")),
        (HYBRID, Placement(2, 1, "empty", "node"), SYNCHRONOUS, Placement(4, 0, "many")),
    ]


@pytest.mark.parametrize("change", RESUMED, ids=lambda c: f"{c[1]}-to-{c[3]}")
def test_a_resumed_run_goes_on_as_if_nothing_had_been(change, reference, build, tmp_path):
    state, stop = tmp_path / "state", 37
    scene(change[0]).run(build, tmp_path, change[1], last=stop, checkpoint=state)
    results, _ = scene(change[2]).run(build, tmp_path, change[3], first=stop, restart=state)
    check_same(results, reference, [2 * (COUNT - 1)])


def test_resumed_with_other_lags(build, tmp_path):
    state, place = tmp_path / "state", Placement(1, 0, "slabs")
    scene(SYNCHRONOUS).run(build, tmp_path / "first", place, last=9, checkpoint=state)
    _, done = scene(SYNCHRONOUS, lags=5).run(
        build, tmp_path / "second", place, first=9, restart=state, fails=True
    )
    assert "saved with other lags" in done.stderr


def test_missing_samples_are_counted_and_no_pair_spans_them(build, tmp_path):
    """Some steps are not there: pairs across the gaps do not count, and the table says so."""
    there = np.r_[0:11, 13:30, 31:52, 60:61]
    x = flow()
    x = np.concatenate([x, x[:11]])[there]
    played = scene(HYBRID, values=x, steps=2 * there, fit_every=len(x))
    results, _ = played.run(build, tmp_path, Placement(2, 1, "many"))
    found = gathered(results, 2 * there[-1])
    n, lost = len(x), there[-1] + 1 - len(x)
    assert (found["samples"] == n).all() and (found["missing"] == lost).all()
    table = read_table(results / "averages" / "uncertainty_u.csv")
    assert table["samples"] == [n] and table["missing"] == [lost]
    above = x - 1e6 - (x - 1e6).mean(axis=0)
    for k in range(LAGS + 1):
        pairs = [(i, j) for i, a in enumerate(there) for j, b in enumerate(there) if a - b == k]
        whole = [
            p for p in pairs if there[p[0]] - there[p[1]] == p[0] - p[1]
        ]  # with no gap between them
        expected = np.mean([above[i] * above[j] for i, j in whole], axis=0) * (1 - k / n)
        np.testing.assert_allclose(found["covariance"][..., k], expected, rtol=0, atol=1e-10)


def test_what_comes_before_is_left_out_and_too_few_samples_have_no_error(build, tmp_path):
    """Nothing is known at first, and said so; from_step cuts off the start."""
    played = scene(SYNCHRONOUS, fit_every=3)
    played.analyses = played.analyses.replace("from_step: 0", "from_step: 40")
    results, _ = played.run(build, tmp_path, Placement(2, 0, "many"), last=29)
    table = read_table(results / "averages" / "uncertainty_u.csv")
    assert list(table["step"]) == [44, 50, 56] and list(table["samples"]) == [3, 6, 9]
    early, late = fields(results, 44), fields(results, 56)
    assert (early["u_verdict"][1:] == UNKNOWN).all() and (early["u_verdict"][0] == CONSTANT).all()
    assert np.isnan(early["u_sigma"][1:]).all() and (early["u_sigma"][0] == 0).all()
    assert np.isnan(table["sigma_median_x"][0])
    assert (late["u_sigma"][1:][late["u_verdict"][1:] == FITTED] > 0).all()
    assert table["constant_y"][2] == 1 and table["unknown_y"][0] == np.prod(CELLS) - 1
    np.testing.assert_allclose(late["u_mean"], flow()[20:29].mean(axis=0), rtol=1e-15)


SERIES, LONG = 500, 2000
PHIS = (0.5, 0.9)


@pytest.fixture(scope="module")
def known(build, tmp_path_factory):
    """500 series of each kind: AR(1) with two constants, white noise, the second kind elsewhere and
    larger, and one that oscillates. Returns what was found, and the series."""
    rng = np.random.default_rng(12)
    kinds = [ar1(rng, LONG, (SERIES,), phi) for phi in PHIS] + [rng.normal(size=(LONG, SERIES))]
    waves = ar1(rng, LONG, (2, SERIES), 0.98)
    at = 0.4 * np.arange(LONG)[:, None]
    kinds += [1e6 + kinds[1], -8 * kinds[1], np.cos(at) * waves[:, 0] + np.sin(at) * waves[:, 1]]
    x = np.stack(kinds, axis=-1)
    cells = (SERIES,)
    text = stages(50, LONG, "simulation", "simulation")
    played = Scene(
        "known",
        frames_of(x),
        catalogue(cells, x.shape[-1]),
        text,
        "grid_driver",
        ("--cells", str(SERIES)),
    )
    results, _ = played.run(build, tmp_path_factory.mktemp("known"), Placement(1, 0, "slabs"))
    table = read_table(results / "averages" / "uncertainty_u.csv")
    return fields(results, 2 * (LONG - 1), cells), x, table


@pytest.mark.parametrize("kind", [0, 1, 2])
def test_intervals_hold_the_true_mean_as_often_as_they_say(known, kind):
    found, _, _ = known
    phi = (*PHIS, 0)[kind]
    covered = np.abs(found["u_mean"][:, kind]) <= found["u_interval"][:, kind]
    assert 0.93 <= covered.mean() <= 0.97  # which scatters by 0.01 itself; README.md has more
    truth = variance_of_mean(phi, LONG)
    variance = found["u_sigma"][:, kind] ** 2
    assert 0.85 <= variance.mean() / truth <= 1.15
    assert 0.9 <= np.median(variance) / truth <= 1.1
    assert (found["u_verdict"][:, kind] == FITTED).mean() > 0.98
    steps = np.median(found["u_integral_steps"][:, kind])
    assert steps == pytest.approx(truth * LONG / 2 * 2, rel=0.05)  # two steps from one to the next


def test_a_constant_added_changes_nothing_and_a_factor_scales_errors(known):
    found, _, _ = known
    for name in ("u_sigma", "u_interval", "u_integral_steps"):
        factor = 1 if name == "u_integral_steps" else 8
        values = found[name]
        np.testing.assert_allclose(values[:, 3], values[:, 1], rtol=1e-6)
        np.testing.assert_allclose(values[:, 4], factor * values[:, 1], rtol=1e-9)


def test_what_two_decays_do_not_describe_falls_back_on_batch_means(known):
    found, x, table = known
    assert (found["u_verdict"][:, 5] == MISFIT).all() and table["misfit_5"] == [SERIES]
    size = 64  # 31 batches of 2000 samples
    means = x[: LONG // size * size, :, 5].reshape(-1, size, SERIES).mean(axis=1)
    sigma = means.std(axis=0, ddof=1) / np.sqrt(len(means))
    np.testing.assert_allclose(found["u_sigma"][:, 5], sigma, rtol=1e-9)
    covered = np.abs(found["u_mean"][:, 5]) <= found["u_interval"][:, 5]
    assert covered.mean() >= 0.93


def test_the_table_is_that_of_the_fields(known):
    found, _, table = known
    for c in range(found["u_mean"].shape[1]):
        for name, column in (("sigma", "sigma_median"), ("interval", "interval_median")):
            middle = np.sort(found[f"u_{name}"][:, c])[(SERIES - 1) // 2]
            assert table[f"{column}_{c}"] == [middle]
        assert table[f"sigma_max_{c}"] == [found["u_sigma"][:, c].max()]
        np.testing.assert_allclose(table[f"mean_{c}"], found["u_mean"][:, c].mean(), rtol=1e-9)
        np.testing.assert_allclose(
            table[f"integral_time_median_{c}"], 0.25 * table[f"integral_steps_median_{c}"]
        )


@pytest.mark.parametrize("kind", [0, 1])
def test_integral_times_are_those_of_another_library(known, kind):
    """emcee sums the measured autocorrelation up to a window, which is too little as a rule where
    the series is short."""
    found, x, _ = known
    theirs = [
        emcee.autocorr.integrated_time(x[:, s, kind], quiet=True)[0] for s in range(SERIES // 2)
    ]
    theirs = np.median(theirs)
    ours = np.median(found["u_integral_steps"][:, kind])  # half of 1 + 2 sum rho, two steps apart
    truth = variance_of_mean(PHIS[kind], LONG) * LONG
    assert ours == pytest.approx(theirs, rel=0.15)
    assert abs(ours - truth) <= abs(theirs - truth) + 0.01 * truth


@pytest.mark.parametrize(
    ("stage", "words"),
    [
        ("autocorrelation: {field: level}", "integers; reals are needed"),
        ("autocorrelation: {field: u, lags: 0}", "at least 1"),
        ("autocorrelation: {field: u, fit_every: 0}", "at least 1"),
        ("uncertainty: {field: u}", "u_autocovariance"),
        ("uncertainty: {field: u, from: u}", "is not what the stage autocorrelation makes"),
        ("uncertainty: {field: u, from: u, confidence: 95}", "between 0 and 1"),
    ],
)
def test_mistakes(stage, words, build, tmp_path):
    (tmp_path / "c.yaml").write_text(
        catalogue((4,)).replace("fields: {", "fields: {level: {mesh: grid, type: int32}, ")
        + f"analyses: {{a: {{stages: [{stage}]}}}}\n"
    )
    done = check_command(build, tmp_path / "c.yaml")
    assert done.returncode != 0 and words in done.stdout + done.stderr
