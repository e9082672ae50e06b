# SPDX-License-Identifier: BSD-3-Clause
"""Which short runs tell what is needed, and when one has told enough. Pure."""

from collections.abc import Collection, Sequence

from pillion.advise.chains import Chain
from pillion.advise.placement import Placement, cut_at, inside
from pillion.advise.trails import Trail

_ENOUGH = 40  # publications of the rarest analysis
_LEAST = 4
_FEWEST = 4  # publications of any, or nothing is measured
_LONGEST = 6.0  # times as long as was said, if less than the least has been seen


def plan(
    ranks: int,
    sidecars: Sequence[int],
    chains: Sequence[Chain],
    cores: int,
    refused: Collection[int] = (),
) -> list[Placement]:
    """Everything in the simulation, on all ranks and on fewer, for what steps and stages cost on so
    many; each depth of the cut with the first number of sidecars, for what crosses there; the
    largest number of sidecars; and both sides on crowded cores, if they will be. The program does
    not run on some numbers of ranks, `refused`, if any.
    """
    out = [inside(ranks, chains)]
    out += [inside(number, chains) for number in _fewer(ranks, sidecars, bool(refused))]
    if not sidecars:
        return out
    few = sidecars[0]
    most_apart = max(1, min(ranks, cores - few) if ranks + few > cores else ranks)
    ways = (most_apart, ranks // 2, ranks // 4, ranks // 8, ranks)
    simulation = next((n for n in ways if n > 0 and n not in refused), ranks)
    depth = max(len(chain.stages) for chain in chains)
    out += [cut_at(d, simulation, few, chains) for d in range(depth)]
    if ranks > (most := max(sidecars)) > few:
        out.append(cut_at(0, ranks - most, most, chains))
    if ranks + few > cores:
        out.append(cut_at(0, ranks, few, chains))
    return list(dict.fromkeys(out))


def _fewer(ranks: int, sidecars: Sequence[int], is_choosy: bool) -> list[int]:
    """Half, a quarter and an eighth; and what is left when sidecars are taken, if ranks are few, or
    if nobody knows of a number whether the program runs on it.
    """
    numbers = {ranks // 2, ranks // 4, ranks // 8}
    if sidecars and (ranks <= 4 or is_choosy):
        numbers |= {ranks - number for number in sidecars}
    return sorted((n for n in numbers if 0 < n < ranks), reverse=True)


def is_enough(
    trail: Trail, placement: Placement, chains: Sequence[Chain], since: float, wished: float
) -> bool:
    """Whether a run may be stopped that has gone on for `since` seconds, of which `wished` suffice
    if every analysis has been seen a few times. Without a few publications it never may.
    """
    if len(trail.steps) < _FEWEST:
        return False
    seen = [_seen(trail, placement, number, chain) for number, chain in enumerate(chains)]
    # Of those that wait for a condition nobody knows whether they will come.
    sure = [n for n, chain in zip(seen, chains) if chain.every is not None] or seen
    if min(sure) >= _ENOUGH and since >= wished / 2:
        return True
    return since >= wished * (1.0 if min(sure) >= _LEAST else _LONGEST)


def _seen(trail: Trail, placement: Placement, number: int, chain: Chain) -> int:
    """Publications that came to the chain's last stage: others may withhold some from it."""
    cut = placement.cuts[number]
    in_sidecars = cut < len(chain.stages)
    ranks = trail.sidecars if in_sidecars else trail.simulation
    stages = len(chain.stages) - (cut if in_sidecars else 0)
    return sum(len(v.stages.get(chain.name, ())) == stages for v in ranks[0]) if ranks else 0
