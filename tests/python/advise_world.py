# SPDX-License-Identifier: BSD-3-Clause
"""A made-up program with analyses, whose costs are known: what its ranks would write of a run
anywhere, found by going through time in small steps. Sides that share cores slow each other down in
proportion to the ranks on them.
"""

import random
from dataclasses import dataclass, field

from pillion.advise.costs import Sharing
from pillion.advise.placement import Chain, Placement
from pillion.advise.trace import ShortRun, Trace, Visit
from test_advise_pipeline import by_ticks

TICK = 4e-3  # seconds; publications take hundreds of these
CHAINS = (
    Chain("means", ("magnitude", "statistics"), 0, 10),
    Chain("pictures", ("contour", "image"), 0, 50),
)


def amdahl(seconds: float, serial: float):
    return lambda ranks: seconds * (serial + (1 - serial) / ranks)


@dataclass
class World:
    """Seconds by ranks: a step, and each stage of CHAINS."""

    cores: int
    step: object = field(default_factory=lambda: amdahl(0.08, 0.02))
    stages: tuple = (
        (amdahl(0.1, 0.0), amdahl(0.3, 0.2)),
        (amdahl(0.5, 0.05), amdahl(1.2, 0.3)),
    )
    publishing: float = 0.02  # of all ranks together, for each analysis
    receiving: float = 0.01
    noise: float = 0.0
    keeps: int = 1  # publications that the first stage of `means` makes one of for those after it

    def sharing(self, placement: Placement) -> Sharing:
        crowd = placement.ranks
        if crowd <= self.cores:
            return Sharing()
        mine = max(placement.simulation, self.cores), max(placement.sidecars, self.cores)
        return Sharing(crowd / mine[0], crowd / mine[1])

    def run(self, placement: Placement, steps: int = 400, room: int = 100) -> ShortRun:
        draw = random.Random(str(placement))
        visits = [self._visit(step, placement, draw) for step in range(0, steps + 1, 10)]
        making = [gap + sum(map(sum, here.values())) + p for gap, here, _, p, _ in visits]
        working = [sum(map(sum, there.values())) + r for _, _, there, _, r in visits]
        made, finished = by_ticks(making, working, room, self.sharing(placement), TICK)
        if not placement.sidecars:
            made = [sum(making[: n + 1]) for n in range(len(making))]
        simulation, sidecars = [], []
        for number, (_, here, there, publish, receive) in enumerate(visits):
            step = 10 * number
            busy = sum(map(sum, here.values())) + publish
            simulation.append(Visit(step, made[number] - busy, made[number], here, publish))
            ready = max(made[number], finished[number - 1] if number else 0.0)
            slow = (finished[number] - ready) / working[number] if working[number] else 1.0
            slowed = {name: tuple(slow * s for s in those) for name, those in there.items()}
            if not there:  # nothing came
                continue
            sidecars.append(Visit(step, ready, finished[number], slowed, slow * receive))
        trace = Trace([simulation] * placement.simulation, [sidecars] * placement.sidecars)
        return ShortRun(placement, trace, {})

    def _visit(self, step: int, placement: Placement, draw: random.Random):
        gap = 10 * self.step(placement.simulation) * draw.gauss(1, self.noise) if step else 0.01
        here, there, crossing = {}, {}, 0
        for chain, stages, cut in zip(CHAINS, self.stages, placement.cuts):
            if step % chain.every:
                continue
            kept = chain.name == "means" and (step // chain.every) % self.keeps != 0
            reached = 1 if kept else len(stages)
            sides = ((here, stages[: min(cut, reached)], placement.simulation),)
            sides += ((there, stages[cut:reached], placement.sidecars),)
            for side, those, ranks in sides:
                if those:
                    side[chain.name] = tuple(s(ranks) * draw.gauss(1, self.noise) for s in those)
            crossing += cut < reached
        publish = crossing * self.publishing / placement.simulation
        receive = crossing * self.receiving / max(1, placement.sidecars)
        return gap, here, there, publish, receive
