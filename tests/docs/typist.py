# SPDX-License-Identifier: BSD-3-Clause
"""Does what a reader of a page does: writes the files that it shows, types the commands that it
prints, and looks whether the output is what is printed, all in one folder and within a time limit.

`mpirun` and programs of other machines (`srun`, `ssh`) are stand-ins from the folder of that name.
In printed output `…` or `...` stands for anything.
"""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import limits
from code_blocks import ROOT, Block, compare, typed, without_comments
from conftest import launcher

LIMIT = 120  # seconds for a block
INSTALLING = 1200


class Typist:
    """One reader of one page, in a folder of its own."""

    def __init__(self, folder: Path, build: Path) -> None:
        self.folder = folder
        paths = [ROOT / "tests/docs/stand_ins", build / "bin", Path(sys.executable).parent]
        path = ":".join([*map(str, paths), os.environ["PATH"]])
        python = str(build / "python")
        self.environment = {**os.environ, "PATH": path, "PYTHONPATH": python, "NO_COLOR": "1"}
        self.environment |= {"PILLION_PYTHON": sys.executable, "PILLION_BIN": str(build / "bin")}
        self.environment |= {"PILLION_REAL_LAUNCHER": " ".join(launcher()), "BROWSER": "true"}
        self.environment |= {"COLUMNS": "100", "MPLBACKEND": "agg", "OMP_NUM_THREADS": "1"}

    def read(self, block: Block) -> None:
        """Fails the test if something is not as printed."""
        if "file" in block.said:
            write_file(self.folder, block)
        elif "installs" in block.said:
            self._install(block)
        elif block.language == "python":
            self._python(block)
        elif block.language == "sh":
            self._commands(block, without_comments(block.text))
        else:
            for command, printed in typed(block):
                compare(block, printed, self._commands(block, command))

    def expect_no_failures(self) -> None:
        """Analyses that fail are disabled, and the run goes on; here they must not."""
        for report in self.folder.rglob("report*.json"):
            for analysis in json.loads(report.read_text(encoding="utf-8"))["analyses"]:
                assert not analysis["disabled"], f"{report}: {analysis['disabled']}"

    def _install(self, block: Block) -> None:
        """In the checkout, into a virtual environment which is used from then on."""
        home = self.folder / "home"
        home.mkdir()
        for name in ("PYTHONPATH", "PILLION_PYTHON", "PILLION_BIN"):
            self.environment.pop(name)
        stand_ins, *_ = self.environment["PATH"].split(":")
        path = [str(home / "pillion/bin"), stand_ins, "/usr/local/bin:/usr/bin:/bin"]
        self.environment |= {"HOME": str(home), "PATH": ":".join(path)}
        self.environment["SKBUILD_BUILD_DIR"] = str(self.folder / "wheel")  # not in the checkout
        make = ["/usr/bin/python3", "-m", "venv", str(home / "pillion")]
        limits.run(make, env=self.environment, check=True, timeout=120)
        self._run(block, ["bash", "-e", "-c", block.text], INSTALLING, ROOT)

    def _python(self, block: Block) -> None:
        """All Python blocks of a page so far are one program, as in an interpreter."""
        program = self.folder / ".typed.py"
        before = program.read_text(encoding="utf-8") if program.exists() else ""
        program.write_text(before + block.text, encoding="utf-8")
        self._run(block, ["python", str(program)])

    def _commands(self, block: Block, text: str) -> str:
        other = block.said.get("beside")
        beside = self._start(["bash", "-c", other]) if other else None
        try:
            if "interrupted" in block.said:
                return self._interrupted(block, text)
            return self._run(block, ["bash", "-e", "-c", text])
        finally:
            if beside is not None:
                self._end(beside)

    def _interrupted(self, block: Block, text: str) -> str:
        """In a terminal, where Ctrl-C is pressed after some seconds."""
        process = self._start(["script", "-qec", text.strip(), "/dev/null"], stdin=subprocess.PIPE)
        time.sleep(float(block.said["interrupted"] or 4))
        try:
            out, _ = limits.communicate(process, "\x03", timeout=LIMIT)
        except subprocess.TimeoutExpired:
            out = self._end(process)
            raise AssertionError(f"{block.place}: Ctrl-C does not end it\n{out}") from None
        assert process.returncode in (0, 130), f"{block.place}: {process.returncode}\n{out}"
        assert "Traceback" not in out, f"{block.place}\n{out}"
        return out

    def _run(self, block: Block, command: list[str], limit=LIMIT, folder=None) -> str:
        process = self._start(command, folder)
        try:
            out, _ = limits.communicate(process, timeout=limit)
        except subprocess.TimeoutExpired:
            out = self._end(process)
            raise AssertionError(f"{block.place}: no end after {limit} s\n{out}") from None
        assert process.returncode == 0, f"{block.place}: {process.returncode}\n{out}"
        return out

    def _start(self, command: list[str], folder=None, stdin=subprocess.DEVNULL):
        return subprocess.Popen(
            command,
            cwd=folder or self.folder,
            env=self.environment,
            text=True,
            start_new_session=True,
            stdin=stdin,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
        )

    def _end(self, process: subprocess.Popen[str]) -> str:
        try:
            return limits.communicate(process, timeout=30)[0]
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            return limits.communicate(process, timeout=60)[0]


def write_file(folder: Path, block: Block) -> None:
    path = folder / block.said["file"]
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(block.text, encoding="utf-8")
