# SPDX-License-Identifier: BSD-3-Clause
"""Several simulations in one job of LAMMPS (`-partition`), each with analyses of its own, against
the same simulations one by one.
"""

import json

import pytest
from conftest import read_table
from lammps_inputs import MIXTURE, RDF, RIDE
from lammps_runs import configuration, lmp

ANALYSES = {"structure": {"every": "10 steps", "stages": [{"rdf": RDF}]}}
SEEDS = (87287, 4711)
RUN = RIDE + "run 40\n"


def mixture(seed: str) -> str:
    """With other velocities at the start."""
    return MIXTURE.replace("all create 4.0 87287", f"all create 4.0 {seed}")


@pytest.mark.parametrize(("partitions", "sidecars"), [(["2x1"], 0), (["1", "2"], 1)])
def test_each_partition_has_its_own_analyses(build, tmp_path, partitions, sidecars):
    text = f"variable seed world {SEEDS[0]} {SEEDS[1]}\n" + mixture("${seed}") + RUN
    config = configuration(ANALYSES, sidecars).replace("results", "results.$partition")
    ranks = (1, 2 if len(partitions) == 2 else 1)
    options = ["-partition", *partitions, "-log", "log.lammps"]
    done = lmp(build, tmp_path, text, config, sum(ranks) + 2 * sidecars, *options)
    assert done.stdout.count("Pillion report:") == 2
    found = []
    for number, (seed, count) in enumerate(zip(SEEDS, ranks, strict=True), start=1):
        alone = tmp_path / f"alone{number}"
        lmp(build, alone, mixture(seed) + RUN, configuration(ANALYSES, 0), count)
        results = tmp_path / f"results.{number}"
        report = json.loads((results / "report.json").read_text())["run"]
        assert (report["simulation_ranks"], report["sidecar_ranks"]) == (count, sidecars)
        found.append((results / "structure/rdf.csv").read_text())
        table, wanted = (
            read_table(folder / "structure/rdf.csv") for folder in (results, alone / "results")
        )
        for name, values in wanted.columns.items():
            assert (table[name] == values).all(), name
    assert found[0] != found[1]


WRONG = {
    "ranks": (4, ["1", "2"], "results.$partition", "the same number for each of the 2 partitions"),
    "few": (2, ["1", "2"], "results.$partition", "needs 3 ranks for LAMMPS, and the job has 2"),
    "same output": (2, ["2x1"], "results", "name another 'output'"),
    "word": (2, ["2xmany"], "results.$partition", "many"),
}


@pytest.mark.parametrize("case", WRONG)
def test_partitions_that_cannot_be(build, tmp_path, case):
    ranks, partitions, output, said = WRONG[case]
    config = configuration(ANALYSES, 0).replace("results", output)
    options = ["-partition", *partitions]
    text = MIXTURE + RUN
    done = lmp(build, tmp_path, text, config, ranks, *options, check=False, timeout=60)
    assert done.returncode != 0 and said in done.stderr, done.stderr
