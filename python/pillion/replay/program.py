# SPDX-License-Identifier: BSD-3-Clause
"""The work of one rank of `pillion replay`, from the command line to its status: 0 success, 1
failure, 2 wrong command line.
"""

import contextlib
import json
import os
import signal
import sys
import traceback
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO

from pillion.datasets.lammps_dumps import catalogue_of_dumps
from pillion.datasets.nek_files import catalogue_of_nek
from pillion.errors import Error
from pillion.insitu.catalogue import Field
from pillion.insitu.opening import load_core
from pillion.insitu.opening import open as open_session
from pillion.insitu.session import Session
from pillion.replay.agreement import from_first, together
from pillion.replay.frames import Frame
from pillion.replay.options import Options, read_options
from pillion.replay.plan import expect_elsewhere, expect_kept, make_plan
from pillion.replay.player import Player, Tally
from pillion.replay.search import find_files
from pillion.replay.snapshots import gather_about

if TYPE_CHECKING:
    from mpi4py import MPI

# There is no simulation to be held up or to be kept safe: reading waits for sidecars as long as it
# takes, and they are in this job.
_OVERRIDES = {
    "sidecars.when_full": "wait",
    "sidecars.deadline": "1e9 s",
    "sidecars.spill": "null",
    "sidecars.job": "same",
    "sidecars.restart": "null",
    "sidecars.launch": "null",
}


def run(words: list[str]) -> int:
    """Returns the status. [collective over all ranks of the job]"""
    _choose_mpi()
    from mpi4py import MPI

    signal.signal(signal.SIGINT, signal.SIG_DFL)  # also while it waits within the library
    voice = Voice()
    try:
        return _run(words, voice, MPI.COMM_WORLD)
    except Error as error:  # alike on every rank
        voice.complain(MPI.COMM_WORLD, str(error))
        return 1
    except Exception:  # a defect; others may be waiting for this rank
        traceback.print_exc()
        MPI.COMM_WORLD.Abort(1)
        raise


def _choose_mpi() -> None:
    """Has mpi4py use the MPI that Pillion uses, as far as it can, and begin it as MPI_Init does.
    Raises Error if there is no mpi4py.
    """
    try:
        import mpi4py
    except ImportError:
        raise Error("replay needs the Python package mpi4py: pip install mpi4py") from None
    mpi4py.rc.threads = False
    with contextlib.suppress(ImportError):  # which opening a session explains
        from pillion import _core

        os.environ.setdefault("MPI4PY_LIBMPI", _core.mpi_file())


class Voice:
    """Prints messages of ranks. A message that concerns all comes from the first rank of a
    communicator.
    """

    def __init__(self) -> None:
        self._logged = ""

    def say(self, comm: "MPI.Comm", text: str, where: TextIO) -> None:
        if comm.rank == 0:
            where.write(f"pillion-replay: {text}\n")
            where.flush()

    def log(self, level: str, message: str) -> None:
        """For the session, on whichever rank it has something to say."""
        if level in ("warning", "error"):
            word = "warning: " if level == "warning" else ""
            sys.stderr.write(f"pillion-replay: {word}{message}\n")
            sys.stderr.flush()
            self._logged = message

    def complain(self, comm: "MPI.Comm", text: str) -> None:
        """A failure of the session was logged, and comes as an exception, too."""
        if text != self._logged:
            self.say(comm, text, sys.stderr)


def _run(words: list[str], voice: Voice, world: "MPI.Comm") -> int:
    try:
        options = read_options(words)
    except Error as error:
        voice.complain(world, f"{error} (see pillion replay --help)")
        return 2
    session = _open(options, voice, world)
    if session.serve():
        return 0
    comm = session.communicator.Dup()
    try:
        status = _play(session, options, comm, voice)
    except Error as error:  # alike on every rank of the simulation, which close together
        voice.complain(comm, str(error))
        status = 1
    session.close_or_warn()
    comm.Free()
    return status


def _open(options: Options, voice: Voice, world: "MPI.Comm") -> Session:
    def said() -> tuple[dict[str, str], str]:
        files = find_files(options.files)
        expect_elsewhere(files, options.configuration, options.output)
        about = gather_about(options.files, options.about)
        return about.parameters, catalogue_of_nek(files) or catalogue_of_dumps(files)

    together(world, load_core)  # which may be missing on one node alone
    of_files, catalogue = from_first(world, said)
    parameters = of_files | options.parameters
    output = {"output": _quoted(options.output)} if options.output else {}
    return open_session(
        options.configuration,
        world,
        parameters=parameters,
        overrides=_OVERRIDES | output,
        catalogue=catalogue,
        log=voice.log,
        serve=False,
    )


def _quoted(text: str) -> str:
    """As a text in a configuration."""
    return "'" + text.replace("'", "''").replace("$", "$$") + "'"


def _play(session: Session, options: Options, comm: "MPI.Comm", voice: Voice) -> int:
    from mpi4py import MPI

    report = session.report_path or Path()

    def plan() -> list[Frame]:
        expect_kept(find_files(options.files), options.configuration, report.parent)
        return make_plan(options, session.fields, lambda text: voice.log("warning", text))

    frames = from_first(comm, plan)
    used = [field for field in session.fields.values() if field.used]
    tally = Player(session, used, options.order, comm).play(frames)
    read = comm.allreduce(tally.bytes, MPI.SUM)
    session.close()
    faults = from_first(
        comm, lambda: faults_in(report.read_text(encoding="utf-8") if report.is_file() else "")
    )
    for fault in faults:
        voice.say(comm, fault, sys.stderr)
    summary = _summary(tally, frames, used, read)
    voice.say(comm, f"{summary}; products are in {_near(report.parent)}", sys.stdout)
    if tally.due == 0:
        voice.complain(comm, "nothing was due at any of these steps; see 'every'")
    return 1 if faults else 0


def faults_in(report: str) -> list[str]:
    """The faults of products in the text of report.json: analyses that failed, or that lack
    publications.
    """
    found: dict[str, Any] = json.loads(report) if report else {}
    faults = []
    for analysis in found.get("analyses", []):
        name = analysis["name"]
        if analysis.get("disabled") is not None:
            faults.append(f"analysis '{name}' failed: {analysis['disabled']}")
        for gap in ("skipped", "coarsened", "dropped", "lost"):
            if (count := int(analysis.get(gap) or 0)) > 0:
                faults.append(f"analysis '{name}' lacks steps: {count} {gap}")
    return faults


def _summary(tally: Tally, frames: list[Frame], fields: list[Field], read: int) -> str:
    return (
        f"{tally.steps} steps, {frames[0].step} to {frames[-1].step}; {tally.due} were due; "
        f"{len(fields)} fields, {read / 1e6:.1f} MB read"
    )


def _near(folder: Path) -> str:
    """A folder as people call it from here."""
    near = os.path.relpath(folder)
    return str(folder) if near.startswith("..") else near
