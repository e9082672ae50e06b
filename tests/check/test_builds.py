# SPDX-License-Identifier: BSD-3-Clause
"""Every source file is compiled by a target or a script (tools/check_builds.py)."""

import json
import shutil
import subprocess
import sys
from pathlib import Path

import limits
import pytest

ROOT = Path(__file__).resolve().parents[2]
TOOL = ROOT / "tools/check_builds.py"


def check(*arguments) -> subprocess.CompletedProcess:
    return limits.run([sys.executable, TOOL, *arguments], capture_output=True, text=True)


def test_every_source_belongs_to_a_target(build):
    done = check(build)
    print(done.stdout)
    assert done.returncode == 0, done.stdout


@pytest.mark.parametrize("file", ["bench/handoff.cpp", "stages/image/camera.cpp"])
def test_a_source_that_no_target_has_is_found(build, tmp_path, file):
    """Also one of an optional part, such as a stage, when its other sources are compiled."""
    entries = json.loads((build / "compile_commands.json").read_text())
    kept = []
    for entry in entries:
        path = Path(entry["directory"], entry["file"])
        if path.parent.name == "Unity" and str(ROOT / file) in path.read_text():
            (tmp_path / "Unity").mkdir(exist_ok=True)
            copy = tmp_path / "Unity" / path.name
            copy.write_text(path.read_text().replace(str(ROOT / file), str(ROOT / "VERSION")))
            entry = {**entry, "file": str(copy)}
        if path != ROOT / file:
            kept.append(entry)
    (tmp_path / "compile_commands.json").write_text(json.dumps(kept))
    done = check(tmp_path)
    assert done.returncode == 1
    assert f"{file} belongs to no target" in done.stdout


def test_an_optional_part_is_left_out_whole(build, tmp_path):
    entries = json.loads((build / "compile_commands.json").read_text())
    kept = [e for e in entries if "/unit" not in e["directory"] + e["file"] + e["command"]]
    kept = [e for e in kept if "stages/image" not in e["directory"] + e["file"] + e["command"]]
    (tmp_path / "compile_commands.json").write_text(json.dumps(kept))
    said = check(tmp_path).stdout
    assert "left out: tests/unit/base/clock_test.cpp, which needs doctest" in said
    assert "left out: stages/image/camera.cpp, which needs libraries" in said
    assert check(tmp_path, "--all").returncode == 1


def test_a_source_that_is_compiled_elsewhere_is_named_there(build, tmp_path):
    """A frame that no page uses, and a program that no test of codes builds."""
    copy = tmp_path / "copy"
    limits.run(["git", "init", "-q", copy], check=True)
    for file in ("tools/check_builds.py", "docs/examples/frames/scalar.c", "docs/howto-fortran.md"):
        (copy / file).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / file, copy / file)
    (copy / "compile_commands.json").write_text("[]")
    command = [sys.executable, copy / "tools/check_builds.py", copy]
    done = limits.run(command, capture_output=True, text=True)
    assert "docs/examples/frames/scalar.c belongs to no target" in done.stdout
    (copy / "docs/page.md").write_text("<!-- within docs/examples/frames/scalar.c -->\n")
    assert limits.run(command, capture_output=True, text=True).returncode == 0
