# SPDX-License-Identifier: BSD-3-Clause
"""The command `pillion` in the build's bin folder: what it does itself, and what it hands on."""

import os
import sys
import tomllib
from pathlib import Path

import limits
import pytest
from sample import make_sample


@pytest.fixture
def pillion(build, tmp_path):
    def run(*arguments, program=build / "bin/pillion", **environment):
        return limits.run(
            [program, *map(str, arguments)],
            env={**os.environ, "PILLION_PYTHON": sys.executable, **environment},
            cwd=tmp_path,
            capture_output=True,
            text=True,
            timeout=120,
        )

    return run


def test_help_and_version(pillion):
    for word in ("--help", "-h", "help"):
        done = pillion(word)
        assert done.returncode == 0
        assert all(f"\n    {c} " in done.stdout for c in ("attach", "runs", "report", "table"))
        assert done.stderr == ""
    version = pillion("--version")
    assert version.stdout.startswith("pillion 0.")


def test_prefix(pillion, build):
    """What the pages name by PREFIX is there."""
    prefix = Path(pillion("--prefix").stdout.strip())
    assert prefix == build
    assert (prefix / "bin/pillion-sidecar").exists()
    assert (prefix / "lib/catalyst/libcatalyst-pillion.so").exists()


def test_programs_of_a_package(build):
    """What pip puts on the PATH are programs of an installation, which it starts by their names."""
    project = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text())["project"]
    scripts = [name for name in project["scripts"] if name != "pillion"]
    assert "pillion-makenek" in scripts
    start = "import sys; sys.argv[:1] = [sys.argv[1]]; import pillion.programs as p; "
    for name in scripts:
        where, function = project["scripts"][name].split(":")
        assert where == "pillion.programs"
        assert (build / "bin" / name).exists(), name
    done = limits.run(
        [sys.executable, "-c", f"{start}p.{function}()", "somewhere/pillion-attach", "--help"],
        env=os.environ | {"PILLION_BIN": str(build / "bin"), "PYTHONPATH": str(build / "python")},
        capture_output=True,
        text=True,
    )
    assert "usage: pillion-attach" in done.stdout + done.stderr


def test_wrong_use(pillion):
    for arguments, why in (
        ((), "COMMAND"),
        (("dance",), "'dance'"),
        (("repotr",), "did you mean 'report'?"),
        (("attach",), "RUN"),
    ):
        done = pillion(*arguments)
        assert done.returncode == 2
        assert done.stdout == ""
        assert why in done.stderr


def test_runs(pillion):
    done = pillion("runs")
    assert done.returncode == 0
    assert done.stdout


def test_attach_is_handed_on(pillion):
    assert pillion("attach", "--help").stdout.startswith("usage: pillion attach")
    done = pillion("attach", "no-such-run", "--wait", "0")
    assert done.returncode == 1
    assert "no run called 'no-such-run'" in done.stderr


def test_through_a_link(pillion, build, tmp_path):
    link = tmp_path / "elsewhere"
    link.symlink_to(build / "bin/pillion")
    assert "usage: pillion attach" in pillion("attach", "--help", program=link).stdout


def test_report_and_table_are_handed_on(pillion, tmp_path):
    make_sample(tmp_path)
    done = pillion("report", tmp_path)
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() == str(tmp_path / "report.html")
    table = pillion("table", tmp_path / "motion/msd.csv", "--rows", 1)
    assert table.stdout.startswith("Mean squared displacement")


def test_view_is_handed_on(pillion):
    done = pillion("view", "none.idx", "--no-browser")
    assert done.returncode == 1
    assert done.stderr == "pillion: cannot read none.idx: No such file or directory\n"


def test_the_package_is_found_whatever_the_caller_had(pillion, tmp_path):
    make_sample(tmp_path)
    done = pillion("report", tmp_path, PYTHONPATH="/nowhere")
    assert done.returncode == 0, done.stderr


def test_exit_status_is_that_of_the_package(pillion, tmp_path):
    done = pillion("report", tmp_path / "nothing")
    assert done.returncode == 1
    assert done.stderr.startswith("pillion: there is no ")


def test_stages_are_listed_and_described(pillion, build):
    built = sorted(path.stem for path in (build / "stages").glob("*.so"))
    done = pillion("stages")
    assert (done.returncode, done.stderr) == (0, "")
    assert [line.split()[0] for line in done.stdout.splitlines()] == built
    for name in built:
        told = pillion("stages", name)
        assert told.returncode == 0
        assert told.stdout.startswith(f"{name}\n  ")
        assert f"from {build.resolve()}/stages/{name}.so" in told.stdout
    assert "  bins: integer (default: 100)" in pillion("stages", "histogram").stdout
    assert "  fields: list of fields (required)" in pillion("stages", "statistics").stdout


def test_stages_that_are_not_there_or_broken(pillion, tmp_path):
    done = pillion("stages", "hystogram")
    assert done.returncode == 1
    assert "there is no stage 'hystogram'; there are" in done.stderr
    (tmp_path / "broken.so").write_text("no library")
    done = pillion("stages", PILLION_STAGE_PATH=str(tmp_path))
    assert done.returncode == 1
    assert "stage 'broken' cannot be loaded" in done.stderr
    assert "statistics" in done.stdout, "the others are listed"
    assert pillion("stages", "--dance").returncode == 2
