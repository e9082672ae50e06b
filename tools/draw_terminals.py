#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Draws the terminals of docs/howto-run.md: run.svg shows how a run ends, watch.svg a run that goes
on. LAMMPS runs the example examples/nacl meanwhile, in tmux.

    tools/draw_terminals.py BUILD FOLDER [STEPS]
"""

import os
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT / name) for name in ("python", "tests", "tests/run")]

from terminal import Terminal, picture  # noqa: E402

COLUMNS, ROWS = 108, 34
SIZES = ["-var", "sites", "8", "-var", "pairs", "10", "-var", "warmup", "200"]


def environment(build: Path) -> dict[str, str]:
    path = f"{build / 'bin'}:{os.environ['PATH']}"
    return {"PATH": path, "PILLION_PYTHON": sys.executable, "TERM": "xterm-256color"}


def draw(build: Path, folder: Path, steps: int) -> None:
    example = ROOT / "examples/nacl"
    with tempfile.TemporaryDirectory() as work:
        for file in example.iterdir():
            (Path(work) / file.name).write_bytes(file.read_bytes())
        lammps = ["pillion-lmp", "-pillion", "pillion.yaml", *SIZES, "-var", "steps", str(steps)]
        words = [*lammps, "-in", "in.nacl", "-screen", "none"]
        size = (COLUMNS, ROWS, environment(build))
        with Terminal(Path(work), *size) as below, Terminal(Path(work), *size) as above:
            line = "pillion run -n 1 --set output=nacl pillion.yaml -- "
            (Path(work) / "lmp").write_text("#!/bin/sh\nexec " + " ".join(words) + "\n")
            (Path(work) / "lmp").chmod(0o755)
            below.type(f"clear; {line}./lmp")
            above.type("clear; pillion watch nacl --interval 0.2")
            share = steps * 2 // 3
            above.until(lambda text: _step(text) > share and "results" in text, 120)
            (folder / "watch.svg").write_text(
                picture(above.ansi(), COLUMNS, "pillion watch nacl"), encoding="utf-8"
            )
            below.until("next: pillion report", 120)
            shown = _without_prompt(below.ansi())
            (folder / "run.svg").write_text(
                picture(shown, COLUMNS, f"{line}lmp -in in.nacl"), encoding="utf-8"
            )


def _step(text: str) -> int:
    """The step that the view shows; 0 if it shows none."""
    for line in text.splitlines():
        if line.startswith("│ step "):
            return int(line.removeprefix("│ step ").partition("   ")[0].replace(" ", ""))
    return 0


def _without_prompt(ansi: str) -> str:
    lines = [line for line in ansi.rstrip().split("\n") if line.strip() != "$"]
    return "\n".join(lines)


if __name__ == "__main__":
    if len(sys.argv) not in (3, 4):
        sys.exit(__doc__)
    draw(Path(sys.argv[1]).resolve(), Path(sys.argv[2]), int((sys.argv[3:] or ["3000"])[0]))
