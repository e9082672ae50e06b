# SPDX-License-Identifier: BSD-3-Clause
"""A Slurm cluster for all tests of this folder, which `make test-cluster` runs."""

import os
import shlex
from pathlib import Path

import pytest
from slurm_cluster import Case, Cluster, why_not

# The options of tools/cluster/setup.sh, such as "--nodes 2 --private-tmp --hidepid".
OPTIONS = "PILLION_CLUSTER"


@pytest.fixture(scope="session")
def cluster(build):
    """Skips, with a reason, where there can be none."""
    if OPTIONS not in os.environ:
        pytest.skip(f"needs a Slurm cluster: `make test-cluster`, which sets {OPTIONS}")
    if reason := why_not():
        pytest.skip(reason)
    folder = Path(os.environ.get("CLUSTER_DIR") or build.parent / "cluster")
    made = Cluster(folder, build, shlex.split(os.environ[OPTIONS]))
    made.start()
    yield made
    made.stop()


@pytest.fixture
def case(cluster, request):
    """A folder of the test's own. Afterwards no job is left, and all nodes are up."""
    needed = request.node.get_closest_marker("nodes")
    if needed and cluster.nodes < needed.args[0]:
        pytest.skip(f"needs {needed.args[0]} nodes, and the cluster has {cluster.nodes}")
    name = "".join(c if c.isalnum() or c in "-_" else "-" for c in request.node.name)
    yield Case(cluster, name)
    cluster.cancel_all()
    cluster.repair()
