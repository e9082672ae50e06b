# SPDX-License-Identifier: BSD-3-Clause
"""Allocations of batch systems as their environment lists them, and the command lines in them."""

import re
import shlex
from pathlib import Path

import limits
import pytest
from pillion.errors import Error
from pillion.launch.allocation import Allocation, Group, allocation_of, expanded, host_names
from pillion.launch.batch import SYSTEMS, request_for, script_for
from pillion.launch.launchers import Facts, Launcher, Part
from pillion.launch.plan import Wishes, divided, make_plan, parts_of, ranks_of_groups
from pillion.launch.slurm import MpiTypes, default_in, listed_in, record_in
from pillion.launch.wanted import Kind, Wanted, bytes_of

# Of `salloc -N3 -n6 --mem-per-cpu=300` on nodes of 4 CPUs (Slurm 22.05).
UNEVEN = {
    "SLURM_JOB_ID": "3",
    "SLURM_JOB_NUM_NODES": "3",
    "SLURM_TASKS_PER_NODE": "4,1(x2)",
    "SLURM_JOB_CPUS_PER_NODE": "4,1(x2)",
    "SLURM_NTASKS": "6",
    "SLURM_JOB_NODELIST": "n[0-2]",
    "SLURM_MEM_PER_CPU": "300",
}
# Of `salloc -N1 -n2 : -N1 -n1`.
HETEROGENEOUS = {
    "SLURM_JOB_ID": "4",
    "SLURM_HET_SIZE": "2",
    "SLURM_NTASKS": "3",
    **{
        f"SLURM_{name}_HET_GROUP_{group}": value
        for name, values in {
            "JOB_NUM_NODES": "11",
            "NTASKS": "21",
            "TASKS_PER_NODE": "21",
            "JOB_CPUS_PER_NODE": "21",
            "JOB_NODELIST": ("n0", "n1"),
        }.items()
        for group, value in enumerate(values)
    },
}
NET = Wanted(Kind.RANKS, 1, "results", "box")
PER_NODE = Wanted(Kind.PER_NODE, 1, "results", "box")
SEPARATE = Wanted(Kind.SEPARATE, 1, "results", "box")


PACKAGE = Path(__file__).resolve().parents[2] / "python/pillion"


def facts_of(environment, launcher=Launcher.SRUN, **more) -> Facts:
    found = allocation_of(environment)
    command = "srun" if launcher is Launcher.SRUN else "mpirun"
    return Facts(launcher, command, nodes=found.nodes, tasks=found.tasks, allocation=found, **more)


def plan(environment, wanted, launcher=Launcher.SRUN, program="prog", **wishes):
    facts = facts_of(environment, launcher)
    made = Wishes("run.yaml", parts_of(shlex.split(program)), **wishes)
    return make_plan(made, wanted, facts, "attach")


def test_counts_and_names():
    assert expanded("4,1(x2)") == (4, 1, 1)
    assert expanded("16(x3)") == (16, 16, 16)
    assert host_names("n[0-1,07],login,r[1-2]c[08-09]x") == (
        *("n0", "n1", "n07", "login"),
        *("r1c08x", "r1c09x", "r2c08x", "r2c09x"),
    )
    assert host_names("") == ()
    for wrong in ("4,x", "4(x2", "4(x99999999)"):
        with pytest.raises(Error):
            expanded(wrong)
    for wrong in ("n[0-99999999]", "n[a-b]"):
        with pytest.raises(Error):
            host_names(wrong)


def test_an_allocation_of_slurm():
    found = allocation_of(UNEVEN)
    assert found == Allocation(
        "Slurm", "3", (Group((4, 1, 1), (4, 1, 1), ("n0", "n1", "n2"), 300 << 20),)
    )
    assert (found.nodes, found.tasks, found.memory) == (3, 6, 300 << 20)
    whole = allocation_of({**UNEVEN, "SLURM_MEM_PER_NODE": "2000", "SLURM_CPUS_PER_TASK": "2"})
    assert (whole.memory, whole.threads) == (2000 << 20, 2)
    assert allocation_of({}) is None
    assert allocation_of({"SLURM_JOB_ID": "1"}).nodes == 1


def test_a_heterogeneous_allocation():
    found = allocation_of(HETEROGENEOUS)
    assert found.groups == (Group((2,), (2,), ("n0",)), Group((1,), (1,), ("n1",)))
    assert (found.nodes, found.tasks, found.memory) == (2, 3, None)


