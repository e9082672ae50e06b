# SPDX-License-Identifier: BSD-3-Clause
"""A cluster of tools/cluster as tests use it: commands on its nodes, jobs, nodes that fail, and a
folder for each test with configurations for each placement of sidecars.
"""

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import cores
import limits

TOP = Path(__file__).resolve().parents[2]
TOOLS = TOP / "tools/cluster"
OWNER = 2001  # the number of the user ana

# Ranks outnumber the cores of this machine: those that wait let others work.
ENVIRONMENT = {"OMPI_MCA_mpi_yield_when_idle": "1"}

# A job of some hundred ends in MPI_Init, before any code of Pillion: the TCP transport of Open MPI
# 4.1.4 calls a null pointer. Its issue 10734 has the same message; the cause is not known.
_BROKEN_START = "Open MPI failed to TCP connect to a peer MPI process"

CONFIGURATION = """\
output: {name}
parameters: {{n: 32, id: 0}}
{sidecars}
units: {{time: s}}
meshes:
  cube: {{kind: uniform, cells: [$n, $n, $n], length: [1, 1, 1], units: m, periodic: true}}
fields:
  temperature: {{mesh: cube, type: float64, units: K}}
analyses:
{analyses}"""
ANALYSES = """\
  decay: {{every: 10 steps, stages: [statistics: {{fields: [temperature]{at}}}]}}
  spectrum: {{every: 50 steps, stages: [power_spectrum: {{field: temperature{at}}}]}}
  fields: {{every: 100 steps, stages: [write_hdf5: {{fields: [temperature]{at}}}]}}
"""


