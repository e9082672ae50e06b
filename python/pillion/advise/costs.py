# SPDX-License-Identifier: BSD-3-Clause
"""What steps, stages and handing over cost on any number of ranks.

- A step of the solver, and an analysis, on r ranks: what was measured on r ranks, or else the curve
  through what was (scaling). A stage has its part of its analysis, which is more regular than the
  stages are.
- What stages take in sidecars: what they took there, in a run with the same cut and the nearest
  number of sidecars; times what the same stages take on this number over what they take on that.
- Handing over: in the same run, per rank in proportion to a rank's part of the data.
- Sharing: how much longer the solver's steps, and the sidecars' work, take while the other side is
  busy. Where ranks outnumber cores that is the ratio of ranks to those that have cores, times what
  a run on such a crowd has shown.

Pure.
"""

import math
from dataclasses import dataclass, field

from pillion.advise.pipeline import Sharing
from pillion.advise.placement import Placement
from pillion.advise.scaling import IRREGULAR, Measured


@dataclass(frozen=True)
class Crossing:
    """One chain cut at one place, as a run with `ranks` measured it: seconds of its stages in
    sidecars and of handing over on both sides, and bytes of a simulation rank, for a publication
    that crosses; and the share of those that do, for stages before the cut may withhold some.
    """

    ranks: tuple[int, int]
    working: float
    publishing: float
    receiving: float
    bytes: float
    share: float = 1.0


@dataclass(frozen=True)
class Work:
    """An analysis on so many ranks of one side, and its stages."""

    whole: Measured
    stages: tuple[Measured, ...]

    def part(self, begin: int, end: int, ranks: int) -> float:
        """Seconds a publication of some stages."""
        seconds = [stage(ranks) for stage in self.stages]
        total = sum(seconds)
        return self.whole(ranks) * sum(seconds[begin:end]) / total if total > 0 else 0.0


@dataclass(frozen=True)
class Costs:
    """All that a prediction needs; `works` and `crossings` go by chain, the latter also by cut.
    `rates` are publications a step, `seen` the ranks of runs with sidecars.
    """

    cores: int
    step: Measured
    works: list[Work]
    crossings: list[dict[int, list[Crossing]]]
    rates: list[float]
    seen: list[tuple[int, int]] = field(default_factory=list)
    beside: Sharing = field(default_factory=Sharing)
    crowded: Sharing = field(default_factory=Sharing)  # times the ratio of ranks to cores

    def sharing(self, placement: Placement) -> Sharing:
        ranks = placement.ranks
        if ranks <= self.cores:
            return self.beside
        on_cores = max(placement.simulation, self.cores), max(placement.sidecars, self.cores)
        return Sharing(
            max(1.0, self.crowded.simulation * ranks / on_cores[0]),
            max(1.0, self.crowded.sidecars * ranks / on_cores[1]),
        )

    def crossing(self, chain: int, cut: int, sidecars: int) -> Crossing | None:
        """What is known of a cut, of the number of sidecars that is nearest."""
        known = self.crossings[chain].get(cut, [])
        return min(known, key=lambda c: abs(math.log(c.ranks[1] / sidecars)), default=None)

    def inside(self, chain: int, cut: int, ranks: int) -> float:
        """Seconds a publication of the stages before a cut, on so many simulation ranks."""
        return self._part(chain, 0, cut, ranks)

    def steps(self, ranks: int) -> float:
        """Seconds a step of the solver."""
        return self.step(self._with_cores(ranks, self.step))

    def _with_cores(self, ranks: int, work: Measured) -> int:
        """Ranks beyond the cores make nothing faster, unless they were seen to."""
        return ranks if ranks in work.known else min(ranks, self.cores)

    def _part(self, chain: int, begin: int, end: int, ranks: int) -> float:
        work = self.works[chain]
        return work.part(begin, end, self._with_cores(ranks, work.whole))

    def publishing(self, chain: int, cut: int, placement: Placement) -> float:
        crossing = self.crossing(chain, cut, placement.sidecars)
        if crossing is None:
            return 0.0
        return crossing.share * crossing.publishing * crossing.ranks[0] / placement.simulation

    def beyond(self, chain: int, cut: int, ranks: int) -> float:
        """The same of those behind a cut, and of receiving, on so many sidecars."""
        end = len(self.works[chain].stages)
        here, crossing = self._part(chain, cut, end, ranks), self.crossing(chain, cut, ranks)
        if crossing is None:
            return here
        there = self._part(chain, cut, end, crossing.ranks[1])
        working = crossing.working * here / there if there > 0 else crossing.working
        return crossing.share * (working + crossing.receiving * crossing.ranks[1] / ranks)

    def share(self, chain: int, cut: int, sidecars: int) -> float:
        """Of publications, those that cross."""
        crossing = self.crossing(chain, cut, sidecars)
        return 1.0 if crossing is None else crossing.share

    def uncertainty(self, placement: Placement) -> tuple[float, float]:
        """Relative, of both sides' seconds: none where a run was on the same ranks, and more for
        each factor of two from there.
        """
        if not placement.sidecars:
            return self.step.uncertainty(placement.simulation), 0.0
        # What a larger simulation does to the way to the sidecars has not been seen either.
        far = min(
            (
                abs(math.log2(placement.sidecars / sidecars))
                + max(0.0, math.log2(placement.simulation / simulation))
                for simulation, sidecars in self.seen
            ),
            default=0.0,
        )
        return self.step.uncertainty(placement.simulation), IRREGULAR * far
