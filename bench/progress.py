#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""How late is an analysis if the solver makes no MPI call within its steps? Runs bench_progress on
two ranks: 64 MiB a second through the node's memory, and through the network with and without
MPI_THREAD_MULTIPLE, over TCP where Open MPI can be told so. Prints a JSON line for each, with the
seconds of the same bytes in one MPI_Send to a rank that waits for them. No lag can be shorter than
that of the node's memory, which has the same copy and the same analysis, and such a message: this
is the bound. Prints last the lag through the network as a multiple of the lag through the node's
memory and of the bound, all of them means over the steps, and the longest lag in steps."""

import argparse
import json
import os
import subprocess
import tempfile
from pathlib import Path

from lammps_overhead import launcher

CASES = (("node", "single"), ("network", "multiple"), ("network", "single"))


def arguments():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--build", default=os.environ.get("PILLION_BUILD", "build"))
    parser.add_argument("--steps", type=int, default=12)
    parser.add_argument("--seconds", type=float, default=1.0, help="of a step")
    return parser.parse_args()


def run(options, transport: str, threads: str) -> dict:
    command = launcher()
    if "--oversubscribe" in command:  # Open MPI
        command += ["--mca", "pml", "ob1", "--mca", "btl", "tcp,self"]
    command += ["-n", "2", Path(options.build).resolve() / "bench/bench_progress"]
    command += [transport, threads, str(options.steps), str(options.seconds)]
    with tempfile.TemporaryDirectory() as folder:
        done = subprocess.run(
            command, cwd=folder, check=True, capture_output=True, text=True, timeout=300
        )
    (line,) = [json.loads(text) for text in done.stdout.splitlines() if text.startswith("{")]
    return line


def main():
    options = arguments()
    node, values = 0.0, []
    for transport, threads in CASES:
        line = run(options, transport, threads)
        print(json.dumps(line), flush=True)
        name = f"{transport}_{threads}"
        lag, bare = line["lag_seconds"], line["bare_message_seconds"]["mean"]
        values.append(f"{name}_lag_ms={1e3 * lag['mean']:.1f}")
        if transport == "node":
            node = lag["mean"]
            continue
        values.append(f"{name}_bound_ms={1e3 * (node + bare):.1f}")
        values.append(f"{name}_over_node={lag['mean'] / node:.2f}")
        values.append(f"{name}_over_bound={lag['mean'] / (node + bare):.2f}")
        values.append(f"{name}_longest_ms={1e3 * lag['max']:.1f}")
        values.append(f"{name}_longest_steps={lag['max'] / options.seconds:.2f}")
    print(f"bench progress: {' '.join(values)}")


if __name__ == "__main__":
    main()
