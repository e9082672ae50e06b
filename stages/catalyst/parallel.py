# SPDX-License-Identifier: BSD-3-Clause
"""ParaView's side of the stage `catalyst` in the process of a peer. All peers together are the
ranks of one ParaView, and each gives it its piece of the data. The stage calls these functions with
a line of JSON; an answer is "" or what went wrong. All peers have to call those marked [peers],
since ParaView exchanges messages in them.
"""

import ctypes
import gc
import json
import os
import signal
import sys
import traceback

import numpy as np
from pillion_catalyst import display
from pillion_catalyst.pipeline import Pipeline

# A library that ParaView uses for its log takes all of these; the sidecars need them.
SIGNALS = [signal.SIGHUP, signal.SIGINT, signal.SIGQUIT, signal.SIGTERM, signal.SIGUSR1]

pipelines: dict[int, Pipeline] = {}
reported: set[str] = set()
kept: list = []  # what ParaView needs for as long as any pipeline is there


def answers(function):
    def answer(text):
        try:
            return function(json.loads(text)) or ""
        except BaseException as error:
            traceback.print_exc()
            return f"{type(error).__name__}: {error}"

    return answer


@answers
def prepare(message):
    """Loads modules and starts a display, which may fail on one peer alone."""
    expect_this_python(message["prefix"])
    sys.path += [folder for folder in message["path"] if folder not in sys.path]
    expect_this_mpi(message["mpi"])
    import mpi4py

    mpi4py.rc.initialize = mpi4py.rc.finalize = False
    from mpi4py import MPI  # noqa: F401
    from paraview.catalyst import bridge  # noqa: F401
    from vtkmodules.vtkParallelMPI4Py import vtkMPI4PyCommunicator  # noqa: F401

    if message["display"] and not os.environ.get("DISPLAY"):
        display.start(message["display"])


def expect_this_python(wanted):
    """A process has one interpreter, and stages in Python may have started it."""
    if sys.base_prefix != wanted:
        raise RuntimeError(
            f"ParaView needs the Python in {wanted}, and this process has started the one in "
            f"{sys.base_prefix} for a stage in Python; run one of the two in an attached job"
        )


def expect_this_mpi(wanted):
    """Two libraries of MPI in a process crash it."""
    text, size = ctypes.create_string_buffer(8192), ctypes.c_int()
    ctypes.CDLL(None).MPI_Get_library_version(text, ctypes.byref(size))
    own = text.value.decode()
    if own.split(",")[0] != wanted.split(",")[0]:
        raise RuntimeError(f"ParaView's MPI is '{wanted}', and that of this process is '{own}'")


@answers
def start(message):
    """Starts ParaView if it was not, and the script. [peers]"""
    actions = [signal_action(number) for number in SIGNALS]
    if not kept:
        set_communicator(message["communicator"])
    pipelines[message["pipeline"]] = Pipeline(message["script"], message["channel"])
    for number, action in zip(SIGNALS, actions):
        signal_action(number, action)


def signal_action(number, new=None):
    """Sets and returns the kernel's action, which Python's module may know nothing of."""
    old = ctypes.create_string_buffer(512)
    if ctypes.CDLL(None).sigaction(int(number), new, old) != 0:
        raise RuntimeError(f"the action of signal {number} cannot be set")
    return old


def set_communicator(handle):
    """Has ParaView use a copy of a communicator, which is given by its Fortran handle."""
    from mpi4py import MPI
    from vtkmodules.vtkParallelMPI import vtkMPIController
    from vtkmodules.vtkParallelMPI4Py import vtkMPI4PyCommunicator

    own = MPI.Comm.f2py(handle).Dup()
    controller = vtkMPIController()
    controller.SetCommunicator(vtkMPI4PyCommunicator.ConvertToVTK(own))
    controller.BroadcastTriggerRMIOn()
    controller.SetGlobalController(controller)
    kept.extend([own, controller])


@answers
def execute(message):
    """Runs the script on this peer's piece. [peers]"""
    values = np.zeros(0)
    if message["count"] > 0:
        memory = ctypes.c_double * message["count"]
        values = np.frombuffer(memory.from_address(message["address"]))
    pipelines[message["pipeline"]].execute(message, values)


@answers
def compare(message):
    """Reports, once, ranges of colours that ParaView took from the data of each peer alone. [peers]

    ParaView's ranks each run the script, and none asks the others for extremes.
    """
    from paraview import servermanager

    tables = servermanager.ProxyManager().GetProxiesInGroup("lookup_tables")
    points = {name: list(table.RGBPoints) for (name, _), table in tables.items()}
    own = {name: (p[0], p[-4]) for name, p in points.items() if len(p) >= 4}
    for name, ranges in differing(kept[0].allgather(own)).items():
        if name in reported or message["peer"] != 0:
            continue
        reported.add(name)
        field = name.split(".PVLookupTable")[0]
        lo, hi = min(r[0] for r in ranges), max(r[1] for r in ranges)
        print(
            f"pillion: warning: stage 'catalyst': ranks draw '{field}' with different ranges of "
            f"colours, since the script {message['script']} takes them from the data, and each "
            f"rank has its own; set one behind the last ColorBy, for instance "
            f"GetColorTransferFunction('{field}').RescaleTransferFunction({lo:g}, {hi:g})",
            file=sys.stderr,
            flush=True,
        )


def differing(by_rank):
    """Ranges by name, where ranks have several."""
    names = {name for ranges in by_rank for name in ranges}
    found = {name: {ranges[name] for ranges in by_rank if name in ranges} for name in names}
    return {name: ranges for name, ranges in sorted(found.items()) if len(ranges) > 1}


@answers
def finalize(message):
    """Lets the script write what it has left. [peers]"""
    pipelines[message["pipeline"]].finalize()


@answers
def forget(message):
    """Ends ParaView with its last pipeline, since it must free its communicators before MPI ends.
    [peers]
    """
    from paraview.catalyst import bridge

    pipeline = pipelines.pop(message["pipeline"], None)
    if pipeline is not None:
        pipeline.finalize()
        del pipeline
    if pipelines or not kept:
        return
    bridge.coprocessor = None
    # Where a script has failed, Python keeps all that its functions knew.
    for name in ("last_type", "last_value", "last_traceback", "last_exc"):
        sys.__dict__.pop(name, None)
    own = kept[0]
    kept.clear()
    gc.collect()
    own.Free()
