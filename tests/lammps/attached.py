# SPDX-License-Identifier: BSD-3-Clause
"""For tests in which sidecars attach to a LAMMPS that runs: LAMMPS waits, at places of its input
that a test chooses, until the test has written a word to a file, so that nothing depends on how
fast anything is.
"""

import subprocess
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

import limits
from lammps_runs import lmp

WORD = "word.txt"


def until(word: str, commands: str) -> str:
    """Commands that LAMMPS repeats until the file holds the word; rank 0 reads it for all."""
    return (
        f"label repeat_{word}\n{commands}"
        f"variable word file {WORD}\n"
        f'variable heard string "${{word}}"\n'
        "variable word delete\n"
        f'if "${{heard}} != {word}" then "jump SELF repeat_{word}"\n'
    )


def say(folder: Path, word: str) -> None:
    aside = folder / f".{WORD}"
    aside.write_text(f"{word}\n")
    aside.replace(folder / WORD)


def wait_for(what, why: str, seconds: float = 60) -> None:
    limits.until(what, seconds, f"waited in vain: {why}")


@contextmanager
def lammps(build, folder: Path, text: str, config: str, ranks: int):
    """LAMMPS in the background; whoever leaves waits for its end."""
    folder.mkdir(parents=True, exist_ok=True)
    say(folder, "wait")
    with ThreadPoolExecutor() as pool:
        run = pool.submit(lmp, build, folder, text, config, ranks)
        yield run
        run.result()


class Attached:
    """`pillion attach` with its messages, in the folder of the run that it attaches to."""

    def __init__(self, build, folder: Path, *arguments):
        self.log = folder / "attach.txt"
        with self.log.open("w") as log:
            self.process = subprocess.Popen(
                [build / "bin/pillion", "attach", *map(str, arguments), "--wait", "60"],
                cwd=folder,
                stderr=log,
            )

    def await_joined(self) -> None:
        wait_for(lambda: "joined run" in self.said() or self.process.poll() is not None, "joining")
        assert self.process.poll() is None, self.said()

    def await_end(self) -> None:
        assert limits.wait(self.process, 60) == 0, self.said()

    def said(self) -> str:
        return self.log.read_text()