@dataclass
class Cluster:
    """The nodes login, n0, n1, ... of a folder; `build` is the build that they run."""

    folder: Path
    build: Path
    options: list[str] = field(default_factory=list)

    @property
    def nodes(self) -> int:
        found = re.search(r"nodes=(\d+)", (self.folder / "run/cluster").read_text())
        assert found
        return int(found[1])

    @property
    def python(self) -> str:
        return sys.executable

    @property
    def heat(self) -> str:
        return str(self.build / "examples/heat/heat")

    def start(self) -> None:
        python = Path(os.path.realpath(sys.executable)).parents[1]
        keep = [*self._kept(), "--keep", str(python)]
        words = [TOOLS / "setup.sh", "--dir", self.folder, *keep, *self.options]
        limits.run(words, timeout=120, check=True)

    def stop(self) -> None:
        limits.run([TOOLS / "teardown.sh", "--dir", self.folder], timeout=60)

    def _kept(self) -> list[str]:
        return ["--keep", str(self.build)]

    def on(
        self, node, *words, folder="", user="ana", env=None, timeout: float = 60
    ) -> subprocess.CompletedProcess:
        """A command on a node, to its end; its standard error is part of its output."""
        how = self._words(node, words, env)
        return limits.run(
            how,
            env=self._environment(folder, user),
            timeout=timeout,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            stdin=subprocess.DEVNULL,
            text=True,
            errors="replace",
        )

    def begin(self, node, *words, folder="", user="ana", env=None, out=None) -> subprocess.Popen:
        """The same, without waiting for its end."""
        return subprocess.Popen(
            self._words(node, words, env),
            env=self._environment(folder, user),
            stdin=subprocess.DEVNULL,
            stdout=out or subprocess.DEVNULL,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )

    def _words(self, node, words, env) -> list[str]:
        given = [f"{name}={value}" for name, value in {**ENVIRONMENT, **(env or {})}.items()]
        return [str(TOOLS / "on"), node, "env", *given, *map(str, words)]

    def _environment(self, folder, user) -> dict[str, str]:
        path = (
            f"{self.build}/bin:{Path(sys.executable).parent}:/usr/local/bin:/usr/bin:/bin:/usr/sbin"
        )
        return {
            **os.environ,
            "CLUSTER_DIR": str(self.folder),
            "PATH_OF": path,
            "FOLDER": str(folder),
            "USER_OF": user,
        }

    # --- jobs ---

    def jobs(self) -> str:
        return self.on("login", "squeue", "-h").stdout

    def await_idle(self, timeout: float = 60) -> None:
        """Until no job is left."""
        limits.until(lambda: not self.jobs(), timeout, lambda: f"jobs end:\n{self.jobs()}", 0.2)

    def cancel_all(self) -> None:
        self.on("login", "scancel", "--user=ana")
        self.on("login", "scancel", "--user=ben")
        try:
            self.await_idle(30)
        except AssertionError:
            self.on("login", "scancel", "--signal=KILL", "--full", "--user=ana")
            self.await_idle(30)

    # --- nodes that fail ---

    @contextmanager
    def patient(self, seconds: int) -> Iterator[None]:
        """Slurm waits so long for nodes that do not answer, as most clusters do, before it ends
        their jobs.
        """
        file = self.folder / "etc/slurm/slurm.conf"
        before = file.read_text()
        try:
            self._reconfigure(re.sub(r"SlurmdTimeout=\d+", f"SlurmdTimeout={seconds}", before))
            yield
        finally:
            self._reconfigure(before)

    def _reconfigure(self, text: str) -> None:
        (self.folder / "etc/slurm/slurm.conf").write_text(text)
        done = self.on("login", "scontrol", "reconfigure", user="root")
        assert done.returncode == 0, done.stdout

    def kill(self, node: str) -> None:
        self._node("kill", node)

    def restart(self, node: str) -> None:
        self._node("start", node)

    def unplug(self, node: str) -> None:
        self._node("unplug", node)

    def plug(self, node: str) -> None:
        self._node("plug", node)

    def repair(self) -> None:
        """All nodes up and joined, as a test found them."""
        for node in ["login", *(f"n{n}" for n in range(self.nodes))]:
            if not (self.folder / f"run/{node}.up").exists():
                self.restart(node)
            self.plug(node)
        limits.until(
            lambda: (
                self.on("login", "sinfo", "-h", "-t", "idle", "-o", "%D").stdout.strip()
                == str(self.nodes)
            ),
            60,
            lambda: "all nodes are idle:\n" + self.on("login", "sinfo").stdout,
            0.2,
        )

    def _node(self, verb: str, node: str) -> None:
        limits.run([TOOLS / "node.sh", verb, self.folder, node], timeout=60, check=True)


