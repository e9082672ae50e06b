# SPDX-License-Identifier: BSD-3-Clause
"""Which command lines start a simulation with its sidecars, given what the user wishes, what the
configuration wants, and what there is to start it with. Pure.
"""

import shlex
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from pillion.errors import Error
from pillion.launch.allocation import Allocation
from pillion.launch.launchers import Facts, Launcher, Part, Step, line, variables_of
from pillion.launch.wanted import Kind, Wanted

_PATIENCE = 60  # seconds for which sidecars of another job wait for the simulation
RUN_ID = "PILLION_RUN_ID"


@dataclass(frozen=True)
class Wishes:
    """The user's wishes from the command line. `run_id` is for the run, if sidecars are to find it
    by that.
    """

    configuration: str
    parts: tuple[Part, ...]
    ranks: int | None = None
    sidecars: int | None = None
    sidecar_program: tuple[str, ...] = ()
    launcher_options: tuple[str, ...] = ()
    settings: Mapping[str, str] = field(default_factory=dict)
    overrides: Mapping[str, str] = field(default_factory=dict)  # of the configuration's entries
    environment: Mapping[str, str] = field(default_factory=dict)  # for ranks to find, too
    run_id: str = ""


@dataclass(frozen=True)
class Plan:
    """Command lines, and what they find in the environment. Ranks are of all nodes."""

    simulation: tuple[str, ...]
    sidecars: tuple[str, ...] | None  # only where they are a job of their own
    environment: dict[str, str]
    simulation_ranks: int
    sidecar_ranks: int
    run_id: str = ""

    def lines(self) -> list[str]:
        """For a shell, which starts the same with them; a run gets another id each time."""
        simulation = [self._given(), shlex.join(self.simulation)]
        if self.sidecars is None:
            return [" ".join(simulation)]
        sidecars = shlex.join(self.sidecars)
        launcher = {k: v for k, v in self.environment.items() if not k.startswith("PILLION_")}
        given = " ".join(f"{name}={shlex.quote(v)}" for name, v in launcher.items())
        lines = [f"{' '.join(simulation)} &", f"{given} {sidecars}".strip(), "wait"]
        if not self.run_id:
            return lines
        return [_NEW_ID, *(text.replace(self.run_id, '"$id"') for text in lines)]

    def started(self, short: Callable[[str], str] = lambda word: word) -> list[str]:
        """The commands as this process starts them, to show to users; `short` changes words."""
        commands = (self.simulation, self.sidecars)
        return [shlex.join(map(short, words)) for words in commands if words]

    def _given(self) -> str:
        return " ".join(f"{name}={shlex.quote(v)}" for name, v in self.environment.items())


_NEW_ID = "id=$(od -An -N8 -tx8 /dev/urandom | tr -d ' ')"


def parts_of(words: Sequence[str]) -> tuple[Part, ...]:
    """`PROGRAM ARGS : -n 2 PROGRAM ARGS`; raises Error if a program is missing."""
    parts: list[Part] = []
    rest = list(words)
    while True:
        end = rest.index(":") if ":" in rest else len(rest)
        mine, ranks = rest[:end], None
        if parts and len(mine) > 1 and mine[0] in ("-n", "-np") and mine[1].isdigit():
            ranks, mine = int(mine[1]), mine[2:]
        if not mine or (parts and not ranks):
            raise Error(
                "which program? Give PROGRAM ARGS after '--', and more as ': -n RANKS PROGRAM ARGS'"
            )
        parts.append(Part(tuple(mine), ranks))
        if end == len(rest):
            return tuple(parts)
        rest = rest[end + 1 :]


def overrides_for(wanted: Wanted, sidecars: int | None) -> dict[str, str]:
    """The overrides of the configuration that --sidecars stands for."""
    if sidecars is None or wanted.kind is Kind.SEPARATE:
        return {}
    key = "per_node" if wanted.kind is Kind.PER_NODE else "ranks"
    return {f"sidecars.{key}": str(sidecars)}


def make_plan(wishes: Wishes, wanted: Wanted, facts: Facts, attach: str) -> Plan:
    """`attach` is the program that sidecars of a job of their own run. Raises Error if nodes of the
    allocation cannot have what is wanted.
    """
    each = wanted.sidecars if wishes.sidecars is None else wishes.sidecars
    on_nodes = wanted.kind in (Kind.PER_NODE, Kind.SEPARATE)
    sidecars = each * facts.nodes if on_nodes else each
    separate = wanted.kind is Kind.SEPARATE
    within = 0 if separate else sidecars
    others = sum(part.ranks or 0 for part in wishes.parts[1:])
    ranks = wishes.ranks or max(1, (facts.tasks or 1) - sidecars - others)
    parts = _with_sidecars(wishes, ranks, within)
    total = sum(part.ranks or 0 for part in parts)
    if wanted.kind is Kind.PER_NODE and facts.allocation is not None:
        _expect_tasks(facts.allocation, total, each)
    kept = each if separate else 0
    groups = _in_groups(facts, parts, total, 0 if on_nodes else sidecars, kept)
    shares = separate and sidecars > 0
    environment = variables_of(facts, shares) | _environment(wishes, wanted, shares)
    names = tuple(name for name in environment if name.startswith("PILLION_"))
    names += tuple(wishes.environment)
    spread = _each_node(facts, total) if shares else 0
    step = Step(groups, tuple(dict.fromkeys(names)), not separate, shares, spread)
    options = wishes.launcher_options
    second = None
    if shares:
        words = (attach, wishes.run_id or wanted.run, "--wait", str(_PATIENCE))
        where = _nodes_of_groups(facts)
        apart = tuple((Part(words, each * nodes),) for nodes in where)
        one_each = each if facts.nodes > 1 else 0
        second = line(facts, Step(apart, (), False, True, one_each), options)
    first = line(facts, step, options)
    run_id = wishes.run_id if shares else ""
    return Plan(first, second, environment, total - within, sidecars, run_id)


