# SPDX-License-Identifier: BSD-3-Clause
"""Aggregators of collective I/O, placed by the rules that place sidecars.

MPI-IO (ROMIO) takes them by node: `cb_nodes` says how many there are, `cb_config_list` on which
nodes and how many on each, where it takes the first ranks. Programs that choose ranks themselves
find these in the list of ranks.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from pillion.errors import Error
from pillion.plan.planning import Plan


@dataclass(frozen=True)
class Aggregators:
    ranks: list[int]
    nodes: dict[int, int]  # how many on which


def aggregators_of(plan: Plan, count: int, spread: str = "numa") -> Aggregators:
    """`count` of the ranks that simulate, dealt by a rule. Sidecars are none: they have no part in
    what the simulation writes. Raises Error if there are fewer ranks.
    """
    from pillion import _placement as placement

    among = plan.spot_of_rank[: plan.simulation_ranks]
    if not 1 <= count <= len(among):
        raise Error(f"{count} aggregators cannot be chosen of {len(among)} simulation ranks")
    rule = "numa" if spread == "auto" else spread
    spots = [among[i] for i in placement.chosen([plan.spots[s] for s in among], count, rule)]
    nodes = Counter(plan.spots[spot].node for spot in spots)
    return Aggregators(
        sorted(plan.rank_of_spot[spot] for spot in spots), dict(sorted(nodes.items()))
    )


LONGEST = 255  # characters of a hint: MPI_MAX_INFO_VAL of Open MPI, the least there is


def hints(plan: Plan, found: Aggregators, nodes: Sequence[str]) -> str:
    """A file for ROMIO_HINTS. `nodes` are names, none if they are not known.

    Raises Error if nodes must be told apart by names that nobody gave, or that are too many for it.
    """
    alike = len(found.nodes) == plan.machine.nodes and len(set(found.nodes.values())) == 1
    if alike:
        where = f"*:{next(iter(found.nodes.values()))}"
    elif not nodes:
        raise Error("ROMIO wants real names of nodes that differ: plan with --hosts")
    else:
        where = ",".join(f"{nodes[node]}:{number}" for node, number in found.nodes.items())
    if len(where) > LONGEST:
        raise Error(
            f"ROMIO takes no list of nodes longer than {LONGEST} characters, and this has "
            f"{len(where)}; take as many aggregators on every node"
        )
    return f"romio_cb_write enable\ncb_nodes {len(found.ranks)}\ncb_config_list {where}\n"
