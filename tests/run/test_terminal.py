# SPDX-License-Identifier: BSD-3-Clause
"""`pillion run` and `pillion watch` in a real terminal: what is seen while a run goes on, before it
begins and after it has ended, in terminals of any size, and as pictures.
"""

import os
import re
import shutil
import sys
from pathlib import Path

import limits
import pytest
from heat_runs import ROOT, RUN, configuration
from terminal import Terminal, picture

pytestmark = pytest.mark.skipif(shutil.which("tmux") is None, reason="there is no tmux")

LONG = 10**8


@pytest.fixture
def terminal(build, tmp_path):
    # Called so that no other run on this machine is taken for it.
    text = configuration("per_node", 32).replace("output: results", f"output: {RUN}")
    (tmp_path / "pillion.yaml").write_text(text)
    (tmp_path / "heat").symlink_to(build / "examples/heat/heat")
    environment = {
        "PATH": f"{build / 'bin'}:{os.environ['PATH']}",
        "PILLION_PYTHON": sys.executable,
        "PYTHONPATH": str(ROOT / "python"),
        "PILLION_PROGRESS": "0.1",
        "TERM": "xterm-256color",
    }
    opened = []

    def open_one(columns=80, rows=24, **more) -> Terminal:
        opened.append(Terminal(tmp_path, columns, rows, environment | more))
        return opened[-1]

    yield open_one
    for one in opened:
        one.press("C-c")
    for one in opened:
        one.until(lambda text: text.rstrip().endswith("$"), 30)
        one.close()


def step_in(text: str) -> int:
    found = re.search(r"step (\d[\d ]*)", text)
    return int(found[1].replace(" ", "")) if found else -1


def test_a_run_shows_a_line_and_a_clear_end(terminal):
    shell = terminal(120, 30)
    shell.type("clear; pillion run -n 1 pillion.yaml -- sh -c 'echo begun; exec ./heat 32 60000'")
    text = shell.until(lambda text: "steps/s" in text)
    lines = [line for line in text.splitlines() if line]
    assert lines[-1].startswith(f"▸ {RUN}  step ") and lines[-2] == "begun"
    assert "publications" in lines[-1] and "behind" in lines[-1]
    before = step_in(text)
    shell.until(lambda text: step_in(text) > before)
    text = shell.until(f"next: pillion report {RUN}", 90)
    assert "▸" not in text and "heat: discrete=" in text
    assert f"✔ {RUN}  60 001 steps in" in text
    assert re.search(r"decay +sidecars +6 001", text)
    assert f"{RUN}/decay/statistics_temperature.csv" in text


def test_ctrl_c_in_a_terminal(terminal):
    shell = terminal()
    shell.type(f"clear; pillion run -n 1 pillion.yaml -- ./heat 32 {LONG}; echo status $?")
    shell.until(lambda text: step_in(text) > 0)
    shell.press("C-c")
    text = shell.until("status 130")
    assert "was asked to stop by SIGINT" in " ".join(text.split())


def test_watch_waits_follows_and_ends(terminal):
    above, below = terminal(), terminal()
    above.type(f"clear; pillion watch {RUN}; echo status $?")
    above.until(f"waiting for a run called {RUN}")
    below.type(f"clear; pillion run -n 1 pillion.yaml -- ./heat 32 {LONG}")
    text = above.until(lambda text: step_in(text) > 0)
    assert f"{RUN} ● running" in text and "1 rank + 1 sidecar" in text
    text = above.until(lambda text: "█" in text and "statistics_temperature" in text)
    assert max(map(len, text.splitlines())) <= 80
    for word in ("decay", "distribution", "left out", "memory", "0 skipped"):
        assert word in text
    before = step_in(text)
    above.until(lambda text: step_in(text) > before)
    for columns, rows in ((50, 16), (140, 40), (80, 50)):
        above.resize(columns, rows)
        above.until(lambda text, c=columns: f"{'─' * 3}╮" in text and len(text.split("\n")[0]) == c)
    below.press("C-c")
    text = above.until("status 1")
    assert "● gone" in text
    assert text.rstrip().endswith("$")  # nothing is left of the view but its last frame


def test_q_leaves_and_the_run_goes_on(terminal):
    above, below = terminal(80, 50), terminal()
    below.type(f"clear; pillion run -n 1 pillion.yaml -- ./heat 32 {LONG}")
    above.type(
        f"clear; pillion watch {RUN} --plot decay/statistics_temperature:max; echo status $?"
    )
    before = step_in(above.until(lambda text: "statistics_temperature  max" in text))
    above.press("q")
    above.until("status 0")
    below.until(lambda text: step_in(text) > before)
    above.type(f"clear; cd /; pillion watch {RUN} --once; echo status $?")
    text = above.until("status 0")
    assert f"{RUN} ● running" in text


@pytest.mark.parametrize("no_colour", ["", "1"])
def test_colours_only_where_they_are_wanted(terminal, no_colour):
    shell = terminal(80, 50, NO_COLOR=no_colour)
    shell.type(f"clear; pillion run -n 1 pillion.yaml -- ./heat 32 100; pillion watch {RUN} --once")
    shell.until("● ended")
    colours = re.findall(r"\x1b\[[0-9;]*3[0-7]m|\x1b\[[0-9;]*9[0-7]m|\x1b\[38;", shell.ansi())
    assert (not colours) if no_colour else len(colours) > 10


def test_a_picture_shows_what_the_terminal_shows():
    ansi = "\x1b[31mred\nstill\x1b[0m x\n╭─ <&> ╮ ▄█"
    svg = picture(ansi, 20, "a < b")
    assert svg.count("#ff7b72") == 2 and ">red<" in svg and ">still<" in svg
    assert "&lt;&amp;&gt;" in svg and "a &lt; b" in svg
    assert svg.count("<rect") == 3 and svg.count("<path") == 3
    assert "http" not in svg.replace("http://www.w3.org/2000/svg", "")


@pytest.mark.skipif(shutil.which("chromium") is None, reason="there is no chromium")
def test_the_pictures_of_the_documentation(build, tmp_path):
    """Made anew, and looked at by a browser."""
    if not (build / "bin/pillion-lmp").exists():
        pytest.skip("LAMMPS was not found when this was built")
    tool = [sys.executable, ROOT / "tools/draw_terminals.py", build, tmp_path, "900"]
    limits.run(tool, check=True, timeout=180)
    for name, words in {
        "watch": ("structure/rdf", "g_Na_O", "● running", "memory"),
        "run": ("nacl/diffusion/msd.csv", "pillion report nacl", "velocities"),
    }.items():
        text = (tmp_path / f"{name}.svg").read_text(encoding="utf-8")
        committed = (ROOT / f"docs/{name}.svg").read_text(encoding="utf-8")
        for word in words:
            assert word in text and word in committed
        assert bright_pixels(tmp_path / f"{name}.svg", tmp_path / f"{name}.png") > 5000


def bright_pixels(svg: Path, png: Path) -> int:
    """How many pixels of the picture are no background, as the browser draws it."""
    import matplotlib.image

    options = ["--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars"]
    size = ["--window-size=940,640", f"--user-data-dir={png.parent / 'browser'}"]
    limits.run(
        ["chromium", *options, *size, f"--screenshot={png}", svg.as_uri()],
        check=True, timeout=60, capture_output=True,
    )  # fmt: skip
    return int((matplotlib.image.imread(png)[:380, :, :3].max(axis=2) > 0.5).sum())