def line_for(facts: Facts, words: Sequence[str], ranks: int) -> tuple[str, ...]:
    """The command line that starts `ranks` ranks of one program."""
    parts = (Part(tuple(words), ranks),)
    return line(facts, Step(_in_groups(facts, parts, ranks, 0, 0)), ())


def _with_sidecars(wishes: Wishes, ranks: int, within: int) -> list[Part]:
    """The last ranks become sidecars, so the last program gets those, or one of their own does."""
    first, *rest = wishes.parts
    parts = [Part(first.words, ranks), *rest]
    if within and wishes.sidecar_program:
        return [*parts, Part(wishes.sidecar_program, within)]
    last = parts.pop()
    return [*parts, Part(last.words, (last.ranks or 0) + within)]


def _expect_tasks(allocation: Allocation, total: int, each: int) -> None:
    """That each node has a rank that simulates, where the launcher will fill the tasks."""
    if total != allocation.tasks:
        return
    for group in allocation.groups:
        for node, tasks in enumerate(group.tasks):
            if tasks <= each:
                raise Error(
                    f"node {group.host(node)} of the allocation has {tasks} of the {total} tasks, "
                    f"and 'per_node: {each}' leaves none of them for the simulation; ask for the "
                    "same number on every node, as with --ntasks-per-node"
                )


def _nodes_of_groups(facts: Facts) -> tuple[int, ...]:
    if facts.allocation is None:
        return (facts.nodes,)
    return tuple(group.nodes for group in facts.allocation.groups)


def _each_node(facts: Facts, ranks: int) -> int:
    """Ranks on each node if they divide evenly: mpirun would fill one node after the other."""
    spreads = facts.launcher is Launcher.OPEN_MPI and facts.nodes > 1
    return ranks // facts.nodes if spreads and ranks % facts.nodes == 0 else 0


def _in_groups(
    facts: Facts, parts: Sequence[Part], total: int, last: int, kept: int
) -> tuple[tuple[Part, ...], ...]:
    """The parts as groups of the allocation have them. The `last` ranks are for the end of the last
    group, and `kept` tasks of each node are for others.
    """
    if facts.allocation is None or len(facts.allocation.groups) == 1:
        return (tuple(parts),)
    if facts.launcher is not Launcher.SRUN:
        raise Error(
            f"{facts.command} uses one group of a heterogeneous job; start it with --launcher srun"
        )
    room = [max(0, sum(g.tasks) - kept * g.nodes) for g in facts.allocation.groups]
    return divided(parts, ranks_of_groups(room, total, last))


def ranks_of_groups(room: Sequence[int], total: int, last: int) -> list[int]:
    """How many of `total` ranks each group has. The `last` ones fill groups from the end,
    the others from the beginning. The first group takes ranks that have no room.
    """
    left, ranks = list(room), [0] * len(room)
    order = range(len(room))
    for count, groups in ((last, reversed(order)), (total - last, order)):
        for group in groups:
            taken = min(count, left[group])
            ranks[group] += taken
            left[group] -= taken
            count -= taken
        ranks[0] += count
    return ranks


def divided(parts: Sequence[Part], ranks: Sequence[int]) -> tuple[tuple[Part, ...], ...]:
    """The parts, cut where groups with that many ranks end."""
    rest = list(parts)
    groups = []
    for count in ranks:
        group: list[Part] = []
        while count > 0:
            part = rest.pop(0)
            taken = min(count, part.ranks or 0)
            if taken < (part.ranks or 0):
                rest.insert(0, Part(part.words, (part.ranks or 0) - taken))
            group += [Part(part.words, taken)] if taken else []
            count -= taken
        groups.append(tuple(group))
    return tuple(groups)


def _environment(wishes: Wishes, wanted: Wanted, comes: bool) -> dict[str, str]:
    """`comes`: sidecars of another job are started too, and may come after a short simulation."""

    def lines(entries: Mapping[str, str]) -> str:
        return "\n".join(f"{name}={value}" for name, value in entries.items())

    out = {"PILLION_CONFIGURATION": wishes.configuration}
    if wishes.settings:
        out["PILLION_SET"] = lines(wishes.settings)
    overrides = {**wishes.overrides, **overrides_for(wanted, wishes.sidecars)}
    if overrides:
        out["PILLION_OVERRIDE"] = lines(overrides)
    if comes:
        out["PILLION_AWAIT_SIDECARS"] = "1"
    if comes and wishes.run_id:
        out[RUN_ID] = f"{wanted.run}={wishes.run_id}"
    return {**out, **wishes.environment}
