# SPDX-License-Identifier: BSD-3-Clause
"""Runs a configuration on one rank and prints how far its memory rises above what it was when the
session was ready. The arguments are the configuration and the cells along an axis.
"""

import sys
from pathlib import Path

import numpy as np
import pillion


def status(key: str) -> int:
    """A line of the kernel's account of this process, in bytes."""
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith(key + ":"):
            return int(line.split()[1]) * 1024
    raise KeyError(key)


def main(configuration, cells):
    noise = np.random.default_rng(1).lognormal(size=(cells, cells, cells))
    with pillion.open(configuration) as session:
        session.share("noise", noise)
        session.ready()
        Path("/proc/self/clear_refs").write_text("5")  # the peak so far is forgotten
        before = status("VmRSS")
        for step in range(3):
            session.step(step, float(step))
        print("rise", status("VmHWM") - before)


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
