# SPDX-License-Identifier: BSD-3-Clause
"""The catalogues of codes that come with Pillion have what the adapters offer, and a configuration
for such a code is checked with one before the first run.
"""

import os
import re
import sys
from pathlib import Path

import limits
import pytest
import yaml
from pillion.catalogues import NAMES, path_of

ADAPTERS = Path(__file__).resolve().parents[2] / "adapters"
STAGES = {
    "lammps": "rdf: {species: {O: [1]}, pairs: [[O, O]], cutoff: 8}",
    "nek5000": "statistics: {fields: [velocity, pressure, temperature]}",
    "saturne": "statistics: {fields: [velocity, k, yplus]}",
}


def source(adapter: str) -> str:
    return (ADAPTERS / adapter / "catalogue.cpp").read_text(encoding="utf-8")


def shipped(name: str) -> dict:
    return yaml.safe_load(path_of(name).read_text(encoding="utf-8"))


def test_lammps_has_the_text_of_the_adapter():
    text = re.search(r'R"\((.*?)\)"', source("lammps"), re.DOTALL)
    assert text is not None
    assert shipped("lammps") == yaml.safe_load(text[1])


def test_nek5000_has_fields_that_the_adapter_names():
    text = source("nek5000")
    for name in shipped("nek5000")["fields"]:
        assert f'"{name.rstrip("0123456789")}' in text, name


def test_code_saturne_has_the_units_of_the_adapter():
    units = dict(re.findall(r'\{"(\w+)", "([^"]+)"\}', source("code_saturne")))
    checked = 0
    for name, field in shipped("saturne")["fields"].items():
        if "temperature" not in name:
            assert field["units"] == units[name], name
            checked += 1
    assert checked > 15


@pytest.mark.parametrize("name", NAMES)
def test_a_configuration_is_checked_before_the_first_run(build, tmp_path, name):
    text = f"output: r\nanalyses: {{a: {{every: 10 steps, stages: [{STAGES[name]}]}}}}\n"
    (tmp_path / "p.yaml").write_text(text)

    def check(*words):
        return limits.run(
            [build / "bin/pillion", "check", "p.yaml", *words],
            cwd=tmp_path,
            env={**os.environ, "PILLION_PYTHON": sys.executable},
            capture_output=True,
            text=True,
            timeout=30,
        )

    without = check()
    assert without.returncode == 1
    assert "--catalogue lammps, nek5000 or saturne" in without.stdout
    done = check("--catalogue", name)
    assert (done.returncode, "no mistakes" in done.stdout) == (0, True), done.stdout
