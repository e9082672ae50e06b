# SPDX-License-Identifier: BSD-3-Clause
"""One run of node_driver with separate sidecars, all of whose choices come from a seed: ranks,
nodes, sidecar jobs, policy, budget, restarts. Starts and finds its processes, each under a limit.

It works in name spaces of its own where the machine allows it, so that its process numbers and its
/dev/shm are its own and a small disk can be mounted; see node_fault.py.
"""

import os
import random
import signal
import subprocess
import sys
import time
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))
import limits
from conftest import launcher

MARK = "PILLION_FAULT_CASE"
LIMIT = 60  # seconds for anything


class PromiseError(Exception):
    """The program broke a promise."""


@dataclass
class Choices:
    """What a run looks like. Kinds of faults overrule some of it."""

    ranks: int
    nodes: int
    sidecar_job: int
    policy: str
    memory: str
    deadline: float
    restart: int
    steps: int
    milliseconds: int
    allocate: bool
    products_every: int
    checkpoint: float  # after which part of the steps; 0 for none
    columns: int = 64
    mishap: dict = field(default_factory=dict)
    spill: str = ""


def draw(dice: random.Random) -> Choices:
    ranks = dice.randint(1, 3)
    return Choices(
        ranks=ranks,
        nodes=dice.randint(1, min(ranks, 2)),
        sidecar_job=dice.randint(1, min(ranks, 2)),
        policy=dice.choice(["skip", "wait", "coarsen", "spill"]),
        memory=dice.choice(["96 KiB", "8 MiB"]),
        deadline=dice.choice([0.3, 1.0, 2.5]),  # also one that half a second is little of
        restart=dice.choice([0, 3]),
        steps=dice.randint(250, 450),
        milliseconds=dice.randint(2, 4),
        allocate=dice.random() < 0.3,
        products_every=dice.choice([0, 1, 10]),
        checkpoint=dice.choice([0, dice.uniform(0.2, 0.9)]),
    )


def configuration(c: Choices, launch: str) -> str:
    spill = f", spill: {{folder: {c.spill or '.'}}}" if c.policy == "spill" else ""
    restart = f", restart: {c.restart}, launch: '{launch}'" if c.restart else ""
    mishap = ", ".join(f"{key}: {value}" for key, value in c.mishap.items())
    return f"""
output: out
run: case
sidecars: {{job: separate, memory: {c.memory}, when_full: {c.policy},
           deadline: {c.deadline} s, attached: {{time: 100 %}}{restart}{spill}}}
meshes: {{grid: {{kind: uniform, cells: [{c.columns}, 16]}}, atoms: {{kind: particles}}}}
fields:
  density: {{mesh: grid, type: float64, units: kg}}
  id: {{mesh: atoms, type: int64}}
  velocity: {{mesh: atoms, type: float64, components: 3}}
analyses:
  sums: {{products_every: {c.products_every}, stages: [{{statistics: {{fields: [density]}}}}]}}
  spread: {{every: 4, stages: [{{histogram: {{field: density, range: [0, 1], bins: 8}}}}]}}
  motion: {{every: 2, stages: [{{statistics: {{fields: [velocity]}}}}]}}
  seen: {{products_every: 1, stages: [{{mishap: {{{mishap}}}}}]}}
"""


EVERY = {"sums": 1, "spread": 4, "motion": 2, "seen": 1}


