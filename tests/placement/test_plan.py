# SPDX-License-Identifier: BSD-3-Clause
"""`pillion plan`: plans against the definitions in docs/howto-placement.md written out here, and
the files for launchers against what their formats say.
"""

import os
import re
import shutil
import subprocess
import sys
import xml.etree.ElementTree as ET
from collections import Counter
from itertools import pairwise
from pathlib import Path

import limits
import placed_runs
import pytest
from pillion.errors import Error
from pillion.plan import machine, make_plan
from pillion.plan.files import aggregators_of, files_of, hints
from pillion.plan.picture import picture
from pillion.plan.planning import figures_of

pytestmark = pytest.mark.skipif(
    not any((placed_runs.BUILD / "python/pillion").glob("_placement*.so")),
    reason="no modules for Python",
)
# Cores of a node, cores in a domain of memory, columns of the mesh.
MACHINES = {
    "numa:2 core:16": (32, 16, 0),
    "mesh:8x8": (64, 64, 8),
    "package:2 numa:4 l3:4 core:4": (128, 16, 0),
    "core:6": (6, 6, 0),
}
HYDRA = shutil.which("mpiexec.hydra", path=f"{Path(sys.executable).parent}:{os.environ['PATH']}")
MAPPINGS = ["contiguous", "striped", "numa", "folded", "auto"]


