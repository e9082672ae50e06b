# SPDX-License-Identifier: BSD-3-Clause
"""What the doctor says of machines that lack something, and of this one."""

import os
import re
import stat
import sys
import tomllib
from pathlib import Path

import limits
import pytest
from pillion.command import doctor
from pillion.command.doctor import Verdict

ROOT = Path(__file__).resolve().parents[2]


def program(folder, name: str, text: str) -> str:
    path = folder / name
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    return str(path)


def test_launchers(tmp_path):
    open_mpi = program(tmp_path, "mpirun", "echo 'mpirun (Open MPI) 4.1.4'; echo Report bugs")
    assert doctor.launcher(open_mpi).found == f"{open_mpi}: mpirun (Open MPI) 4.1.4"
    mpich = program(tmp_path, "mpiexec", "echo HYDRA build details:; echo '    Version:  4.3.2'")
    assert doctor.launcher(mpich).found == f"{mpich}: Version:  4.3.2"
    none = doctor.launcher(str(tmp_path / "srun"))
    assert none.verdict is Verdict.BAD
    assert "MPIEXEC" in none.advice


def test_shared_memory(tmp_path, monkeypatch):
    assert doctor.shared_memory(tmp_path / "none").verdict is Verdict.BAD
    little = type("Usage", (), {"free": 64 << 20})
    monkeypatch.setattr(doctor.shutil, "disk_usage", lambda _: little)
    found = doctor.shared_memory(tmp_path)
    assert found.verdict is Verdict.NOTE
    assert "64 MiB free" in found.found


@pytest.mark.parametrize(("limit", "verdict"), [(256, "note"), (1024, "ok"), (-1, "ok")])
def test_open_files(limit, verdict):
    assert doctor.open_files(limit).verdict.value == verdict


def test_stages(tmp_path):
    program(
        tmp_path, "pillion-stages", "echo 'rdf  Pairs'; echo 'pillion: x is broken' >&2; exit 1"
    )
    found = list(doctor.stages(str(tmp_path)))
    assert [f.verdict for f in found] == [Verdict.GOOD, Verdict.BAD]
    assert found[0].found == "rdf"
    assert found[1].found == "x is broken"
    (nothing,) = doctor.stages(str(tmp_path / "none"))
    assert nothing.verdict is Verdict.BAD


def test_packages():
    assert doctor.python_package("numpy", "all", Verdict.BAD).verdict is Verdict.GOOD
    missing = doctor.python_package("no-such-package", "this test", Verdict.NOTE)
    assert missing.verdict is Verdict.NOTE
    assert missing.advice == "needed for this test: pip install no-such-package"


def test_this_machine(build, tmp_path):
    """Whoever runs these tests has all that is needed; and with a launcher that is not there."""
    command = [build / "bin/pillion", "doctor"]
    environment = {**os.environ, "PILLION_PYTHON": sys.executable}
    done = limits.run(command, env=environment, capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stderr) == (0, ""), done.stdout
    assert "statistics" in done.stdout
    environment["MPIEXEC"] = str(tmp_path / "none")
    done = limits.run(command, env=environment, capture_output=True, text=True, timeout=60)
    assert done.returncode == 1
    assert "missing  MPI launcher" in done.stdout


def test_rendering_and_modules_of_python():
    assert doctor.rendering().found.startswith("Matplotlib draws")
    assert doctor.mpi_of_python().verdict is not Verdict.BAD
    assert doctor.compiled_modules().what == "simulations and stages in Python"
    assert doctor._named("Open MPI v4.1.4, package: x, ident: 4\0") == "Open MPI v4.1.4"


@pytest.mark.parametrize(
    ("package", "words"),
    [
        ("numpy", ["table", "t.csv"]),
        ("matplotlib", ["report", "results"]),
        ("yaml", ["report", "results"]),
    ],
)
def test_a_command_whose_package_is_missing(tmp_path, package, words):
    """It says what the doctor says, in one line."""
    raising = f"raise ModuleNotFoundError('no', name='{package}')\n"
    (tmp_path / f"{package}.py").write_text(raising)
    path = os.pathsep.join([str(tmp_path), os.environ.get("PYTHONPATH", ""), *sys.path])
    done = limits.run(
        [sys.executable, "-m", "pillion", *words],
        env=os.environ | {"PYTHONPATH": path},
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.returncode == 1
    name = "PyYAML" if package == "yaml" else package
    assert f"needs the package {name}, which the Python" in done.stderr
    assert f"pip install {name}" in done.stderr and "Traceback" not in done.stderr


def test_every_package_of_the_project_is_looked_for():
    """As pyproject.toml lists them; mpi4py has a check of its own."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]

    def names(requirements):
        return {re.split(r"[<>=]", text)[0] for text in requirements}

    extras = [text for group in project["optional-dependencies"].values() for text in group]
    assert {*doctor.NEEDED, "mpi4py"} == names(project["dependencies"])
    assert {*doctor.OPTIONAL} == names(extras)
