# SPDX-License-Identifier: BSD-3-Clause
"""Runs of Nek5000 with Pillion in it: restarts, other placements, field files of `write_nek`, and
what goes wrong."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import limits
import numpy as np
import pytest
from conftest import read_table
from pymech.neksuite import readnek

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "conformance"))

from cached_codes import needs_codes
from nek_cases import CASES, Built, field_files, run_case

pytestmark = needs_codes

SERIES = """
output: results
sidecars: {per_node: 1, when_full: wait}
analyses:
  a:
    every: 2 steps
    stages:
      - statistics: {fields: [velocity, pressure]}
      - autocorrelation: {field: pressure, lags: 2, fit_every: 5}
      - uncertainty: {field: pressure}
"""


@pytest.fixture(scope="module")
def built(build, tmp_path_factory) -> Built:
    return Built(build, tmp_path_factory.mktemp("cases"))


def start_from(run: Path, name: str, file: str) -> None:
    par = run / f"{name}.par"
    par.write_text(par.read_text().replace("[GENERAL]", f"[GENERAL]\nstartFrom = {file}"))


def test_a_restart_continues_nek_and_its_analyses(built, tmp_path):
    """Nek counts from 0 again; products have the steps 0 to 40, and means go on."""
    folder, run = built("ethier_pnpn2"), tmp_path / "run"
    run_case(folder, run, "ethier_pnpn2", SERIES, 3)
    assert sorted(path.name for path in run.glob("*.pillion")) == [
        "ethier0.f00001.pillion",
        "ethier0.f00002.pillion",
    ]
    before = read_table(run / "results/a/statistics_velocity.csv")
    start_from(run, "ethier", "ethier0.f00002")
    done = run_case(folder, run, "ethier_pnpn2", None, 2)
    assert f"resumes from {run}//ethier0.f00002.pillion" in done.stdout
    found = read_table(run / "results/a/statistics_velocity.csv")
    assert found["step"].tolist() == list(range(0, 41, 2))
    np.testing.assert_allclose(found["time"], 1e-4 * found["step"], rtol=1e-12)
    assert (found["mean_magnitude"][: len(before)] == before["mean_magnitude"]).all()
    assert (np.diff(found["max_magnitude"]) < 0).all()  # it decays, across the restart too
    means = read_table(run / "results/a/uncertainty_pressure.csv")
    assert means["samples"].tolist() == [5, 10, 15, 20] and not means["missing"].any()
    report = json.loads((run / "results/report.json").read_text())
    assert report["run"]["continues"]


def test_a_start_at_another_time_is_a_new_run(built, tmp_path, monkeypatch):
    folder, run = built("ethier_pnpn2"), tmp_path / "run"
    run_case(folder, run, "ethier_pnpn2", SERIES, 3)
    monkeypatch.setenv("PILLION_NEK_CHECKPOINT", "no")
    shutil.rmtree(run / "ethier0.f00001.pillion")
    start_from(run, "ethier", "ethier0.f00002 time=0.0")
    done = run_case(folder, run, "ethier_pnpn2", None, 3)
    assert "resumes" not in done.stdout and "moved" in done.stderr
    assert not (run / "ethier0.f00001.pillion").exists()
    found = read_table(run / "results/a/statistics_velocity.csv")
    assert found["step"].tolist() == list(range(0, 21, 2))


HYBRID = """
output: results
sidecars: {per_node: 1, when_full: wait}
analyses:
  small:
    every: 10 steps
    stages:
      - truncate: {fields: [velocity, pressure], error: 1e-3, at: simulation}
      - encode: {fields: [velocity, pressure], at: sidecar}
"""
SEPARATE = """
run: NAME
output: results
sidecars: {job: separate, when_full: wait}
analyses:
  a:
    every: 10 steps
    stages: [statistics: {fields: [velocity, vorticity]}]