class Case:
    """A test's folder in the home of the user ana, and what happens in it."""

    def __init__(self, cluster: Cluster, name: str):
        self.cluster = cluster
        self.inside = f"/home/ana/{name}"  # as nodes see it
        self.folder = cluster.folder / "home/ana" / name
        shutil.rmtree(self.folder, ignore_errors=True)
        self.folder.mkdir()
        os.chown(self.folder, OWNER, OWNER)

    def write(self, name: str, text: str) -> None:
        path = self.folder / name
        path.write_text(text)
        os.chown(path, OWNER, OWNER)

    def configure(
        self,
        name: str,
        sidecars: str = "",
        *,
        memory: str = "128 MiB",
        when_full: str = "wait",
        at: str = "",
        analyses: str | None = None,
        more: str = "",
    ) -> str:
        """Writes NAME.yaml, whose products go to NAME: the same analyses, whatever the sidecars."""
        placed = f"sidecars: {{{sidecars}, memory: {memory}, when_full: {when_full}{more}}}"
        where = f", at: {at}" if at else ""
        text = CONFIGURATION.format(
            name=name,
            sidecars=placed if sidecars else "",
            analyses=ANALYSES.format(at=where) if analyses is None else analyses,
        )
        self.write(f"{name}.yaml", text)
        return f"{name}.yaml"

    def on(self, node, *words, timeout: float = 60, **how) -> subprocess.CompletedProcess:
        """Once more if MPI itself could not start; see _BROKEN_START."""
        for is_last in (False, True):
            done = self.cluster.on(node, *words, folder=self.inside, timeout=timeout, **how)
            if is_last or done.returncode == 0 or _BROKEN_START not in done.stdout:
                break
            print(f"again, since Open MPI could not start: {done.stdout}")
        return done

    def begin(self, node, *words, **how) -> subprocess.Popen:
        return self.cluster.begin(node, *words, folder=self.inside, **how)

    def salloc(self, options: str, *words, timeout: float = 60, **how):
        """A command in an allocation, started on the login node."""
        return self.on("login", "salloc", "-Q", *options.split(), *words, timeout=timeout, **how)

    def sbatch(self, options: str, script: str, **how) -> str:
        """The number of a batch job, whose output goes to the file `out`."""
        self.write("job.sh", f"#!/bin/bash\n{script}\n")
        words = ["sbatch", "--parsable", "-o", "out", *options.split(), "job.sh"]
        done = self.on("login", *words, **how)
        assert done.returncode == 0, done.stdout
        return done.stdout.split()[-1]

    def finish(self, options: str, script: str, timeout: float = 60, **how) -> str:
        """Runs a batch job to its end, and returns its output."""
        self.sbatch(options, script, **how)
        self.until(
            lambda: not self.cluster.jobs(),
            timeout,
            lambda: f"jobs end\n{self.cluster.jobs()}\n{cores.stacks(OWNER)}",
        )
        return self.text("out")

    def jobs_of(self, job: str) -> str:
        """The lines of squeue for a job; empty once it has ended."""
        return self.on("login", "squeue", "-h", "-j", job).stdout

    def text(self, name: str) -> str:
        path = self.folder / name
        return path.read_text(errors="replace") if path.exists() else ""

    def json(self, name: str) -> dict:
        """What a file holds; {} as long as there is none, or a part of it."""
        try:
            return json.loads((self.folder / name).read_text())
        except (OSError, ValueError):
            return {}

    def until(self, holds, timeout: float, what: str | Callable[[], str]):
        def message() -> str:
            return f"{what if isinstance(what, str) else what()}\n{self.told()}"

        return limits.until(holds, timeout, message, 0.1)

    def counts(self, output: str) -> dict[str, int]:
        """Of all analyses of a run together; fails without a report."""
        report = self.json(f"{output}/report.json")
        assert report, f"{output} has no report\n{self.told()}"
        names = ("publications", "lost", "dropped", "skipped")
        return {name: sum(a[name] for a in report["analyses"]) for name in names}

    def assert_complete(self, output: str, publications: int | None = None) -> None:
        counts = self.counts(output)
        assert (counts["lost"], counts["dropped"]) == (0, 0), f"{counts}\n{self.told()}"
        assert counts["publications"] > 0, counts
        assert publications is None or counts["publications"] == publications, counts

    def told(self) -> str:
        """What its jobs have printed, for messages."""
        files = sorted(p for p in self.folder.glob("*") if p.is_file() and p.suffix != ".yaml")
        return "".join(f"--- {p.name}\n{p.read_text(errors='replace')[-3000:]}\n" for p in files)

    def run_heat(self, configuration: str, steps: int, *options, n: int = 32) -> list[str]:
        """The words that start the example `heat` with `pillion run`."""
        words = [*map(str, options), configuration, "--", self.cluster.heat, str(n), str(steps)]
        # Slurm counts more cores than there are; Open MPI refuses to pin two ranks to one.
        free = ["--launcher-option=--bind-to", "--launcher-option=none"]
        return ["pillion", "run", *(free if "mpirun" in words else []), *words]

    def shell(self, words) -> str:
        return shlex.join(map(str, words))


def why_not() -> str:
    """Why there can be no cluster on this machine; empty if there can."""
    done = limits.run([TOOLS / "why_not.sh"], capture_output=True, text=True)
    return "" if done.returncode == 0 else done.stdout.strip() or "tools/cluster/why_not.sh failed"
