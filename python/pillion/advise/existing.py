# SPDX-License-Identifier: BSD-3-Clause
"""A run that has ended as if it had been a short run for advice: what its report and its timeline
say of one placement. It says nothing of other numbers of ranks.
"""

from pathlib import Path

from pillion.advise.chains import Chain, Chains
from pillion.advise.memory import Memory
from pillion.advise.placement import Placement
from pillion.advise.samples import Trial
from pillion.advise.trails import read_timeline
from pillion.errors import Error
from pillion.report.run import Run, read_run

_EACH = "memory_bytes_per_rank"

NOTE = (
    "one run cannot tell how costs depend on the number of ranks: all work is taken to divide "
    "evenly, and sides not to slow each other down; give the configuration and the program for more"
)


def read_trial(folder: Path) -> tuple[Trial, Chains, str, Memory]:
    """The run, its configuration, how its sidecars were reached, and their memory. Raises Error if
    the folder has no report, or its timeline no publications.
    """
    run = read_run(folder)
    chains = Chains(run.configuration, str(folder / "report.json"))
    cuts = tuple(_cut(run, chain) for chain in chains.all)
    ranks = int(run.facts["simulation_ranks"]), int(run.facts["sidecar_ranks"])
    trail = read_timeline(run.timeline)
    if len(trail.steps) < 2:
        raise Error(f"{run.timeline} holds too few publications to advise on")
    kind = "ranks" if run.sidecars["transport"] == "network" else "per_node"
    kind = "separate" if run.sidecars["job"] == "separate" else kind
    return Trial(Placement(*ranks, cuts), trail, _bytes(run)), chains, kind, _memory(run)


def _cut(run: Run, chain: Chain) -> int:
    """Where the chain was cut in this run, to which options may have said more than the file."""
    found = next((a for a in run.analyses if a.name == chain.name), None)
    if found is None or found.placement == "hybrid":
        return chain.cut
    moved = found.placement == "auto" and found.there > found.here
    if found.placement == "simulation" or (found.placement == "auto" and not moved):
        return len(chain.stages)
    return chain.movable if moved else 0


def _memory(run: Run) -> Memory:
    """As the run had it, whatever parameters were set to."""
    budget, each = (float(run.sidecars.get(k) or 0) for k in ("memory_bytes", _EACH))
    if not (budget and each):
        return Memory()
    nodes = max(1, round(int(run.facts["simulation_ranks"]) * each / budget))
    return Memory(budget, nodes, str(run.sidecars["when_full"]))


def _bytes(run: Run) -> dict[str, float]:
    ranks = max(1, int(run.facts["simulation_ranks"]))
    return {a.name: a.bytes_moved / a.publications / ranks for a in run.analyses if a.publications}