def test_allocations_of_pbs_and_lsf(tmp_path):
    file = tmp_path / "nodes"
    file.write_text("a\na\nb\na\n")
    found = allocation_of({"PBS_JOBID": "7.server", "PBS_NODEFILE": str(file)})
    assert found == Allocation("PBS", "7.server", (Group((3, 1), (3, 1), ("a", "b")),))
    found = allocation_of({"LSB_JOBID": "8", "LSB_MCPU_HOSTS": "a 2 b 2 "})
    assert found == Allocation("LSF", "8", (Group((2, 2), (2, 2), ("a", "b")),))
    with pytest.raises(Error, match="PBS_NODEFILE"):
        allocation_of({"PBS_JOBID": "7", "PBS_NODEFILE": str(tmp_path / "none")})
    with pytest.raises(Error, match="LSB_MCPU_HOSTS"):
        allocation_of({"LSB_JOBID": "8", "LSB_MCPU_HOSTS": "a b"})


def test_cores_are_those_of_the_allocation():
    facts = facts_of(UNEVEN)
    assert (facts.node_cores, facts.room) == ((4, 1, 1), 6)
    assert facts_of(UNEVEN, hardware_threads=2).node_cores == (2, 1, 1)
    assert "--cpu-bind=cores -n 6 prog" in shlex.join(plan(UNEVEN, NET).simulation)
    assert "--overcommit" in plan(UNEVEN, NET, ranks=6).simulation


def test_one_place_counts_the_cores_of_this_machine():
    """A login node is not the machine of a run: others ask pillion.launch.facts. The doctor lists
    both.
    """
    counts = re.compile(r"\b(?:sched_getaffinity|cpu_count|process_cpu_count)\(")
    found = {
        str(path.relative_to(PACKAGE))
        for path in PACKAGE.rglob("*.py")
        if counts.search(path.read_text(encoding="utf-8"))
    }
    assert found == {"launch/facts.py", "command/doctor.py"}


def test_a_node_without_a_rank_that_simulates_is_refused():
    with pytest.raises(Error, match="node n1 of the allocation has 1 of the 6 tasks"):
        plan(UNEVEN, PER_NODE)
    even = {**UNEVEN, "SLURM_TASKS_PER_NODE": "2(x3)"}
    assert plan(even, PER_NODE).simulation_ranks == 3


def test_sidecars_are_on_the_last_group():
    made = plan(HETEROGENEOUS, NET)
    bad = "--kill-on-bad-exit=1 --cpu-bind=cores"
    assert shlex.join(made.simulation) == (
        f"srun --het-group=0 {bad} -n 2 prog : --het-group=1 {bad} -n 1 prog"
    )
    helped = plan(HETEROGENEOUS, NET, sidecar_program=("helper",)).simulation
    assert helped[-3:] == ("-n", "1", "helper") and helped.count("prog") == 1
    # Sidecars through memory are where the simulation is.
    apart = plan({**HETEROGENEOUS, "SLURM_TASKS_PER_NODE_HET_GROUP_1": "2"}, SEPARATE)
    for words in (apart.simulation, apart.sidecars):
        assert words.count("--het-group=0") == words.count("--het-group=1") == 1
    with pytest.raises(Error, match="--launcher srun"):
        plan(HETEROGENEOUS, NET, Launcher.OPEN_MPI)


@pytest.mark.parametrize(
    ("room", "total", "last", "ranks"),
    [
        ([2, 1], 3, 1, [2, 1]),
        ([4, 4], 4, 1, [3, 1]),
        ([4, 4], 4, 6, None),
        ([4, 1], 6, 2, [5, 1]),
        ([2, 2, 2], 3, 0, [2, 1, 0]),
        ([1, 1], 5, 1, [4, 1]),
    ],
)
def test_ranks_of_groups(room, total, last, ranks):
    found = ranks_of_groups(room, max(total, last), last)
    assert sum(found) == max(total, last)
    assert ranks is None or found == ranks


def test_parts_are_divided_where_groups_end():
    a, b = Part(("a",), 3), Part(("b",), 2)
    assert divided([a, b], [2, 3]) == ((Part(("a",), 2),), (Part(("a",), 1), b))
    assert divided([a, b], [5, 0]) == ((a, b), ())


def test_programs_in_groups_are_found_by_the_rank():
    """Ranks are numbered through all groups."""
    two = {**HETEROGENEOUS, "SLURM_TASKS_PER_NODE_HET_GROUP_1": "3"}
    made = plan(two, NET, program="echo a : -n 2 echo b", ranks=2, sidecar_program=("echo", "c"))
    second = made.simulation[made.simulation.index(":") :]
    script = list(second[second.index("sh") :])
    said = [
        limits.run(script, env={"SLURM_PROCID": str(r)}, capture_output=True, text=True).stdout
        for r in (2, 3, 4)
    ]
    assert said == ["b\n", "b\n", "c\n"]


