# SPDX-License-Identifier: BSD-3-Clause
"""What a plan costs, in figures, and beside it what the other rules would."""

from collections import Counter
from dataclasses import dataclass

from pillion.plan.planning import Plan


@dataclass(frozen=True)
class Figures:
    """Of all hand-overs of one publication."""

    cost: float
    mean_distance: float  # levels, or hops on a mesh
    crossing_nodes: int
    crossing_domains: int  # of memory, on one node
    least_load: int  # simulation ranks of a sidecar
    most_load: int
    busiest: float  # hand-overs into the busiest intake, over the mean


def figures_of(plan: Plan) -> Figures:
    from pillion import _placement as placement

    loads = Counter({sidecar: 0 for sidecar in plan.sidecars})
    # A domain of memory, or on a mesh a column of its links.
    intakes = Counter({_intake(plan, spot): 0 for spot in range(len(plan.spots))})
    distance = nodes = domains = 0
    for spot, server in enumerate(plan.server):
        if server < 0:
            continue
        here, there = plan.spots[spot], plan.spots[server]
        loads[server] += 1
        intakes[_intake(plan, server)] += 1
        distance += placement.distance(here, there)
        nodes += here.node != there.node
        domains += here.node == there.node and here.numa != there.numa
    count = plan.simulation_ranks
    return Figures(
        plan.cost,
        distance / count,
        nodes,
        domains,
        min(loads.values()),
        max(loads.values()),
        max(intakes.values()) / (count / len(intakes)),
    )


def _intake(plan: Plan, spot: int) -> tuple[int, int]:
    found = plan.spots[spot]
    return found.node, found.column if plan.machine.is_mesh else found.numa