def defined(mapping: str, cores: int, domain: int, columns: int, count: int) -> set[int]:
    """The sidecars of a node by the words of the definition, where all comes out even."""
    if mapping == "contiguous":
        return set(range(cores - count, cores))
    if mapping == "striped":
        return set(range(cores // count - 1, cores, cores // count))
    if mapping == "numa":
        each = count * domain // cores
        return {d + domain - 1 - k for d in range(0, cores, domain) for k in range(each)}
    middle = cores // columns // 2
    return {middle * columns + column for column in range(columns)}


@pytest.mark.parametrize("mapping", MAPPINGS[:4])
@pytest.mark.parametrize(("node", "count"), [("numa:2 core:16", 8), ("mesh:8x8", 8), ("core:6", 2)])
def test_plans_are_as_defined(node, count, mapping):
    cores, domain, columns = MACHINES[node]
    if mapping == "folded" and not columns:
        pytest.skip("no mesh")
    plan = make_plan(machine(f"3 nodes of {node}"), per_node=count, mapping=mapping)
    wanted = defined(mapping, cores, domain, columns, count)
    for number in range(3):
        found = {plan.locations[s].core for s in plan.on_node(number) if plan.is_sidecar[s]}
        assert found == wanted


@pytest.mark.parametrize("mapping", MAPPINGS)
@pytest.mark.parametrize("node", MACHINES)
@pytest.mark.parametrize("count", [1, 2, 3, 5])
def test_whatever_the_plan(node, count, mapping):
    """Every rank once, loads within one, each hands over on its node, no domain crossed by `numa`
    where domains have as many sidecars, and no rule costs less than `auto`.
    """
    where = machine(f"2 nodes of {node}")
    plan = make_plan(where, per_node=count, mapping=mapping)
    assert sorted(plan.spot_of_rank) == list(range(2 * where.cores))
    assert [plan.rank_of_location[s] for s in plan.spot_of_rank] == list(range(2 * where.cores))
    loads = Counter(plan.sidecars)  # one more than each has
    loads.update(server for server in plan.server if server >= 0)
    assert set(loads) == set(plan.sidecars) and sum(loads.values()) == len(plan.locations)
    assert max(loads.values()) - min(loads.values()) <= 1
    assert all(
        plan.locations[s].node == plan.locations[t].node
        for s, t in enumerate(plan.server)
        if t >= 0
    )
    cores, domain, _ = MACHINES[node]
    if mapping == "numa" and count % (cores // domain) == 0:
        assert figures_of(plan).crossing_domains == 0
    best = make_plan(where, per_node=count)
    assert best.cost <= plan.cost + 1e-9


def test_fewer_ranks_than_cores_leave_every_domain_some():
    plan = make_plan(machine("2 nodes of numa:2 core:4"), ranks=12, per_node=2, mapping="numa")
    assert Counter((s.node, s.numa) for s in plan.locations) == {
        (node, numa): 3 for node in (0, 1) for numa in (0, 1)
    }
    assert figures_of(plan).crossing_domains == 0


@pytest.fixture
def plan():
    return make_plan(machine("2 nodes of numa:2 core:4 pu:2"), ratio=3, mapping="numa")


def test_rankfile(plan):
    lines = files_of(plan, ["a", "b"])["rankfile"].splitlines()
    found = [re.fullmatch(r"rank (\d+)=(\w+) slot=(\d+)", line).groups() for line in lines]
    assert [int(rank) for rank, _, _ in found] == list(range(16))
    assert {(host, int(slot)) for _, host, slot in found} == {
        (host, slot) for host in "ab" for slot in range(8)
    }
    assert {(host, int(slot)) for rank, host, slot in found if int(rank) >= 12} == {
        (host, slot) for host in "ab" for slot in (3, 7)
    }, "sidecars come last, one in each domain"
    relative = files_of(plan)["rankfile"]
    assert relative.startswith("rank 0=+n0 slot=0\n") and "=+n1 slot=" in relative


@pytest.mark.parametrize("text", ["this", " this ", "1 nodes of this", "1 node of  this "])
def test_this_machine_is_localhost_however_it_is_put(text):
    """Relative names are for nodes of a batch system, without which Open MPI refuses them."""
    alone = machine(text)
    if alone.cores < 2:
        pytest.skip("one core has no room for a sidecar")
    assert files_of(make_plan(alone, per_node=1))["rankfile"].startswith("rank 0=localhost slot=")
    two = make_plan(machine("2 nodes of this"), per_node=1)
    assert files_of(two)["rankfile"].startswith("rank 0=+n0 slot=")


def test_orders_for_cray_and_slurm(plan):
    files = files_of(plan, ["a", "b"], "./md", "./look")
    order = [line for line in files["MPICH_RANK_ORDER"].splitlines() if line[0] != "#"]
    ranks = [int(rank) for rank in ",".join(order).split(",")]
    rows = [line.split() for line in files["rankfile"].replace("=", " ").splitlines()]
    by_place = {(row[2], int(row[4])): int(row[1]) for row in rows}
    assert ranks == [by_place[host, slot] for host in "ab" for slot in range(8)]
    assert files["hosts-of-ranks"].split() == [row[2] for row in rows]
    assert files["hostfile"] == "a slots=8\nb slots=8\n"
    assert files["multi-prog.conf"] == "0-11 ./md\n12-15 ./look\n"
    cpus = re.search(r"map_cpu:([\d,]+)", files["launch.txt"])[1].split(",")
    local = [int(row[4]) for row in rows if row[2] == "b"]  # of a node's ranks, in their order
    assert [int(cpu) for cpu in cpus] == [2 * core for core in local], "two threads a core"


def test_mpich_goes_node_by_node():
    """Hydra counts ranks anew where a node comes again: each must come once, its CPUs in order."""
    odd = make_plan(machine("2 nodes of numa:2 core:4 pu:2"), ranks=12, sidecars=3)
    files = files_of(odd, ["a", "b"])
    assert files["hosts-of-nodes"] == "a:6\nb:6\n"
    cpus = [2 * odd.locations[location].core for location in odd.on_node(1)]
    words = ",".join(map(str, cpus))
    assert len(set(cpus)) == 6
    assert f"-f hosts-of-nodes -bind-to user:{words} " in files["launch.txt"]
    assert f"aprun -n 12 -N 6 -cc {words} " in files["launch.txt"], "not the first cores"


@pytest.mark.skipif(HYDRA is None, reason="no mpiexec of MPICH")
@pytest.mark.skipif((os.cpu_count() or 1) < 2, reason="one CPU is all there is")
def test_mpich_binds_as_planned(tmp_path):
    """Two names for this machine are two nodes for it."""
    here = machine("2 nodes of core:2")
    files = files_of(make_plan(here, per_node=1), ["localhost", "127.0.0.1"], "./simulation")
    (tmp_path / "hosts-of-nodes").write_text(files["hosts-of-nodes"])
    command = re.search(r"^mpiexec (.*) ./simulation$", files["launch.txt"], re.MULTILINE)[1]
    # In one piece, or hydra may mix what ranks say.
    words = "os.environ['PMI_RANK'], *map(str, os.sched_getaffinity(0))"
    tell = f"import os; os.write(1, (' '.join([{words}]) + '\\n').encode())"
    done = limits.run(
        [HYDRA, "-launcher", "fork", *command.split(), placed_runs.PYTHON, "-c", tell],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert sorted(done.stdout.splitlines()) == ["0 0", "1 1", "2 0", "3 1"], done.stderr


def test_aggregators():
    plan = make_plan(machine("4 nodes of numa:2 core:4"), per_node=1)
    found = aggregators_of(plan, 8)
    locations = [plan.locations[plan.spot_of_rank[rank]] for rank in found.ranks]
    assert Counter((s.node, s.numa) for s in locations) == {
        (node, numa): 1 for node in range(4) for numa in range(2)
    }
    assert hints(plan, found, "abcd") == "romio_cb_write enable\ncb_nodes 8\ncb_config_list *:2\n"
    few = aggregators_of(plan, 2, "striped")
    assert hints(plan, few, "abcd").endswith("cb_nodes 2\ncb_config_list b:1,d:1\n")
    with pytest.raises(Error, match="plan with --hosts"):
        hints(plan, few, [])
    assert hints(plan, found, []).endswith("cb_config_list *:2\n"), "no names are needed"
    with pytest.raises(Error, match="longer than 255"):
        hints(plan, few, ["n" * 200] * 4)
    with pytest.raises(Error, match="29 aggregators cannot be chosen of 28 simulation ranks"):
        aggregators_of(plan, 29)


def test_sidecars_are_no_aggregators():
    """They have no part in what the simulation writes, though the same rule placed them."""
    plan = make_plan(machine("2 nodes of numa:2 core:4"), per_node=2, mapping="numa")
    found = aggregators_of(plan, 4)
    assert set(found.ranks) < set(range(plan.simulation_ranks))
    locations = [plan.locations[plan.spot_of_rank[rank]] for rank in found.ranks]
    assert [(s.node, s.numa, s.core) for s in locations] == [
        (0, 0, 2),
        (0, 1, 6),
        (1, 0, 2),
        (1, 1, 6),
    ]


@pytest.mark.parametrize(
    ("words", "advice"),
    [
        ({"ratio": 4}, "8 ranks on a node cannot be divided 4:1; 1:1 or 3:1 or 7:1 would work"),
        ({"ratio": 0}, "leaves no simulation"),
        ({"ranks": 7, "per_node": 1}, "7 ranks do not divide evenly over 2 nodes; 8 would"),
        ({"ranks": 18, "per_node": 1}, "more than its 8 cores"),
        ({"per_node": 8}, "leave none for the simulation"),
        ({"per_node": 1, "mapping": "nume"}, "no mapping 'nume'; use auto, contiguous"),
        ({}, "set the number of sidecars"),
        ({"per_node": 0}, "0 sidecars per node do not make a plan"),
        ({"sidecars": -1}, "-1 sidecars do not make a plan"),
    ],
)
def test_what_does_not_come_out_is_refused(words, advice):
    with pytest.raises(Error, match=re.escape(advice)):
        make_plan(machine("2 nodes of numa:2 core:4"), **words)


@pytest.mark.parametrize(
    ("text", "advice"),
    [
        ("0 nodes of core:4", "1 to 100000 nodes"),
        ("nonsense", "such as"),
        ("here.xml", "cannot be read"),
        ("mesh:8", "COLUMNSxROWS"),
        ("numa:2 core:99999999", "at most 4096 cores"),
        ("2 nodes of mesh:100x100", "at most 4096 cores"),
    ],
)
def test_what_is_no_machine_is_refused(text, advice):
    with pytest.raises(Error, match=advice):
        machine(text)


def pillion(*words, cwd: Path) -> subprocess.CompletedProcess:
    command = [placed_runs.BUILD.resolve() / "bin/pillion", "plan", *words]
    return limits.run(
        [str(word) for word in command], cwd=cwd, capture_output=True, text=True, timeout=60
    )


def test_the_command_draws_and_writes(tmp_path):
    done = pillion(
        "mesh:8x8", "--ratio", "7:1", "--draw", "p.svg", "--write", "files", cwd=tmp_path
    )
    assert done.returncode == 0, done.stderr
    assert "56 simulation ranks and 8 sidecars, mapping auto: folded" in done.stdout
    assert done.stdout.count("a b c d e f g h") == 7 and "A B C D E F G H" in done.stdout
    drawn = ET.parse(tmp_path / "p.svg").getroot()
    names = [e.text for e in drawn.iter() if e.get("class") == "name"]
    assert names == ["auto: folded", "contiguous", "striped", "numa", "folded"]
    squares = [e for e in drawn.iter() if e.tag.endswith("rect")]
    assert len(squares) == 5 * 64 and sum(e.get("stroke") == "#222" for e in squares) == 5 * 8
    assert len((tmp_path / "files/rankfile").read_text().splitlines()) == 64
    assert "--rankfile rankfile ./simulation" in (tmp_path / "files/launch.txt").read_text()


def test_what_is_said_of_narrow_nodes_has_room():
    """Columns of panels are as far apart as their text is long, at half of its height a letter."""
    plans = [make_plan(machine("3 nodes of core:2"), sidecars=1, mapping=s) for s in MAPPINGS]
    groups = ET.fromstring(picture(plans)).iter()
    panels = [e for e in groups if e.find("*[@class='name']") is not None]
    left = sorted({int(e.get("transform").split("(")[1].split()[0]) for e in panels})
    longest = max(len(e.find("*[@class='figures']").text) for e in panels)
    assert len(left) > 1 and min(b - a for a, b in pairwise(left)) > 11.5 / 2 * longest


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["core:4", "--ratio", "x"], "'--ratio x' is not a ratio"),
        (["core:4", "--ratio", "²"], "'--ratio ²' is not a ratio"),
        (["core:4", "--per-node", "1", "--mesh", "99999999999x1"], "is not a mesh"),
        (["core:4", "--per-node", "1", "--mesh", "2by2"], "'--mesh 2by2' is not a mesh"),
        (["core:4", "--per-node", "1", "--mesh", "3x2"], "a mesh of 3 x 2 has 6 cores"),
        (["2 nodes of core:4", "--per-node", "1", "--hosts", "a"], "1 names were given for 2"),
        (["2 nodes of core:4", "--per-node", "1", "--hosts", "a,a"], "a is named more than once"),
        (["core:4", "--per-node", "0"], "0 sidecars per node do not make a plan"),
        (["core:4"], "one of the arguments"),
    ],
)
def test_the_command_says_what_is_wrong(tmp_path, words, said):
    done = pillion(*words, cwd=tmp_path)
    assert done.returncode in (1, 2) and said in done.stderr
    assert "Traceback" not in done.stderr


def test_letters_that_are_drawn_are_explained(tmp_path):
    words = ["2 nodes of core:3", "--sidecars", "1"]
    assert "* hands over to a sidecar of another node" in pillion(*words, cwd=tmp_path).stdout
    assert "*" not in pillion("core:3", "--per-node", "1", cwd=tmp_path).stdout


def test_many_hosts_may_be_named(tmp_path):
    """More than a file's name may have characters."""
    hosts = [f"node{n:05}" for n in range(64)]
    words = ["64 nodes of core:4", "--ratio", "3:1", "--hosts", ",".join(hosts), "--write", "files"]
    done = pillion(*words, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    found = (tmp_path / "files/hostfile").read_text().split("\n")
    assert found[:-1] == [f"{host} slots=4" for host in hosts]


@pytest.mark.parametrize("option", ["--draw", "--write"])
def test_what_cannot_be_written_is_said(tmp_path, option):
    (tmp_path / "file").touch()
    done = pillion("core:4", "--ratio", "3:1", option, "file/there", cwd=tmp_path)
    assert done.returncode == 1 and "cannot write file/there" in done.stderr
    assert "Traceback" not in done.stderr


def test_plans_need_no_mpi(tmp_path):
    """They are made on login nodes, where MPI may not even load."""
    code = (
        "from pillion.plan import machine, make_plan\n"
        "make_plan(machine('core:4'), per_node=1)\n"
        "assert not any('mpi' in line for line in open('/proc/self/maps'))"
    )
    env = os.environ | {"PYTHONPATH": str(placed_runs.BUILD.resolve() / "python")}
    limits.run([placed_runs.PYTHON, "-c", code], check=True, env=env, timeout=60)
