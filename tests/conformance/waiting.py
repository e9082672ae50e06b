# SPDX-License-Identifier: BSD-3-Clause
"""Runs a program of this folder that waits, before its first step, for sidecars of another job. It
makes FILE.here, and waits for FILE.

    python3 waiting.py FILE PROGRAM [ARGUMENT]...
"""

import runpy
import sys
import time
from pathlib import Path

import pillion

FILE, PROGRAM = Path(sys.argv[1]), sys.argv[2]
step = pillion.Session.step


def waiting_step(session, *arguments):
    if session.communicator.rank == 0:
        FILE.with_suffix(".here").touch()
    while not FILE.exists():
        time.sleep(0.02)
    return step(session, *arguments)


pillion.Session.step = waiting_step
sys.argv = sys.argv[2:]
runpy.run_path(PROGRAM, run_name="__main__")
