# SPDX-License-Identifier: BSD-3-Clause
"""Signals to parts of a job: to its sidecars alone, to one process, and notices before a limit."""

pytest_plugins = ["cluster_fixtures"]

STEP = "srun --overlap --mem=0 --mpi=pmix"
LINE = """\
output: line
sidecars: {job: separate, memory: 16 MiB, when_full: wait}
meshes: {line: {kind: uniform, cells: [200]}}
fields: {h: {mesh: line, type: float64}}
analyses: {waves: {every: 10 steps, stages: [statistics: {fields: [h]}]}}
"""
MORE = "analyses: {more: {every: 10 steps, stages: [statistics: {fields: [temperature]}]}}\n"
SAVING = """\
import os, signal, time
import numpy as np, pillion
from mpi4py import MPI

asked = []
signal.signal(signal.SIGUSR1, lambda *_: asked.append(1))
world, last = MPI.COMM_WORLD, 6000
restart = "saved" if os.path.isdir("saved") else ""
first = int(open("step").read()) + 1 if restart else 0
with pillion.open("line.yaml", restart=restart) as session:
    field = np.zeros(100)
    session.share("h", field, lo=(100 * world.rank,))
    session.ready()
    for step in range(first, last + 1):
        field[:] = step
        session.step(step, float(step))
        time.sleep(0.001)
        if step % 10 == 0 and world.allreduce(len(asked)):
            session.checkpoint("saved")
            if world.rank == 0:
                open("step", "w").write(str(step))
            break
if step < last and world.rank == 0:
    open("unfinished", "w")
"""
# What a script that ends in `exec pillion run` gets, and a requeue after it. A status would not
# tell: srun ends all ranks by a signal if one of them has a status other than 0.
BATCH = """\
{run} & p=$!
trap 'kill -USR1 $p' USR1
wait $p; [ $? -gt 128 ] && wait $p
cp line/report.json "report-${{SLURM_RESTART_COUNT:-0}}.json"
[ -e unfinished ] && rm unfinished && scontrol requeue $SLURM_JOB_ID && sleep 60
"""


def simulation(case, steps: int) -> str:
    return f"PILLION_CONFIGURATION=apart.yaml {STEP} -N2 -n2 {case.cluster.heat} 32 {steps}"


def test_sidecars_alone_are_asked_to_leave(case):
    """They leave within seconds, and successors resume without a loss."""
    case.configure("apart", "job: separate", when_full="skip")
    sidecars = f"{STEP} -N2 -n2 pillion-attach --wait 20 apart"
    case.sbatch(
        "-w n0,n1 -N2 --ntasks-per-node=3 --mem=2000",
        f"{simulation(case, 40000)} &\n{sidecars} >first 2>&1; {sidecars} >second 2>&1; wait",
    )
    case.until(lambda: "have joined" in case.text("first"), 60, "sidecars work")
    for node in ("n0", "n1"):
        case.on(node, "pkill", "-TERM", "pillion-attach")
    case.until(lambda: "have joined" in case.text("second"), 60, "successors")
    case.cluster.await_idle(150)
    assert "left the run" in case.text("first"), case.told()
    counts = case.counts("apart")
    assert counts["lost"] == counts["dropped"] == 0, case.told()


def test_a_member_of_an_attached_job_dies(case):
    """The other one ends too, and the run is complete."""
    case.configure("apart", "job: separate")
    case.write("more.yaml", MORE)
    attach = f"{STEP} -N2 -n2 pillion-attach --wait 20 apart"
    case.sbatch(
        "-w n0,n1 -N2 --ntasks-per-node=4 --mem=2000",
        f"{simulation(case, 40000)} &\n{attach} &\n"
        f"{attach} more.yaml >more 2>&1; touch ended; wait",
    )
    case.until(lambda: list(case.folder.glob("apart/more/*.csv")), 60, "it works")
    case.on("n1", "pkill", "-KILL", "-f", "more.yaml")
    case.until(lambda: (case.folder / "ended").exists(), 30, "the other member ends")
    case.cluster.await_idle(150)
    told = case.text("more")  # by Pillion, or by Slurm's PMIx, which may come first
    assert "another process of this job has died" in told or "Job step aborted" in told, case.told()
    assert case.counts("apart")["lost"] == 0


def test_a_notice_before_the_limit(case):
    """SIGUSR1 to the batch script: the program saves a checkpoint, the sidecars write the report,
    and the job continues when it is requeued.
    """
    case.write("saving.py", SAVING)
    case.write("line.yaml", LINE)
    words = ["pillion", "run", "-n", 2, "line.yaml", "--", case.cluster.python, "saving.py"]
    env = {"PYTHONPATH": f"{case.cluster.build}/python", "SLURM_MPI_TYPE": "pmix"}
    options = "-w n0,n1 -N2 --ntasks-per-node=2 --mem=2000 --open-mode=append --requeue"
    job = case.sbatch(options, BATCH.format(run=case.shell(words)), env=env)
    progress = "line/progress-sidecars.json"
    case.until(lambda: case.json(progress).get("publications", 0) > 5, 60, "sidecars work")
    case.on("login", "scancel", "--signal=USR1", "--batch", job)
    case.cluster.await_idle(200)
    first = case.json("report-0.json")
    assert first and all(a["lost"] == 0 for a in first["analyses"]), case.told()
    report = case.json("line/report.json")
    assert report["run"]["restarted_from"] and report["run"]["last_step"] == 6000, case.told()
    case.assert_complete("line", 601)
