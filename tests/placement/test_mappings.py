# SPDX-License-Identifier: BSD-3-Clause
"""Which ranks of a run become sidecars: on machines that the run pretends to have, and on this one
as a rankfile says that `pillion plan` has written.
"""

import os
import shutil

import limits
import numpy as np
import placed_runs
import pytest
from conftest import launcher, mpirun
from pillion.plan import machine, make_plan
from pillion.plan.files import names_of_nodes, rankfile

pytestmark = pytest.mark.skipif(
    not any((placed_runs.BUILD / "python/pillion").glob("_core*.so")),
    reason="no modules for Python",
)
TWO = "numa:2 core:3"


@pytest.mark.drawn
@pytest.mark.parametrize(
    ("spread", "sidecars"),
    [
        ("contiguous", [4, 5]),
        ("striped", [2, 5]),
        ("numa", [2, 5]),
        ("folded, mesh: [3, 2]", [3, 5]),
        ("auto", [2, 5]),
    ],
)
@pytest.mark.parametrize("way", ["per_node", "ranks"])
def test_the_rule_chooses(build, tmp_path, way, spread, sidecars):
    asked = f"{way}: 2, mapping: {spread}, when_full: wait"
    told, _ = placed_runs.run(build, tmp_path, 6, asked, 2, PILLION_PRETEND_TOPOLOGY=TWO)
    assert told.sidecars == sidecars
    simulating = [rank for rank in range(6) if rank not in sidecars]
    np.testing.assert_allclose(told.means, [np.mean(simulating)] * 3, rtol=1e-14)


def test_auto_is_the_default_and_looks_at_each_node(build, tmp_path):
    env = {"PILLION_PRETEND_TOPOLOGY": TWO, "PILLION_PRETEND_NODES": "2"}
    told, _ = placed_runs.run(build, tmp_path, 12, "per_node: 2, when_full: wait", 4, **env)
    assert told.sidecars == [2, 5, 8, 11]
    assert len(told.means) == 3


def test_ranks_decide_where_spots_are_not_known(build, tmp_path):
    """These ranks may run anywhere; and a topology that makes no sense is told, and no more."""
    told, _ = placed_runs.run(build, tmp_path, 4, "per_node: 1, when_full: wait", 1)
    assert told.sidecars == [3]
    (tmp_path / "other").mkdir()
    told, said = placed_runs.run(
        build,
        tmp_path / "other",
        4,
        "per_node: 1, when_full: wait",
        1,
        PILLION_PRETEND_TOPOLOGY="nonsense",
    )
    assert told.sidecars == [3]
    assert "sidecars were chosen by rank alone: 'nonsense' describes no node" in said


def test_a_mesh_that_does_not_fit_is_refused(build, tmp_path):
    words = placed_runs.prepared(tmp_path, 6, "per_node: 1, mesh: [4, 2]", 1)
    env = placed_runs.environment(build) | {"PILLION_PRETEND_TOPOLOGY": TWO}
    done = mpirun(6, *words, cwd=tmp_path, env=env, check=False)
    assert done.returncode != 0
    assert "mesh: [4, 2]}': a mesh of 4 x 2 has 8 cores, but the node has 6" in done.stderr
    assert not (tmp_path / "results").exists()


def is_open_mpi() -> bool:
    return "--oversubscribe" in launcher()


@pytest.mark.skipif(not is_open_mpi(), reason="rankfiles are Open MPI's")
@pytest.mark.skipif((os.cpu_count() or 1) < 2, reason="one core has no room for a sidecar")
@pytest.mark.parametrize("spread", ["auto", "contiguous", "numa"])
def test_a_rankfile_binds_as_planned(build, tmp_path, spread):
    here = machine("this")
    ranks = min(here.cores, 4)
    plan = make_plan(here, ranks=ranks, per_node=1, mapping=spread)
    (tmp_path / "rankfile").write_text(rankfile(plan, names_of_nodes(plan)))
    asked = f"per_node: 1, mapping: {spread}, when_full: wait"
    words = placed_runs.prepared(tmp_path, ranks, asked, 1)
    starter = [launcher()[0], "--allow-run-as-root", "-n", str(ranks), "--rankfile", "rankfile"]
    done = limits.run(
        [*starter, *words],
        cwd=tmp_path,
        env=os.environ | placed_runs.environment(build),
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.returncode == 0, done.stderr
    told = placed_runs.read_told(tmp_path, ranks)
    cpus = [here.node.cores[plan.locations[location].core].cpus for location in plan.spot_of_rank]
    assert told.cpus == cpus, "each rank may run on its core and no other"
    assert told.sidecars == [plan.rank_of_location[location] for location in plan.sidecars]


def test_lstopo_writes_what_plans_read(tmp_path):
    """A node by another program of hwloc's, where there is one."""
    lstopo = shutil.which("lstopo-no-graphics") or shutil.which("lstopo")
    if lstopo is None:
        pytest.skip("no lstopo")
    file = tmp_path / "node.xml"
    words = [lstopo, "-i", "package:2 numa:4 l3:4 core:4 pu:2", "--of", "xml", str(file)]
    limits.run(words, check=True, timeout=60)
    found = machine(f"3 nodes of {file}")
    assert (found.nodes, found.cores, found.node.domains, found.node.packages) == (3, 128, 8, 2)
