# SPDX-License-Identifier: BSD-3-Clause
"""What the environment says when a session opens counts more than what the program says."""

import json

from conftest import mpirun
from heat_runs import configuration


def run(build, tmp_path, ranks=2, cells=16, check=True, **environment):
    heat = build / "examples/heat/heat"
    return mpirun(ranks, heat, cells, 100, cwd=tmp_path, env=environment, check=check)


def report_of(folder) -> dict:
    return json.loads((folder / "report.json").read_text())


def test_another_file_is_taken(build, tmp_path):
    other = configuration("simulation").replace("output: results", "output: elsewhere")
    (tmp_path / "other.yaml").write_text(other)  # there is no pillion.yaml
    run(build, tmp_path, PILLION_CONFIGURATION="other.yaml")
    assert report_of(tmp_path / "elsewhere")["run"]["last_step"] == 100
    (tmp_path / "pillion.yaml").write_text(configuration("simulation"))
    run(build, tmp_path, PILLION_CONFIGURATION="")
    assert report_of(tmp_path / "results")["run"]["last_step"] == 100


def test_a_file_that_is_missing_is_told(build, tmp_path):
    (tmp_path / "pillion.yaml").write_text(configuration("simulation"))
    done = run(build, tmp_path, check=False, PILLION_CONFIGURATION="absent.yaml")
    assert done.returncode != 0 and "absent.yaml" in done.stderr


def test_parameters_are_set(build, tmp_path):
    text = configuration("simulation", 32).replace("output: results", "output: $where")
    (tmp_path / "pillion.yaml").write_text(text.replace("{n: 32}", "{n: 32, where: results}"))
    run(build, tmp_path, PILLION_SET="n=16\nwhere=with = in it\n")
    assert report_of(tmp_path / "with = in it")["parameters"] == {
        "n": "16",
        "where": "with = in it",
    }


def test_keys_are_overridden(build, tmp_path):
    (tmp_path / "pillion.yaml").write_text(configuration("ranks"))
    override = "sidecars.ranks=2\nanalyses.decay.every=50 steps\noutput=there"
    run(build, tmp_path, ranks=4, PILLION_OVERRIDE=override)
    report = report_of(tmp_path / "there")
    assert (report["run"]["simulation_ranks"], report["run"]["sidecar_ranks"]) == (2, 2)
    assert report["analyses"][0]["every"] == "50 steps"


def test_lines_that_say_nothing_are_refused(build, tmp_path):
    (tmp_path / "pillion.yaml").write_text(configuration("simulation"))
    for name in ("PILLION_SET", "PILLION_OVERRIDE"):
        done = run(build, tmp_path, check=False, **{name: "output"})
        assert done.returncode != 0 and name in done.stderr and "'output'" in done.stderr
