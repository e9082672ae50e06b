# SPDX-License-Identifier: BSD-3-Clause
"""A plan as launchers read it, as texts by the names of their files, and aggregators of collective
I/O, placed by the rules that place sidecars.

Formats: Open MPI's rankfile (mpirun's manual, `--rankfile`), Cray MPICH's MPICH_RANK_ORDER
(intro_mpi, MPICH_RANK_REORDER_METHOD=3), Slurm's srun (`--multi-prog`, `--cpu-bind`,
`--distribution=arbitrary` with SLURM_HOSTFILE), MPICH's hydra (`-f`, `-bind-to user:`). If a node
appears twice in its file, hydra counts from the first CPU again: so ranks go node by node.

MPI-IO (ROMIO) takes aggregators by node: `cb_nodes` is their number, and `cb_config_list` lists the
nodes and the number on each, which are the node's first ranks. Programs that choose ranks
themselves find these in the list of ranks.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from pillion.errors import Error
from pillion.plan.planning import Plan

LONGEST = 255  # characters of a hint: MPI_MAX_INFO_VAL of Open MPI, the least there is


def names_of_nodes(plan: Plan, given: Sequence[str] = ()) -> list[str]:
    """Names that were given, one a node, or Open MPI's relative ones, +n0 and so on, which count
    the nodes that a batch system has allotted. This machine is "localhost".
    """
    if given and len(given) != plan.machine.nodes:
        raise Error(f"{len(given)} names were given for {plan.machine.nodes} nodes")
    if twice := [name for name, count in Counter(given).items() if count > 1]:
        raise Error(f"node {twice[0]} is named more than once; a plan wants each of its nodes once")
    if not given and plan.machine.is_here:
        return ["localhost"]
    return list(given) or [f"+n{node}" for node in range(plan.machine.nodes)]


def rankfile(plan: Plan, nodes: Sequence[str]) -> str:
    """Each rank on one core; cores are numbered as hwloc does, which is Open MPI's default."""
    return "".join(
        f"rank {rank}={nodes[plan.locations[location].node]} slot={plan.locations[location].core}\n"
        for rank, location in enumerate(plan.spot_of_rank)
    )


def rank_order(plan: Plan) -> str:
    """Ranks in the order of the places that they take, node after node, core after core."""
    order = [str(rank) for rank in plan.rank_of_location]
    lines = [",".join(order[i : i + plan.per_node]) for i in range(0, len(order), plan.per_node)]
    return "# for MPICH_RANK_REORDER_METHOD=3; a line is a node\n" + "\n".join(lines) + "\n"


def hosts_of_ranks(plan: Plan, nodes: Sequence[str]) -> str:
    """A line a rank: the node it runs on."""
    return "".join(f"{nodes[plan.locations[location].node]}\n" for location in plan.spot_of_rank)


def hosts_with_slots(plan: Plan, nodes: Sequence[str]) -> str:
    return "".join(f"{node} slots={plan.per_node}\n" for node in nodes)


def hosts_of_nodes(plan: Plan, nodes: Sequence[str]) -> str:
    """A line for each node: its name and its number of ranks, in MPICH's form."""
    return "".join(f"{node}:{plan.per_node}\n" for node in nodes)


def cpus_of_places(plan: Plan) -> str:
    """The CPUs of a node's ranks in the order of its cores, which is the same on all nodes."""
    cores = plan.machine.node.cores
    return ",".join(
        str(cores[plan.locations[location].core].cpus[0]) for location in plan.on_node(0)
    )


def cpus_of_tasks(plan: Plan) -> list[int]:
    """The CPU of each rank of a node, by rank, as the operating system numbers them. Raises Error
    if it differs from node to node, which one map for all cannot say.
    """
    maps = {tuple(_cpus(plan, node)) for node in range(plan.machine.nodes)}
    if len(maps) > 1:
        raise Error("ranks sit on other cores on each node; no map of CPUs is the same for all")
    return list(maps.pop())


def _cpus(plan: Plan, node: int) -> list[int]:
    locations = sorted(plan.on_node(node), key=lambda location: plan.rank_of_location[location])
    return [
        plan.machine.node.cores[plan.locations[location].core].cpus[0] for location in locations
    ]


def multi_prog(plan: Plan, simulation: str, sidecar: str) -> str:
    """Which program runs as which ranks, where simulation and sidecars are two programs."""
    first, ranks = plan.simulation_ranks, len(plan.locations)
    return f"{_span(0, first)} {simulation}\n{_span(first, ranks)} {sidecar}\n"


