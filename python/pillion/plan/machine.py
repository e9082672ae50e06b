# SPDX-License-Identifier: BSD-3-Clause
"""Machines by a few words: alike nodes, and what each holds."""

import math
import re
from copy import copy
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from pillion.errors import Error

if TYPE_CHECKING:
    from pillion._placement import Shape, Spot

NODES = re.compile(r"^\s*(\d+)\s+nodes?\s+of\s+(.+?)\s*$", re.DOTALL)
MOST_NODES = 100_000
MOST_PARTS = 4096  # of a node in words: a slip of the finger would fill the memory


@dataclass(frozen=True)
class Machine:
    """So many nodes of one shape. `text` is how the user put it."""

    text: str
    nodes: int
    node: "Shape"

    @property
    def cores(self) -> int:
        """Of a node."""
        return len(self.node.cores)

    @property
    def is_here(self) -> bool:
        """Whether it is the node of this process alone."""
        return _counted(self.text) == (1, "this")

    @property
    def is_mesh(self) -> bool:
        return self.node.columns > 0

    def spots(self, cores: list[int]) -> "list[Spot]":
        """Spots of ranks on these cores of every node, node by node."""
        spots = []
        for number in range(self.nodes):
            for core in cores:
                spot = copy(self.node.cores[core].spot)
                spot.node = number
                spots.append(spot)
        return spots


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
