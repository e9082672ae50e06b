# SPDX-License-Identifier: BSD-3-Clause
"""Plans in letters: a capital is a sidecar, the small one a rank that hands over to it."""

from itertools import groupby
from string import ascii_lowercase

from pillion.plan.planning import Plan

IDLE = "."


def letters_of(plan: Plan, node: int) -> dict[int, str]:
    """By core of a node. Sidecars elsewhere are `*`."""
    here = [spot for spot in plan.on_node(node) if plan.is_sidecar[spot]]
    letter = {spot: ascii_lowercase[i % 26] for i, spot in enumerate(here)}
    found = {}
    for spot in plan.on_node(node):
        own = letter[spot].upper() if spot in letter else letter.get(plan.server[spot], "*")
        found[plan.spots[spot].core] = own
    return found


def drawn_node(plan: Plan, node: int) -> list[str]:
    """Lines: a row of the mesh each, or a domain of memory each, caches set apart."""
    letters = letters_of(plan, node)
    cores = [core.spot for core in plan.machine.node.cores]
    if plan.machine.is_mesh:
        rows = groupby(cores, key=lambda spot: spot.row)
        return [" ".join(letters.get(spot.core, IDLE) for spot in row) for _, row in rows]
    lines = []
    for (package, numa), inside in groupby(cores, key=lambda spot: (spot.package, spot.numa)):
        caches = groupby(inside, key=lambda spot: spot.cache)
        parts = ["".join(letters.get(spot.core, IDLE) for spot in part) for _, part in caches]
        lines.append(f"package {package}  memory {numa}  {' '.join(parts)}")
    return lines


def patterns(plan: Plan) -> list[tuple[list[str], list[int]]]:
    """Drawings of nodes that differ, each with the nodes that look like it."""
    found: dict[tuple[str, ...], list[int]] = {}
    for node in range(plan.machine.nodes):
        found.setdefault(tuple(drawn_node(plan, node)), []).append(node)
    return [(list(lines), nodes) for lines, nodes in found.items()]


def span(nodes: list[int]) -> str:
    """Numbers of nodes as people write them: 0–3, 7."""
    parts = []
    for _, run in groupby(enumerate(nodes), key=lambda pair: pair[1] - pair[0]):
        numbers = [number for _, number in run]
        first, last = numbers[0], numbers[-1]
        parts.append(str(first) if first == last else f"{first}–{last}")
    return ", ".join(parts)
