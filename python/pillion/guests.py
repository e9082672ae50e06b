# SPDX-License-Identifier: BSD-3-Clause
"""The report's sections on guests: sidecars that joined the run while it went on and brought
analyses of their own. Their results and costs stand with those of the run; here is what they
asked for, and when they were at work.
"""

from collections.abc import Sequence
from html import escape

from pillion import costs, units
from pillion.page import section
from pillion.run import Run


def sections(guests: Sequence[Run]) -> tuple[list[str], list[str]]:
    """A section for every guest, and what could not be put there."""
    made, problems = [], []
    for number, guest in enumerate(guests, start=1):
        figures, wrong = costs.timeline_figures(guest, f"guest{number}-")
        made.append(
            section(f"Guest {guest.name}", "\n".join([_who(guest), figures, _asked(guest)]))
        )
        problems += wrong
    return made, problems


def _who(guest: Run) -> str:
    names = ", ".join(escape(analysis.name) for analysis in guest.analyses)
    ranks = int(guest.facts["sidecar_ranks"])
    many = f"{units.count(ranks)} {'rank' if ranks == 1 else 'ranks'}"
    return (
        f'<p class="note">Joined with {many} while the run went on, to add: {names}. '
        f"Its own report is report-{escape(guest.name)}.json.</p>"
    )


def _asked(guest: Run) -> str:
    text = escape(guest.configuration.rstrip())
    return f"<details><summary>Configuration of the guest</summary><pre>{text}</pre></details>"
