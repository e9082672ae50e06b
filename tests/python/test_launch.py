# SPDX-License-Identifier: BSD-3-Clause
"""How runs are started, without starting any: from what is wished, wanted and there to the command
lines.
"""

import shlex
import time

import limits
import pytest
from costly_yaml import COSTLY
from pillion.advise.placement import Chains
from pillion.command import run as command_run
from pillion.command.run import certain
from pillion.datasets.raw_datasets import stored_raw
from pillion.errors import Error
from pillion.launch.facts import chosen, cores_of, kind_of
from pillion.launch.launchers import Facts, Launcher, Part
from pillion.launch.plan import Wishes, make_plan, overrides_for, parts_of
from pillion.launch.wanted import Kind, Wanted, read_wanted, settings_of
from pillion.tables import read_table

OPEN_MPI = Facts(Launcher.OPEN_MPI, cores=8)
NOBODY = Wanted(Kind.NONE, 0, "results", "box")
TWO = Wanted(Kind.RANKS, 2, "results", "box")
PER_NODE = Wanted(Kind.PER_NODE, 1, "results", "box")
SEPARATE = Wanted(Kind.SEPARATE, 1, "results", "box")


def plan(wanted, facts=OPEN_MPI, program="prog -x", **wishes):
    parts = parts_of(shlex.split(program))
    return make_plan(Wishes("run.yaml", parts, **wishes), wanted, facts, "/bin/pillion-attach")


def line(*args, **kwargs) -> str:
    return shlex.join(plan(*args, **kwargs).simulation)


def test_sidecars_come_on_top():
    assert line(NOBODY, ranks=6).endswith(" -n 6 prog -x")
    assert line(TWO, ranks=6).endswith(" -n 8 prog -x")
    assert line(TWO, ranks=6, sidecars=1).endswith(" -n 7 prog -x")
    assert line(TWO, ranks=6, sidecars=0).endswith(" -n 6 prog -x")
    assert line(PER_NODE, ranks=6).endswith(" -n 7 prog -x")
    assert line(NOBODY).endswith(" -n 1 prog -x")
    made = plan(PER_NODE, Facts(Launcher.OPEN_MPI, cores=8, nodes=3), ranks=12, sidecars=2)
    assert (made.simulation_ranks, made.sidecar_ranks) == (12, 6)
    assert made.simulation[-3:] == ("18", "prog", "-x")


def test_what_a_batch_job_has_set_aside_is_used():
    facts = Facts(Launcher.SRUN, "srun", cores=64, nodes=2, tasks=32)
    assert plan(PER_NODE, facts).simulation_ranks == 30
    assert plan(SEPARATE, facts).simulation_ranks == 30
    assert plan(TWO, Facts(Launcher.SRUN, "srun", tasks=1)).simulation_ranks == 1
    made = plan(TWO, facts, program="a : -n 4 b")
    assert (made.simulation_ranks, made.sidecar_ranks) == (30, 2)


def test_what_the_library_is_told():
    assert plan(TWO).environment == {"PILLION_CONFIGURATION": "run.yaml"}
    told = plan(SEPARATE).environment
    assert told == {"PILLION_CONFIGURATION": "run.yaml", "PILLION_AWAIT_SIDECARS": "1"}
    assert "PILLION_AWAIT_SIDECARS" not in plan(SEPARATE, sidecars=0).environment
    made = plan(TWO, sidecars=3, settings={"n": "64", "output": "a b"})
    assert made.environment["PILLION_SET"] == "n=64\noutput=a b"
    assert made.environment["PILLION_OVERRIDE"] == "sidecars.ranks=3"
    assert overrides_for(PER_NODE, 3) == {"sidecars.per_node": "3"}
    assert overrides_for(NOBODY, 3) == {"sidecars.ranks": "3"}
    assert overrides_for(SEPARATE, 3) == {}
    # Open MPI hands no more than it is told to ranks on other nodes.
    told = "-x PILLION_CONFIGURATION -x PILLION_SET -x PILLION_OVERRIDE -n 4"
    assert told in shlex.join(made.simulation)


