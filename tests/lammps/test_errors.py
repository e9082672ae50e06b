# SPDX-License-Identifier: BSD-3-Clause
"""What goes wrong ends in one clear message before the first time step, and never in a hang: every
run here has a time limit, and most have sidecars that would otherwise wait for ever.
"""

import json

import pytest
from lammps_inputs import MIXTURE, RDF, RIDE
from lammps_runs import configuration, lmp

GOOD = {"structure": {"every": "10 steps", "stages": [{"rdf": RDF}]}}


def stage(name, **parameters):
    return {"structure": {"every": "10 steps", "stages": [{name: parameters}]}}


WRONG_FILES = {
    "unknown-key": (configuration(GOOD, 1, sidecarz={}), ["sidecarz", "did you mean", "sidecars"]),
    "unknown-field": (
        configuration(stage("rdf", **RDF, position="positon"), 1),
        ["positon", "did you mean", "position"],
    ),
    "unknown-stage": (configuration(stage("rdv", **RDF), 1), ["rdv", "did you mean", "rdf"]),
    "wrong-type": (
        configuration(stage("rdf", **{**RDF, "bins": "many"}), 1),
        ["pillion.yaml:", "integer", "many"],
    ),
    "no-ranks-left": (configuration(GOOD, 3), ["sidecar", "3"]),
    "syntax": ("output: [results\n", ["pillion.yaml"]),
    "not-shared": (configuration(stage("statistics", fields=["charge"]), 1), ["charge", "shares"]),
}


def assert_refused(folder, done, words):
    assert done.returncode != 0
    said = done.stderr + done.stdout
    log = folder / "log.lammps"
    if log.exists():
        # The mixture melts before the fix appears; no step may follow.
        assert log.read_text().count("Loop time") <= 1
    for word in words:
        assert word in said, f"'{word}' is not in:\n{said}"


@pytest.mark.parametrize("case", WRONG_FILES)
def test_a_wrong_file(build, tmp_path, case):
    config, words = WRONG_FILES[case]
    text = MIXTURE + RIDE + "run 10\n"
    done = lmp(build, tmp_path, text, config, 3, check=False, timeout=60)
    assert_refused(tmp_path, done, words)
    assert "pillion-lmp: " not in done.stderr  # the session has said it


def test_no_such_file(build, tmp_path):
    text = MIXTURE + RIDE + "run 10\n"
    done = lmp(build, tmp_path, text, None, 3, "-pillion", "no.yaml", check=False, timeout=60)
    assert_refused(tmp_path, done, ["no.yaml"])


WRONG_INPUTS = {
    "keyword": ("fix ride all pillion evry 5", ["evry", "every"]),
    "value": ("fix ride all pillion every often", ["every often", "expected"]),
    "lacking": ("fix ride all pillion every", ["every", "lacks a value"]),
    "config": ("fix ride all pillion config pillion.yaml", ["open already", "-pillion"]),
    "two": (RIDE + "fix rode all pillion", ["only one fix pillion"]),
}


@pytest.mark.parametrize("case", WRONG_INPUTS)
def test_a_wrong_fix(build, tmp_path, case):
    fix, words = WRONG_INPUTS[case]
    text = MIXTURE + fix + "\nrun 10\n"
    done = lmp(build, tmp_path, text, configuration(GOOD, 1), 3, check=False, timeout=60)
    assert_refused(tmp_path, done, words)


@pytest.mark.parametrize("case", WRONG_INPUTS)
def test_a_wrong_fix_after_the_first_step(build, tmp_path, case):
    """It is off, and LAMMPS continues: by now it may have run for a week."""
    fix, words = WRONG_INPUTS[case]
    text = MIXTURE + RIDE + "run 10\nunfix ride\n" + fix + "\nrun 10\n"
    lmp(build, tmp_path, text, configuration(GOOD, 1), 3)
    log = (tmp_path / "log.lammps").read_text()
    assert log.count("Loop time") == text.count("\nrun ")
    assert "fix pillion is off, and LAMMPS continues without it" in log
    assert all(word in log for word in words)
    assert json.loads((tmp_path / "results/report.json").read_text())["run"]["publications"] >= 2


def test_the_fix_without_a_session(build, tmp_path):
    text = MIXTURE + RIDE + "run 10\n"
    done = lmp(build, tmp_path, text, None, 2, check=False, timeout=60)
    assert_refused(tmp_path, done, ["config", "YAML"])


def test_an_input_without_the_fix(build, tmp_path):
    done = lmp(build, tmp_path, MIXTURE + "run 10\n", configuration(GOOD, 1), 3)
    assert "nothing was analysed" in done.stderr and "fix pillion" in done.stderr


def test_a_setting_without_a_value(build, tmp_path):
    config = configuration(GOOD, 1)
    done = lmp(build, tmp_path, MIXTURE, config, 2, "-set", "nx", check=False, timeout=60)
    assert_refused(tmp_path, done, ["-set nx", "name=value"])


def test_lammps_fails_in_the_middle(build, tmp_path):
    """LAMMPS ends by itself from within; the session closes, and what was computed is on disk."""
    text = MIXTURE + RIDE + "run 20\nno_such_command 1\n"
    done = lmp(build, tmp_path, text, configuration(GOOD, 1), 3, check=False, timeout=60)
    assert done.returncode != 0
    assert "no_such_command" in (tmp_path / "log.lammps").read_text()
    report = json.loads((tmp_path / "results/report.json").read_text())
    assert report["run"]["publications"] == 3
    assert (tmp_path / "results/structure/rdf.csv").exists()


def test_without_a_configuration_it_is_lammps(build, tmp_path):
    lmp(build, tmp_path, MIXTURE + "run 10\n", None, 2)
    assert "Loop time" in (tmp_path / "log.lammps").read_text()
    assert not (tmp_path / "results").exists()
