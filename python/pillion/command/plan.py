# SPDX-License-Identifier: BSD-3-Clause
"""`pillion plan`: who runs where, drawn, and written as launchers want it."""

import argparse
import os
import re
from pathlib import Path
from typing import TYPE_CHECKING

from pillion.command.doctor_job import described
from pillion.errors import Error
from pillion.launch.allocation import allocation_of

if TYPE_CHECKING:
    from pillion.launch.allocation import Allocation
    from pillion.plan import Machine, Plan
    from pillion.plan.planning import Figures

MAPPINGS = ("auto", "contiguous", "striped", "numa", "folded")
DRAWN = 4  # nodes that look different from each other


class _Renamed(argparse.Action):
    """Names the option that replaces an old one."""

    def __call__(self, parser, *_):  # type: ignore[no-untyped-def]
        parser.error("--spread is now called --mapping")


def add_plan(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "machine",
        nargs="?",
        default="this",
        help='"this" (the default: the nodes of the batch job, or this machine), a file of '
        'lstopo\'s, "numa:2 core:16", "mesh:8x8", or "64 nodes of" any of these',
    )
    parser.add_argument("-n", "--ranks", type=int, help="ranks of the job; all cores if left out")
    counts = parser.add_mutually_exclusive_group(required=True)
    counts.add_argument("--ratio", metavar="R:1", help="simulation ranks for each sidecar: 3:1")
    counts.add_argument("--per-node", type=int, metavar="K", help="sidecars on every node")
    counts.add_argument("--sidecars", type=int, metavar="N", help="sidecars of the whole job")
    parser.add_argument("--mapping", choices=MAPPINGS, default="auto", help="default: auto")
    parser.add_argument("--spread", action=_Renamed, help=argparse.SUPPRESS)
    parser.add_argument("--mesh", metavar="CxR", help="columns and rows that join a node's cores")
    parser.add_argument("--hosts", help="names of nodes with commas between, or a file of them")
    parser.add_argument(
        "--aggregators", type=int, metavar="N", help="number of aggregators of collective I/O"
    )
    parser.add_argument("--simulation", default="./simulation", help="the program, for commands")
    parser.add_argument("--sidecar", default="./sidecar", help="the sidecars', if it is another")
    parser.add_argument("--write", type=Path, metavar="FOLDER", help="write files for launchers")
    parser.add_argument("--draw", type=Path, metavar="FILE.svg", help="draw all rules on a node")


def run_plan(arguments: argparse.Namespace) -> int:
    from pillion.plan import machine, make_plan

    allocation = allocation_of(os.environ) if arguments.machine == "this" else None
    named = _of_job(allocation) if allocation else arguments.machine
    where = machine(named, _mesh(arguments.mesh))
    if allocation:
        print(f"in {described(allocation)}")
    plans = {
        mapping: make_plan(
            where,
            ranks=arguments.ranks,
            ratio=_ratio(arguments.ratio),
            per_node=arguments.per_node,
            sidecars=arguments.sidecars,
            mapping=mapping,
        )
        for mapping in MAPPINGS
    }
    plan = plans[arguments.mapping]
    _show(where, plan, plans)
    hosts = _hosts(arguments.hosts)
    if allocation and not hosts:
        hosts = list(allocation.hosts)
    files = _files(plan, hosts, arguments)
    if arguments.draw:
        from pillion.plan.picture import picture

        _write(arguments.draw, picture(list(plans.values())))
        print(f"drawn: {arguments.draw}")
    if arguments.write:
        for name, text in files.items():
            _write(arguments.write / name, text)
        print(f"written to {arguments.write}: {', '.join(files)}")
        print("launch.txt there says how each is used")
    return 0


def _of_job(allocation: "Allocation") -> str:
    """The job's nodes in words. If this is one of them, the others are taken to be like it; from
    a login node only their numbers of cores are known.
    """
    from pillion.launch.facts import nodes_are_like_this

    shape = "this" if nodes_are_like_this(allocation) else f"core:{min(allocation.cores)}"
    return f"{allocation.nodes} nodes of {shape}"


def _write(path: Path, text: str) -> None:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        raise Error(f"cannot write {path}: {error.strerror}") from error


