# SPDX-License-Identifier: BSD-3-Clause
"""`pillion run` in allocations of all kinds: without any option it starts what was asked for, on
the nodes, cores and groups of the allocation, with the products of one node.
"""

import shutil

import pytest
from products_alike import assert_same_products

PLACEMENTS = {"node": "per_node: 1", "net": "ranks: 2", "insitu": ""}
LAUNCHERS = ("srun", "mpirun")


@pytest.mark.xfail(strict=True, reason="srun is started without an MPI type")
def test_no_option_is_needed(case):
    """MpiDefault is none, as Slurm has it if a site changes nothing."""
    case.configure("node", "per_node: 1")
    words = case.run_heat("node.yaml", 200, "-n", 4)
    done = case.salloc("-N2 --ntasks-per-node=3", *words)
    assert done.returncode == 0, done.stdout
    case.assert_complete("node")


@pytest.fixture
def on_one_node(case):
    """Products of each placement on one node, in folders one-PLACEMENT."""
    for name, sidecars in PLACEMENTS.items():
        case.configure(name, sidecars)
        done = case.on("n0", *case.run_heat(f"{name}.yaml", 200, "-n", 4))
        assert done.returncode == 0, done.stdout
        shutil.move(case.folder / name, case.folder / f"one-{name}")
    return case


@pytest.mark.xfail(strict=True, reason="srun is started without an MPI type")
def test_products_are_the_same_on_two_nodes(on_one_node):
    case = on_one_node
    for launcher in LAUNCHERS:
        for name in PLACEMENTS:
            words = case.run_heat(f"{name}.yaml", 200, "-n", 4, "--launcher", launcher)
            done = case.salloc("-N2 --ntasks-per-node=3", *words)
            assert done.returncode == 0, f"{name} by {launcher}: {done.stdout}"
            assert assert_same_products(case.folder / f"one-{name}", case.folder / name) > 2
            shutil.rmtree(case.folder / name)


@pytest.mark.xfail(strict=True, reason="all ranks are in the first group")
def test_a_heterogeneous_allocation_is_used_whole(case):
    """Sidecars are on the second group, as the last ranks are."""
    case.configure("net", "ranks: 1")
    words = case.run_heat("net.yaml", 200, "--dry-run")
    done = case.salloc("-N1 -n2 : -N1 -n1", *words)
    assert done.stdout.count(" : ") == 1, done.stdout


@pytest.mark.xfail(strict=True, reason="the login node counts")
def test_cores_are_the_allocations(case):
    """And not of the login node, where salloc starts its command."""
    case.configure("net", "ranks: 2")
    words = case.run_heat("net.yaml", 200, "--dry-run")
    done = case.salloc("-N2 --ntasks-per-node=3", *words)
    assert "srun" in done.stdout and "overcommit" not in done.stdout, done.stdout


@pytest.mark.xfail(strict=True, reason="control groups of version 1 are not read")
def test_memory_above_the_limit_of_the_job_is_refused(case):
    """Memory of the node would be enough; the job's control group would be killed."""
    case.configure("node", "per_node: 1", memory="512 MiB")
    words = case.shell(case.run_heat("node.yaml", 200, "-n", 1))
    said = case.finish("-w n0 -n2 --mem=300", words)
    assert "are needed for" in said, said