def _span(first: int, end: int) -> str:
    return str(first) if end - first == 1 else f"{first}-{end - 1}"


def files_of(
    plan: Plan, nodes: Sequence[str] = (), simulation: str = "simulation", sidecar: str = ""
) -> dict[str, str]:
    """All files by name, launch.txt with the commands that use them among them."""
    named = names_of_nodes(plan, nodes)
    sidecar = sidecar or "pillion-sidecar"
    files = {
        "rankfile": rankfile(plan, named),
        "MPICH_RANK_ORDER": rank_order(plan),
        "hosts-of-ranks": hosts_of_ranks(plan, named),
        "hostfile": hosts_with_slots(plan, named),
        "hosts-of-nodes": hosts_of_nodes(plan, named),
        "multi-prog.conf": multi_prog(plan, simulation, sidecar),
    }
    return files | {"launch.txt": commands(plan, bool(nodes), simulation)}


def commands(plan: Plan, named: bool, simulation: str) -> str:
    ranks = len(plan.locations)
    hostfile = " --hostfile hostfile" if named else ""
    cpus = cpus_of_places(plan)
    lines = [
        "# Open MPI",
        f"mpirun -n {ranks}{hostfile} --rankfile rankfile {simulation}",
        "",
        "# Cray MPICH; MPICH_RANK_ORDER lies in the folder that the job starts in",
        f"MPICH_RANK_REORDER_METHOD=3 aprun -n {ranks} -N {plan.per_node} -cc {cpus} {simulation}",
        "",
        "# MPICH, one program (the session chooses sidecars by where ranks sit, not by number)",
        f"mpiexec -n {ranks} -f hosts-of-nodes -bind-to user:{cpus} {simulation}",
        "",
        *_commands_of_slurm(plan, simulation),
    ]
    if not named:
        lines += ["", "# Slurm and MPICH need real names of nodes: plan with --hosts"]
    return "\n".join(lines) + "\n"


def _commands_of_slurm(plan: Plan, simulation: str) -> list[str]:
    try:
        cpus = ",".join(str(cpu) for cpu in cpus_of_tasks(plan))
    except Error as error:
        return [f"# Slurm: {error}"]
    words = (
        f"SLURM_HOSTFILE=hosts-of-ranks srun -n {len(plan.locations)} -N {plan.machine.nodes} "
        f"--distribution=arbitrary --cpu-bind=map_cpu:{cpus}"
    )
    return [
        "# Slurm, one program (the session chooses the same sidecars by where ranks sit)",
        f"{words} {simulation}",
        "",
        "# Slurm, two programs",
        f"{words} --multi-prog multi-prog.conf",
    ]


@dataclass(frozen=True)
class Aggregators:
    ranks: list[int]
    nodes: dict[int, int]  # how many on which


def aggregators_of(plan: Plan, count: int, mapping: str = "numa") -> Aggregators:
    """`count` of the ranks that simulate, dealt by a rule. Sidecars are none: they have no part in
    what the simulation writes. Raises Error if there are fewer ranks.
    """
    from pillion import _placement as placement

    among = plan.spot_of_rank[: plan.simulation_ranks]
    if not 1 <= count <= len(among):
        raise Error(f"{count} aggregators cannot be chosen of {len(among)} simulation ranks")
    rule = "numa" if mapping == "auto" else mapping
    locations = [
        among[i] for i in placement.chosen([plan.locations[s] for s in among], count, rule)
    ]
    nodes = Counter(plan.locations[location].node for location in locations)
    return Aggregators(
        sorted(plan.rank_of_location[location] for location in locations),
        dict(sorted(nodes.items())),
    )


def hints(plan: Plan, found: Aggregators, nodes: Sequence[str]) -> str:
    """A file for ROMIO_HINTS. `nodes` are names, none if they are not known.

    Raises Error if nodes differ and their names are not known, or are too many for ROMIO.
    """
    alike = len(found.nodes) == plan.machine.nodes and len(set(found.nodes.values())) == 1
    if alike:
        where = f"*:{next(iter(found.nodes.values()))}"
    elif not nodes:
        raise Error("ROMIO wants real names of nodes that differ: plan with --hosts")
    else:
        where = ",".join(f"{nodes[node]}:{number}" for node, number in found.nodes.items())
    if len(where) > LONGEST:
        raise Error(
            f"ROMIO takes no list of nodes longer than {LONGEST} characters, and this has "
            f"{len(where)}; take as many aggregators on every node"
        )
    return f"romio_cb_write enable\ncb_nodes {len(found.ranks)}\ncb_config_list {where}\n"
