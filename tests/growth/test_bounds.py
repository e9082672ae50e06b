# SPDX-License-Identifier: BSD-3-Clause
"""No parameter of a stage is without bounds: `pillion check` refuses a number of any size at once,
with little memory. The parameters come from the descriptions of all stages of the build."""

import json

import pytest
from costly_yaml import cost_of
from stage_cases import CASES, OWN_STAGE, configuration, stages_of

MOST_SECONDS, MOST_MEMORY = 1, 100 << 20  # above a check of almost nothing
HUGE = {"integer": [2_000_000_000, 10**18], "real": [1e-300, 1e-9, 1e300]}
# Any such number makes sense: nothing is stored or done for it. Everything else is refused.
FREE = {
    "at_once": "a number of ranks",
    "fit_every": "a number of samples; none is kept",
    "output_every": "a number of samples; none is kept",
    "from_step": "the number of a step",
    "aggregators": "a number of ranks, at most all ranks of the job",
    "blocks_per_file": "a number of blocks, at most all blocks",
    "minimum_cells": "a number of cells that halos are compared with",
    "error": "what values are compared with",
    "particle_mass": "what a sum is multiplied by",
    "mean": "what values are divided by",
    "missing": "what cells are filled with",
    "periods": "what places are compared with",
    "h": "a factor",
    "omega_m": "a factor",
    "omega_lambda": "a factor",
    "redshift": "a factor",
    "shot_noise": "what a sum is divided by",
    "mean_flux": "a share",
    "cutoff": "a length, against the domain at the first step",
    "thickness": "a length, at most that of the mesh",
    "position": "a place in the mesh",
    "range": "ends of bins, whose number is another parameter",
    "tau_range": "ends of bins, whose number is another parameter",
    "masses": "ends of bins, whose number is another parameter",
    "baryon_fraction": "a share",
    "confidence": "a share",
}
# Parameters inside of others.
INSIDE = {
    "origins.every": ("msd", {"origins": {"every": None, "keep": 1}}, "integer"),
    "origins.keep": ("msd", {"origins": {"every": 1, "keep": None}}, "integer"),
    "against.bins": (
        "histogram",
        {"bins": 1, "against": {"field": "other", "range": [0, 1], "bins": None}},
        "integer",
    ),
    "cinema.phi": ("image", {"cinema": {"phi": None}}, "integer"),
    "cinema.theta": ("image", {"cinema": {"theta": None}}, "integer"),
    "zfp.precision": ("write_idx", {"compression": {"zfp": {"precision": None}}}, "integer"),
}
ARE_REFUSED = {"origins.every": [10**18]}  # 2 000 000 000 publications may pass


def kind_of(described: str) -> str | None:
    """What numbers a parameter of this kind is made of; nothing if it has none."""
    words = described.replace("[", " ").replace("]", " ").replace(",", " ").split()
    if "integer" in words or "side" in words or "first" in words or "width" in words:
        return "integer"
    reals = {"number", "length", "lowest", "x", "tolerance"}
    return "real" if reals & set(words) and "map" not in words else None


def filled(value, number):
    """A parameter with the number in the place that was left for it."""
    if isinstance(value, dict):
        return {key: filled(inner, number) for key, inner in value.items()}
    if isinstance(value, list):
        return [filled(inner, number) for inner in value]
    return number if value is None else value


def numbers_for(parameter: dict) -> list:
    """Values of the parameter, each with a huge number."""
    described = parameter["kind"]
    numbers = HUGE[kind_of(described) or "integer"]
    if described.startswith("[["):
        return [[[0, n]] * 3 for n in numbers]
    if described.startswith("[lowest"):
        return [[numbers[0], numbers[-1]]]
    if described.startswith("[") and ("x" in described or "side" in described):
        return [[n] * 3 for n in numbers]
    if described.startswith("["):
        return [[n] * 2 for n in numbers]
    return list(numbers)


@pytest.fixture(scope="module")
def least(build, tmp_path_factory):
    folder = tmp_path_factory.mktemp("least")
    (folder / "a.yaml").write_text(json.dumps(configuration(CASES["statistics"])))
    cost = cost_of([build / "bin/pillion-check", "a.yaml"], folder)
    assert cost.status == 0, cost.shown
    return cost


def faults(build, folder, least, stage: str, parameters: dict, is_free: bool) -> list[str]:
    """What is wrong with the answer to these parameters; also that nothing was asked."""
    *before, last = CASES[stage]
    config = configuration([*before, {stage: {**last[stage], **parameters}}])
    if "bins" in parameters and stage == "power_spectrum":
        config["analyses"]["a"]["stages"][-1][stage]["scale"] = "log"
    (folder / "a.yaml").write_text(json.dumps(config))
    (folder / "own_stage.py").write_text(OWN_STAGE)
    cost = cost_of([build / "bin/pillion-check", "a.yaml"], folder)
    what = f"{stage}: {parameters}"
    out = []
    if cost.seconds - least.seconds > MOST_SECONDS:
        out.append(f"{what}: {cost.seconds:.1f} s")
    if cost.memory - least.memory > MOST_MEMORY:
        out.append(f"{what}: {cost.memory >> 20} MiB")
    if cost.status not in (0, 1):
        out.append(f"{what}: status {cost.status}, {cost.shown[:200]}")
    if cost.status == 0 and not is_free:
        out.append(f"{what}: no mistakes")
    if cost.status == 1 and "out of memory" in cost.shown:
        out.append(f"{what}: {cost.shown[:200]}")
    return out


def test_every_stage_has_a_case(build):
    assert set(stages_of(build)) - set(CASES) == set()


@pytest.mark.parametrize("stage", [name for name in CASES if "," not in name])
def test_huge_numbers_are_refused_at_once(build, tmp_path, least, stage):
    described = stages_of(build)
    if stage not in described:
        pytest.skip("not in this build")
    wrong = []
    for parameter in described[stage]:
        if kind_of(parameter["kind"]) is None:
            continue
        name = parameter["name"]
        for value in numbers_for(parameter):
            wrong += faults(build, tmp_path, least, stage, {name: value}, name in FREE)
    assert not wrong


@pytest.mark.parametrize("name", INSIDE)
def test_huge_numbers_inside_of_parameters(build, tmp_path, least, name):
    stage, parameters, kind = INSIDE[name]
    if stage not in stages_of(build):
        pytest.skip("not in this build")
    wrong = []
    for number in ARE_REFUSED.get(name, HUGE[kind]):
        wrong += faults(build, tmp_path, least, stage, filled(parameters, number), False)
    assert not wrong
