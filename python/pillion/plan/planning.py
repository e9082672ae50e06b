# SPDX-License-Identifier: BSD-3-Clause
"""A plan: machines by a short description, the cores that run ranks, the sidecars among them, and
the sidecar of each rank. It has figures of its cost, to compare with other rules.
"""

import math
import re
from collections import Counter
from copy import copy
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from pillion.errors import Error

if TYPE_CHECKING:
    from pillion._placement import Location, Shape


NODES = re.compile(r"^\s*(\d+)\s+nodes?\s+of\s+(.+?)\s*$", re.DOTALL)
MOST_NODES = 100_000
MOST_PARTS = 4096  # of a node in words: a slip of the finger would fill the memory


@dataclass(frozen=True)
class Machine:
    """`nodes` nodes of one shape. `text` is the user's description."""

    text: str
    nodes: int
    node: "Shape"

    @property
    def cores(self) -> int:
        """The number of cores of a node."""
        return len(self.node.cores)

    @property
    def is_here(self) -> bool:
        """Whether it is the node of this process alone."""
        return _counted(self.text) == (1, "this")

    @property
    def is_mesh(self) -> bool:
        return self.node.columns > 0

    def locations(self, cores: list[int]) -> "list[Location]":
        """Spots of ranks on these cores of every node, node by node."""
        locations = []
        for number in range(self.nodes):
            for core in cores:
                location = copy(self.node.cores[core].location)
                location.node = number
                locations.append(location)
        return locations


def machine(text: str, mesh: tuple[int, int] | None = None) -> Machine:
    """Reads "this", a file of hwloc's, "numa:2 core:16", "mesh:8x8", or "64 nodes of" any of these.

    `mesh` are columns and rows by which the cores of a node are joined. Raises Error with advice.
    """
    from pillion import _placement as placement

    nodes, node = _counted(text)
    if not 1 <= nodes <= MOST_NODES:
        raise Error(f"'{text}': a plan is for 1 to {MOST_NODES} nodes")
    if node == "this":
        shape = placement.this_node()
    elif node.endswith(".xml") or "/" in node or Path(node).is_file():
        shape = placement.node_of_file(node)
    else:
        if math.prod(map(int, re.findall(r"[:x](\d+)", node))) > MOST_PARTS:
            raise Error(f"'{node}': a plan is for nodes of at most {MOST_PARTS} cores and threads")
        shape = placement.node_of_text(node)
    if mesh is not None:
        shape.put_on_mesh(*mesh)
    return Machine(text, nodes, shape)


def _counted(text: str) -> tuple[int, str]:
    """How many nodes there are, and what each is."""
    found = NODES.match(text)
    return (int(found[1]), found[2]) if found else (1, text.strip())


@dataclass(frozen=True)
class Plan:
    """Spots in the order of nodes and cores; ranks are numbered so that sidecars come last."""

    machine: Machine
    locations: "list[Location]"
    sidecars: list[int]  # indices of locations
    server: list[int]  # by location the location of its sidecar; -1 for sidecars
    mapping: str  # the rule; "auto" if no rule has this choice
    asked: str  # what was asked for
    cost: float

    @cached_property
    def is_sidecar(self) -> list[bool]:
        flags = [False] * len(self.locations)
        for location in self.sidecars:
            flags[location] = True
        return flags

    @cached_property
    def spot_of_rank(self) -> list[int]:
        """Simulation ranks first, then sidecars, each in the order of nodes and cores."""
        simulation = [i for i, sidecar in enumerate(self.is_sidecar) if not sidecar]
        return simulation + self.sidecars

    @cached_property
    def rank_of_location(self) -> list[int]:
        ranks = [0] * len(self.locations)
        for rank, location in enumerate(self.spot_of_rank):
            ranks[location] = rank
        return ranks

    @property
    def simulation_ranks(self) -> int:
        return len(self.locations) - len(self.sidecars)

    @property
    def per_node(self) -> int:
        """Ranks on each node."""
        return len(self.locations) // self.machine.nodes

    def on_node(self, node: int) -> range:
        """Indices of its locations."""
        return range(node * self.per_node, (node + 1) * self.per_node)