def test_ranks_are_pinned_where_there_are_cores():
    assert "--bind-to core" in line(TWO, ranks=6)
    assert "--oversubscribe" not in line(TWO, ranks=6)
    assert "--oversubscribe --bind-to none" in line(TWO, ranks=7)
    rooms = [Facts(Launcher.SRUN, cores=6, nodes=3, threads=t).room for t in (1, 2, 4, 8)]
    assert rooms == [18, 9, 3, 3]
    threads = Facts(Launcher.OPEN_MPI, cores=8, threads=2)
    assert "--map-by slot:PE=2 --bind-to core" in line(TWO, threads, ranks=2)
    assert "--bind-to none" in line(TWO, threads, ranks=3)
    mine = line(TWO, ranks=6, launcher_options=("--bind-to", "socket"))
    assert "--bind-to socket" in mine and "--bind-to core" not in mine
    assert "--bind-to" not in line(TWO, ranks=6, launcher_options=("--map-by=node",))
    root = Facts(Launcher.OPEN_MPI, cores=8, is_root=True)
    assert "--allow-run-as-root" in line(TWO, root)
    assert "--allow-run-as-root" not in line(TWO)
    hydra = Facts(Launcher.HYDRA, "mpiexec", cores=4)
    assert line(TWO, hydra, ranks=2) == "mpiexec -bind-to core -n 4 prog -x"
    assert line(TWO, hydra, ranks=3) == "mpiexec -n 5 prog -x"
    other = Facts(Launcher.OTHER, "mpirun", cores=4)
    assert line(TWO, other, ranks=2) == "mpirun -n 4 prog -x"


def test_srun():
    facts = Facts(Launcher.SRUN, "srun", cores=16, nodes=2)
    srun = "srun --kill-on-bad-exit=1"  # other ranks would wait in MPI for one that failed
    assert line(TWO, facts, ranks=30) == f"{srun} --cpu-bind=cores -n 32 prog -x"
    assert line(TWO, facts, ranks=31) == f"{srun} --overcommit --cpu-bind=none -n 33 prog -x"
    mine = line(TWO, facts, ranks=30, launcher_options=("--cpu-bind=sockets",))
    assert mine == f"{srun} --cpu-bind=sockets -n 32 prog -x"
    threads = Facts(Launcher.SRUN, "srun", cores=16, nodes=2, threads=4)
    assert "--cpus-per-task=4 --cpu-bind=cores" in line(TWO, threads, ranks=6)
    made = plan(SEPARATE, facts, ranks=8)
    shared = ("srun", "--overlap", "--mem=0", "--kill-on-bad-exit=1")
    assert made.simulation == (*shared, "-n", "8", "prog", "-x")
    attach = ("/bin/pillion-attach", "box", "--wait", "60")
    assert made.sidecars == (*shared, "--ntasks-per-node=1", "-n", "2", *attach)
    # Options are for both jobs, after ours, so that they count.
    made = plan(SEPARATE, facts, ranks=8, launcher_options=("--mem=100",))
    assert made.simulation == (*shared, "--mem=100", "-n", "8", "prog", "-x")
    assert made.sidecars[5:8] == ("--mem=100", "-n", "2")


def test_several_programs():
    assert parts_of(["a", "-n", "3", ":", "-n", "2", "b", "x"]) == (
        Part(("a", "-n", "3")),
        Part(("b", "x"), 2),
    )
    for wrong in (
        [],
        [":"],
        ["a", ":"],
        ["a", ":", "b"],
        ["a", ":", "-n", "2"],
        ["a", ":", "-n", "0", "b"],
    ):
        with pytest.raises(Error, match="which program"):
            parts_of(wrong)
    # The last ranks become sidecars.
    assert line(TWO, ranks=3, program="a : -n 2 b").endswith(" -n 3 a : -n 4 b")
    helped = line(TWO, ranks=3, program="a : -n 2 b", sidecar_program=("helper", "--color", "1"))
    assert helped.endswith(" -n 3 a : -n 2 b : -n 2 helper --color 1")
    assert line(NOBODY, ranks=3, sidecar_program=("helper",)).endswith(" -n 3 prog -x")


def test_a_shell_deals_programs_to_ranks_under_srun():
    facts = Facts(Launcher.SRUN, "srun", cores=16)
    made = plan(
        TWO, facts, program="echo 'a b' : -n 2 echo c", ranks=3, sidecar_program=("echo", "$d")
    )
    assert made.simulation[:3] == ("srun", "--kill-on-bad-exit=1", "--cpu-bind=cores")
    assert made.simulation[3:5] == ("-n", "7")
    script = made.simulation[5:]
    said = [
        limits.run(script, env={"SLURM_PROCID": str(r)}, capture_output=True, text=True).stdout
        for r in range(7)
    ]
    assert said == ["a b\n"] * 3 + ["c\n"] * 2 + ["$d\n"] * 2


