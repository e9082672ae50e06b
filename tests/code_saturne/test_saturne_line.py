# SPDX-License-Identifier: BSD-3-Clause
"""The line that `pillion-saturne` prints, where there is no code_saturne: what it does to a domain
as code_saturne has it."""

import shlex
from pathlib import Path
from types import SimpleNamespace

import limits
import pytest


def command(build: Path, *words: str):
    return limits.run(
        [build / "bin/pillion-saturne", *words], capture_output=True, text=True, timeout=60
    )


def run_script(text: str, domain) -> None:
    """As code_saturne's cs_case_domain.py does with cs_user_scripts.py."""
    names = {}
    exec(compile(text, "cs_user_scripts.py", "exec"), names, names)
    eval("define_domain_parameters(self)", {"self": domain}, names)


def domain(folder: Path, **more):
    return SimpleNamespace(
        **{"src_dir": str(folder), "exec_solver": True, "compile_libs": None, **more}
    )


@pytest.fixture
def line(build) -> str:
    done = command(build)
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("\n") == 1
    return done.stdout


def test_sources_and_libraries_are_added(line, tmp_path):
    (tmp_path / "cs_user_mesh.c").write_text("int a;")
    (tmp_path / "REFERENCE").mkdir()
    case = domain(tmp_path)
    run_script(line, case)
    added = Path(case.src_dir)
    assert added != tmp_path and not (tmp_path / "cs_pillion.c").exists()
    files = {path.name for path in added.iterdir()}
    assert files == {"cs_user_mesh.c", "cs_pillion.c", "pillion_saturne.h"}
    libraries = shlex.split(case.compile_libs)[0].removeprefix("-L")
    assert (Path(libraries) / "libpillion_code_saturne.so").is_file()


def test_the_users_own_function_comes_first(line, tmp_path):
    case = domain(tmp_path)
    own = "def define_domain_parameters(domain):\n    domain.compile_libs = '-lown'\n"
    run_script(own + line, case)
    first, second = shlex.split(case.compile_libs)[:2]
    assert first == "-lown" and second.startswith("-L")


def test_a_case_that_only_reads_its_mesh_stays_as_it_is(line, tmp_path):
    case = domain(tmp_path, exec_solver=False)
    run_script(line, case)
    assert case.src_dir == str(tmp_path) and case.compile_libs is None


def test_words(build):
    assert "usage: pillion-saturne" in command(build, "--help").stdout
    done = command(build, "case1")
    assert done.returncode == 1 and "takes no arguments" in done.stderr
