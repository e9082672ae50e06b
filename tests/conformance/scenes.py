# SPDX-License-Identifier: BSD-3-Clause
"""Runs of the drivers: frames, what is analysed, and where. Sidecars of a job of their own are
started by the test when the simulation has come to a place that does not depend on how fast
anything is.
"""

import subprocess
import uuid
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import limits
from conftest import launcher, mpirun
from frames import Frame, write_frames


@dataclass(frozen=True)
class Placement:
    """Where the stages run and how the simulation's data are divided. No sidecars: in it.

    Through the `network` there are so many sidecars in the run; through a `node`'s memory, so many
    on every node; a `separate` job has so many ranks.
    """

    simulation: int
    sidecars: int
    decomposition: str
    through: str = "network"
    nodes: int = 1  # pretended
    buffers: int = 0  # of memory from pillion_allocate; 0: memory of the program's own
    when_full: str = "wait"
    memory: str = "256 KiB"  # so little that `wait` does have to wait
    deadline: str = "60 s"

    def __str__(self) -> str:
        text = f"{self.simulation}+{self.sidecars}-{self.decomposition}"
        text += f"-{self.through}{self.nodes}" if self.by_node else ""
        text += f"-{self.buffers}buffers" if self.buffers else ""
        return text + (f"-{self.when_full}" if self.when_full != "wait" else "")

    @property
    def by_node(self) -> bool:
        return self.through != "network"

    @property
    def ranks(self) -> int:
        """Of the simulation's job."""
        own = {"network": self.sidecars, "node": self.sidecars * self.nodes, "separate": 0}
        return self.simulation + own[self.through]

    @property
    def head(self) -> str:
        """What the configuration says of it."""
        if self.sidecars == 0:
            return ""
        policy = f"when_full: {self.when_full}, deadline: {self.deadline}"
        if not self.by_node:
            return f"sidecars: {{ranks: {self.sidecars}, {policy}}}\n"
        policy += f", memory: {self.memory}"
        policy += ", spill: {folder: .}" if self.when_full == "spill" else ""
        job = "job: separate" if self.through == "separate" else f"per_node: {self.sidecars}"
        return f"sidecars: {{{job}, {policy}}}\n"


class SidecarJob:
    """A separate job of sidecars, and its messages."""

    def __init__(self, build: Path, folder: Path, run: str, ranks: int):
        self.log = folder / "attach.txt"
        command = [build / "bin" / "pillion-attach", run, "--wait", "60"]
        if ranks > 1:
            command = [*launcher(), "-n", ranks, *command]
        with self.log.open("w") as log:
            self.process = subprocess.Popen(
                [str(word) for word in command], cwd=folder, stdin=subprocess.DEVNULL, stderr=log
            )

    def await_joined(self) -> None:
        wait_for(
            lambda: "have joined" in self.log.read_text() or self.process.poll() is not None,
            "sidecars join",
        )
        assert self.process.poll() is None, self.log.read_text()

    def await_end(self) -> None:
        assert limits.wait(self.process, 60) == 0, self.log.read_text()

    def stop(self) -> None:
        if self.process.poll() is None:
            self.process.kill()
            limits.wait(self.process, 10)


def new_run() -> str:
    """A name that no other run on this machine has."""
    return f"conformance-{uuid.uuid4().hex}"


def wait_for(what, why: str, seconds: float = 60) -> None:
    limits.until(what, seconds, f"waited in vain: {why}", 0.01)


def play_beside_sidecars(build, folder: Path, run: str, placement: Placement, play):
    """Plays with sidecars in a job of their own: they come when the driver says that it waits, and
    it goes on when they are there."""
    here, go = folder / "meet.here", folder / "meet"
    with ThreadPoolExecutor() as pool:
        simulation = pool.submit(play)
        wait_for(lambda: here.exists() or simulation.done(), "the driver comes to the place")
        if simulation.done():
            return simulation.result()
        sidecar_job = SidecarJob(build, folder, run, placement.sidecars)
        try:
            sidecar_job.await_joined()
            go.touch()
            done = simulation.result()
            sidecar_job.await_end()
        finally:
            go.touch()
            sidecar_job.stop()
    return done


@dataclass
class Scene:
    """Frames, the catalogue that describes them, and analyses: everything but the placement."""

    name: str
    frames: list[Frame]
    catalogue: str
    analyses: str
    driver: str
    arguments: tuple = ()

    def prepare(
        self,
        folder: Path,
        placement: Placement,
        *,
        run: str = "",
        restart: Path | None = None,
        first: int = 0,
        last: int | None = None,
    ) -> list:
        """Writes frames and configuration into a folder; returns the driver's arguments."""
        folder.mkdir(parents=True, exist_ok=True)
        write_frames(folder / "frames", self.frames)
        config = folder / "pillion.yaml"
        head = f"output: {folder / 'results'}\n" + placement.head
        head += f"run: {run or new_run()}\n"
        if restart:
            head += f"restart: {restart}\n"
        config.write_text(head + self.catalogue + self.analyses, encoding="utf-8")
        return [
            *("--config", config, "--frames", folder / "frames"),
            *("--decomposition", placement.decomposition, "--buffers", placement.buffers),
            *("--from", first, "--to", len(self.frames) if last is None else last),
            *self.arguments,
        ]

    def run(
        self,
        build: Path,
        folder: Path,
        placement: Placement,
        *,
        restart: Path | None = None,
        checkpoint: Path | None = None,
        first: int = 0,
        last: int | None = None,
        meet_at: int | None = None,
        fails: bool = False,
    ):
        """Plays frames [first, last); returns (output folder, CompletedProcess).

        Separate sidecars come before frame `meet_at`; by default the first, or after the last if
        something is to be spilled.
        If the run is one that `fails`, what it says on standard error is for the caller to check.
        """
        last = len(self.frames) if last is None else last
        run = new_run()
        arguments = self.prepare(
            folder, placement, run=run, restart=restart, first=first, last=last
        )
        if checkpoint:
            arguments += ["--checkpoint", checkpoint]
        if fails:
            arguments += ["--failure-status", 0]
        if placement.through == "separate":
            arguments += ["--meet", folder / "meet"]
            if meet_at is None:
                meet_at = last if placement.when_full == "spill" else first
            arguments += ["--meet-at", meet_at]

        def play():
            return mpirun(
                placement.ranks,
                build / "tests" / "conformance" / self.driver,
                *arguments,
                timeout=180,
                env={"PILLION_PRETEND_NODES": placement.nodes} if placement.by_node else None,
                cwd=folder,
            )

        if placement.through == "separate":
            done = play_beside_sidecars(build, folder, run, placement, play)
        else:
            done = play()
        (folder / "frames").unlink()
        return folder / "results", done
