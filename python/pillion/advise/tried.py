# SPDX-License-Identifier: BSD-3-Clause
"""In which placements the program ran, and in which it would not, as one that wants a power of two
of ranks, or a grid that is fixed; and what that says of placements that were not tried. Pure.
"""

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, field

from pillion.advise.chains import Chain
from pillion.advise.placement import Placement, mode_of


@dataclass
class Tried:
    """`failed` holds the reasons, the first line of which tells enough."""

    ran: list[Placement] = field(default_factory=list)
    failed: dict[Placement, str] = field(default_factory=dict)

    def leaves_out(self, placement: Placement) -> bool:
        """Whether all that were tried and have its ranks or its cuts in common have failed."""
        return self._failed(placement, lambda p: (*_ranks(p), p.cuts, ("beside", p.sidecars > 0)))

    def fails_on_ranks_of(self, placement: Placement) -> bool:
        """Whether it need not be tried."""
        return self._failed(placement, _ranks)

    def _failed(
        self, placement: Placement, traits: Callable[[Placement], tuple[Hashable, ...]]
    ) -> bool:
        ran = {trait for other in self.ran for trait in traits(other)}
        failed = {trait for other in self.failed for trait in traits(other)}
        return any(trait in failed - ran for trait in traits(placement))

    @property
    def refused(self) -> set[int]:
        """Numbers of simulation ranks on which the program does not run."""
        return {p.simulation for p in self.failed} - {p.simulation for p in self.ran}

    def notes(self, considered: Sequence[Placement], chains: Sequence[Chain]) -> list[str]:
        out = [
            f"{placement} ranks, {mode_of(placement, chains)}: {why.splitlines()[0].rstrip(':')}"
            for placement, why in self.failed.items()
        ]
        if number := sum(map(self.leaves_out, considered)):
            out.append(
                f"{number} of {len(considered)} placements are left out, since the program failed "
                "wherever it ran on as many ranks, or cut alike"
            )
        return out


def _ranks(placement: Placement) -> tuple[Hashable, ...]:
    """The placement, and what it has in common with others on such ranks."""
    return placement, placement.simulation, ("both", placement.simulation, placement.sidecars)
