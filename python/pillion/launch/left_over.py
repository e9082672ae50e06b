# SPDX-License-Identifier: BSD-3-Clause
"""Whether srun waits for steps that Slurm no longer has. Some versions (seen in 22.05) do not end
after the steps of a heterogeneous job, because two threads of srun wait for the end of a third.
"""

import os
import time
from collections.abc import Callable, Mapping, Sequence

from pillion.launch import slurm

PATIENCE = 10.0  # seconds that srun may take to end after its run
_LOOK_EVERY = 1.0
_ASK_EVERY = 5.0


def jobs_of(environment: Mapping[str, str] = os.environ) -> tuple[str, ...]:
    """The numbers of the groups of this allocation; none outside of Slurm."""
    names = sorted(n for n in environment if n.startswith("SLURM_JOB_ID_HET_GROUP_"))
    numbers = [environment[name] for name in ("SLURM_JOB_ID", *names) if name in environment]
    return tuple(dict.fromkeys(numbers))


class LeftOver:
    """Asks Slurm now and then, once the run has ended. Slurm may have no answer: None."""

    def __init__(
        self,
        has_ended: Callable[[], bool],
        steps: Callable[[], Sequence[str] | None] = lambda: slurm.steps_of(jobs_of()),
        now: Callable[[], float] = time.monotonic,
    ):
        self._has_ended = has_ended
        self._steps = steps
        self._now = now
        self._next = now()
        self._since: float | None = None  # when the run had ended

    def __call__(self) -> bool:
        """Whether the launcher has nothing to wait for."""
        now = self._now()
        if now < self._next:
            return False
        self._next = now + (_ASK_EVERY if self._since else _LOOK_EVERY)
        if not self._has_ended():
            self._since = None
            return False
        self._since = self._since or now
        if now < self._since + PATIENCE:
            return False
        steps = self._steps()
        return steps is not None and len(steps) == 0