def _files(plan: "Plan", hosts: list[str], arguments: argparse.Namespace) -> dict[str, str]:
    from pillion.command import paint
    from pillion.plan.files import aggregators_of, files_of, hints

    files = files_of(plan, hosts, arguments.simulation, arguments.sidecar)
    if arguments.aggregators is not None:
        found = aggregators_of(plan, arguments.aggregators, arguments.mapping)
        ranks = ",".join(str(rank) for rank in found.ranks)
        print(f"aggregators: ranks {ranks}")
        files["aggregators"] = ranks.replace(",", "\n") + "\n"
        try:
            files["romio-hints"] = hints(plan, found, hosts)
        except Error as error:
            print(paint.note(f"no romio-hints: {error}"))
    return files


def _mesh(text: str | None) -> tuple[int, int] | None:
    if text is None:
        return None
    columns, _, rows = text.partition("x")
    if not (re.fullmatch("[0-9]{1,4}", columns) and re.fullmatch("[0-9]{1,4}", rows)):
        raise Error(f"'--mesh {text}' is not a mesh; write columns and rows, such as 8x8")
    return int(columns), int(rows)


def _ratio(text: str | None) -> int | None:
    if text is None:
        return None
    simulation, _, sidecars = text.partition(":")
    if not re.fullmatch("[0-9]{1,9}", simulation) or sidecars not in ("", "1"):
        raise Error(
            f"'--ratio {text}' is not a ratio; write simulation ranks for a sidecar, as 3:1"
        )
    return int(simulation)


def _hosts(text: str | None) -> list[str]:
    if text is None:
        return []
    path = Path(text)
    if "," not in text and path.is_file():  # a list of many names is too long for one of a file
        text = path.read_text(encoding="utf-8")
        lines = [line.split("#")[0].split() for line in text.splitlines()]
        return [words[0] for words in lines if words]
    return [name.strip() for name in text.split(",") if name.strip()]


def _show(where: "Machine", plan: "Plan", plans: "dict[str, Plan]") -> None:
    from pillion.command import paint
    from pillion.plan.picture import patterns, span
    from pillion.plan.planning import figures_of

    nodes = f"{where.nodes} node{'s' if where.nodes > 1 else ''}"
    print(paint.strong(f"{where.text}: {nodes} of {where.cores} cores"))
    print(
        f"{plan.simulation_ranks} simulation ranks and {len(plan.sidecars)} sidecars, "
        f"mapping {_named(plan)}; a capital is a sidecar, its small letter hands over to it"
    )
    found = patterns(plan)
    if any("*" in line for lines, _ in found for line in lines):
        print("* hands over to a sidecar of another node")
    for lines, alike in found[:DRAWN]:
        which = span(alike)
        print(f"\nnode {which}" if len(alike) == 1 else f"\nnodes {which}")
        for line in lines:
            print(f"  {line}")
    if len(found) > DRAWN:
        print(f"\n... and {len(found) - DRAWN} more kinds of nodes")
    print()
    _compare({mapping: figures_of(p) for mapping, p in plans.items()}, plan)
    print()


def _named(plan: "Plan") -> str:
    if plan.asked != "auto":
        return plan.asked
    own = "a choice of its own that beats the rules" if plan.mapping == "auto" else plan.mapping
    return f"auto: {own}"


def _compare(figures: "dict[str, Figures]", plan: "Plan") -> None:
    from pillion.command import paint

    unit = "hops" if plan.machine.is_mesh else "levels"
    names = ["mapping", "cost", f"mean {unit}", "cross memory", "cross nodes", "loads", "busiest"]
    print(paint.faint("  ".join(f"{name:>12}" for name in names)))
    for mapping, f in figures.items():
        loads = (
            f"{f.least_load}" if f.least_load == f.most_load else f"{f.least_load}-{f.most_load}"
        )
        cells = [
            mapping,
            f"{f.cost:.5g}",
            f"{f.mean_distance:.2f}",
            str(f.crossing_domains),
            str(f.crossing_nodes),
            loads,
            f"{f.busiest:.2f}",
        ]
        line = "  ".join(f"{cell:>12}" for cell in cells)
        print(paint.strong(line) if mapping == plan.asked else line)
