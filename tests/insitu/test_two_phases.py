# SPDX-License-Identifier: BSD-3-Clause
"""Sessions that are opened in two phases, and scalars, which a program sets for each step."""

import json
import re
import sys

import numpy as np
import pytest
from conftest import launch, read_table
from insitu import (
    PROGRAMS,
    STAGES,
    Place,
    analysis_of,
    environment,
    needs_modules,
    places,
    report_of,
    run_name,
    simulate,
)

pytestmark = needs_modules

STEPS = 8
ANALYSES = f"""
  over_time:
    every: $interval steps
    stages:
      - statistics: {{fields: [height]}}
      - python: {{call: {STAGES / "scaled.py"}:scaled}}
  each_step: {{every: 2 steps, stages: [histogram: {{field: height, bins: 4, range: auto}}]}}
  late: {{when: 'a >= 0.75 and dt < 1', stages: [statistics: {{fields: [height]}}]}}
"""


def write_configuration(folder, place):
    head = place.head.replace("ranks: 1", "ranks: $sidecars")
    (folder / "run.yaml").write_text(
        f"output: results\nrun: {run_name(folder)}\n"
        f"parameters: {{sidecars: {place.more}}}\n{head}analyses:{ANALYSES}"
    )


def run(build, folder, place, check=True, **wanted):
    write_configuration(folder, place)
    wanted = {"steps": STEPS, **wanted}
    if place.is_separate:
        wanted["awaits"] = str(folder / "joined")
    program = [sys.executable, PROGRAMS / "reads_inputs.py", json.dumps(wanted)]
    return simulate(build, folder, place, program, check=check).stdout


def scale(steps):
    return 0.25 + 0.125 * np.asarray(steps)


@places()
def test_scalars_reach_stages_conditions_and_tables(build, tmp_path, place):
    said = run(build, tmp_path, place)
    assert said.count("done") == place.ranks, said
    results = tmp_path / "results"
    table = read_table(results / "over_time/statistics_height.csv")
    steps = np.arange(STEPS)
    assert table["step"].tolist() == steps.tolist()
    np.testing.assert_array_equal(table["a"], scale(steps))
    np.testing.assert_array_equal(table["dt"], 1 / (1 + steps))
    assert table.units["dt"] == "Gyr" and table.units["a"] == "1"
    rows = read_table(results / "over_time/scaled.csv")
    np.testing.assert_array_equal(rows["scaled"], (10 * steps + 11) * scale(steps))
    each = read_table(results / "each_step/histogram_height.000000004.csv")
    assert each.attributes["a"] == 0.75 and each.attributes["dt"] == 0.2
    # A condition holds as of the check before.
    late = read_table(results / "late/statistics_height.csv")
    assert late["step"].tolist() == [5, 6, 7]
    np.testing.assert_array_equal(late["a"], scale(late["step"]))
    assert not report_of(tmp_path)["warnings"]


def test_restart(build, tmp_path):
    """Tables over time keep the scalars of the steps before."""
    place = Place(2, "{ranks: 1, when_full: wait}", 1)
    run(build, tmp_path, place, steps=4, checkpoint="saved")
    run(build, tmp_path, place, begin=4, steps=4, restart="saved")
    table = read_table(tmp_path / "results/over_time/statistics_height.csv")
    np.testing.assert_array_equal(table["a"], scale(np.arange(8)))


def test_migration_keeps_scalars(build, tmp_path):
    """And the environment overrides parameters of the second phase."""
    place = Place(2, "{ranks: 1, when_full: wait}", 1)
    write_configuration(tmp_path, place)
    file = tmp_path / "run.yaml"
    text = file.read_text().replace("fields: [height]}", "fields: [height], at: auto}", 1)
    file.write_text(text.replace("py:scaled}", "py:scaled, at: auto}"))
    program = [sys.executable, PROGRAMS / "reads_inputs.py", json.dumps({"steps": 16})]
    more = {"PILLION_MOVE_AT": "3,6", "PILLION_SET": "interval=2"}
    simulate(build, tmp_path, place, program, **more)
    analysis = analysis_of(tmp_path, "over_time")
    assert analysis["publications"] == 8, analysis
    assert [move["to"] for move in analysis["moves"]] == ["sidecar", "simulation"]
    table = read_table(tmp_path / "results/over_time/statistics_height.csv")
    assert table["step"].tolist() == list(range(0, 16, 2))
    np.testing.assert_array_equal(table["a"], scale(table["step"]))