def test_two_jobs_of_mpirun_share_an_allocation():
    made = plan({**UNEVEN, "SLURM_TASKS_PER_NODE": "2(x3)"}, SEPARATE, Launcher.OPEN_MPI)
    assert made.environment["SLURM_OVERLAP"] == "1"
    assert "SLURM_OVERLAP" not in made.simulation  # it is not for ranks
    assert made.lines()[1].startswith("SLURM_OVERLAP=1 mpirun ")
    assert "SLURM_OVERLAP" not in plan(UNEVEN, SEPARATE).environment
    assert "SLURM_OVERLAP" not in plan(UNEVEN, NET, Launcher.OPEN_MPI).environment


def test_sizes():
    sizes = {"512 MiB": 512 << 20, "1 GB": 10**9, "1.5 KiB": 1536, "7 B": 7, "2GiB": 2 << 30}
    assert {text: bytes_of(text) for text in sizes} == sizes
    assert [bytes_of(text) for text in ("", "MiB", "12", "1 XB")] == [None] * 4


LISTED = """\
MPI plugin types are...
\tcray_shasta
\tnone
\tpmi2
\tpmix
specific pmix plugin versions available: pmix_v4
"""


def test_the_mpi_type_of_srun():
    known = listed_in(LISTED)
    assert known == ("cray_shasta", "none", "pmi2", "pmix", "pmix_v4")
    assert default_in("MpiDefault              = none\nMpiParams = (null)\n") == "none"
    assert MpiTypes(known, "none").wanted(True) == "pmix"
    assert MpiTypes(known, "none").wanted(False) == "cray_shasta"
    assert MpiTypes(("none", "pmi2", "pmix_v4"), "none").wanted(True) == "pmix_v4"
    assert MpiTypes(("none", "pmi2"), "none").wanted(False) == "pmi2"
    assert MpiTypes(known, "pmix").wanted(True) == ""
    assert MpiTypes(("none",), "none").wanted(True) is None
    facts = facts_of(UNEVEN, mpi="pmix")
    wishes = Wishes("run.yaml", (Part(("prog",)),))
    assert "--mpi=pmix" in make_plan(wishes, NET, facts, "attach").simulation
    mine = Wishes("run.yaml", (Part(("prog",)),), launcher_options=("--mpi=pmi2",))
    assert "--mpi=pmix" not in make_plan(mine, NET, facts, "attach").simulation


def test_the_record_of_a_job():
    text = (
        "JobId=5 JobName=x TimeLimit=00:10:00 TimeMin=N/A EndTime=2026-11-29T05:00:00 "
        "MinCPUsNode=1 MinMemoryCPU=1.50G MinTmpDiskNode=0\nJobId=6 TimeLimit=UNLIMITED"
    )
    found = record_in(text)
    assert found.memory_per_core == 1536 << 20 and found.memory_per_node is None
    assert found.end is not None and found.end % 3600 == 0
    assert record_in("JobId=5 TimeLimit=UNLIMITED EndTime=Unknown MinMemoryNode=300M") == (
        record_in("TimeLimit=UNLIMITED MinMemoryNode=300M")
    )
    assert record_in("").end is None


def test_batch_scripts():
    """As the manuals of the batch systems have them; the last two are not tried here."""
    words = ("pillion", "run", "-n", "6", "a b.yaml", "--", "./heat", "32")
    request = request_for("box", 6, 1, True, 2, 2, 90, words)
    assert (request.nodes, request.tasks) == (2, 4)
    texts = {system: script_for(system, request).splitlines() for system in SYSTEMS}
    for lines in texts.values():
        assert lines[0] == "#!/bin/bash"
        assert lines[-1] == "exec pillion run -n 6 'a b.yaml' -- ./heat 32"
        assert "export OMP_NUM_THREADS=2" in lines
    for line in ("--nodes=2", "--ntasks-per-node=4", "--cpus-per-task=2", "--time=01:30:00"):
        assert f"#SBATCH {line}" in texts["slurm"]
    assert "#PBS -l select=2:ncpus=8:mpiprocs=4:ompthreads=2" in texts["pbs"]
    assert "#PBS -l walltime=01:30:00" in texts["pbs"]
    assert {"#BSUB -n 8", '#BSUB -R "span[ptile=4]"', "#BSUB -W 01:30"} <= set(texts["lsf"])
    assert 'cd "$PBS_O_WORKDIR"' in texts["pbs"]
    assert not any("cd " in line for name in ("slurm", "lsf") for line in texts[name])
    assert request_for("box", 5, 2, False, 2, 1, 90, words).tasks == 4
    with pytest.raises(Error, match="take -n 6"):
        request_for("box", 5, 1, True, 2, 1, 90, words)
