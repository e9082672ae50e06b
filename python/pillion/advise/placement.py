# SPDX-License-Identifier: BSD-3-Clause
"""Where analyses may run: how many ranks on each side, and where each chain is cut. Pure."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product

from pillion.advise.chains import Chain

_MOST_CUTS = 64  # ways to cut all chains; where there are more, all are cut equally deep


@dataclass(frozen=True, order=True)
class Placement:
    """Ranks on both sides, and by analysis how many stages stand before the cut."""

    simulation: int
    sidecars: int
    cuts: tuple[int, ...]

    @property
    def ranks(self) -> int:
        return self.simulation + self.sidecars

    def __str__(self) -> str:
        return f"{self.simulation} + {self.sidecars}"


def mode_of(placement: Placement, chains: Sequence[Chain]) -> str:
    """`simulation`, `sidecars`, or where chains are cut: `decay after magnitude, …`."""
    if not placement.sidecars:
        return "simulation"
    if not any(placement.cuts):
        return "sidecars"
    return ", ".join(
        f"{chain.name} {_where(chain, cut)}" for chain, cut in zip(chains, placement.cuts)
    )


def _where(chain: Chain, cut: int) -> str:
    if cut == len(chain.stages):
        return "in the simulation"
    return f"after {chain.stages[cut - 1]}" if cut else "in sidecars"


def inside(ranks: int, chains: Sequence[Chain]) -> Placement:
    """All in the simulation."""
    return Placement(ranks, 0, tuple(len(chain.stages) for chain in chains))


def cut_at(depth: int, simulation: int, sidecars: int, chains: Sequence[Chain]) -> Placement:
    """All chains cut after so many stages."""
    return Placement(simulation, sidecars, tuple(chain.clamped(depth) for chain in chains))


def all_cuts(chains: Sequence[Chain]) -> list[tuple[int, ...]]:
    """Every way to cut chains that leaves sidecars something to do."""
    number = 1
    for chain in chains:
        number *= len(chain.stages) + 1
    if number <= _MOST_CUTS:
        ways = list(product(*(range(len(chain.stages) + 1) for chain in chains)))
        return ways[:-1]  # the last has all in the simulation
    depth = max(len(chain.stages) for chain in chains)
    return [tuple(chain.clamped(d) for chain in chains) for d in range(depth)]


def numbers_of_sidecars(ranks: int, nodes: int = 1) -> list[int]:
    """1, 2, 4, … on each of so many nodes, as long as the simulation keeps the larger half, or one
    rank of two.
    """
    out, number = [], nodes
    while number <= ranks // 2:
        out.append(number)
        number *= 2
    return out or [nodes]


def candidates(ranks: int, sidecars: Sequence[int], chains: Sequence[Chain]) -> list[Placement]:
    """All in the simulation; and with so many sidecars taken from its ranks, or on top of them."""
    out = [inside(ranks, chains)]
    for number in sidecars:
        for simulation in (ranks - number, ranks):
            if simulation > 0:
                out += [Placement(simulation, number, cuts) for cuts in all_cuts(chains)]
    return out