def test_the_first_step_configures(build, tmp_path):
    (tmp_path / "run.yaml").write_text("parameters: {sidecars: 0}\nanalyses: {}\n")
    program = [sys.executable, PROGRAMS / "reads_inputs.py", json.dumps({"fault": "only steps"})]
    assert simulate(build, tmp_path, Place(2), program).stdout.count("done") == 2
    assert (tmp_path / "results/report.json").exists()


def test_a_sidecar_program_waits_for_the_second_phase(build, tmp_path):
    """It opens its session as ever, and learns there that the simulation needs two phases."""
    write_configuration(tmp_path, Place(2, "{ranks: 1, when_full: wait}", 1))
    simulation = [sys.executable, PROGRAMS / "reads_inputs.py", json.dumps({"steps": STEPS})]
    parts = (2, *simulation), (1, build / "bin/pillion-sidecar")
    said = launch(*parts, env=environment(build), cwd=tmp_path).stdout
    assert said.count("done") == 2, said
    late = read_table(tmp_path / "results/late/statistics_height.csv")
    assert late["step"].tolist() == [5, 6, 7]


FAULTS = {
    "another catalogue": "simulation rank 1 offers another catalogue than the first one",
    "another value": "simulation rank 1 sets parameter 'interval' to '2', the first one to '1'",
    "no parameter": "parameter '$interval' has no value",
    "sidecars": "'sidecars:' of 'run.yaml' changed",
    "unknown scalar": "the catalogue has no scalar 'b'",
    "unset": "uses scalar 'a', which the program has not set",
}


@places([Place(2), Place(2, "{ranks: 1, when_full: wait}", 1)])
@pytest.mark.parametrize("fault", FAULTS)
def test_faults_are_the_same_on_all_ranks(build, tmp_path, place, fault):
    if fault == "sidecars" and not place.more:
        pytest.skip("nothing changes")
    said = run(build, tmp_path, place, fault=fault)
    assert said.count("refused: ") == place.ranks, said
    assert all(FAULTS[fault] in line for line in said.splitlines() if "refused" in line), said
    assert len(re.findall(f"error: .*{re.escape(FAULTS[fault])}", said)) == 1, said
    if "scalar" not in FAULTS[fault]:
        assert not (tmp_path / "results").exists()


@places([Place(2), Place(2, "{ranks: 1, when_full: wait}", 1)])
def test_one_rank_closes_where_others_configure(build, tmp_path, place):
    said = run(build, tmp_path, place, fault="one closes", check=False)
    assert said.count("refused: another rank closes the session") == 1, said
    assert not (tmp_path / "results").exists()


@places([Place(2, "{ranks: 1, when_full: wait}", 1)])
def test_closing_between_the_phases(build, tmp_path, place):
    said = run(build, tmp_path, place, fault="closes")
    assert said.count("done") == 2 and "error" not in said, said
    assert not (tmp_path / "results").exists()


def test_sidecars_need_their_parameters_at_once(build, tmp_path):
    place = Place(2, "{ranks: 1, when_full: wait}", 1)
    (tmp_path / "run.yaml").write_text("sidecars: {ranks: $number}\nanalyses: {}\n")
    program = [sys.executable, PROGRAMS / "reads_inputs.py", json.dumps({"steps": 1})]
    said = simulate(build, tmp_path, place, program).stdout
    assert said.count("refused at once: ") == 3, said
    assert "'sidecars:' needs the value of '$number' when the session is opened" in said


@places([Place(2), Place(2, "{ranks: 1, when_full: wait}", 1)])
def test_differences_are_reported(build, tmp_path, place):
    """The first rank's value counts in conditions."""
    said = run(build, tmp_path, place, fault="scalars differ")
    assert "warning: simulation ranks differ in scalar 'a': from 0.875 to 1.875" in said, said
    late = read_table(tmp_path / "results/late/statistics_height.csv")
    assert late["step"].tolist() == [5, 6, 7]


def test_unknown_scalars_later_are_warnings(build, tmp_path):
    said = run(build, tmp_path, Place(2), fault="late unknown scalar")
    assert said.count("done") == 2
    assert said.count("warning: rank 0: the catalogue has no scalar 'b'") == 1, said
