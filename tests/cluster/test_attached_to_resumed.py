# SPDX-License-Identifier: BSD-3-Clause
"""A run that was restarted, and an attached job: it gets what that of a fresh run gets."""

import limits

pytest_plugins = ["cluster_fixtures"]

PROGRAM = """\
import sys, time
import numpy as np, pillion
first, last, restart = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3] if len(sys.argv) > 3 else ""
with pillion.open("line.yaml", restart=restart) as s:
    h = np.zeros(1000)
    s.share("h", h)
    s.ready()
    for step in range(first, last + 1):
        s.step(step, float(step))
        time.sleep(0.001)
    if first == 0:
        s.checkpoint("at.pillion")
"""
LINE = """\
output: line
run: line
sidecars: {job: separate, memory: 16 MiB}
meshes: {line: {kind: uniform, cells: [1000]}}
fields: {h: {mesh: line, type: float64}}
analyses: {waves: {every: 100 steps, stages: [statistics: {fields: [h], at: simulation}]}}
"""
MORE = "analyses: {more: {every: 10 steps, stages: [statistics: {fields: [h]}]}}\n"


def test_an_attached_job_of_a_resumed_run(case):
    for name, text in (("prog.py", PROGRAM), ("line.yaml", LINE), ("more.yaml", MORE)):
        case.write(name, text)
    env = {"PYTHONPATH": f"{case.cluster.build}/python"}
    run = ["mpirun", "-n", 1, case.cluster.python, "prog.py"]
    thinned = {}
    for kind, how in (("fresh", [51, 4000]), ("resumed", [50, 4000, "at.pillion"])):
        if kind == "fresh":
            done = case.on("n0", *run, 0, 50, env=env)
            assert done.returncode == 0, done.stdout
        with open(case.folder / f"out-{kind}", "w") as out:
            process = case.begin("n0", *run, *how, env=env, out=out)
        try:
            case.until(
                lambda: "line" in case.on("n0", "pillion", "runs").stdout, 30, f"{kind} runs"
            )
            attached = case.on("n0", "pillion", "attach", "--quiet", "line", "more.yaml")
            assert limits.wait(process, 60) == 0, case.told()
        finally:
            if process.poll() is None:
                process.kill()
        assert attached.returncode == 0, attached.stdout
        thinned[kind] = case.json("line/report-more.json")["analyses"][0]["thinned"]
    assert thinned["resumed"] <= thinned["fresh"] + 20, thinned