def due(analysis: str, steps: int) -> int:
    return -(-steps // EVERY[analysis])


class Case:
    def __init__(self, build: Path, folder: Path, kind: str, seed: int):
        self.build, self.folder, self.seed = build, folder, seed
        self.dice = random.Random(f"{kind} {seed}")
        self.choices = draw(self.dice)
        self.simulation: subprocess.Popen | None = None
        self.sidecar_jobs: dict[str, subprocess.Popen] = {}
        self.harmed: set[str] = set()  # sidecar jobs that something was done to
        self.replacements = 0  # sidecar jobs that the run sent for and that came
        self.began = self.lasted = 0.0
        self.private = False  # whether process numbers and /dev/shm are the case's own

    # Starting -------------------------------------------------------------------------------------

    def environment(self, sidecar_job: str = "") -> dict[str, str]:
        own = str(self.folder / "tmp")
        (self.folder / "tmp").mkdir(exist_ok=True)
        return {
            **os.environ,
            MARK: f"{self.seed}/{os.getpid()}/{sidecar_job}",
            "PILLION_STAGE_PATH": str(self.build / "tests" / "faults" / "stages"),
            "PILLION_PRETEND_NODES": str(self.choices.nodes),
            "TMPDIR": own,
            # Process numbers are the case's own, and those of other cases have left files by them.
            "OMPI_MCA_orte_tmpdir_base": own,
        }

    def popen(self, command, name: str, sidecar_job: str = "", **more) -> subprocess.Popen:
        with open(self.folder / f"{name}.log", "ab") as log:
            return subprocess.Popen(
                [str(word) for word in command],
                cwd=self.folder,
                env=self.environment(sidecar_job),
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
                **more,
            )

    def attach_command(self, *more) -> list:
        program = self.build / "bin" / "pillion-attach"
        ranks = (
            [] if self.choices.sidecar_job == 1 else [*launcher(), "-n", self.choices.sidecar_job]
        )
        return [*ranks, program, *more]

    def driver(self, program: str, milliseconds: int, state: str) -> list:
        c = self.choices
        command = [*launcher(), "-n", c.ranks, self.build / "tests" / "faults" / program]
        checkpoint = int(c.checkpoint * c.steps) if c.checkpoint else -1
        command += ["pillion.yaml", c.columns, c.steps, milliseconds, state, checkpoint]
        return command + (["allocate"] if c.allocate else [])

    def start(self):
        launch = " ".join(str(word) for word in self.attach_command("--wait", "5", "{run}"))
        launch += f" 2>>{self.folder}/again.log"
        (self.folder / "pillion.yaml").write_text(configuration(self.choices, launch))
        self.began = time.monotonic()
        self.simulation = self.popen(
            self.driver("node_driver", self.choices.milliseconds, "state"), "simulation"
        )

    def attach(self, name: str, *more, wait: int = 10, **options) -> subprocess.Popen:
        self.sidecar_jobs[name] = self.popen(
            self.attach_command("case", *more, "--wait", wait), name, name, **options
        )
        return self.sidecar_jobs[name]

    def undisturbed(self):
        """The same run without Pillion; what it leaves is in `expected`."""
        process = self.popen(self.driver("node_driver_noop", 0, "expected"), "noop")
        if limits.wait(process, LIMIT) != 0:
            raise PromiseError("the driver without Pillion failed")

    # Finding --------------------------------------------------------------------------------------

    def processes(self, program: str = "", sidecar_job: str | None = None) -> list[int]:
        """Living processes of this case, by the name of their program and by sidecar job."""
        found = []
        mark = f"{MARK}={self.seed}/{os.getpid()}/".encode()
        for entry in Path("/proc").glob("[0-9]*"):
            try:
                environ = (entry / "environ").read_bytes().split(b"\0")
                words = (entry / "cmdline").read_bytes().split(b"\0")
                state = (entry / "stat").read_text().rpartition(")")[2].split()[0]
            except OSError:
                continue
            mine = [e for e in environ if e.startswith(mark)]
            if not mine or state == "Z" or b"--answer" in words:
                continue
            if program and Path(words[0].decode()).name != program:
                continue
            if sidecar_job is None or mine[0] == mark + sidecar_job.encode():
                found.append(int(entry.name))
        return sorted(found)

    def sidecar_job_of(self, pid: int) -> str:
        try:
            environ = Path(f"/proc/{pid}/environ").read_bytes().split(b"\0")
        except OSError:
            return ""
        mine = [e.decode() for e in environ if e.startswith(MARK.encode() + b"=")]
        return mine[0].rpartition("/")[2] if mine else ""

    def attached(self, sidecar_job: str | None = None) -> list[int]:
        return self.processes("pillion-attach", sidecar_job)

    def simulating(self) -> bool:
        return self.simulation.poll() is None

    def await_that(self, what: str, condition, seconds: float = LIMIT) -> bool:
        """Waits until it is so; False if the simulation ended before."""
        try:
            answer = limits.until(
                lambda: ("so",) if condition() else not self.simulating(), seconds, what, 0.01
            )
        except AssertionError as late:
            raise PromiseError(late) from None
        return answer == ("so",)

    def await_joined(self, name: str, times: int = 1) -> bool:
        log = self.folder / f"{name}.log"
        return self.await_that(
            f"{name} joins", lambda: log.exists() and log.read_text().count("have joined") >= times
        )

    def await_gone(self, pids: list[int]) -> bool:
        return self.await_that("a signal works", lambda: not set(pids) & set(self.processes()))

    def happened(self) -> bool:
        """Whether the stage has struck, in whichever sidecar job came to that point first."""
        once = self.folder / "once"
        if not once.exists():
            return False
        self.harmed.add(once.read_text().rpartition("/")[2] or "sidecar job")
        return True

    # Disturbing -----------------------------------------------------------------------------------

    def signal(self, pids: list[int], number: int) -> list[int]:
        for pid in pids:
            try:
                self.harmed.add(self.sidecar_job_of(pid))
                os.kill(pid, number)
            except ProcessLookupError:
                pass
        return pids

    def some(self, pids: list[int]) -> list[int]:
        """One of the processes or all of them."""
        return pids if self.dice.random() < 0.4 or not pids else [self.dice.choice(pids)]

    def pause(self, most: float):
        time.sleep(self.dice.random() * most)

    # Ending ---------------------------------------------------------------------------------------

    def await_end(self):
        try:
            limits.wait(self.simulation, LIMIT)
        except subprocess.TimeoutExpired:
            raise PromiseError(f"the simulation has not ended after {LIMIT} s") from None
        self.lasted = time.monotonic() - self.began

    def await_sidecar_jobs(self):
        """Sidecars leave by themselves."""
        for name, sidecar_job in self.sidecar_jobs.items():
            try:
                if self.choices.mishap.get("how") == "stop":
                    self.await_or_kill(sidecar_job)
                limits.wait(sidecar_job, LIMIT / 2)
            except subprocess.TimeoutExpired:
                # A launcher that was starved of memory itself may wait for ever, without any rank.
                if name in self.harmed and not self.attached(name):
                    self.signal(self.processes(sidecar_job=name), signal.SIGKILL)
                    continue
                raise PromiseError(
                    f"'{name}' goes on {LIMIT / 2} s after the end of the run"
                ) from None
        end = limits.Limit(LIMIT / 2)
        while self.processes():
            if end.over():
                raise PromiseError(f"processes are left over: {self.describe(self.processes())}")
            time.sleep(0.02)

    def await_or_kill(self, sidecar_job: subprocess.Popen):
        """Sidecars that a stage stops after the end of the simulation would never leave."""
        end = limits.Limit(LIMIT / 2)
        while sidecar_job.poll() is None and not end.over():
            if self.happened():
                self.signal(self.attached("sidecar job"), signal.SIGKILL)
            time.sleep(0.05)

    @staticmethod
    def describe(pids: list[int]) -> str:
        lines = []
        for pid in pids:
            try:
                words = Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode()
                wait = Path(f"/proc/{pid}/wchan").read_text()
            except OSError:
                continue
            lines.append(f"{pid} in {wait}: {words}")
        return "\n".join(lines)

    def kill_all(self):
        for pid in self.processes():
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        for process in [self.simulation, *self.sidecar_jobs.values()]:
            if process is not None:
                limits.wait(process, 10)
