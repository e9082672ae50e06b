# SPDX-License-Identifier: BSD-3-Clause
"""Short runs of the user's own program: which placements they try, when one has told enough, and
what is known of placements where the program failed. Each run is ended as soon as it has told
enough. The user's files stay as they are: a run has a configuration and an output folder of its
own, which are removed with it.
"""

import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Collection, Hashable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import IO

from pillion.advise.placement import Chain, Chains, Placement, cut_at, inside, mode_of
from pillion.advise.trace import ShortRun, Trace, read_trace
from pillion.errors import Error
from pillion.launch.launchers import Facts
from pillion.launch.plan import Plan, Wishes, make_plan
from pillion.launch.wanted import Kind, read_wanted
from pillion.progress import read_parts

_ENOUGH = 40  # publications of the rarest analysis
_LEAST_SEEN = 4
_FEWEST = 4  # publications of any, or nothing is measured
_LONGEST = 6.0  # times as long as was said, if less than the least has been seen
_LOOK_EVERY = 0.25  # seconds
_PATIENCE = 60.0  # seconds for the first publication,
_AT_LEAST = 20.0  # or so many times what a run is to last
_LAST_LINES = 15
_MANY = 1000  # files beside the configuration


@dataclass
class Attempts:
    """Placements in which the program ran, and those in which it failed, as one that needs a power
    of two of ranks, or a fixed grid. `failed` holds the reasons; the first line of each is enough.
    """

    ran: list[Placement] = field(default_factory=list)
    failed: dict[Placement, str] = field(default_factory=dict)

    def leaves_out(self, placement: Placement) -> bool:
        """Whether all attempted placements with its ranks or its cuts in common have failed."""
        return self._failed(
            placement, lambda p: (*_traits_of_ranks(p), p.cuts, ("beside", p.sidecars > 0))
        )

    def fails_on_ranks_of(self, placement: Placement) -> bool:
        """Whether an attempt would be useless."""
        return self._failed(placement, _traits_of_ranks)

    def _failed(
        self, placement: Placement, traits: Callable[[Placement], tuple[Hashable, ...]]
    ) -> bool:
        ran = {trait for other in self.ran for trait in traits(other)}
        failed = {trait for other in self.failed for trait in traits(other)}
        return any(trait in failed - ran for trait in traits(placement))

    @property
    def refused(self) -> set[int]:
        """Numbers of simulation ranks on which the program does not run."""
        return {p.simulation for p in self.failed} - {p.simulation for p in self.ran}

    def notes(self, considered: Sequence[Placement], chains: Sequence[Chain]) -> list[str]:
        out = [
            f"{placement} ranks, {mode_of(placement, chains)}: {why.splitlines()[0].rstrip(':')}"
            for placement, why in self.failed.items()
        ]
        if number := sum(map(self.leaves_out, considered)):
            out.append(
                f"{number} of {len(considered)} placements are left out, since the program failed "
                "wherever it ran on as many ranks, or cut alike"
            )
        return out


def _traits_of_ranks(placement: Placement) -> tuple[Hashable, ...]:
    """The placement, and what it has in common with others on such ranks."""
    return placement, placement.simulation, ("both", placement.simulation, placement.sidecars)