def test_sidecars_in_a_job_of_their_own():
    made = plan(SEPARATE, ranks=6)
    assert made.simulation[-4:] == ("-n", "6", "prog", "-x")
    assert made.sidecars[-6:] == ("-n", "1", "/bin/pillion-attach", "box", "--wait", "60")
    # Two launchers would pin to the same cores.
    assert "--bind-to" not in made.simulation and "--bind-to" not in made.sidecars
    assert plan(SEPARATE, sidecars=0).sidecars is None
    nodes = plan(SEPARATE, Facts(Launcher.OPEN_MPI, cores=8, nodes=2), ranks=6, sidecars=2)
    assert "--map-by ppr:2:node" in shlex.join(nodes.sidecars)
    # Open MPI would fill one node after the other, and sidecars of the last would have no run.
    assert "--map-by ppr:3:node" in shlex.join(nodes.simulation)


def test_sidecars_of_a_job_of_their_own_find_their_run_by_its_id():
    made = plan(SEPARATE, run_id="00000000000000ff")
    assert made.environment["PILLION_RUN_ID"] == "box=00000000000000ff"
    assert made.sidecars[-3:] == ("00000000000000ff", "--wait", "60")
    assert "PILLION_RUN_ID" not in plan(SEPARATE, sidecars=0, run_id="1").environment
    assert "PILLION_RUN_ID" not in plan(TWO, run_id="00000000000000ff").environment
    # A script has another id each time.
    text = "\n".join(made.lines())
    words = 'mpirun() { printf "%s\n" "$PILLION_RUN_ID" "$@" | grep -E "box=|^[0-9a-f]{16}$"; }\n'
    said = [
        limits.run(["bash", "-c", words + text], capture_output=True, text=True).stdout.split()
        for _ in range(2)
    ]
    ids = [set(word.removeprefix("box=") for word in found) for found in said]
    assert [len(found) for found in said] == [2, 2] and [len(i) for i in ids] == [1, 1]
    assert ids[0] != ids[1]


def test_lines_can_be_given_to_a_shell():
    made = plan(TWO, program="printf '%s|' 'a b' '$HOME'", settings={"n": "1", "x": "it's"})
    runs = 'mpirun() { printf \'%s\\n\' "$@" "$PILLION_SET"; }\n' + made.lines()[0]
    done = limits.run(["bash", "-c", runs], capture_output=True, text=True, check=True)
    assert done.stdout.endswith("%s|\na b\n$HOME\nn=1\nx=it's\n")
    assert [text.split()[-1] for text in plan(SEPARATE).lines()] == ["&", "60", "wait"]


def written(tmp_path, text):
    path = tmp_path / "run.yaml"
    path.write_text(text)
    return path


@pytest.mark.parametrize(
    ("sidecars", "kind", "number"),
    [
        ("", Kind.NONE, 0),
        ("sidecars: {ranks: 0}", Kind.NONE, 0),
        ("sidecars: {ranks: 3, memory: 1 GiB}", Kind.RANKS, 3),
        ("sidecars: {per_node: 2}", Kind.PER_NODE, 2),
        ("sidecars: {per_node: 2, job: separate}", Kind.SEPARATE, 2),
        ("sidecars: {job: separate}", Kind.SEPARATE, 1),
        ("sidecars: {job: same, ranks: $k}", Kind.RANKS, 4),
        ("sidecars: {per_node: '${k}'}", Kind.PER_NODE, 4),
    ],
)
def test_what_a_configuration_wants(tmp_path, sidecars, kind, number):
    path = written(tmp_path, f"parameters: {{k: 4}}\n{sidecars}\nanalyses: {{}}\n")
    wanted = read_wanted(path, {})
    assert (wanted.kind, wanted.sidecars) == (kind, number)


def test_parameters_and_names(tmp_path):
    path = written(tmp_path, "output: $where/r$$\nparameters: {where: here, k: 1e-05}\n")
    assert read_wanted(path, {}).output == "here/r$"
    assert read_wanted(path, {"where": "there"}).output == "there/r$"
    assert read_wanted(path, {}).run == "r_"
    assert read_wanted(written(tmp_path, "run: named\n"), {}).run == "named"
    assert read_wanted(written(tmp_path, "a: 1\n"), {}).output == "results"
    assert read_wanted(written(tmp_path, "output: a/b c/.d\n"), {}).run == "_d"
    path = written(tmp_path, "sidecars: {ranks: 1}\n")
    assert read_wanted(path, {}, {"sidecars.ranks": "5"}).sidecars == 5
    assert read_wanted(written(tmp_path, "a: 1"), {}, {"sidecars.ranks": "5"}).sidecars == 5


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("a: [", r"run.yaml:\d: not valid YAML"),
        ("a: 2001-02-30", "run.yaml: .*day is out of range"),
        ('output: "a\\0b"', r"U\+0000"),
        ("parameters: {n: " + "x" * 100_000 + "}\na: " + "$n" * 100, "'n' is repeated"),
        ("- a", "must be a map"),
        ("sidecars: 3", "must be a map"),
        ("sidecars: {ranks: many}", "'many'"),
        ("sidecars: {per_node: -1}", "'-1'"),
    ],
)
def test_what_cannot_be_started(tmp_path, text, why):
    with pytest.raises(Error, match=why):
        read_wanted(written(tmp_path, text), {})


