# SPDX-License-Identifier: BSD-3-Clause
"""One place decides whether a run is alive; tools/check_liveness.py finds others."""

import runpy
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
TOOL = runpy.run_path(str(ROOT / "tools/check_liveness.py"))


def test_no_other_place_decides():
    assert TOOL["main"]() == 0


@pytest.mark.parametrize(
    ("name", "line", "kind"),
    [
        ("src/run/new.cpp", "  gethostname(host.data(), host.size());", "process"),
        ("src/run/new.cpp", "  if (kill(number, 0) != 0) return false;", "process"),
        ("src/run/new.cpp", "  return node::is_alive(mark.process);", "process"),
        ("src/run/new.cpp", '  std::ifstream in("/proc/" + text + "/stat");', "process"),
        ("src/run/new.cpp", "  while (fcntl(file, F_OFD_GETLK, &whole) != 0) {}", "lock"),
        ("src/run/new.cpp", '  if (state->text != "running") return;', "claim"),
        ("src/run/new.cpp", "  const double age = base::calendar_seconds() - then;", "calendar"),
        ("python/pillion/new.py", "    os.kill(progress.pid, 0)", "process"),
        ("python/pillion/new.py", '    return Path("/proc").exists()', "process"),
        ("python/pillion/new.py", "    here = socket.gethostname()", "process"),
        ("python/pillion/new.py", "    fcntl.flock(file, 2)", "lock"),
        ("python/pillion/new.py", '    return progress.said == "running"', "claim"),
        ("python/pillion/new.py", "    late = time.time() - progress.written", "calendar"),
        ("python/pillion/new.py", "    now = datetime.now(UTC)", "calendar"),
        ("python/pillion/datasets/new.py", '    text = path.read_text("utf-8")', "file"),
        ("python/pillion/datasets/new.py", '    with path.open("rb") as file:', "file"),
    ],
)
def test_a_place_that_decides_is_found(name, line, kind):
    assert list(TOOL["places_in"](name, f"first\n{line}\n")) == [(2, kind)]
    (fault,) = TOOL["faults_in"](name, line)
    assert f"{name}:1: decides by a {kind}" in fault


@pytest.mark.parametrize(
    ("name", "line"),
    [
        ("src/run/new.cpp", "  // kill(number, 0) would say it"),
        ("src/run/new.cpp", "  killed.kill(number);"),
        ("python/pillion/new.py", "    # time.time() is of another node"),
        ("python/pillion/new.py", "    begun = time.monotonic()"),
        ("python/pillion/new.py", '    text = path.read_text("utf-8")'),
        ("python/pillion/datasets/new.py", "    text = shared_files.read_text(path)"),
    ],
)
def test_what_decides_nothing_is_not(name, line):
    assert not list(TOOL["places_in"](name, line))


def test_an_entry_that_is_out_of_date_is_found():
    (fault,) = TOOL["faults_in"]("src/run/progress.cpp", "int x;\n")
    assert "has no calendar any more" in fault