def plan_runs(
    ranks: int,
    sidecars: Sequence[int],
    chains: Sequence[Chain],
    cores: int,
    refused: Collection[int] = (),
) -> list[Placement]:
    """The placements to measure. Everything in the simulation, on all ranks and on fewer, gives the
    cost of steps and stages on each number. Each depth of the cut with the first number of sidecars
    gives the cost of crossing there. Then come the largest number of sidecars, and both sides on
    crowded cores if they will be crowded. `refused` are numbers of ranks on which the program does
    not run.
    """
    out = [inside(ranks, chains)]
    out += [inside(number, chains) for number in _fewer(ranks, sidecars, bool(refused))]
    if not sidecars:
        return out
    few = sidecars[0]
    most_apart = max(1, min(ranks, cores - few) if ranks + few > cores else ranks)
    ways = (most_apart, ranks // 2, ranks // 4, ranks // 8, ranks)
    simulation = next((n for n in ways if n > 0 and n not in refused), ranks)
    depth = max(len(chain.stages) for chain in chains)
    out += [cut_at(d, simulation, few, chains) for d in range(depth)]
    if ranks > (most := max(sidecars)) > few:
        out.append(cut_at(0, ranks - most, most, chains))
    if ranks + few > cores:
        out.append(cut_at(0, ranks, few, chains))
    return list(dict.fromkeys(out))


def _fewer(ranks: int, sidecars: Sequence[int], is_choosy: bool) -> list[int]:
    """Half, a quarter and an eighth; and what is left when sidecars are taken, if ranks are few, or
    if it is unknown on which numbers the program runs.
    """
    numbers = {ranks // 2, ranks // 4, ranks // 8}
    if sidecars and (ranks <= 4 or is_choosy):
        numbers |= {ranks - number for number in sidecars}
    return sorted((n for n in numbers if 0 < n < ranks), reverse=True)


def is_enough(
    trace: Trace, placement: Placement, chains: Sequence[Chain], since: float, wished: float
) -> bool:
    """Whether a run may be stopped after `since` seconds. `wished` seconds suffice if every
    analysis has been seen a few times. Without a few publications a run may never be stopped.
    """
    if len(trace.steps) < _FEWEST:
        return False
    seen = [_seen(trace, placement, number, chain) for number, chain in enumerate(chains)]
    # An analysis that waits for a condition may never publish.
    sure = [n for n, chain in zip(seen, chains) if chain.every is not None] or seen
    if min(sure) >= _ENOUGH and since >= wished / 2:
        return True
    return since >= wished * (1.0 if min(sure) >= _LEAST_SEEN else _LONGEST)


def _seen(trace: Trace, placement: Placement, number: int, chain: Chain) -> int:
    """Publications that came to the chain's last stage: others may withhold some from it."""
    cut = placement.cuts[number]
    in_sidecars = cut < len(chain.stages)
    ranks = trace.sidecars if in_sidecars else trace.simulation
    stages = len(chain.stages) - (cut if in_sidecars else 0)
    return sum(len(v.stages.get(chain.name, ())) == stages for v in ranks[0]) if ranks else 0


@dataclass(frozen=True)
class Runner:
    """Starts short runs. `kind` is how sidecars are reached, as in the configuration; `attach` is
    the program that sidecars of a separate job run.
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

    def run(self, placement: Placement) -> ShortRun:
        """Raises Error if the program fails, or publishes nothing."""
        # Other nodes see this folder, but not what is temporary here.
        where = Path.cwd() if self.facts.nodes > 1 else None
        with tempfile.TemporaryDirectory(prefix="pillion-advise-", dir=where) as name:
            folder = Path(name)
            plan = self._plan(placement, folder)
            with (folder / "said").open("w") as said:
                patience = max(_PATIENCE, _AT_LEAST * self.seconds)
                trace = _watched(plan, folder, said, self._ends(placement), patience)
            results = folder / "results"
            return ShortRun(placement, trace, bytes_in(results, self.chains), disabled_in(results))

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

    def _ends(self, placement: Placement) -> Callable[[Trace, float], bool]:
        return lambda trace, since: is_enough(
            trace, placement, self.chains.all, since, self.seconds
        )


def _beside(configuration: Path, folder: Path, text: str) -> Path:
    """A file in this new folder that has the same neighbours as the user's configuration, since
    stages and scripts are searched for there. If there are many neighbours, only the ones that the
    text names.
    """
    folder.mkdir()
    beside = list(configuration.absolute().parent.iterdir())
    for path in beside:
        if path.name != configuration.name and (len(beside) <= _MANY or path.name in text):
            (folder / path.name).symlink_to(path)
    return folder / configuration.name


def kind_of(kind: Kind) -> str:
    """The kind of sidecars; through the node if the configuration has none."""
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
    ends: Callable[[Trace, float], bool],
    patience: float,
) -> Trace:
    processes = [_started(words, plan, said) for words in (plan.sidecars, plan.simulation) if words]
    simulation = processes[-1]
    try:
        begin, first = time.monotonic(), None
        while simulation.poll() is None:
            time.sleep(_LOOK_EVERY)
            trace = read_trace(folder, 1)
            now = time.monotonic()
            if first is None and trace.steps:
                first = now
            if first is None and now - begin > patience:
                raise Error(
                    f"nothing was published for {patience:.0f} s; a larger --seconds waits "
                    f"{_AT_LEAST:.0f} times as long{_said_in(folder)}"
                )
            # Publications may lie so far apart that there are not two in all that time.
            if first is not None and (ends(trace, now - first) or now - first > patience):
                break
    finally:
        _end(processes)
    trace = read_trace(folder)
    if simulation.returncode not in (0, None) and not trace.steps:
        raise Error(f"the program ended with status {simulation.returncode}{_said_in(folder)}")
    if len(trace.steps) < 2:
        raise Error(f"the program published too little to measure anything{_said_in(folder)}")
    return trace


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
    """The simulation first: what it prints after that does not matter."""
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
    """The last lines of the output, and the file that keeps all of it."""
    text = (folder / "said").read_text(encoding="utf-8", errors="replace").rstrip()
    if not text:
        return ""
    handle, log = tempfile.mkstemp(prefix="pillion-advise-", suffix=".log", text=True)
    with open(handle, "w", encoding="utf-8") as file:
        file.write(text + "\n")
    return "\n  ".join(
        [f"; {log} has all that it said, at the end:", *text.splitlines()[-_LAST_LINES:]]
    )


def interleaved(
    runner: Runner,
    planned: Callable[[], list[Placement]],
    rounds: int,
    attempts: Attempts,
    which: str = "",
) -> list[ShortRun]:
    """Interleaved runs of the planned placements, each once a round. The plan may change when the
    program fails on some ranks.
    """
    out: list[ShortRun] = []
    number = 0
    for after in reversed(range(rounds)):
        done: set[Placement] = set()
        while left := [p for p in planned() if p not in done and not attempts.fails_on_ranks_of(p)]:
            where = f"{left[0]} ranks, {mode_of(left[0], runner.chains.all)}"
            number += 1
            total = number - 1 + len(left) + after * len(done | set(left))
            _say(f"run {number} of {total}{which}: {where}")
            done.add(left[0])
            out += _attempt(runner, left[0], attempts)
    return out


def _attempt(runner: Runner, placement: Placement, attempts: Attempts) -> list[ShortRun]:
    """Nothing if the program fails there. Raises Error if it is the first, with all inside,
    since all other runs are compared with that one.
    """
    try:
        short_run = runner.run(placement)
    except Error as error:
        if not attempts.ran:
            raise Error(
                f"{error}\nWithout this run, on {placement} ranks, there is no advice; if the "
                "program needs another number of ranks, set it with -n"
            ) from error
        attempts.failed[placement] = str(error)
        _say(f"that is left out: {error}")
        return []
    attempts.ran.append(placement)
    return [short_run]


def _say(text: str) -> None:
    print(f"pillion advise: {text}", file=sys.stderr, flush=True)
