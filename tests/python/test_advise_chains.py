# SPDX-License-Identifier: BSD-3-Clause
"""Configurations that are rewritten with other cuts, against what the text says once it is read."""

import pytest
import yaml
from pillion.advise.placement import Chains

TEXT = """\
sidecars: {per_node: 1, memory: 64 MiB, mapping: numa, %s}
analyses:
  decay:
    every: 10 steps
    stages: &all
      - &first
        statistics: {fields: [temperature]}
      - histogram: {field: temperature, bins: 10}
  other:
    every: 20 steps
    stages: *all
  third:
    stages:
      - *first
"""


def places(text: str) -> dict[str, list[str]]:
    root = yaml.safe_load(text)
    return {
        name: [next(iter(stage.values()))["at"] for stage in analysis["stages"]]
        for name, analysis in root["analyses"].items()
    }


@pytest.fixture
def chains():
    return Chains(TEXT % "when_full: wait", "pillion.yaml")


def test_chains_that_share_their_stages_are_cut_each_for_itself(chains):
    text = chains.with_cuts((1, 0, 1), "per_node", 2)
    assert places(text) == {
        "decay": ["simulation", "sidecar"],
        "other": ["sidecar", "sidecar"],
        "third": ["simulation"],
    }
    assert "*" not in text, "yaml-cpp reads no alias as a key"


@pytest.mark.parametrize(
    ("every", "steps"), [("10 steps", 10), ("7", 7), ("1 step", 1), ("0.5 time", None)]
)
def test_steps_are_those_that_the_library_reads(every, steps):
    text = f"analyses: {{a: {{every: {every}, stages: [statistics: {{fields: [f]}}]}}}}"
    assert Chains(text, "pillion.yaml").all[0].every == steps


@pytest.mark.parametrize("policy", ["when_full: skip", "when_full: spill, spill: {limit: 1 GiB}"])
def test_sidecars_are_as_they_were_but_that_the_simulation_waits(policy):
    text = Chains(TEXT % policy, "pillion.yaml").with_cuts((0, 0, 0), "per_node", 2)
    sidecars = yaml.safe_load(text)["sidecars"]
    assert sidecars == {
        "per_node": 2,
        "when_full": "wait",
        "memory": "64 MiB",
        "mapping": "numa",
        "deadline": "3600 s",
    }
