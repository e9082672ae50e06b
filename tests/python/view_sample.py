# SPDX-License-Identifier: BSD-3-Clause
"""A small dataset for the tests of `pillion view`, and ways to have it served."""

import http.client
import os
import subprocess
import sys
import threading
from contextlib import contextmanager

import limits
import pillion.idx
from conftest import PACKAGE
from idx_writer import write_dataset
from limits import limit
from openvisus_writer import random_field
from pillion.view.server import Server

ABOUT = {"mask": "V210210210", "bits_per_block": 3, "per_file": 5}
ORIGIN = """\
# analysis: snapshots
# stage: write
# title: "Flow <b>"
# time_units: "s"
# length_units: "m"
# times: [0.0, 2.5]
# columns:
#   - {name: "f0", units: "m/s"}
"""


def arrays(seed=0):
    vector = random_field(seed, (6, 7, 8), "float64", 3)
    return [vector, random_field(seed, (6, 7, 8, 1), "int32", 1)]


def write(folder, steps=(0, 5), origin=ORIGIN):
    stored = {step: arrays(step) for step in steps}
    path = write_dataset(folder, "d", stored, **ABOUT, steps=f"t%03d/ (0,{steps[-1]},5)")
    path.write_text(origin + path.read_text())
    return path


@contextmanager
def served(path):
    with Server(pillion.idx.open(path)) as server:
        thread = threading.Thread(target=server.serve_forever, args=[0.01], daemon=True)
        thread.start()
        yield server
        server.shutdown()
        thread.join()


def ask(server, path, host=None, method="GET"):
    connection = http.client.HTTPConnection("127.0.0.1", server.server_port, timeout=limit(20))
    headers = {} if host is None else {"Host": host}
    connection.request(method, path, headers=headers)
    answer = connection.getresponse()
    return answer, answer.read()


SLICE = "slice?field=f0&component=1&step=5&level=9&axis=1&position=3&window=0,8,0,6"


@contextmanager
def command(*arguments):
    process = subprocess.Popen(
        [sys.executable, "-m", "pillion", "view", *map(str, arguments)],
        env={**os.environ, "PYTHONPATH": str(PACKAGE)} | {"DISPLAY": "", "WAYLAND_DISPLAY": ""},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        yield process
    finally:
        process.kill()
        limits.wait(process, timeout=60)
