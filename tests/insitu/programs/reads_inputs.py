# SPDX-License-Identifier: BSD-3-Clause
"""A simulation that reads its grid from inputs with the communicator of its session, so that it
opens this in two phases. It sets two scalars at each step. `fault` in the JSON text on
the command line names something that it does wrong.
"""

import json
import sys
import time
from pathlib import Path

import numpy as np
import pillion


def offer(session, cells, fault):
    comm = session.communicator
    if fault == "another catalogue" and comm.rank == 1:
        cells += 1
    if fault != "no parameter":
        many = 2 if fault == "another value" and comm.rank == 1 else 1
        session.set_parameter("interval", many)
    if fault == "sidecars":
        session.set_parameter("sidecars", 0)
    mesh = f"meshes: {{line: {{kind: uniform, cells: [{cells}]}}}}\n"
    session.offer_catalogue(
        mesh
        + "fields: {height: {mesh: line, type: float64}}\n"
        + "scalars: {a: {}, dt: {units: Gyr}}\n"
    )


def simulate(session, wanted):
    comm = session.communicator
    fault = wanted.get("fault", "")
    try:
        session.share("height", np.zeros(1))
    except pillion.Error as error:
        assert "pillion_configure" in str(error), error
    inputs = comm.bcast({"cells": 12} if comm.rank == 0 else None)
    offer(session, inputs["cells"], fault)
    if fault == "closes" or (fault == "one closes" and comm.rank == 1):
        return
    if fault == "only steps":
        session.step(0, 0.0)
        assert set(session.fields) == {"height"}
        return
    session.configure()
    session.configure()  # does nothing
    try:
        session.set_parameter("interval", 7)
        raise AssertionError("the parameter came too late")
    except pillion.Error as error:
        assert "too late" in str(error), error
    first, last = (inputs["cells"] * (comm.rank + n) // comm.size for n in (0, 1))
    height = np.zeros(last - first)
    session.share("height", height, lo=(first,))
    session.set_units("a", "1")
    if fault == "unknown scalar":
        session.set_scalar("b", 1.0)
    while wanted.get("awaits") and not Path(wanted["awaits"]).exists():
        time.sleep(0.01)
    begin = wanted.get("begin", 0)
    for step in range(begin, begin + wanted["steps"]):
        differs = fault == "scalars differ" and comm.rank == 1 and step == 5
        if fault != "unset":
            session.set_scalar("a", 0.25 + 0.125 * step + (1 if differs else 0))
        session.set_scalar("dt", 1 / (1 + step))
        if step == begin + 1:
            session.ready()
        if fault == "late unknown scalar" and step > begin:
            session.set_scalar("b", 1.0)
        height[:] = 10 * step + np.arange(first, last)
        session.step(step, step / 4)
        time.sleep(wanted.get("pause", 0))
    if wanted.get("checkpoint"):
        session.checkpoint(wanted["checkpoint"])


def main(wanted):
    try:
        session = pillion.open(
            "run.yaml",
            deferred=True,
            parameters=wanted.get("parameters"),
            restart=wanted.get("restart", ""),
            log=lambda level, text: print(f"{level}: {text}", flush=True),
        )
    except pillion.Error as error:
        print(f"refused at once: {error}")
        return
    try:
        simulate(session, wanted)
        print("done", flush=True)
    except pillion.Error as error:
        print(f"refused: {error}", flush=True)
    session.close()


if __name__ == "__main__":
    main(json.loads(sys.argv[1]))
