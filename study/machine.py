#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Writes the simulated machine and says which rank runs on which node.

The machine is one dragonfly like Edison's (Cray XC30, Aries): groups of 6 chassis of 16 routers
of 4 nodes, 24 cores a node. Simulation ranks fill their nodes; analysis ranks have nodes of their
own, as few as will do, with as even a share as can be. README.md says where the numbers are from.
"""

import argparse
import math
from pathlib import Path

CORES = 24
NODES_PER_GROUP = 6 * 16 * 4

PLATFORM = """<?xml version='1.0'?>
<!DOCTYPE platform SYSTEM "https://simgrid.org/simgrid.dtd">
<platform version="4.1">
  <zone id="world" routing="Full">
    <cluster id="edison" prefix="n" suffix="" radical="0-{last}" speed="1Gf" core="{cores}"
             bw="{bandwidth}Bps" lat="{latency}s" sharing_policy="SPLITDUPLEX"
             loopback_bw="{loopback}Bps" loopback_lat="3e-7s"
             topology="DRAGONFLY" topo_parameters="{groups},8;6,3;16,1;4"/>
  </zone>
</platform>
"""


def platform(bandwidth: float, latency: float, nodes: int) -> str:
    groups = max(2, math.ceil(nodes / NODES_PER_GROUP))
    return PLATFORM.format(
        last=groups * NODES_PER_GROUP - 1,
        cores=CORES,
        groups=groups,
        bandwidth=bandwidth,
        latency=latency,
        loopback=5e9,
    )


def nodes_for(ranks: int) -> int:
    return math.ceil(ranks / CORES)


def nodes_of(simulation: int, analysis: int, spread: bool) -> list[int]:
    """The node of each rank; simulation ranks first."""
    few, many = nodes_for(analysis), nodes_for(simulation)
    every = list(range(few + many))
    mine = [i * (few + many) // few for i in range(few)] if spread else every[many:]
    theirs = [n for n in every if n not in set(mine)]
    return [theirs[r // CORES] for r in range(simulation)] + [
        mine[r * few // analysis] for r in range(analysis)
    ]


def main() -> None:
    args = argparse.ArgumentParser(description=__doc__)
    args.add_argument("folder", type=Path)
    args.add_argument("simulation", type=int, help="number of simulation ranks")
    args.add_argument("analysis", type=int, help="number of analysis ranks")
    args.add_argument("--bandwidth", type=float, default=4e9, help="bytes/s of a link")
    args.add_argument("--latency", type=float, default=2.5e-7, help="seconds of a link")
    args.add_argument(
        "--spread",
        action="store_true",
        help="analysis nodes evenly among the others, not behind them",
    )
    given = args.parse_args()
    nodes = nodes_of(given.simulation, given.analysis, given.spread)
    given.folder.mkdir(parents=True, exist_ok=True)
    (given.folder / "platform.xml").write_text(
        platform(given.bandwidth, given.latency, max(nodes) + 1)
    )
    (given.folder / "hosts").write_text("".join(f"n{n}\n" for n in nodes))


if __name__ == "__main__":
    main()