"""


@pytest.mark.parametrize("mode", ["hybrid", "separate"])
def test_field_files_are_the_same_in_other_modes(build, built, tmp_path, mode):
    folder, run = built("ethier_pnpn2"), tmp_path / "run"
    if mode == "hybrid":
        run_case(folder, run, "ethier_pnpn2", HYBRID, 3)
        assert len(list((run / "results/small/fluid_compressed").glob("fluid.0*.h5"))) == 3
    else:
        run.mkdir()
        name = f"nek5000_{os.getpid()}"  # other runs on this node have other names
        words = [build / "bin/pillion", "attach", name, "--wait", "60"]
        with subprocess.Popen(words, cwd=run, stderr=subprocess.PIPE, text=True) as sidecar:
            shutil.copytree(folder, run, dirs_exist_ok=True)
            run_case(folder, run, "ethier_pnpn2", SEPARATE.replace("NAME", name), 2)
            assert limits.wait(sidecar, 60) == 0
        report = json.loads((run / "results/report.json").read_text())
        assert report["sidecars"]["job"] == "separate"
    assert field_files(run) == built.plain_files("ethier_pnpn2")


def energy(path: Path) -> float:
    data = readnek(str(path))
    return sum(float((element.vel**2).sum()) for element in data.elem)


def test_nek_starts_from_a_decoded_file(build, built, tmp_path):
    """The bound on the error is 1e-3 of the rms, and the energy of the flow is near."""
    folder, run = built("ethier_pnpn2"), tmp_path / "run"
    run_case(folder, run, "ethier_pnpn2", HYBRID, 3)
    stored = run / "results/small/fluid_compressed/fluid.000000020.h5"
    words = [build / "bin/pillion", "decode", stored, "--to", run / "back0.f00001"]
    limits.run(words, check=True, timeout=60)
    wanted = energy(run / "ethier0.f00002")
    assert energy(run / "back0.f00001") == pytest.approx(wanted, rel=1e-4)
    start_from(run, "ethier", "back0.f00001")
    (run / "pillion.yaml").unlink()
    done = run_case(folder, run, "ethier_pnpn2", None, 2)
    assert "Reading checkpoint data" in done.stdout or "back0.f00001" in done.stdout
    assert energy(run / "ethier0.f00001") == pytest.approx(wanted, rel=5e-3)


FILES = """
output: results
analyses:
  a:
    every: EVERY steps
    when: step > 0
    stages: [write_nek: {fields: [velocity, pressure], name: copy, coordinates: each}]
"""


@pytest.mark.parametrize("key", ["ethier", "tgv"])
def test_write_nek_writes_what_nek_writes(built, tmp_path, key):
    """Byte by byte, where one rank has the elements in their order."""
    folder, run, case = built(key), tmp_path / "run", CASES[key]
    run_case(folder, run, key, FILES.replace("EVERY", str(case.every)), 1)
    for number in range(1, case.steps // case.every + 1):
        wanted = (run / f"{case.name}0.f{number:05}").read_bytes()
        assert (run / f"results/a/copy_nek/copy0.f{number:05}").read_bytes() == wanted


LIVE = """
output: results
analyses:
  a:
    every: 10 steps
    stages: [statistics: {fields: [velocity, pressure]}]
"""


def test_a_replay_of_field_files_gives_the_tables_of_the_run(build, built, tmp_path):
    """With the run's own configuration, which has no catalogue."""
    folder, run = built("ethier_pnpn2"), tmp_path / "run"
    run_case(folder, run, "ethier_pnpn2", LIVE, 2)
    words = ["replay", "--output", "again", *sorted(run.glob("ethier0.f?????")), "pillion.yaml"]
    limits.run([build / "bin/pillion", *words], cwd=run, check=True, timeout=60)
    for field in ("velocity", "pressure"):
        live = read_table(run / f"results/a/statistics_{field}.csv")
        again = read_table(run / f"again/a/statistics_{field}.csv")
        assert again["step"].tolist() == [10, 20]
        for name, values in again.columns.items():
            tolerance = 1e-12 if name.startswith(("mean", "rms", "stand", "vol", "time")) else 0
            np.testing.assert_allclose(values, live[name][1:], rtol=tolerance, err_msg=name)


