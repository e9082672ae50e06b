# SPDX-License-Identifier: BSD-3-Clause
"""Programs of users on two nodes: LAMMPS, a simulation in Python, and cosmology, as batch jobs and
in allocations, with products of one node.
"""

import shutil
from pathlib import Path

import pytest
from products_alike import assert_same_products
from slurm_cluster import TOP

pytest_plugins = ["cluster_fixtures"]

LAMMPS = "-in in.nacl -screen none -var sites 7 -var pairs 4 -var warmup 20 -var steps 100"
NACL = """\
output: results
sidecars: {per_node: 1, memory: 64 MiB, when_full: wait}
analyses:
  structure:
    every: 20 steps
    stages:
      - rdf: {species: {O: [1], Na: [3]}, pairs: [[O, O], [Na, O]], cutoff: 8.0, bins: 50}
"""


def take(case, *paths: str) -> None:
    for path in paths:
        case.write(Path(path).name, (TOP / path).read_text())


def compare(case, here: list[str], there) -> None:
    """The products of a run on one node and of another one, as `there` starts it."""
    done = case.on("n0", *here, timeout=120)
    assert done.returncode == 0, done.stdout
    shutil.move(case.folder / "results", case.folder / "one")
    there()
    case.assert_complete("results")
    assert assert_same_products(case.folder / "one", case.folder / "results") > 0


@pytest.mark.parametrize("launcher", ["srun", "mpirun"])
def test_lammps_in_a_batch_job(case, launcher):
    """The input is the example's, on two ranks."""
    take(case, "examples/nacl/in.nacl", "examples/nacl/spce.mol")
    case.write("nacl.yaml", NACL)
    run = ["pillion", "run", "-n", "2", "nacl.yaml", "--"]
    program = ["pillion-lmp", *LAMMPS.split()]
    free = ["--launcher-option=--bind-to", "--launcher-option=none"] * (launcher == "mpirun")
    words = [*run[:2], "--launcher", launcher, *free, *run[2:], *program]
    compare(
        case,
        [*run, *program],
        lambda: case.finish("-N2 --ntasks-per-node=2", case.shell(words), timeout=120),
    )


def test_python_in_an_allocation(case):
    """Stages in Python, too; both programs import mpi4py."""
    take(case, *(f"examples/python/{name}" for name in ("heat.py", "waves.py", "pillion.yaml")))
    words = [case.cluster.python, "heat.py", "60"]
    env = {"PYTHONPATH": f"{case.cluster.build}/python"}

    def two_nodes() -> None:
        run = ["pillion", "run", "-n", "3", "pillion.yaml", "--", *words]
        done = case.salloc("-N2 --ntasks-per-node=2", *run, env=env)
        assert done.returncode == 0, done.stdout

    here = ["env", *(f"{k}={v}" for k, v in env.items()), "pillion", "run", "-n", "3"]
    compare(case, [*here, "pillion.yaml", "--", *words], two_nodes)


def test_cosmology_by_srun_alone(case):
    """Without `pillion run`: srun starts simulation ranks and sidecars as one MPI job."""
    take(case, "miniapps/cosmology/pillion.yaml")
    text = case.text("pillion.yaml").replace("memory: 1 GiB, when_full: skip", "memory: 64 MiB")
    case.write("pillion.yaml", text.replace("memory: 64 MiB", "memory: 64 MiB, when_full: wait"))
    words = [case.cluster.build / "miniapps/cosmology/cosmology", "cells=32", "steps=20"]
    words += ["length=32", "box=16"]

    def two_nodes() -> None:
        srun = ["srun", "--mpi=pmix", *map(str, words)]
        case.finish("-N2 --ntasks-per-node=2", case.shell(srun), timeout=120)

    compare(case, ["mpirun", "--oversubscribe", "-n", "3", *map(str, words)], two_nodes)