def make_plan(
    machine: Machine,
    *,
    ranks: int | None = None,
    ratio: int | None = None,
    per_node: int | None = None,
    sidecars: int | None = None,
    mapping: str = "auto",
) -> Plan:
    """Plans a job of `ranks` (all cores if None), evenly over the nodes, one on a core.

    Set one of `ratio` (simulation ranks for each sidecar), `per_node` and `sidecars` (in all,
    anywhere) for the number of sidecars. Raises Error if that does not divide evenly, with numbers
    that do.
    """
    from pillion import _placement as placement

    if mapping not in placement.mappings():
        raise Error(f"there is no mapping '{mapping}'; use {', '.join(placement.mappings())}")
    on_node = _ranks_on_node(machine, ranks)
    if sum(count is not None for count in (ratio, per_node, sidecars)) != 1:
        raise Error("set the number of sidecars by one of ratio, per_node and sidecars")
    for count, what in ((per_node, "sidecars per node"), (sidecars, "sidecars")):
        if count is not None and count < 1:
            raise Error(f"{count} {what} do not make a plan; use 1 or more")
    if ratio is not None:
        per_node = _by_ratio(on_node, ratio)
    locations = machine.locations(_cores(machine, on_node))
    placed = placement.place(locations, sidecars or 0, per_node or 0, mapping)
    return Plan(
        machine, locations, placed.sidecars, placed.server, placed.mapping, mapping, placed.cost
    )


def _ranks_on_node(machine: Machine, ranks: int | None) -> int:
    if ranks is None:
        return machine.cores
    on_node, rest = divmod(ranks, machine.nodes)
    if rest or on_node < 1:
        near = max(1, round(ranks / machine.nodes)) * machine.nodes
        raise Error(f"{ranks} ranks do not divide evenly over {machine.nodes} nodes; {near} would")
    if on_node > machine.cores:
        raise Error(
            f"{on_node} ranks on each node are more than its {machine.cores} cores; plan for at "
            f"most {machine.cores * machine.nodes} ranks, or for more nodes"
        )
    return on_node


def _by_ratio(on_node: int, ratio: int) -> int:
    if ratio < 1:
        raise Error(f"a ratio of {ratio}:1 leaves no simulation; use 1 or more")
    per_node, rest = divmod(on_node, ratio + 1)
    if rest or per_node == 0:
        even = [r for r in range(1, on_node) if on_node % (r + 1) == 0]
        near = sorted(sorted(even, key=lambda r: abs(r - ratio))[:3])
        other = " or ".join(f"{r}:1" for r in near)
        raise Error(
            f"{on_node} ranks on a node cannot be divided {ratio}:1"
            + (f"; {other} would work, or set the number of sidecars per node" if near else "")
        )
    return per_node


def _cores(machine: Machine, count: int) -> list[int]:
    """The cores that run ranks: idle ones are dealt to the domains, the last in each."""
    from pillion import _placement as placement

    locations = [core.location for core in machine.node.cores]
    idle = set(placement.chosen(locations, machine.cores - count, "numa"))
    return [core for core in range(machine.cores) if core not in idle]


@dataclass(frozen=True)
class Figures:
    """Figures on all hand-overs of one publication."""

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
    intakes = Counter({_intake(plan, location): 0 for location in range(len(plan.locations))})
    distance = nodes = domains = 0
    for location, server in enumerate(plan.server):
        if server < 0:
            continue
        here, there = plan.locations[location], plan.locations[server]
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


def _intake(plan: Plan, location: int) -> tuple[int, int]:
    found = plan.locations[location]
    return found.node, found.column if plan.machine.is_mesh else found.numa
