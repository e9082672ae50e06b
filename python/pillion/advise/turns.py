# SPDX-License-Identifier: BSD-3-Clause
"""Short runs of several placements, which take turns; those in which the program fails are noted
and left out.
"""

import sys
from collections.abc import Callable

from pillion.advise.placement import Placement, mode_of
from pillion.advise.samples import Trial
from pillion.advise.trials import Runner
from pillion.advise.tried import Tried
from pillion.errors import Error


def in_turn(
    runner: Runner,
    planned: Callable[[], list[Placement]],
    rounds: int,
    tried: Tried,
    which: str = "",
) -> list[Trial]:
    """Runs in turn of what is planned, which may change when the program fails on some ranks."""
    out: list[Trial] = []
    number = 0
    for after in reversed(range(rounds)):
        done: set[Placement] = set()
        while left := [p for p in planned() if p not in done and not tried.fails_on_ranks_of(p)]:
            where = f"{left[0]} ranks, {mode_of(left[0], runner.chains.all)}"
            number += 1
            total = number - 1 + len(left) + after * len(done | set(left))
            _say(f"run {number} of {total}{which}: {where}")
            done.add(left[0])
            out += _trial(runner, left[0], tried)
    return out


def _trial(runner: Runner, placement: Placement, tried: Tried) -> list[Trial]:
    """Nothing if the program fails there. Raises Error if it is the first, with all inside,
    for everything else is compared with that.
    """
    try:
        trial = runner.run(placement)
    except Error as error:
        if not tried.ran:
            raise Error(
                f"{error}\nWithout this run, on {placement} ranks, there is no advice; if the "
                "program wants another number of ranks, say it with -n"
            ) from error
        tried.failed[placement] = str(error)
        _say(f"that is left out: {error}")
        return []
    tried.ran.append(placement)
    return [trial]


def _say(text: str) -> None:
    print(f"pillion advise: {text}", file=sys.stderr, flush=True)