@pytest.mark.parametrize("name", COSTLY)
def test_costly_text_is_refused_at_once(tmp_path, name):
    content, line, words = COSTLY[name]
    path = tmp_path / "run.yaml"
    path.write_bytes(content)
    before = time.process_time()
    with pytest.raises(Error, match=rf"run\.yaml:{line}: ") as refused:
        read_wanted(path, {})
    assert time.process_time() - before < 2, "seconds"
    assert words in str(refused.value)


def test_other_readers_refuse_aliases_without_end(tmp_path):
    """Products, whose readers go other ways to the same loader."""
    bomb = COSTLY["alias bomb"][0].decode()
    (tmp_path / "a.raw.yaml").write_text(bomb)
    (tmp_path / "a.csv").write_text("# " + bomb.strip().replace("\n", "\n# ") + "\nx\n1\n")
    for read, name in ((stored_raw, "a.raw.yaml"), (read_table, "a.csv")):
        with pytest.raises(Error, match="more than 50000 keys and values"):
            read(tmp_path / name)
    with pytest.raises(Error, match="more than 50000 keys and values"):
        Chains(bomb, "run.yaml")


def test_a_check_that_does_not_answer_does_not_hold_up_the_run(tmp_path, monkeypatch, capsys):
    program = tmp_path / "pillion-check"
    program.write_text("#!/bin/sh\nexec sleep 60\n")
    program.chmod(0o755)
    monkeypatch.setenv("PILLION_BIN", str(tmp_path))
    monkeypatch.setattr(command_run, "_PATIENCE", 0.2)
    command_run._check(Wishes("run.yaml", parts_of(["prog"])), plan(NOBODY), {}, 1, False)
    assert "no answer within 0.2 s; starting without it" in capsys.readouterr().err


def test_what_no_program_can_make_good():
    field = {"message": "unknown field 'position' (parameter 'position')"}
    parameter = {"message": "parameter '$n' has no value; give it under 'parameters:'"}
    slip = {"message": "unknown key 'evry' in analysis 'a'; did you mean 'every'?"}
    scalar = {"message": "cannot read the condition 'a > 1': 'a' is not known; known: step, time"}
    assert certain([field, parameter, scalar], has_fields=False) == []
    assert certain([field, parameter, slip], has_fields=False) == [slip["message"]]
    assert certain([field, parameter], has_fields=True) == [field["message"]]


def test_settings():
    assert settings_of(["a=1", "b=", "c=d=e"]) == {"a": "1", "b": "", "c": "d=e"}
    for wrong in ("a", "=1", "a=1\nb=2"):
        with pytest.raises(Error, match="NAME=VALUE"):
            settings_of([wrong])


def test_launchers():
    assert chosen("mine", {"SLURM_JOB_ID": "1"}, True) == "mine"
    assert chosen(None, {"SLURM_JOB_ID": "1"}, True) == "srun"
    assert chosen(None, {"SLURM_JOB_ID": "1"}, False) == "mpirun"
    assert chosen(None, {}, True) == "mpirun"
    assert chosen(None, {"MPIEXEC": "/opt/mpiexec"}, False) == "/opt/mpiexec"
    assert kind_of("/usr/bin/srun", "slurm 23") is Launcher.SRUN
    assert kind_of("mpirun", "mpirun (Open MPI) 4.1.4") is Launcher.OPEN_MPI
    assert kind_of("mpirun", "HYDRA build details:") is Launcher.HYDRA
    assert kind_of("mpirun", "") is Launcher.OTHER


def test_hardware_threads_of_a_core_count_once(tmp_path):
    for cpu, siblings in enumerate(["0,2", "1,3", "0,2", "1,3"]):
        (tmp_path / str(cpu)).write_text(siblings + "\n")
    topology = str(tmp_path) + "/{}"
    assert cores_of([0, 1, 2, 3], topology) == 2
    assert cores_of([0, 2], topology) == 1
    assert cores_of([0, 7, 8], topology) == 3
    assert cores_of([], topology) == 1
