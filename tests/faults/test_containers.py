# SPDX-License-Identifier: BSD-3-Clause
"""Ranks and jobs that do not see each other's processes, as in containers: PID namespaces and
folders for shared memory of their own."""

import os
import subprocess
import tempfile
import uuid
from pathlib import Path

import limits
import pytest
from conftest import launcher, mpirun, read_table
from faults import GRID, one_error, said
from test_attached_again import WITH_WAVE

PROCESSES = ("unshare", "--pid", "--fork", "--kill-child", "--mount-proc")
MEMORY = ("unshare", "--mount", "sh", "-c", 'mount -t tmpfs none /dev/shm && exec "$@"', "sh")
# Open MPI 4.1 itself takes ranks with equal process numbers for one where it shares memory.
MESSAGES = {"OMPI_MCA_btl": "self,tcp"}
PERIODIC = GRID.replace("cells: [8, 4]", "cells: [8, 4], periodic: true")
SPECTRUM = "analyses: {a: {stages: [{power_spectrum: {field: density, contrast: false}}]}}\n"
STATISTICS = "analyses: {a: {stages: [{statistics: {fields: [density]}}]}}\n"


def container(kind: tuple[str, ...]) -> tuple[str, ...]:
    if limits.run([*kind, "true"], capture_output=True, timeout=30).returncode != 0:
        pytest.skip(f"this machine does not permit '{' '.join(kind[:3])}'")
    return kind


def run_in(kind, build: Path, folder: Path, config: str, ranks: int):
    """Runs fault_driver with a container of that kind for each rank."""
    folder.mkdir()
    (folder / "pillion.yaml").write_text(config)
    program = (*kind, build / "tests" / "faults" / "fault_driver", "pillion.yaml", "10")
    return mpirun(ranks, *program, timeout=30, env=MESSAGES, cwd=folder, check=False)


def rows_of(folder: Path) -> list[list[float]]:
    tables = sorted((folder / "out" / "a").rglob("*.csv"))
    assert tables, list((folder / "out").rglob("*"))
    return [list(column) for path in tables for column in read_table(path).columns.values()]


def test_ranks_with_processes_of_their_own_send_messages(build, tmp_path):
    """Their processes and open files have equal numbers, so that each would find its own memory
    where that of the other should be."""
    if not (build / "stages" / "power_spectrum.so").exists():
        pytest.skip("the stage power_spectrum was not built: FFTW was not found")
    apart = run_in(container(PROCESSES), build, tmp_path / "apart", PERIODIC + SPECTRUM, 2)
    assert apart.returncode == 0, (apart.stdout, apart.stderr)
    together = run_in((), build, tmp_path / "together", PERIODIC + SPECTRUM, 2)
    assert together.returncode == 0, (together.stdout, together.stderr)
    assert rows_of(tmp_path / "apart") == rows_of(tmp_path / "together")
    report = (tmp_path / "apart" / "out" / "report.json").read_text()
    assert "exchange values by messages" in report and "containers" in report
    assert "exchange values" not in (tmp_path / "together" / "out" / "report.json").read_text()


def test_sidecars_with_processes_of_their_own_are_refused(build, tmp_path):
    config = GRID + STATISTICS + "sidecars: {per_node: 1}\n"
    error = one_error(run_in(container(PROCESSES), build, tmp_path / "apart", config, 3), 3)
    assert "containers" in error and "--containall" in error, error


def test_sidecars_over_the_network_need_not_see_processes(build, tmp_path):
    config = GRID + STATISTICS + "sidecars: {ranks: 1}\n"
    apart = run_in(container(PROCESSES), build, tmp_path / "apart", config, 3)
    assert apart.returncode == 0, (apart.stdout, apart.stderr)
    assert len(rows_of(tmp_path / "apart")[0]) == 11


def test_folders_for_shared_memory_may_be_private(build):
    config = GRID + STATISTICS + "sidecars: {per_node: 1}\n"
    kind = container(MEMORY)
    with tempfile.TemporaryDirectory(dir="/var/tmp") as folder:  # others may be in /dev/shm
        apart = run_in(kind, build, Path(folder) / "apart", config, 3)
        assert apart.returncode == 0, (apart.stdout, apart.stderr)
        assert [lines[-1] for lines in said(apart).values()] == 3 * ["ok"]
        assert len(rows_of(Path(folder) / "apart")[0]) == 11


def processes_in(folder: Path, name: str) -> list[int]:
    """Numbers, here, of processes of a program that work in a folder."""
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        try:
            is_called = (process / "comm").read_text().strip() == name
            if is_called and os.readlink(process / "cwd") == str(folder):
                found.append(int(process.name))
        except OSError:
            continue
    return found


def test_a_run_in_a_container_is_attached_to_from_inside(build, tmp_path):
    run = f"contained-{uuid.uuid4().hex}"
    config = WITH_WAVE.replace("output: out", f"output: out\nrun: {run}") + STATISTICS
    (tmp_path / "pillion.yaml").write_text(config + "sidecars: {job: separate}\n")
    attach = str(build / "bin" / "pillion-attach")
    driver = build / "tests" / "faults" / "fault_driver"
    command = [*launcher(), "-n", 1, *container(PROCESSES), driver, "pillion.yaml", 1000000]
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL, "cwd": tmp_path}
    told = {"capture_output": True, "text": True, "timeout": 30}
    simulation = subprocess.Popen([str(word) for word in [*command, "until-stop-wave"]], **quiet)
    try:
        listed = limits.until(
            lambda: listing if run in (listing := limits.run([attach], **told).stdout) else "",
            30,
            "the run is listed",
        )
        (line,) = [line for line in listed.splitlines() if run in line]
        assert line.endswith("in a container; attach from inside it"), line
        outside = limits.run([attach, run, "--wait", "0"], cwd=tmp_path, **told)
        assert (
            outside.returncode == 1
            and "can be attached to from the nodes of this job" in outside.stderr
        )
        assert "container" in outside.stderr
        (number,) = processes_in(tmp_path, driver.name[:15])
        enter = ["nsenter", f"--target={number}", "--pid", "--mount", f"--wd={tmp_path}"]
        inside = subprocess.Popen(
            [*enter, attach, run],
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        seen = tmp_path / "out" / "progress-sidecars.json"
        limits.until(lambda: inside.poll() is not None or seen.exists(), 30, "the job has joined")
        (tmp_path / "stop").touch()
        text = limits.communicate(inside, timeout=30)[0]
        assert inside.returncode == 0, text
        assert limits.wait(simulation, timeout=30) == 0
    finally:
        simulation.kill()
        limits.wait(simulation, timeout=20)
    assert (tmp_path / "out" / "report.json").exists()