MEANS = """
output: results
sidecars: {per_node: 1, when_full: wait}
analyses:
  a:
    stages:
      - time_average: {fields: [velocity, pressure], moments: product, reset: true,
                       output_every: 10, at: simulation}
      - write_nek: {fields: [velocity_mean, pressure_mean, velocity_product, pressure_product],
                    name: mean, at: sidecar}
"""


def test_averages_are_those_of_avg_all(built, tmp_path):
    """Nek's own routine, which the case calls at every step, writes three files every ten steps."""
    folder, run = built("ethier_usr"), tmp_path / "run"
    run_case(folder, run, "ethier_usr", MEANS, 3)
    assert field_files(run) == built.plain_files("ethier_usr")
    for number in (1, 2):
        found = readnek(str(run / f"results/a/mean_nek/mean0.f{number:05}"))
        assert found.istep == 10 * number
        averages, squares, products = (
            readnek(str(run / f"{prefix}ethier0.f{number:05}")) for prefix in ("avg", "rms", "rm2")
        )
        for n, element in enumerate(found.elem):
            tolerance = {"rtol": 1e-13, "atol": 1e-13}
            np.testing.assert_allclose(element.scal[0], averages.elem[n].pres[0], **tolerance)
            np.testing.assert_allclose(element.vel, averages.elem[n].vel, **tolerance)
            np.testing.assert_allclose(element.scal[1:4], squares.elem[n].vel, **tolerance)
            np.testing.assert_allclose(element.scal[4:7], products.elem[n].vel, **tolerance)
            np.testing.assert_allclose(element.scal[7], squares.elem[n].pres[0], **tolerance)


OWN = """
output: results
sidecars: {per_node: 1, when_full: wait}
analyses:
  a:
    every: 5 steps
    stages:
      - magnitude: {field: velocity, into: speed}
      - statistics: {fields: [speed, speed_squared]}
"""


def test_a_case_adds_a_field_of_its_own(built, tmp_path):
    folder, run = built("ethier_usr"), tmp_path / "run"
    run_case(folder, run, "ethier_usr", OWN, 3)
    speed = read_table(run / "results/a/statistics_speed.csv")
    square = read_table(run / "results/a/statistics_speed_squared.csv")
    assert square["step"].tolist() == [0, 5, 10, 15, 20]
    np.testing.assert_allclose(square["max"], speed["max"] ** 2, rtol=1e-14)
    np.testing.assert_allclose(square["mean"], speed["rms"] ** 2, rtol=1e-13)
    assert field_files(run) == built.plain_files("ethier_usr")


def test_mistakes_end_the_program_with_a_message(built, tmp_path):
    folder, run = built("ethier"), tmp_path / "run"
    text = SERIES.replace("field: pressure", "field: presure")
    done = run_case(folder, run, "ethier", text, 3, check=False)
    assert done.returncode != 0 and "presure" in done.stderr and "pressure" in done.stderr
    assert done.stderr.count("unknown field") == 1
    assert "Starting time loop" not in done.stdout
    wrong = SERIES + "fields: {velocity: {mesh: fluid, type: float32, components: 3}}\n"
    done = run_case(folder, run, "ethier", wrong, 3, check=False)
    assert done.returncode != 0 and "velocity" in done.stderr and "float32" in done.stderr
    done = run_case(folder, run, "ethier", "output: results\nanalysis: {}\n", 2, check=False)
    assert done.returncode != 0 and "analysis" in done.stderr


def test_coupled_cases_run_without_pillion(built, tmp_path):
    folder, run = built("ethier"), tmp_path / "run"
    shutil.copytree(folder, run)
    (run / "pillion.yaml").write_text(SERIES)
    # Nek itself ends, because it was compiled for one case.
    session = f"2\nF\nethier\n{run}/\n1\nethier\n{run}/\n1\n"
    done = run_case(folder, run, "ethier", None, 1, session=session, check=False)
    assert "nsessmax" in done.stdout
    assert "couples several cases (neknek)" in done.stderr
    assert not (run / "results").exists()
