# SPDX-License-Identifier: BSD-3-Clause
"""Runs of the user's own program, each ended as soon as it has told enough. The user's files stay
as they are: each run has a configuration of its own, and an output folder, which goes with it.
"""

import os
import signal
import subprocess
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import IO

from pillion.advise.chains import Chains
from pillion.advise.placement import Placement
from pillion.advise.probes import is_enough
from pillion.advise.samples import Trial
from pillion.advise.trails import Trail, read_trail
from pillion.errors import Error
from pillion.launch.plan import Facts, Plan, Wishes, make_plan
from pillion.launch.wanted import Kind, read_wanted
from pillion.progress import read_parts

_LOOK_EVERY = 0.25  # seconds
_PATIENCE = 60.0  # seconds for the first publication,
_AT_LEAST = 20.0  # or so many times what a run is to last
_LAST_LINES = 15
_MANY = 1000  # files beside the configuration


@dataclass(frozen=True)
class Runner:
    """What it takes to start a short run. `kind` is how sidecars are reached, as the configuration
    says it; `attach` the program that sidecars of a job of their own run.
    """

    wishes: Wishes
    chains: Chains
    facts: Facts
    kind: str
    attach: str
    seconds: float

    @property
    def counted(self) -> int:
        """On how many nodes the configuration's number of sidecars counts."""
        return 1 if self.kind == Kind.RANKS.value else self.facts.nodes

    def run(self, placement: Placement) -> Trial:
        """Raises Error if the program fails, or publishes nothing."""
        # Other nodes see this folder, but not what is temporary here.
        where = Path.cwd() if self.facts.nodes > 1 else None
        with tempfile.TemporaryDirectory(prefix="pillion-advise-", dir=where) as name:
            folder = Path(name)
            plan = self._plan(placement, folder)
            with (folder / "said").open("w") as said:
                patience = max(_PATIENCE, _AT_LEAST * self.seconds)
                trail = _watched(plan, folder, said, self._ends(placement), patience)
            results = folder / "results"
            return Trial(placement, trail, bytes_in(results, self.chains), disabled_in(results))

    def _plan(self, placement: Placement, folder: Path) -> Plan:
        each = placement.sidecars // self.counted
        text = self.chains.with_cuts(placement.cuts, self.kind, each)
        file = _beside(Path(self.wishes.configuration), folder / "configuration", text)
        file.write_text(text, encoding="utf-8")
        wishes = replace(
            self.wishes,
            configuration=str(file),
            ranks=placement.simulation,
            sidecars=None,
            overrides={"output": str(folder / "results"), "run": folder.name},
            environment={"PILLION_TIMELINE": str(folder), "PILLION_PROGRESS": "0.25"},
        )
        wanted = read_wanted(file, wishes.settings, wishes.overrides)
        return make_plan(wishes, wanted, self.facts, self.attach)

    def _ends(self, placement: Placement) -> Callable[[Trail, float], bool]:
        return lambda trail, since: is_enough(
            trail, placement, self.chains.all, since, self.seconds
        )


def _beside(configuration: Path, folder: Path, text: str) -> Path:
    """A file in this new folder that has the same neighbours as the user's configuration: stages
    and scripts are looked for there. Of many neighbours only those that the text names.
    """
    folder.mkdir()
    beside = list(configuration.absolute().parent.iterdir())
    for path in beside:
        if path.name != configuration.name and (len(beside) <= _MANY or path.name in text):
            (folder / path.name).symlink_to(path)
    return folder / configuration.name


def kind_of(kind: Kind) -> str:
    """How sidecars are to be reached where the configuration has none: through the node."""
    return "per_node" if kind is Kind.NONE else kind.value


def bytes_in(output: Path, chains: Chains) -> dict[str, float]:
    """Bytes that the first simulation rank handed over for one publication of each analysis."""
    try:
        parts = read_parts(output)
    except Error:
        return {}
    analyses = parts.simulation.analyses if parts.simulation else ()
    return {a.name: a.bytes_moved / a.publications for a in analyses if a.publications}


def disabled_in(output: Path) -> dict[str, str]:
    """Why analyses failed, by their names."""
    try:
        parts = read_parts(output).all
    except Error:
        return {}
    return {a.name: a.disabled for part in parts for a in part.analyses if a.disabled}


def _watched(
    plan: Plan,
    folder: Path,
    said: IO[str],
    ends: Callable[[Trail, float], bool],
    patience: float,
) -> Trail:
    processes = [_started(words, plan, said) for words in (plan.sidecars, plan.simulation) if words]
    simulation = processes[-1]
    try:
        begin, first = time.monotonic(), None
        while simulation.poll() is None:
            time.sleep(_LOOK_EVERY)
            trail = read_trail(folder, 1)
            now = time.monotonic()
            if first is None and trail.steps:
                first = now
            if first is None and now - begin > patience:
                raise Error(
                    f"nothing was published for {patience:.0f} s; a larger --seconds waits "
                    f"{_AT_LEAST:.0f} times as long{_said_in(folder)}"
                )
            # Publications may lie so far apart that there are not two in all that time.
            if first is not None and (ends(trail, now - first) or now - first > patience):
                break
    finally:
        _end(processes)
    trail = read_trail(folder)
    if simulation.returncode not in (0, None) and not trail.steps:
        raise Error(f"the program ended with status {simulation.returncode}{_said_in(folder)}")
    if len(trail.steps) < 2:
        raise Error(f"the program published too little to measure anything{_said_in(folder)}")
    return trail


def _started(words: Sequence[str], plan: Plan, said: IO[str]) -> "subprocess.Popen[bytes]":
    try:
        return subprocess.Popen(
            words,
            env={**os.environ, **plan.environment},
            stdin=subprocess.DEVNULL,
            stdout=said,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
    except OSError as error:
        raise Error(f"cannot start {words[0]}: {error.strerror}") from error


def _end(processes: "Sequence[subprocess.Popen[bytes]]") -> None:
    """The simulation first: what it prints then is nobody's concern."""
    for process in reversed(processes):
        if process.poll() is None:
            process.terminate()
    for process in processes:
        try:
            process.wait(10)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()


def _said_in(folder: Path) -> str:
    """The end of what was said, all of which is kept where this says."""
    text = (folder / "said").read_text(encoding="utf-8", errors="replace").rstrip()
    if not text:
        return ""
    handle, log = tempfile.mkstemp(prefix="pillion-advise-", suffix=".log", text=True)
    with open(handle, "w", encoding="utf-8") as file:
        file.write(text + "\n")
    return "\n  ".join(
        [f"; {log} has all that it said, at the end:", *text.splitlines()[-_LAST_LINES:]]
    )
